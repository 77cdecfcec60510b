"""Light, dark and small."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from browser.conftest import NewReader
from browser.reader import Reader
from server.running import Running

QUESTION = "When should I use an action instead of a service?"


async def brightness(reader: Reader, element: str) -> float:
    """0 is black and 1 is white: of an element's background."""
    found: str = await reader.page.locator(element).evaluate(
        "each => getComputedStyle(each).backgroundColor"
    )
    return sum(map(int, re.findall(r"\d+", found)[:3])) / (3 * 255)


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_as_the_system_wants_it_until_somebody_chooses(
    new_reader: NewReader, up: Running, scheme: str
) -> None:
    reader = await new_reader(color_scheme=scheme)
    await reader.open(up.server.address)
    for element in ("html", ".shell"):
        assert (await brightness(reader, element) < 0.3) == (scheme == "dark")
    other = "light" if scheme == "dark" else "dark"
    await reader.page.get_by_role("button", name=f"{other.title()} appearance").click()
    for _ in range(2):
        for element in ("html", ".shell"):
            assert (await brightness(reader, element) < 0.3) == (other == "dark")
        await reader.open(up.server.address)
    await reader.page.get_by_role("button", name="Reader settings").click()
    await expect(reader.page.get_by_label(other.title(), exact=True)).to_be_checked()
    await reader.page.get_by_label("Automatic").check()
    assert (await brightness(reader, ".shell") < 0.3) == (scheme == "dark")
    await reader.page.emulate_media(color_scheme="light" if scheme == "dark" else "dark")
    assert (await brightness(reader, ".shell") < 0.3) == (scheme == "light")


@pytest.mark.parametrize("width", [320, 390])
async def test_a_phone(new_reader: NewReader, up: Running, width: int) -> None:
    small = {"width": width, "height": 640}
    reader = await new_reader(
        viewport=small, has_touch=True, is_mobile=True, reduced_motion="reduce"
    )
    await reader.open(up.server.address)
    assert await reader.overflow() == []
    exchange = await reader.ask(QUESTION)
    assert await reader.overflow() == []

    await exchange.locator(".text .cite").first.tap()
    await expect(reader.passage.locator("mark").first).to_be_in_viewport()
    assert await reader.overflow() == []
    box = await reader.passage.bounding_box()
    assert box and box["width"] == width, "a sheet as wide as the screen"
    await expect(reader.page.locator(".main")).to_have_attribute("inert", "")
    # A tap beside the sheet closes it.
    await reader.page.touchscreen.tap(width / 2, 20)
    await expect(reader.passage).to_be_hidden()
    await expect(reader.page.locator(".main")).not_to_have_attribute("inert", "")

    await expect(reader.history).not_to_be_in_viewport()
    await reader.page.get_by_role("button", name="Conversations", exact=True).tap()
    await expect(reader.history).to_be_in_viewport()
    assert await reader.overflow() == []
    await reader.page.get_by_role("button", name="Close the list").tap()
    await expect(reader.history).not_to_be_in_viewport()
    await reader.page.get_by_role("button", name="Reader settings").tap()
    await expect(reader.page.get_by_role("dialog", name="Reader settings")).to_be_visible()
    assert await reader.overflow() == []
    await reader.page.keyboard.press("Escape")
    await reader.ask("How do I bake sourdough bread?")
    assert await reader.overflow() == []


async def test_wide_things_scroll_by_themselves(new_reader: NewReader, up: Running) -> None:
    """All passages of lessons that hold code, tables and formulas, on the smallest screen."""
    reader = await new_reader(viewport={"width": 320, "height": 640})
    await reader.open(up.server.address)
    seen: set[str] = set()
    for question in (QUESTION, "What is the coefficient of friction?"):
        exchange = await reader.ask(question)
        await reader.read(exchange)
        while True:
            assert await reader.overflow() == []
            for kind in ("pre", ".table", ".math"):
                if await reader.passage.locator(f".text {kind}").count():
                    seen.add(kind)
            if not await reader.can_turn("Next passage"):
                break
            await reader.turn("Next passage")
        await reader.page.keyboard.press("Escape")
    assert seen == {"pre", ".table", ".math"}


async def test_letters_twice_as_large(new_reader: NewReader, up: Running) -> None:
    """A reader who zooms to 400 % on a desktop has as little room as a phone."""
    reader = await new_reader(viewport={"width": 320, "height": 256})
    await reader.open(up.server.address)
    await reader.ask(QUESTION)
    assert await reader.overflow() == []
    await expect(reader.question).to_be_in_viewport()


async def test_nothing_moves_for_who_does_not_want_it(new_reader: NewReader, up: Running) -> None:
    reader = await new_reader(reduced_motion="reduce")
    await reader.open(up.server.address)
    exchange = await reader.ask(QUESTION)
    await reader.read(exchange)
    moving: int = await reader.page.evaluate("document.getAnimations().length")
    assert moving == 0
    assert await reader.passage.evaluate("each => getComputedStyle(each).animationName") == "none"
