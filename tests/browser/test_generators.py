"""The widget in books made by MkDocs, Docusaurus and mdBook, as docs/widget.md says."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from playwright.async_api import expect

from browser.conftest import Serve
from browser.reader import Reader
from browser.site import Site
from server.running import Running

BOOK = "physical-ai-robotics"
QUESTION = "When should I use an action instead of a service?"
GUIDE = Path(__file__).parents[2] / "docs" / "widget.md"
# Where docs/widget.md has an address, a book and a key of its own.
EXAMPLE = ("https://ask.example.org", "my-book", "btbp_…")


@pytest_asyncio.fixture(loop_scope="session")
async def up(serve: Serve) -> AsyncIterator[Running]:
    async with serve() as service:
        yield service


async def as_in_the_guide(up: Running, site: Site, heading: str, language: str) -> list[str]:
    """The guide's own lines under a heading, with this service in the place of the example."""
    _, key = await up.service.keys.create("site", ["chat"], [BOOK], origins=[site.origin])
    part = GUIDE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    blocks = re.findall(rf"```{language}\n(.*?)```", part, re.DOTALL)
    for example, own in zip(EXAMPLE, (up.server.address, BOOK, key), strict=True):
        blocks = [block.replace(example, own) for block in blocks]
    assert blocks
    return blocks


async def ask_on(reader: Reader, address: str) -> None:
    await reader.page.goto(address)
    await reader.page.get_by_role("button", name="Ask the book").click()
    exchange = await reader.ask(QUESTION)
    await reader.read(exchange)
    await reader.page.keyboard.press("Escape")
    await expect(reader.passage).to_be_hidden()


async def test_mkdocs(reader: Reader, up: Running, site: Site, tmp_path: Path) -> None:
    (template,) = await as_in_the_guide(up, site, "MkDocs", "html")
    settings = (
        "site_name: A book\nuse_directory_urls: true\n"
        # Its own default would load a script from elsewhere.
        "theme:\n  name: mkdocs\n  custom_dir: overrides\n  highlightjs: false\n"
    )
    for name, text in {
        "mkdocs.yml": settings,
        "overrides/main.html": template,
        "docs/index.md": "# Begin\n\nText.\n",
        "docs/next.md": "# Next\n\nMore text.\n",
    }.items():
        file = tmp_path / "book" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict"],
        cwd=tmp_path / "book",
        check=True,
        capture_output=True,
    )
    site.put_folder(tmp_path / "book" / "site")
    await ask_on(reader, f"{site.origin}/")
    # A click on the next page loads it anew; the conversation is there.
    await reader.page.keyboard.press("Escape")
    await reader.page.get_by_role("link", name="Next", exact=True).first.click()
    await reader.page.get_by_role("button", name="Ask the book").click()
    await expect(reader.exchanges).to_have_count(1)


# The shape of what Docusaurus writes: the script in the head, a switch that sets data-theme, and
# links that change the page without loading it.
DOCUSAURUS = """<!doctype html>
<html lang="en" dir="ltr" class="docs-wrapper plugin-docs" data-theme="light">
<head><meta charset="UTF-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Begin | A book</title>
<script {attributes}></script>
<style>html[data-theme=dark] {{ color-scheme: dark; background: #1b1b1d }}
html {{ color-scheme: light }}</style></head>
<body class="navigation-with-keyboard"><div id="__docusaurus">
<nav aria-label="Main"><a href="/next/">Next</a><button id="theme">Switch</button></nav>
<main><article><h1>Begin</h1><p>Text.</p></article></main></div>
<script>
document.querySelector("#theme").onclick = () => document.documentElement.dataset.theme = "dark";
document.querySelector("a").onclick = (event) => {{
  event.preventDefault();
  history.pushState(null, "", "/next/");
  document.querySelector("#__docusaurus").innerHTML = "<main><h1>Next</h1></main>";
}};
</script></body></html>"""


async def test_docusaurus(reader: Reader, up: Running, site: Site) -> None:
    (settings,) = await as_in_the_guide(up, site, "Docusaurus", "js")
    pairs = re.findall(r'"?([\w-]+)"?: "([^"]+)",', settings)
    attributes = " ".join(f'{name}="{value}"' for name, value in pairs) + " async"
    assert [name for name, _ in pairs] == ["src", "data-book", "data-key"]
    address = site.put("/", DOCUSAURUS.format(attributes=attributes))
    await ask_on(reader, address)
    await reader.page.get_by_role("button", name="Switch").click()
    await expect(reader.page.locator(".shell")).to_have_css("background-color", "rgb(25, 24, 21)")
    await reader.page.get_by_role("link", name="Next", exact=True).click()
    await expect(reader.page.get_by_role("heading", name="Next")).to_be_visible()
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
    await expect(reader.page.locator(".shell")).to_have_css("background-color", "rgb(25, 24, 21)")
    await expect(reader.question).to_be_focused()
    await reader.page.keyboard.type("What is a service?")
    await reader.page.keyboard.press("ArrowLeft")
    await reader.page.keyboard.press("ArrowRight")
    await expect(reader.question).to_have_value("What is a service?")
    assert reader.page.url == address
    await ask_on(reader, address)
