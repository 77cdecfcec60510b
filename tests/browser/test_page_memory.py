"""What the page remembers, and what readers say about answers."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.async_api import expect

from browser.accessibility import grave_findings
from browser.conftest import NewReader, Serve
from browser.reader import Reader
from server.running import Running

FIRST, SECOND = "What is a URDF?", "What is a topic?"


def containing(text: str) -> re.Pattern[str]:
    return re.compile(re.escape(text))


async def test_conversations_can_be_gone_on_with_and_deleted(
    new_reader: NewReader, up: Running
) -> None:
    reader = await new_reader()
    await reader.open(up.server.address)
    await reader.ask(FIRST)
    session = (await reader.answer())["session_id"]
    await reader.page.get_by_role("button", name="New conversation").click()
    await expect(reader.exchanges).to_have_count(0)
    await reader.ask(SECOND)
    assert (await reader.answer())["session_id"] != session
    entries = reader.history.get_by_role("listitem")
    await expect(entries).to_have_text([containing(SECOND), containing(FIRST)])

    await entries.nth(1).locator(".resume").click()
    await expect(reader.exchanges.locator(".question")).to_contain_text([FIRST])
    await expect(entries.nth(1).locator(".resume")).to_have_attribute("aria-current", "true")
    # Its citations open as before.
    await reader.exchanges.locator(".text .cite").first.click()
    await expect(reader.passage.locator("mark").first).to_be_visible()
    await reader.ask("And what does it describe?")
    assert (await reader.answer())["session_id"] == session

    # Loaded again, the page goes on where it was; another browser knows nothing of it.
    await reader.page.reload()
    await expect(reader.exchanges).to_have_count(2)
    stranger = await new_reader()
    await stranger.open(up.server.address)
    await expect(stranger.history.get_by_role("listitem")).to_have_count(0)

    await entries.first.locator(".delete").click()
    await expect(entries).to_have_count(2)
    await entries.first.get_by_role("button", name=re.compile("^Really delete")).click()
    await expect(entries).to_have_text([containing(SECOND)])
    await expect(reader.exchanges).to_have_count(0)
    assert (await up.http.get(f"/session/{session}/history")).status_code == 404


async def test_settings_restrict_answers_and_are_remembered(reader: Reader, up: Running) -> None:
    await reader.open(up.server.address)
    await reader.page.get_by_role("button", name="Reader settings").click()
    dialog = reader.page.get_by_role("dialog", name="Reader settings")
    await dialog.get_by_label("Part of the book").select_option(
        label="Module 2: The Digital Twin (Gazebo)"
    )
    await dialog.get_by_label("Hardware").select_option(label="Up to tier 2")
    for level in ("A1", "A2", "B1", "B2"):
        await dialog.get_by_label(level).check()
    await dialog.get_by_role("button", name="Done").click()
    told = (
        "Looking only in: Module 2: The Digital Twin (Gazebo) · hardware up to tier 2 · "
        "level A1, A2, B1, B2"
    )
    limits = reader.page.locator(".limits span")
    await expect(limits).to_have_text(told)
    await reader.ask("How is a sensor simulated?")
    answer = await reader.answer()
    assert answer["citations"]
    assert all("gazebo" in cited["source_url"] for cited in answer["citations"])
    await reader.page.get_by_role("button", name="New conversation").click()
    await reader.page.reload()
    await expect(limits).to_have_text(told)
    await reader.page.get_by_role("button", name="Reader settings").click()
    await expect(dialog.get_by_label("Hardware")).to_have_value("2")
    await dialog.get_by_role("button", name="The whole book").click()
    await expect(dialog.get_by_label("Hardware")).to_have_value("")
    await dialog.get_by_role("button", name="Done").click()
    await expect(limits).to_be_hidden()


async def test_a_book_is_chosen_where_the_conversation_begins(
    reader: Reader, serve: Serve, tmp_path: Path
) -> None:
    valves = tmp_path / "a-valves"
    valves.mkdir()
    (valves / "valves.md").write_text("# Valves\n\nA valve controls the flow of water.\n")
    async with serve() as up:
        await up.service.library.ingest(valves)
        await reader.open(up.server.address)
        books = reader.page.locator(".welcome").get_by_role("combobox", name="Book")
        await expect(books.locator("option")).to_have_text(["A valves", "Physical AI and Robotics"])
        assert await grave_findings(reader.page) == []
        await books.select_option(label="Physical AI and Robotics")
        await expect(books).to_be_focused()
        title = reader.page.get_by_role("heading", level=1)
        await expect(title).to_have_text("Physical AI and Robotics")
        await reader.ask(FIRST)
        assert "physical-ai" in (await reader.answer())["citations"][0]["source_url"]
        await reader.page.get_by_role("button", name="New conversation").click()
        await books.select_option(label="A valves")
        await expect(title).to_have_text("A valves")
        await reader.page.reload()
        await expect(title).to_have_text("A valves")


async def test_a_rating_and_its_reason_are_kept(reader: Reader, serve: Serve) -> None:
    async with serve() as up:
        await reader.open(up.server.address)
        exchange = await reader.ask(FIRST)
        up_thumb = exchange.get_by_role("button", name="Helpful", exact=True)
        down = exchange.get_by_role("button", name="Not helpful")
        await up_thumb.click()
        await expect(up_thumb).to_have_attribute("aria-pressed", "true")
        await down.click()
        await expect(down).to_have_attribute("aria-pressed", "true")
        await expect(up_thumb).to_have_attribute("aria-pressed", "false")
        reason = "It is about <b>another</b> robot."
        await exchange.get_by_label("What was wrong?").fill(reason)
        await exchange.get_by_role("button", name="Send").click()
        await expect(exchange).to_contain_text("Thank you.")
        bad = (await up.http.get("/admin/questions", params={"outcome": "down"})).json()["items"]
        assert [(each["question"], each["reason"]) for each in bad] == [(FIRST, reason)]
        await exchange.get_by_role("button", name="Ask again").click()
        await expect(reader.exchanges).to_have_count(2)
