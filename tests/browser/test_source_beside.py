"""The source of an answer beside the chat: a PDF at its page, any other page at the cited words."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import expect

from browser.accessibility import grave_findings
from browser.conftest import NewReader
from browser.reader import Reader
from bythebook.library import Library
from bythebook.settings import Settings
from server.running import Running, running
from server.test_original_files import QUESTION, valves

HAS_VIEWER = """
Object.defineProperty(Navigator.prototype, "pdfViewerEnabled", { get: () => VALUE });
"""


async def test_a_pdf_at_its_page(new_reader: NewReader, tmp_path: Path) -> None:
    (tmp_path / "water.pdf").write_bytes(valves())
    home = tmp_path / "home"
    async with await Library.open(Settings(home=home)) as library:
        await library.ingest(tmp_path / "water.pdf")
    async with running(home) as up:
        for viewer in ("true", "false"):
            reader = await new_reader()
            page = reader.page
            await page.add_init_script(HAS_VIEWER.replace("VALUE", viewer))
            await reader.open(up.server.address)
            exchange = await reader.ask(QUESTION)
            await reader.read(exchange)
            await reader.passage.get_by_role("button", name="PDF, page 2").click()
            tab = reader.passage.get_by_role("link", name="Open in a tab")
            await expect(tab).to_have_attribute("target", "_blank")
            address = await tab.get_attribute("href") or ""
            assert address.startswith("blob:") and address.endswith("#page=2")
            frame = reader.passage.locator("iframe")
            await expect(frame).to_have_count(1 if viewer == "true" else 0)
            assert await grave_findings(page) == []
            assert await reader.overflow() == []
            await reader.passage.get_by_role("button", name="Back to the passage").click()
            await expect(reader.passage.locator("mark").first).to_be_visible()
            await expect(frame).to_have_count(0)


async def test_the_whole_page_at_the_cited_words(reader: Reader, up: Running) -> None:
    await reader.open(up.server.address)
    exchange = await reader.ask("When should I use an action instead of a service?")
    await reader.read(exchange)
    marks = reader.passage.locator("mark")
    cited = await marks.all_inner_texts()
    length = len(await reader.passage.locator(".text").inner_text())
    await reader.passage.get_by_role("button", name="Whole page").click()
    back = reader.passage.get_by_role("button", name="Back to the passage")
    await expect(back).to_be_visible()
    assert "".join("".join(await marks.all_inner_texts()).split()) == "".join(
        "".join(cited).split()
    )
    assert len(await reader.passage.locator(".text").inner_text()) > length
    await expect(marks.first).to_be_in_viewport()
    assert await grave_findings(reader.page) == []
    assert await reader.overflow() == []
    await back.click()
    await expect(reader.passage.get_by_role("button", name="Whole page")).to_be_visible()
    await reader.page.keyboard.press("Escape")
    await expect(reader.passage).to_be_hidden()


async def test_readers_of_a_closed_book_see_no_way_to_the_file(
    reader: Reader, tmp_path: Path
) -> None:
    (tmp_path / "water.pdf").write_bytes(valves())
    home = tmp_path / "home"
    async with await Library.open(Settings(home=home)) as library:
        await library.ingest(tmp_path / "water.pdf")
    async with running(home) as up:
        _, key = await up.service.keys.create("reader", ("chat",))
        await reader.page.goto(up.server.address)
        await reader.page.get_by_role("dialog").get_by_label("Key").fill(key)
        await reader.page.keyboard.press("Enter")
        await expect(reader.welcome).to_be_visible()
        await reader.read(await reader.ask(QUESTION))
        await expect(reader.passage.get_by_role("button", name="PDF")).to_have_count(0)
