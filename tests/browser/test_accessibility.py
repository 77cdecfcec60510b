"""axe-core finds nothing serious, wherever a reader may be, light and dark."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from browser.accessibility import grave_findings
from browser.conftest import NewReader, Serve
from browser.reader import Reader
from browser.site import Site
from server.running import Running

BOOK = "physical-ai-robotics"
QUESTION = "When should I use an action instead of a service?"
UNANSWERABLE = "How do I bake sourdough bread?"

pytestmark = pytest.mark.parametrize("scheme", ["light", "dark"])


async def come(new_reader: NewReader, scheme: str, width: int = 1280) -> Reader:
    """Without motion, so that nothing is looked at while it fades in."""
    viewport = {"width": width, "height": 800}
    return await new_reader(color_scheme=scheme, reduced_motion="reduce", viewport=viewport)


async def check(page: Page) -> None:
    assert await grave_findings(page) == []


async def test_the_check_itself(new_reader: NewReader, up: Running, scheme: str) -> None:
    """It looks into the shadow, and at colours as they are shown."""
    reader = await come(new_reader, scheme)
    await reader.open(up.server.address)
    faint = "#e0e0e0" if scheme == "light" else "#303030"
    await reader.page.evaluate(
        "(faint) => document.documentElement.style.setProperty('--bythebook-muted', faint)", faint
    )
    assert [finding["id"] for finding in await grave_findings(reader.page)] == ["color-contrast"]


async def test_the_page(new_reader: NewReader, up: Running, scheme: str) -> None:
    width = 1280 if scheme == "light" else 320
    reader = await come(new_reader, scheme, width)
    await reader.open(up.server.address)
    await check(reader.page)
    exchange = await reader.ask(QUESTION)
    await exchange.locator(".confidence summary").click()
    await exchange.get_by_role("button", name="Not helpful").click()
    await expect(exchange.get_by_label("What was wrong?")).to_be_visible()
    await check(reader.page)
    await reader.read(exchange)
    await check(reader.page)
    await reader.page.keyboard.press("Escape")
    await reader.ask(UNANSWERABLE)
    await check(reader.page)
    await reader.page.get_by_role("button", name="Reader settings").click()
    await expect(reader.page.get_by_role("dialog", name="Reader settings")).to_be_visible()
    await check(reader.page)


async def test_code_tables_and_formulas(new_reader: NewReader, up: Running, scheme: str) -> None:
    reader = await come(new_reader, scheme)
    await reader.open(up.server.address)
    exchange = await reader.ask("What is the coefficient of friction?")
    await reader.read(exchange)
    seen: set[str] = set()
    while True:
        here = {
            kind
            for kind in ("pre", ".table", "math")
            if await reader.passage.locator(f".text {kind}").count()
        }
        if here - seen:
            await check(reader.page)
        seen |= here
        if len(seen) == 3 or not await reader.can_turn("Next passage"):
            break
        await reader.turn("Next passage")
    assert {"pre", "math"} <= seen


async def test_trouble_and_the_key(new_reader: NewReader, serve: Serve, scheme: str) -> None:
    reader = await come(new_reader, scheme)
    async with serve() as up:
        await up.service.keys.create("somebody", ["chat"])
        await reader.page.goto(up.server.address)
        await expect(reader.page.get_by_role("dialog")).to_be_visible()
        await check(reader.page)
        await reader.page.get_by_role("button", name="Cancel").click()
        await expect(reader.failure).to_be_visible()
        await check(reader.page)


async def test_the_widget(new_reader: NewReader, serve: Serve, site: Site, scheme: str) -> None:
    reader = await come(new_reader, scheme)
    async with serve() as up:
        _, key = await up.service.keys.create("site", ["chat"], [BOOK], origins=[site.origin])
        script = f'src="{up.server.address}/widget.js" data-book="{BOOK}" data-key="{key}"'
        page = site.put(
            "/",
            '<!doctype html><html lang="en"><title>Site</title><meta name="color-scheme" '
            'content="light dark"><main><h1>A site</h1><p>Text.</p></main>'
            f"<script {script}></script></html>",
        )
        await reader.page.goto(page)
        await expect(reader.page.get_by_role("button", name="Ask the book")).to_be_visible()
        await check(reader.page)
        await reader.page.get_by_role("button", name="Ask the book").click()
        exchange = await reader.ask(QUESTION)
        await check(reader.page)
        await reader.read(exchange)
        await check(reader.page)


async def test_the_admins_page(new_reader: NewReader, up: Running, scheme: str) -> None:
    await up.ask(UNANSWERABLE)
    reader = await come(new_reader, scheme)
    await reader.page.goto(f"{up.server.address}/admin")
    await expect(reader.page.get_by_text(UNANSWERABLE).first).to_be_visible()
    for summary in await reader.page.locator("summary").all():
        await summary.click()
    await check(reader.page)
