"""The widget as a side panel: opened by the keyboard, beside the page that it is asked about."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

import pytest
from playwright.async_api import expect

from browser.accessibility import grave_findings
from browser.conftest import NewReader
from browser.reader import Reader, squeezed
from browser.test_widget_sites import Embedded, embedded

__all__ = ["embedded"]

GAZEBO = "/docs/module-2-gazebo/chapter-1-simulation-basics/running-gazebo/"
QOS = "/docs/module-1-ros2/chapter-2-communication/quality-of-service"
TEXT = (
    '<meta name="viewport" content="width=device-width"><main><p id="text">With transient local, '
    "the publisher keeps its last messages and delivers them to subscriptions that appear later."
    '</p><p><a href="/">Home</a></p><label>Find <input id="find"></label></main>'
)
ON_PAGE = "The answer is from the page you have open"


async def come(reader: Reader, embedded: Embedded, path: str = QOS, **attributes: str) -> None:
    await reader.page.goto(embedded.page(path, TEXT, data_mode="panel", **attributes))
    await expect(reader.page.get_by_role("button", name="Ask the book")).to_be_visible()


async def select_text(reader: Reader) -> None:
    """As a reader does, three clicks on a paragraph."""
    await reader.page.locator("#text").click(click_count=3)


async def asked(reader: Reader) -> dict[str, Any]:
    (answer,) = [event["detail"] for event in await reader.heard() if event["name"] == "answer"]
    found: dict[str, Any] = answer
    return found


async def test_the_keyboard_opens_it_and_leads_back(reader: Reader, embedded: Embedded) -> None:
    await come(reader, embedded)
    launcher = reader.page.get_by_role("button", name="Ask the book")
    await expect(launcher).to_have_attribute("aria-keyshortcuts", "Control+I")
    await reader.page.get_by_role("link", name="Home").focus()
    await reader.page.keyboard.press("Control+i")
    await expect(reader.page.get_by_role("dialog", name="Ask the book")).to_be_visible()
    await expect(reader.question).to_be_focused()
    # From inside, too, and with what is being written kept.
    await reader.page.keyboard.type("What is")
    await reader.page.keyboard.press("Control+i")
    await expect(reader.question).to_be_hidden()
    await expect(reader.page.get_by_role("link", name="Home")).to_be_focused()
    await reader.page.keyboard.press("Control+i")
    await expect(reader.question).to_have_value("What is")
    await reader.page.keyboard.press("Escape")
    await expect(reader.question).to_be_hidden()
    # In a field of the page the keys are the page's.
    await reader.page.locator("#find").click()
    await reader.page.keyboard.press("Control+i")
    await reader.page.keyboard.type("x")
    await expect(reader.page.locator("#find")).to_have_value("x")
    await expect(reader.question).to_be_hidden()


async def test_the_page_moves_aside(new_reader: NewReader, embedded: Embedded) -> None:
    reader = await new_reader(viewport={"width": 1280, "height": 720})
    await come(reader, embedded)
    before = await reader.page.locator("main").bounding_box()
    await reader.page.keyboard.press("Control+i")
    await expect(reader.question).to_be_focused()
    panel = await reader.page.get_by_role("dialog", name="Ask the book").bounding_box()
    beside = await reader.page.locator("main").bounding_box()
    assert before and panel and beside
    assert (panel["y"], panel["height"]) == (0, 720)
    assert beside["x"] + beside["width"] <= panel["x"] + 1 < before["x"] + before["width"]
    await reader.page.set_viewport_size({"width": 800, "height": 720})
    await expect(reader.page.locator("html")).to_have_css("margin-right", "0px")
    await reader.page.set_viewport_size({"width": 1280, "height": 720})
    await reader.page.keyboard.press("Escape")
    await expect(reader.page.locator("html")).to_have_css("margin-right", "0px")


async def test_this_page_first_unless_the_reader_says_otherwise(
    reader: Reader, embedded: Embedded
) -> None:
    await come(reader, embedded, GAZEBO)
    await reader.page.keyboard.press("Control+i")
    first = reader.page.get_by_role("button", name="This page first")
    await expect(first).to_have_attribute("aria-pressed", "true")
    await reader.ask("How do I start the simulation?")
    answer = await reader.answer()
    assert answer["citations"][0]["source_url"].partition("#")[0].endswith(GAZEBO.rstrip("/"))
    assert any(ON_PAGE in note for note in answer["notes"])

    await first.click()
    await expect(first).to_have_attribute("aria-pressed", "false")
    await expect(first).to_be_focused()
    await reader.ask("How do I start the simulation?")
    assert not any(ON_PAGE in note for note in (await reader.answer())["notes"])
    # It is remembered, and the panel stays open.
    await reader.page.reload()
    await expect(first).to_have_attribute("aria-pressed", "false")


async def test_about_the_selected_text(reader: Reader, embedded: Embedded) -> None:
    await come(reader, embedded)
    await select_text(reader)
    await reader.page.get_by_role("button", name="Ask the book").click()
    chosen = reader.page.locator(".context .selected")
    await expect(chosen).to_contain_text("With transient local")
    said = reader.page.locator("[role=status][aria-live=polite]")
    await expect(said).to_contain_text("Your question will be about the selected text")
    exchange = await reader.ask("What does this mean?")
    answer = await asked(reader)
    assert "transient local" in answer["searched"]
    assert not answer["refused"]
    await expect(exchange.get_by_role("heading")).to_have_text("You asked: What does this mean?")
    await expect(exchange.locator("blockquote.selected")).to_contain_text("With transient local")
    # It is used up, and the list of conversations names the question alone.
    await expect(chosen).to_have_count(0)
    await expect(reader.history.locator(".what")).to_have_text("What does this mean?")
    # Selected while the panel is open; a click into the question does not lose it.
    await select_text(reader)
    await expect(chosen).to_be_visible()
    await reader.question.click()
    await expect(chosen).to_be_visible()
    await reader.page.get_by_role("button", name="Don’t ask about the selected text").click()
    await expect(chosen).to_have_count(0)
    await expect(reader.question).to_be_focused()


async def test_the_source_opens_beside_it_at_the_words(reader: Reader, embedded: Embedded) -> None:
    embedded.site.policy = None
    await come(reader, embedded)
    await reader.page.keyboard.press("Control+i")
    exchange = await reader.ask("What does durability decide?")
    await reader.read(exchange)
    link = reader.passage.get_by_role("link", name="Open in the book")
    marked = squeezed(await reader.passage.locator("mark").first.inner_text())
    address = str(await link.get_attribute("href"))
    section, _, words = address.partition(":~:text=")
    assert section.startswith("https://physical-ai.example/docs/") and "#" in section
    first, *last = [unquote(part) for part in words.split(",")]
    assert marked.startswith(first) and all(marked.endswith(part) for part in last)
    await expect(link).to_have_attribute("target", "_blank")

    # On the book's own site it is the page beside the panel, which stays.
    own = embedded.page(
        QOS + "/own", f"<div style='height:300vh'></div><p>{marked}</p>" + TEXT, data_mode="panel"
    )
    await link.evaluate(
        "(link, to) => { link.href = to; link.removeAttribute('target'); }",
        f"{own}#:~:text={words}",
    )
    await link.click()
    await reader.page.wait_for_url("**/own*")
    await expect(reader.exchanges).to_have_count(1)
    await expect(reader.page.get_by_text(marked).first).to_be_in_viewport()
    await reader.page.get_by_role("button", name="Close", exact=True).click()
    await reader.page.reload()
    await expect(reader.page.get_by_role("button", name="Ask the book")).to_be_visible()
    await expect(reader.question).to_be_hidden()


async def test_nothing_of_it_where_it_is_switched_off(reader: Reader, embedded: Embedded) -> None:
    await come(reader, embedded, data_context="off", data_shortcut="off")
    await select_text(reader)
    await reader.page.keyboard.press("Control+i")
    await reader.page.get_by_role("button", name="Ask the book").click()
    await expect(reader.question).to_be_focused()
    await expect(reader.page.locator(".context")).to_be_hidden()


async def test_on_a_phone(new_reader: NewReader, embedded: Embedded) -> None:
    reader = await new_reader(
        viewport={"width": 320, "height": 640}, is_mobile=True, has_touch=True
    )
    await come(reader, embedded)
    await reader.page.get_by_role("button", name="Ask the book").tap()
    await expect(reader.question).to_be_focused()
    box = await reader.page.locator("bythebook-chat").bounding_box()
    assert box and (box["width"], box["height"]) == (320, 640)
    await reader.page.get_by_role("button", name="This page first").tap()
    await reader.ask("What is a URDF?")
    assert await reader.overflow() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_no_grave_finding(new_reader: NewReader, embedded: Embedded, scheme: str) -> None:
    reader = await new_reader(color_scheme=scheme)
    embedded.site.policy = None
    await come(reader, embedded, data_theme=scheme)
    await select_text(reader)
    await reader.page.keyboard.press("Control+i")
    await expect(reader.page.locator(".context .selected")).to_be_visible()
    await expect(reader.welcome).to_be_visible()
    assert await grave_findings(reader.page) == []
    exchange = await reader.ask("What does this mean?")
    assert await grave_findings(reader.page) == []
    await expect(exchange.get_by_role("button", name=re.compile("Copy"))).to_be_visible()
