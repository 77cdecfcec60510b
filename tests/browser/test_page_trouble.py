"""When something is in the way: what the page says, and how the reader goes on."""

from __future__ import annotations

import asyncio
import re

from playwright.async_api import expect

from browser.conftest import NewReader, Serve
from browser.reader import Reader
from server.running import Running, with_model
from standins.llm_server import LlmServer, calls_tool, cuts, fails, hangs, says

QUESTION = "What is a URDF?"
MODEL = "What is a service in ROS 2?"
SEARCH = calls_tool("service in ROS 2")
TRUE = "A service is a request-and-reply connection [1]."


async def test_offline(reader: Reader, up: Running) -> None:
    await reader.open(up.server.address)
    await reader.ask(QUESTION)
    note = reader.page.get_by_text("You are offline. Answers need a connection.")
    await expect(note).to_be_hidden()
    await reader.page.context.set_offline(True)
    await expect(note).to_be_visible()
    await reader.send("What is a topic?")
    await expect(reader.failure).to_have_attribute("data-kind", "offline")
    await expect(reader.failure).to_contain_text(
        re.compile("You are offline..*Try again when you are connected.", re.DOTALL)
    )
    await reader.page.context.set_offline(False)
    await expect(note).to_be_hidden()
    await reader.failure.get_by_role("button", name="Try again").click()
    await expect(reader.exchanges.nth(1).locator(".text .cite").first).to_be_enabled()
    await expect(reader.failure).to_have_count(0)
    await expect(reader.exchanges).to_have_count(2)


async def test_a_service_that_is_gone(reader: Reader, serve: Serve) -> None:
    async with serve() as up:
        await reader.open(up.server.address)
        await reader.question.press_sequentially("What")
        await reader.page.wait_for_load_state("networkidle")
        await up.stop()
        await reader.send(QUESTION)
        await expect(reader.failure).to_have_attribute("data-kind", "offline")
        await expect(reader.failure).to_contain_text("The service can’t be reached.")


async def test_a_key_is_asked_for_and_a_limit_is_told(new_reader: NewReader, serve: Serve) -> None:
    reader = await new_reader()
    await reader.page.clock.install()
    async with serve(rate_limit=1) as up:
        _, key = await up.service.keys.create("reader", ["chat", "read"])
        await reader.page.goto(up.server.address)
        dialog = reader.page.get_by_role("dialog", name="This service asks for a key")
        await expect(dialog).to_be_visible()
        await dialog.get_by_label("Key", exact=True).fill("btb_wrong")
        await dialog.get_by_role("button", name="Use this key").click()
        # A wrong key is asked for again.
        await expect(dialog.get_by_label("Key", exact=True)).to_have_value("")
        await dialog.get_by_label("Key", exact=True).fill(key)
        await dialog.get_by_role("button", name="Use this key").click()
        await expect(reader.welcome).to_be_visible()

        await reader.send(QUESTION)
        await expect(reader.failure).to_have_attribute("data-kind", "limit")
        await expect(reader.failure.locator(".what")).not_to_be_empty()
        again = reader.failure.get_by_role("button", name="Try again")
        await expect(again).to_be_disabled()
        await expect(reader.failure.locator(".waiting")).to_have_text(
            re.compile(r"^You can try again in \d+ s\.$")
        )
        assert (await reader.heard())[-1]["detail"]["status"] == 429
        await reader.page.clock.fast_forward("01:01")
        await expect(reader.failure.locator(".waiting")).to_have_text("You can try again now.")
        await expect(again).to_be_enabled()


async def test_a_key_is_remembered_on_the_device_only_by_choice(
    new_reader: NewReader, serve: Serve
) -> None:
    async with serve() as up:
        _, key = await up.service.keys.create("reader", ["chat", "read"])
        for remember in (False, True):
            reader = await new_reader()
            await reader.page.goto(up.server.address)
            await reader.page.get_by_label("Key", exact=True).fill(key)
            if remember:
                await reader.page.get_by_label("Remember it on this device").check()
            await reader.page.get_by_role("button", name="Use this key").click()
            await expect(reader.welcome).to_be_visible()
            kept: str = await reader.page.evaluate("JSON.stringify(localStorage)")
            assert (key in kept) == remember
            await reader.open(up.server.address)


async def test_a_full_service_asks_to_come_back(
    reader: Reader, serve: Serve, llm: LlmServer
) -> None:
    # As many as a browser opens at once to one host, so that the page itself can be loaded.
    most = 6
    llm.always(hangs(60))
    async with serve(max_concurrent=most, **with_model(llm)) as up:
        await reader.open(up.server.address)
        await reader.question.press_sequentially("What")
        await reader.page.wait_for_load_state("networkidle")
        others = [asyncio.create_task(up.ask(MODEL)) for _ in range(most)]
        await llm.until(lambda: len(llm.requests) == most)
        await reader.send(QUESTION)
        await expect(reader.failure).to_have_attribute("data-kind", "down")
        await expect(reader.failure.locator(".what")).to_have_text(
            f"The service is already handling {most} requests."
        )
        assert (await reader.heard())[-1]["detail"]["status"] == 503
        for other in others:
            other.cancel()
        await asyncio.gather(*others, return_exceptions=True)


async def test_a_model_that_fails(reader: Reader, serve: Serve, llm: LlmServer) -> None:
    llm.script(fails(400), says(TRUE))
    async with serve(**with_model(llm), retries=0, model_down="error") as up:
        await reader.open(up.server.address)
        await reader.send(MODEL)
        await expect(reader.failure.locator(".what")).not_to_be_empty()
        await expect(reader.failure).to_contain_text(re.compile(r"Request [0-9a-f-]{36}"))
        await reader.failure.get_by_role("button", name="Try again").click()
        await expect(reader.exchanges.locator(".text")).to_contain_text("request-and-reply")
        await expect(reader.exchanges).to_have_count(1)


async def test_an_answer_that_breaks_off(reader: Reader, serve: Serve, llm: LlmServer) -> None:
    told = f"{TRUE} A service has one server [1]."
    llm.script(cuts(told, after=len(TRUE) + 8))
    async with serve(**with_model(llm), retries=0, model_down="error") as up:
        await reader.open(up.server.address)
        await reader.send(MODEL)
        await expect(reader.failure.get_by_role("button", name="Try again")).to_be_visible()
        # What had been shown was checked, and stays.
        await expect(reader.exchanges.locator(".text")).to_contain_text("request-and-reply")
        await expect(reader.exchanges.locator(".progress")).to_have_count(0)


async def test_a_conversation_that_is_gone(reader: Reader, up: Running) -> None:
    await reader.open(up.server.address)
    await reader.ask(QUESTION)
    session = (await reader.answer())["session_id"]
    await reader.page.get_by_role("button", name="New conversation").click()
    await up.http.delete(f"/session/{session}")
    await reader.history.get_by_role("button", name=re.compile(f"^{QUESTION[:-1]}")).click()
    await expect(reader.failure).to_have_attribute("data-kind", "missing")
    await expect(reader.history.get_by_role("listitem")).to_have_count(0)
    await reader.failure.get_by_role("button", name="New conversation").click()
    await expect(reader.welcome).to_be_visible()
    await expect(reader.question).to_be_focused()
