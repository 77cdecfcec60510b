"""Asking on the page: an answer that grows, its citations, the passages, and what is refused."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from playwright.async_api import Route, expect

from browser.conftest import NewReader, Serve
from browser.reader import Reader, squeezed
from server.running import Running, until, with_model
from standins.llm_server import LlmServer, calls_tool, says, trickles

QUESTION = "When should I use an action instead of a service?"
UNANSWERABLE = "How do I bake sourdough bread?"
FIRST = "A service is a request-and-reply connection [1]."
SECOND = "A service has one server [1]."
LINK_TARGET = re.compile(r"\]\([^)]*\)")


async def test_a_question_is_answered_with_citations(reader: Reader, up: Running) -> None:
    await reader.open(up.server.address)
    await expect(reader.page.get_by_role("heading", level=1)).to_have_text(
        "Physical AI and Robotics"
    )
    exchange = await reader.ask(QUESTION)
    answer = await reader.answer()
    await expect(exchange.locator(".question")).to_contain_text(QUESTION)
    shown = squeezed(await exchange.locator(".text").inner_text())
    assert re.sub(r"\[(\d)\]", r"\1", answer["response"]) == shown
    chips = exchange.locator(".text .cite")
    assert await chips.count() == answer["response"].count("[") >= 1
    for chip in await chips.all():
        await expect(chip).to_be_enabled()
        number = int(await chip.inner_text())
        section = answer["citations"][number - 1]["section"]
        await expect(chip).to_have_accessible_name(f"Source {number}: {section}")
    sources = exchange.get_by_role("list", name="Sources").get_by_role("listitem")
    assert await sources.count() == len(answer["citations"])
    await expect(reader.question).to_be_focused()
    await expect(reader.question).to_have_value("")


async def test_a_question_may_be_asked_before_the_books_are_known(
    reader: Reader, serve: Serve
) -> None:
    sent = asyncio.Event()

    async def slowly(route: Route) -> None:
        await sent.wait()
        await route.continue_()

    async with serve() as up:
        await reader.page.route("**/books", slowly)
        await reader.page.goto(up.server.address)
        await reader.send(QUESTION)
        assert not await reader.welcome.count(), "the books came first: this proves nothing"
        sent.set()
        await expect(reader.exchanges.locator(".text .cite").first).to_be_enabled()
        await expect(reader.exchanges).to_have_count(1)


async def test_confidence_is_a_word_that_explains_itself(reader: Reader, up: Running) -> None:
    await reader.open(up.server.address)
    exchange = await reader.ask(QUESTION)
    level = (await reader.answer())["confidence_level"]
    confidence = exchange.locator(".confidence")
    await expect(confidence.locator("summary")).to_have_text(f"{level.title()} confidence")
    await expect(confidence).to_contain_text("how well the book covers the question")
    await expect(confidence.locator(".explanation")).to_be_hidden()
    await confidence.locator("summary").click()
    await expect(confidence.locator(".explanation")).to_be_visible()
    await expect(confidence.locator(".explanation")).to_contain_text(f"“{QUESTION}”")


async def test_every_citation_opens_its_passage_with_what_is_cited_marked(
    reader: Reader, up: Running
) -> None:
    await reader.open(up.server.address)
    for question in (QUESTION, "What does a URDF file describe?", "What is a topic?"):
        exchange = await reader.ask(question)
        for cited in (await reader.answer())["citations"]:
            await reader.read(exchange, cited["number"])
            await expect(reader.passage.get_by_role("heading", level=3).first).to_have_text(
                f"Source {cited['number']}"
            )
            marks = await reader.passage.locator("mark").all_text_contents()
            assert words("".join(marks)) == words(LINK_TARGET.sub("]", cited["quote"]))


def words(text: str) -> str:
    """All that is not white space or one of Markdown's signs."""
    return "".join(re.findall(r"\w", text))


async def test_the_passage_says_where_it_stands_and_leads_on(reader: Reader, up: Running) -> None:
    await reader.open(up.server.address)
    exchange = await reader.ask(QUESTION)
    cited = (await reader.answer())["citations"][0]
    chip = await reader.read(exchange)
    await expect(chip).to_have_attribute("aria-expanded", "true")
    place = reader.passage.locator(".path")
    await expect(place).to_have_text(re.compile(r"^Module 1: .+ › .+ › .+ › .+$"))
    assert (await place.inner_text()).endswith(cited["section"])
    link = reader.passage.get_by_role("link", name="Open in the book")
    await expect(link).to_have_attribute("href", re.compile(r".+:~:text=.+"))
    await expect(link).to_have_attribute("rel", "noopener noreferrer")
    marked = await reader.passage.locator("mark").count()
    await reader.turn("Previous passage")
    await expect(reader.passage.locator("mark")).to_have_count(0)
    await reader.turn("Next passage")
    await expect(reader.passage.locator("mark")).to_have_count(marked)
    await reader.passage.get_by_role("button", name="Close the passage").click()
    await expect(reader.passage).to_be_hidden()
    await expect(chip).to_be_focused()


async def test_what_is_marked_is_in_sight(reader: Reader, up: Running) -> None:
    await reader.open(up.server.address)
    exchange = await reader.ask(QUESTION)
    await reader.read(exchange)
    await expect(reader.passage.locator("mark").first).to_be_in_viewport()


async def test_a_refusal_is_calm_and_offers_what_is_near(reader: Reader, up: Running) -> None:
    await reader.open(up.server.address)
    exchange = await reader.ask(UNANSWERABLE)
    refusal = await reader.answer()
    assert refusal["refused"]
    await expect(exchange).to_have_class(re.compile(r"\brefused\b"))
    await expect(exchange).to_contain_text(UNANSWERABLE)
    said = squeezed(await exchange.inner_text())
    assert f"“{refusal['searched']}”" in said
    for nothing in (".cite", ".failure", ".confidence"):
        await expect(exchange.locator(nothing)).to_have_count(0)
    near = exchange.locator(".nearest .source")
    assert await near.count() == len(refusal["nearest"]) > 0
    for shown, section in zip(await near.all(), refusal["nearest"], strict=True):
        await expect(shown).to_contain_text(section["section"] or section["title"])
    await near.first.click()
    await expect(reader.passage.locator(".path")).to_have_text(
        " › ".join(refusal["nearest"][0]["path"])
    )
    await expect(reader.passage.locator("mark")).to_have_count(0)


async def test_a_follow_up_is_understood_in_its_conversation(reader: Reader, up: Running) -> None:
    await reader.open(up.server.address)
    await reader.ask("What is a URDF?")
    first = await reader.answer()
    second = await reader.ask("And what does it describe?")
    answer = await reader.answer()
    assert answer["session_id"] == first["session_id"]
    assert not answer["refused"] and "URDF" in answer["searched"]
    await expect(reader.exchanges).to_have_count(2)
    await expect(second.locator(".text .cite").first).to_be_enabled()


async def test_a_suggestion_asks_itself(reader: Reader, up: Running) -> None:
    async def suggested() -> bool:
        return bool((await up.http.get("/books")).json()[0]["suggestions"])

    await until(suggested)
    await reader.open(up.server.address)
    question = await reader.suggestions.first.inner_text()
    await reader.suggestions.first.click()
    await expect(reader.exchanges.locator(".question")).to_contain_text(question)
    await expect(reader.exchanges.locator(".text .cite").first).to_be_enabled()
    assert not (await reader.answer())["refused"]


async def test_an_answer_grows_sentence_by_sentence(
    reader: Reader, serve: Serve, llm: LlmServer
) -> None:
    llm.script(calls_tool("service in ROS 2"), trickles(f"{FIRST} {SECOND}", 0.2, split=24))
    async with serve(**with_model(llm)) as up:
        await reader.open(up.server.address)
        await reader.page.evaluate(NOTE_GROWTH)
        await reader.ask("What is a service in ROS 2?")
        seen: list[list[Any]] = await reader.page.evaluate("window.seen")
    first, both = FIRST.replace("[1]", "1"), f"{FIRST} {SECOND}".replace("[1]", "1")
    # The first sentence alone, then both; a source can be opened when it is known.
    assert seen == [[first, [True], "Stop"], [both, [True] * 2, "Stop"], [both, [False] * 2, "Ask"]]


# What the answer is, which of its chips can't be pressed, and what the button does, at each change.
NOTE_GROWTH = """() => {
  window.seen = [];
  const root = document.querySelector("bythebook-chat").shadowRoot;
  new MutationObserver(() => {
    const text = root.querySelector(".exchange .text");
    if (!text?.textContent) return;
    const chips = [...text.querySelectorAll(".cite")].map((chip) => chip.disabled);
    const now = [text.innerText, chips, root.querySelector(".send").getAttribute("aria-label")];
    if (JSON.stringify(window.seen.at(-1)) !== JSON.stringify(now)) window.seen.push(now);
  }).observe(root, { attributes: true, childList: true, subtree: true });
}"""


async def test_progress_is_told_in_words(reader: Reader, serve: Serve, llm: LlmServer) -> None:
    search, wrote = calls_tool("service in ROS 2"), trickles(FIRST, 0.4, split=16)
    llm.script(search, wrote)
    async with serve(**with_model(llm)) as up:
        await reader.open(up.server.address)
        await reader.page.evaluate(NOTE_PROGRESS)
        await reader.send("What is a service in ROS 2?")
        await expect(reader.exchanges.get_by_role("button", name="Ask again")).to_be_visible()
        told: list[str] = await reader.page.evaluate("window.told")
    for words in ("Reading your question …", "Searching for “service in ROS 2” …"):
        assert words in told
    assert any(re.match(r"Reading \d+ passages?, first “.+” …", words) for words in told)
    assert told[-1].startswith("Answer, with 1 source: A service is")


# What the live region says, in order.
NOTE_PROGRESS = """() => {
  window.told = [];
  const root = document.querySelector("bythebook-chat").shadowRoot;
  const region = root.querySelector('[aria-live="polite"].hidden');
  new MutationObserver(() => window.told.push(region.textContent))
    .observe(region, { childList: true, characterData: true, subtree: true });
}"""


@pytest.mark.parametrize("how", ["button", "Escape"])
async def test_stop_keeps_what_was_shown_and_ends_the_work(
    reader: Reader, serve: Serve, llm: LlmServer, how: str
) -> None:
    endless = f"{FIRST} {'And so on, and on. ' * 30}{SECOND}"
    llm.script(calls_tool("service in ROS 2"), trickles(endless, 0.3, split=16))
    async with serve(**with_model(llm)) as up:
        await reader.open(up.server.address)
        await reader.send("What is a service in ROS 2?")
        exchange = reader.exchanges.first
        await expect(exchange.locator(".text")).to_contain_text("request-and-reply")
        if how == "button":
            await reader.page.get_by_role("button", name="Stop").click()
        else:
            await reader.page.keyboard.press(how)
        await expect(exchange.locator(".progress")).to_have_text("Stopped.")
        await expect(reader.page.get_by_role("button", name="Ask", exact=True)).to_be_visible()
        await llm.until(lambda: len(llm.requests) == 2 and llm.requests[1].ended)
        assert llm.requests[1].gave_up
        shown = await exchange.locator(".text").inner_text()
        assert "request-and-reply" in shown and "one server" not in shown
        llm.script(calls_tool("service in ROS 2"), says(f"{FIRST} {SECOND}"))
        await exchange.get_by_role("button", name="Try again").click()
        await expect(reader.exchanges).to_have_count(1)
        await expect(exchange.locator(".text")).to_contain_text("one server")


async def test_code_is_shown_as_code_and_can_be_copied(new_reader: NewReader, up: Running) -> None:
    reader = await new_reader(permissions=["clipboard-read", "clipboard-write"])
    await reader.open(up.server.address)
    exchange = await reader.ask("What does the smallest useful node look like in Python?")
    await reader.read(exchange)
    while not await reader.passage.locator(".code").count():
        await reader.turn("Next passage")
    block = reader.passage.locator(".code").first
    await block.get_by_role("button", name="Copy").click()
    await expect(block.get_by_role("button")).to_have_text("Copied")
    copied = await reader.page.evaluate("navigator.clipboard.readText()")
    assert copied == await block.locator("pre").evaluate("each => each.textContent")
    await exchange.locator(".foot").get_by_role("button", name="Copy").click()
    answer = await reader.answer()
    copied = await reader.page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith(answer["response"])
    assert all(cited["source_url"] in copied for cited in answer["citations"])
