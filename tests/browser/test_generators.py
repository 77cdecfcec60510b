"""The widget in books made by MkDocs and mdBook, as docs/guides/widget.md says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from playwright.async_api import expect

from browser.conftest import Serve
from browser.guide import DARK, as_in_the_guide, ask_on
from browser.reader import Reader
from browser.site import Site
from server.running import Running
from sites.book_site import build


@pytest_asyncio.fixture(loop_scope="session")
async def up(serve: Serve) -> AsyncIterator[Running]:
    async with serve() as service:
        yield service


async def test_mkdocs(reader: Reader, up: Running, site: Site, tmp_path: Path) -> None:
    (plugins,) = await as_in_the_guide(up, site, "MkDocs", "yaml")
    # Its own default would load a script from elsewhere.
    theme = "theme:\n  name: mkdocs\n  highlightjs: false\n"
    status, said = await asyncio.to_thread(build, tmp_path, f"site_name: A book\n{theme}{plugins}")
    assert status == 0, said
    site.put_folder(tmp_path / "site")
    await ask_on(reader, f"{site.origin}/")
    # A click on the next page loads it anew; the conversation is there.
    await reader.page.keyboard.press("Escape")
    await reader.page.get_by_role("link", name="Next", exact=True).first.click()
    await reader.page.get_by_role("button", name="Ask the book").click()
    await expect(reader.exchanges).to_have_count(1)


MATERIAL = """site_name: A book
site_url: {origin}/
theme:
  name: material
  font: false
  features: [navigation.instant]
  palette:
  - {{scheme: default, toggle: {{icon: material/weather-night, name: Dark}}}}
  - {{scheme: slate, toggle: {{icon: material/weather-sunny, name: Light}}}}
"""


async def test_mkdocs_with_material(
    reader: Reader, up: Running, site: Site, tmp_path: Path
) -> None:
    (plugins,) = await as_in_the_guide(up, site, "MkDocs", "yaml")
    settings = MATERIAL.format(origin=site.origin) + plugins
    status, said = await asyncio.to_thread(build, tmp_path, settings)
    assert status == 0, said
    site.put_folder(tmp_path / "site")
    await ask_on(reader, f"{site.origin}/")
    await reader.page.locator("label[title=Dark]").click()
    await expect(reader.page.locator(".shell")).to_have_css("background-color", DARK)
    # The page is changed without being loaded, and the chat stays open beside it.
    await reader.page.evaluate("window.isSamePage = true")
    await reader.page.get_by_role("link", name="Next", exact=True).first.click()
    await expect(reader.page.get_by_role("heading", name="Next")).to_be_visible()
    assert await reader.page.evaluate("window.isSamePage")
    await expect(reader.page.locator("bythebook-widget")).to_have_count(1)
    await expect(reader.exchanges).to_have_count(1)
    await reader.ask("What is a URDF?")


# The shape of what mdBook writes: themes as classes, and keys that turn the pages.
MDBOOK = """<!DOCTYPE HTML>
<html lang="en" class="navy sidebar-visible" dir="ltr">
<head><meta charset="UTF-8"><title>Begin - A book</title>
{head}
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>.navy {{ color-scheme: dark; background: #161923; color: #bcbdd0 }}</style></head>
<body><div id="body-container"><div id="page-wrapper" class="page-wrapper"><div class="page">
<div id="content" class="content"><main><h1 id="begin">Begin</h1><p>Text.</p></main>
<a rel="next" href="/next/" aria-label="Next chapter">Next</a></div></div></div></div>
<script>
document.addEventListener("keydown", (event) => {{
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (event.key === "ArrowRight") location.href = document.querySelector("a[rel=next]").href;
  if (event.key === "s" && event.target.nodeName !== "TEXTAREA") event.preventDefault();
}});
</script></body></html>"""


async def test_mdbook(reader: Reader, up: Running, site: Site) -> None:
    (head,) = await as_in_the_guide(up, site, "mdBook", "html")
    address = site.put("/", MDBOOK.format(head=head))
    await reader.page.goto(address)
    await reader.page.get_by_role("button", name="Ask the book").click()
    await expect(reader.page.locator(".shell")).to_have_css("background-color", DARK)
    await expect(reader.question).to_be_focused()
    await reader.page.keyboard.type("What is a service?")
    await reader.page.keyboard.press("ArrowLeft")
    await reader.page.keyboard.press("ArrowRight")
    await expect(reader.question).to_have_value("What is a service?")
    assert reader.page.url == address
    await ask_on(reader, address)
