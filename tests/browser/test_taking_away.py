"""What a reader takes from an answer: a copy with its sources, or where to go from a refusal."""

from __future__ import annotations

from typing import Any

from markdown_it import MarkdownIt
from playwright.async_api import expect

from browser.conftest import NewReader, Serve
from browser.reader import Reader
from browser.test_widget_sites import QUESTION, Embedded, embedded
from server.running import Running

__all__ = ["embedded"]

ALLOWED = ["clipboard-read", "clipboard-write"]
SILENT = "How do I bake sourdough bread?"


async def copied(reader: Reader) -> str:
    await reader.exchanges.last.get_by_role("button", name="Copy with sources").click()
    await expect(reader.exchanges.last.get_by_role("button", name="Copied")).to_be_visible()
    text: str = await reader.page.evaluate("navigator.clipboard.readText()")
    return text


def bibliography(text: str, answer: dict[str, Any]) -> list[str | None]:
    """The links of the list, in its order, of Markdown that begins with the answer."""
    assert text.startswith(f"{answer['response']}\n\n## Sources\n\n")
    tokens = MarkdownIt().parse(text.partition("## Sources\n\n")[2])
    assert [token.type for token in tokens].count("ordered_list_open") == 1
    entries = [token for token in tokens if token.type == "inline"]
    assert len(entries) == len(answer["citations"])
    for entry, cited in zip(entries, answer["citations"], strict=True):
        assert cited["section"] in entry.content and cited["chapter"] in entry.content
        assert "Physical AI and Robotics" in entry.content
    return [
        str(child.attrGet("href"))
        for entry in entries
        for child in entry.children or []
        if child.type == "link_open"
    ]


async def test_copied_with_a_bibliography(new_reader: NewReader, up: Running) -> None:
    reader = await new_reader(permissions=ALLOWED)
    await reader.open(up.server.address)
    await reader.ask(QUESTION)
    answer = await reader.answer()
    text = await copied(reader)
    assert bibliography(text, answer) == [cited["source_url"] for cited in answer["citations"]]
    # The same from a conversation that is opened again.
    await reader.page.reload()
    await expect(reader.exchanges).to_have_count(1)
    assert await copied(reader) == text


async def test_copied_from_the_widget(new_reader: NewReader, embedded: Embedded) -> None:
    reader = await new_reader(permissions=ALLOWED)
    await reader.page.goto(embedded.page())
    await reader.page.get_by_role("button", name="Ask the book").click()
    await reader.ask(QUESTION)
    answer = await reader.answer()
    links = bibliography(await copied(reader), answer)
    assert links == [cited["source_url"] for cited in answer["citations"]]


async def test_a_refusal_leads_on(reader: Reader, serve: Serve) -> None:
    link = "mailto:book@example.org?subject={question}"
    async with serve(refusal_link=link, refusal_link_text="Write to us") as up:
        await reader.open(up.server.address)
        exchange = await reader.ask(SILENT)
        step = exchange.get_by_role("link", name="Write to us")
        await expect(step).to_be_visible()
        subject = "How%20do%20I%20bake%20sourdough%20bread%3F"
        await expect(step).to_have_attribute("href", f"mailto:book@example.org?subject={subject}")
        await expect(exchange.get_by_role("button", name="Copy with sources")).to_have_count(0)
