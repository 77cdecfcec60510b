"""An operator who never opens a terminal: books, the model and keys on the admin's page."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from playwright.async_api import FilePayload, Locator, Page, expect

from browser.accessibility import grave_findings
from browser.conftest import NewReader, Serve
from browser.reader import Reader
from browser.site import Site
from bythebook.library import sample_book
from server.running import Running, running
from standins.llm_process import quotes
from standins.llm_server import LlmServer
from standins.llm_steps import searches_then

BOOK = "physical-ai-robotics"
QUESTION = "What is a URDF?"
CHAPTER = sample_book() / "module-1-ros2"


@pytest_asyncio.fixture(loop_scope="session")
async def empty(tmp_path: Path, site: Site) -> AsyncIterator[Running]:
    """A service without a book, which may fetch from the site next door."""
    port = site.origin.rpartition(":")[2]
    private = f"127.0.0.1:{port}, [::1]:{port}"
    async with running(tmp_path / "home", fetch_private=private, fetch_delay=0.0) as up:
        yield up


def part(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name, exact=True)


def chapters() -> list[FilePayload]:
    """Two pages, a folder in a ZIP, and a PDF that is none."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for file in sorted(CHAPTER.rglob("*.md")):
            archive.write(file, f"ros/{file.relative_to(CHAPTER)}")
    return [
        {"name": "ros_for-robots.zip", "mimeType": "application/zip", "buffer": buffer.getvalue()},
        {"name": "torn.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7 torn"},
    ]


async def is_read(page: Page, title: str) -> None:
    book = part(page, "Books").get_by_role("listitem").filter(has_text=title)
    await expect(book).to_contain_text("passage")


async def test_a_book_is_uploaded_asked_changed_and_removed(reader: Reader, empty: Running) -> None:
    page = reader.page
    await reader.open(empty.server.address)
    assert await grave_findings(page) == []
    await reader.welcome.get_by_role("link", name="Add a book").click()
    books, jobs = part(page, "Books"), part(page, "Jobs")
    told = books.get_by_role("status")
    await expect(books).to_contain_text("There is no book yet.")
    form = books.get_by_role("form", name="Add files")
    await form.get_by_role("button", name="Add these files").click()
    await expect(told).to_contain_text("Drop files above")
    await form.locator("input[type=file]").set_input_files(chapters())
    await expect(form.get_by_label("Title")).to_have_value("Ros for robots")
    await form.get_by_label("Title").fill("Robots for Everybody")
    await form.get_by_role("button", name="Add these files").click()
    await expect(told).to_have_text(re.compile(r"^robots-for-everybody is being read: job \d+\."))
    await expect(jobs.locator(".state")).to_contain_text("completed")
    await jobs.get_by_text(re.compile(r"^\d notes?$")).click()
    await expect(jobs.get_by_text("torn.pdf").first).to_be_visible()
    await is_read(page, "Robots for Everybody")

    # Ask it.
    await books.get_by_role("button", name="Ask Robots for Everybody").click()
    await expect(reader.welcome).to_contain_text("Robots for Everybody")
    exchange = await reader.ask("How do nodes find each other?")
    await expect(exchange.locator(".text .cite").first).to_be_enabled()

    # Another title, which it keeps when it is read again.
    await page.goto(f"{empty.server.address}/admin")
    await books.get_by_text("Change Robots for Everybody").click()
    await books.get_by_label("New title").fill("Our Robots")
    await books.get_by_role("button", name="Rename", exact=True).click()
    await expect(told).to_have_text("The book is called Our Robots now.")
    await books.get_by_label("How to read Our Robots").select_option(label="Every file")
    await books.get_by_role("button", name="Read Our Robots").click()
    await expect(jobs.locator(".state").first).to_contain_text("completed")
    await expect(jobs.get_by_role("row")).to_have_count(3)
    await is_read(page, "Our Robots")

    # One page less.
    before = len(await empty.service.library.known.files("robots-for-everybody"))
    await books.get_by_role("button", name="Show its pages").click()
    listed = books.get_by_role("list", name="Pages of Our Robots", exact=True)
    rows = listed.get_by_role("button")
    await expect(rows).to_have_count(before)
    await rows.first.click()
    question = page.get_by_role("dialog")
    await expect(question).to_contain_text("You can bring it back.")
    await question.get_by_role("button", name="Cancel").click()
    assert len(await empty.service.library.known.files("robots-for-everybody")) == before
    await rows.first.click()
    await question.get_by_role("button", name="Remove the page").click()
    await expect(told).to_have_text(re.compile(r"^The page .* is removed\.$"))
    assert len(await empty.service.library.known.files("robots-for-everybody")) == before - 1

    # It comes back; removed once more, its file can be deleted.
    gone = books.get_by_role("list", name="Removed pages of Our Robots")
    await gone.get_by_role("button", name="Bring back").click()
    await expect(told).to_have_text(re.compile(r"is being read: job \d+\.$"))
    await expect(rows).to_have_count(before)
    await expect(gone).to_have_count(0)
    await rows.first.click()
    await question.get_by_role("button", name="Remove the page").click()
    await expect(rows).to_have_count(before - 1)
    assert await grave_findings(page) == []
    await gone.get_by_role("button", name="Delete the file").click()
    await question.get_by_role("button", name="Delete the file").click()
    await expect(told).to_have_text(re.compile(r"^The file .* is deleted\.$"))
    await expect(gone).to_have_count(0)

    # And all of it.
    await books.get_by_role("button", name="Remove this book").click()
    await question.get_by_role("button", name="Remove the book").click()
    await expect(told).to_have_text("Our Robots is removed.")
    await expect(books).to_contain_text("There is no book yet.")
    assert await empty.service.library.books() == []


async def test_a_book_is_dropped(reader: Reader, empty: Running) -> None:
    page = reader.page
    await page.goto(f"{empty.server.address}/admin")
    form = part(page, "Books").get_by_role("form", name="Add files")
    dropped = await page.evaluate_handle(
        """(text) => {
          const data = new DataTransfer();
          const file = () => new File([text], "valves.md", { type: "text/markdown" });
          data.items.add(file());
          data.items.add(file());
          return data;
        }""",
        "# Valves\n\nA valve controls the flow of water through a copper pipe.\n",
    )
    await form.locator(".drop").dispatch_event("drop", {"dataTransfer": dropped})
    await expect(form.locator(".drop")).to_contain_text("valves.md")
    await form.get_by_role("button", name="Add these files").click()
    await expect(part(page, "Books").get_by_role("status")).to_contain_text(
        "A second valves.md was left out."
    )
    await is_read(page, "Valves")


async def test_a_book_is_added_by_its_address(reader: Reader, empty: Running, site: Site) -> None:
    link = '<a href="/docs/pumps.html">Pumps</a>'
    valves = "<h1>Valves</h1><p>A valve controls the flow of water through a copper pipe.</p>"
    pumps = "<h1>Pumps</h1><p>A pump lifts water from the deep well into the tank.</p>"
    head = '<!doctype html><html lang="en"><title>Water</title><main>'
    site.put("/docs/", f"{head}{valves}{link}</main></html>")
    site.put("/docs/pumps.html", f"{head}{pumps}</main></html>")
    page = reader.page
    await page.goto(f"{empty.server.address}/admin")
    books, jobs = part(page, "Books"), part(page, "Jobs")
    form = books.get_by_role("form", name="Add an address")
    await form.get_by_label("Address").fill("ssh://git@book.example/x.git")
    await form.get_by_role("button", name="Add this address").click()
    await expect(books.get_by_role("status")).to_contain_text("Only addresses with http or https")
    # Its own machine, but another port: nobody allowed that.
    await form.get_by_label("Address").fill(f"{empty.server.address}/docs")
    await form.get_by_role("button", name="Add this address").click()
    await expect(jobs.locator(".state").first).to_contain_text("is not a public address")
    await form.get_by_label("Address").fill(f"{site.origin}/docs/")
    await form.get_by_label("Its title").fill("Water")
    await form.get_by_role("button", name="Add this address").click()
    await is_read(page, "Water")
    await expect(jobs.locator(".state").first).to_have_text("completed")
    book = await empty.service.library.book()
    assert (book.title, book.total_files) == ("Water", 2)
    await books.get_by_role("button", name="Ask Water").click()
    exchange = await reader.ask("What does a pump lift water from?")
    await expect(exchange.locator(".text .cite").first).to_be_enabled()
    await page.goto(f"{empty.server.address}/admin")

    # What the last reading found changed, by name.
    await expect(books.get_by_text("Last reading: 2 added")).to_be_visible()
    site.put("/docs/pumps.html", f"{head}{pumps.replace('deep', 'shallow')}</main></html>")
    await books.get_by_role("button", name="Read Water").click()
    await expect(books.get_by_text("Last reading: 1 changed")).to_be_visible()
    await books.get_by_text("Last reading: 1 changed").click()
    changes = books.get_by_role("list", name="Changes of Water")
    await expect(changes).to_have_text(re.compile(r"^changed: .*pumps"))
    assert await grave_findings(page) == []

    # A page that is removed does not come back when the site is read again.
    await books.get_by_text("Change Water").click()
    await books.get_by_role("button", name="Show its pages").click()
    await books.get_by_role("button", name="Remove the page Pumps").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("passed over")
    await dialog.get_by_role("button", name="Remove the page").click()
    await expect(books.get_by_role("status")).to_have_text("The page Pumps is removed.")
    await books.get_by_role("button", name="Read Water").click()
    await expect(jobs.get_by_role("row")).to_have_count(5)
    await expect(jobs.locator(".state").first).to_have_text("completed")
    assert (await empty.service.library.book()).total_files == 1
    await books.get_by_role("button", name="Remove this book").click()
    await dialog.get_by_role("button", name="Remove the book").click()
    await expect(books).to_contain_text("There is no book yet.")


async def test_the_language_model_is_tested_and_chosen(
    reader: Reader, sample_home: Path, tmp_path: Path, serve: Serve, llm: LlmServer
) -> None:
    llm.always(searches_then(quotes))
    page = reader.page
    secret = "the-key-of-the-stand-in"
    file = sample_home / "model.json"
    async with serve() as up:
        await page.goto(f"{up.server.address}/admin")
        model = part(page, "Language model")
        await expect(model).to_contain_text("No language model is used")
        await model.get_by_label("Address").fill("http://127.0.0.1:9/v1")
        await model.get_by_label("Model", exact=True).fill(llm.model)
        await model.get_by_role("button", name="Test it").click()
        found = model.get_by_role("list", name="What the test found")
        await expect(found).to_contain_text("Failed: reachable")
        assert not file.exists()
        await model.get_by_label("Address").fill(llm.base_url)
        await model.get_by_label("Key").fill(secret)
        await model.get_by_role("button", name="Test it").click()
        await expect(model.get_by_role("status")).to_have_text("The model works.")
        for name in ("reachable", "tool calls", "streaming", "speed", "sentences"):
            await expect(found).to_contain_text(name)
        assert (await up.http.get("/info")).json()["answerer"] == "built-in"
        await model.get_by_role("button", name="Use this model").click()
        await expect(model.get_by_role("status")).to_contain_text("writes from the next question")
        try:
            assert file.stat().st_mode & 0o777 == 0o600
            assert (await up.ask(QUESTION)).json()["model"] == llm.model
            assert llm.requests[-1].headers["authorization"] == f"Bearer {secret}"
            # It is never shown again.
            await page.reload()
            await expect(model).to_contain_text("with a key that is kept")
            assert secret not in await page.content()
            assert await model.get_by_label("Key").input_value() == ""
        finally:
            kept = file.read_bytes()
            file.unlink()
    assert secret.encode() in kept


async def test_the_environment_wins(reader: Reader, serve: Serve, llm: LlmServer) -> None:
    llm.always(searches_then(quotes))
    page = reader.page
    async with serve(openai_base_url=llm.base_url, openai_model=llm.model) as up:
        await page.goto(f"{up.server.address}/admin")
        model = part(page, "Language model")
        await expect(model).to_contain_text("OPENAI_BASE_URL, OPENAI_MODEL")
        await expect(model.get_by_label("Address")).to_be_disabled()
        await expect(model.get_by_role("button", name="Use")).to_have_count(0)
        await model.get_by_role("button", name="Test it").click()
        await expect(model.get_by_role("status")).to_have_text("The model works.")


async def test_a_key_for_a_site_and_the_widget_there(
    reader: Reader, new_reader: NewReader, serve: Serve, site: Site
) -> None:
    page = reader.page
    async with serve() as up:
        await page.goto(f"{up.server.address}/admin")
        keys = part(page, "Keys")
        await keys.get_by_text("Make a key for a web site").click()
        await expect(keys).to_contain_text("open to everybody on this machine")
        await keys.get_by_label("Name").fill("docs")
        await keys.get_by_label("Sites").fill("docs.example.org")
        await keys.get_by_role("button", name="Make the key").click()
        await expect(keys.get_by_role("status")).to_contain_text("is no site's origin")
        assert not await up.service.keys.exist()
        await keys.get_by_label("Sites").fill(f"{site.origin}\nhttps://docs.example.org")
        await keys.get_by_role("button", name="Make the key").click()
        made = keys.get_by_role("group", name="The key docs")
        line = await made.locator("pre").first.inner_text()
        assert line.startswith(f'<script src="{up.server.address}/widget.js" data-book="{BOOK}"')
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await made.get_by_role("button", name="Copy the line").click()
        assert await page.evaluate("navigator.clipboard.readText()") == line
        # The page goes on, although the service asks for a key now.
        assert (await up.http.get("/admin/keys")).status_code == 401
        own = await made.locator("pre").last.inner_text()
        assert (await up.http.get("/admin/keys", headers={"X-API-Key": own})).status_code == 200
        listed = keys.get_by_role("list", name="List of keys").get_by_role("listitem")
        await expect(listed).to_have_count(2)
        await page.reload()
        await expect(listed).to_have_count(2)
        await part(page, "Books").get_by_role("button", name=re.compile("^Ask")).click()
        await expect(reader.welcome).to_be_visible()

        head = '<!doctype html><html lang="en"><title>Site</title><h1>A site</h1>'
        visitor = await new_reader()
        await visitor.page.goto(site.put("/", f"{head}{line}</html>"))
        await visitor.page.get_by_role("button", name="Ask the book").click()
        exchange = await visitor.ask(QUESTION)
        await expect(exchange.locator(".text .cite").first).to_be_enabled()

        await page.goto(f"{up.server.address}/admin")
        await keys.get_by_role("button", name="Revoke docs").click()
        await page.get_by_role("dialog").get_by_role("button", name="Revoke the key").click()
        await expect(keys.get_by_role("status")).to_have_text("The key docs is revoked.")
        await visitor.page.reload()
        await visitor.page.get_by_role("button", name="Ask the book").click()
        await expect(visitor.failure).to_be_visible()


async def test_all_of_it_is_accessible_and_fits(new_reader: NewReader, serve: Serve) -> None:
    async with serve() as up:
        for scheme, width in (("light", 1280), ("dark", 320)):
            reader = await new_reader(
                color_scheme=scheme,
                reduced_motion="reduce",
                viewport={"width": width, "height": 800},
            )
            page = reader.page
            await page.goto(f"{up.server.address}/admin")
            books = part(page, "Books")
            await expect(books).to_contain_text("passage")
            await expect(part(page, "Keys").locator("summary")).to_be_visible()
            for summary in await page.locator("summary").all():
                await summary.click()
            await books.get_by_role("button", name="Show its pages").click()
            await expect(books.locator(".pages li").first).to_be_visible()
            assert await grave_findings(page) == []
            assert await reader.overflow() == []
            await books.get_by_role("button", name="Remove this book").click()
            await expect(page.get_by_role("dialog")).to_be_visible()
            assert await grave_findings(page) == []
            await page.keyboard.press("Escape")
            await expect(page.get_by_role("dialog")).to_be_hidden()
            assert len(await up.service.library.books()) == 1
