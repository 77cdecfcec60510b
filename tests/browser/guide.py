"""docs/guides/widget.md done as it says: its own lines, with a running service of ours."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.async_api import expect

from browser.reader import Reader
from browser.site import Site
from server.running import Running

BOOK = "physical-ai-robotics"
QUESTION = "When should I use an action instead of a service?"
# Behind the chat where the page is dark.
DARK = "rgb(25, 24, 21)"
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "widget.md"
# Where docs/guides/widget.md has an address, a book and a key of its own.
EXAMPLE = ("https://ask.example.org", "my-book", "btbp_…")


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
