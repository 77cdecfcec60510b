"""Everything without a mouse."""

from __future__ import annotations

import asyncio
from typing import Any

from playwright.async_api import Route, expect

from browser.reader import Reader
from server.running import Running

QUESTION = "When should I use an action instead of a service?"

# What shows that something has the keyboard; the field for questions has a frame of its own.
OUTLINE = """() => {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  return at.id === "question" || getComputedStyle(at).outlineStyle !== "none";
}"""


async def test_ask_read_and_go_back(reader: Reader, up: Running) -> None:
    await reader.page.goto(up.server.address)
    await expect(reader.question).to_be_focused()
    keyboard = reader.page.keyboard
    await keyboard.type("When should I use")
    await keyboard.press("Shift+Enter")
    await keyboard.type("an action instead of a service?")
    await expect(reader.exchanges).to_have_count(0)
    await keyboard.press("Enter")
    exchange = reader.exchanges.first
    await expect(exchange.get_by_role("button", name="Ask again")).to_be_visible()
    chip = exchange.locator(".text .cite").first
    name = str(await chip.get_attribute("aria-label"))
    await reader.tab_to(name)
    await keyboard.press("Enter")
    await expect(reader.passage.locator("mark").first).to_be_visible()
    assert await reader.focused() == "passage-heading"
    await reader.tab_to("Next passage")
    await keyboard.press("Enter")
    await expect(reader.passage.locator("mark")).to_have_count(0)
    await keyboard.press("Escape")
    await expect(reader.passage).to_be_hidden()
    await expect(chip).to_be_focused()
    kept: list[Any] = []

    async def slowly(route: Route) -> None:
        kept.append(route.request.post_data_json)
        await asyncio.sleep(0.3)
        await route.continue_()

    # Who types at once does not wait until the service has kept the rating.
    await reader.page.route("**/feedback", slowly)
    await reader.tab_to("Not helpful")
    await keyboard.press("Space")
    await keyboard.type("It is too short.")
    await reader.tab_to("Send")
    await keyboard.press("Enter")
    await expect(exchange).to_contain_text("Thank you.")
    assert [rating.get("reason") for rating in kept] == [None, "It is too short."]
    assert await reader.focused() == "Not helpful"


async def test_a_reason_that_could_not_be_sent_is_sent_again(reader: Reader, up: Running) -> None:
    await reader.open(up.server.address)
    await reader.ask(QUESTION)
    exchange = reader.exchanges.first
    await reader.page.route("**/feedback", lambda route: route.abort())
    await exchange.get_by_role("button", name="Not helpful").click()
    reason = exchange.get_by_role("textbox")
    await reason.fill("It is too short.")
    await expect(exchange).to_contain_text("Your rating was not saved.")
    await expect(reason).to_have_value("It is too short.")
    await reader.page.unroute("**/feedback")
    await exchange.get_by_role("button", name="Not helpful").click()
    await expect(exchange).not_to_contain_text("Your rating was not saved.")
    await expect(reason).to_have_value("It is too short.")
    await exchange.get_by_role("button", name="Send").click()
    await expect(exchange).to_contain_text("Thank you.")


async def test_settings_and_conversations(reader: Reader, up: Running) -> None:
    await reader.open(up.server.address)
    await reader.ask(QUESTION)
    keyboard = reader.page.keyboard
    await reader.tab_to("Reader settings")
    await keyboard.press("Enter")
    dialog = reader.page.get_by_role("dialog", name="Reader settings")
    await expect(dialog).to_be_visible()
    await expect(dialog.get_by_label("Part of the book")).to_be_focused()
    await keyboard.press("ArrowDown")
    await expect(reader.page.locator(".limits")).to_contain_text("Module 1")
    await keyboard.press("Escape")
    await expect(dialog).to_be_hidden()
    assert await reader.focused() == "Reader settings"
    await reader.tab_to("Whole book")
    await keyboard.press("Enter")
    await expect(reader.page.locator(".limits")).to_be_hidden()
    await expect(reader.question).to_be_focused()
    delete = f"Delete the conversation “{QUESTION}”"
    await reader.tab_to(delete)
    await keyboard.press("Enter")
    assert await reader.focused() == f"Really delete “{QUESTION}”?"
    await keyboard.press("Enter")
    await expect(reader.history.get_by_role("listitem")).to_have_count(0)
    await expect(reader.exchanges).to_have_count(0)
    assert await reader.focused() == "Conversations"


async def test_the_keyboard_is_always_somewhere_and_seen(reader: Reader, up: Running) -> None:
    await reader.open(up.server.address)
    exchange = await reader.ask(QUESTION)
    await reader.read(exchange)
    await reader.question.focus()
    passed: list[str] = []
    while (name := await reader.focused()) != "question" or not passed:
        passed.append(name)
        # Between the last and the first stands the browser itself.
        assert name == "body" or await reader.page.evaluate(OUTLINE), name
        await reader.page.keyboard.press("Tab")
        assert len(passed) < 60
    for needed in ("Ask", "Close the passage", "Reader settings", "Dark appearance", "Helpful"):
        assert needed in passed
