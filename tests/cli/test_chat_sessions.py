"""`chat --save` and `chat --session`: a conversation that is kept, and gone on with."""

from __future__ import annotations

import asyncio
import re
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from bythebook.cli.chat_command import ChatSession
from bythebook.database.engine import open_database
from bythebook.settings import load_settings
from bythebook.threads import Thread, Threads
from cli.conftest import Cli
from models.samples import UUID4
from threads.thread_tools import rows_left, turn

pytestmark = pytest.mark.usefixtures("with_reader")


@pytest.fixture(autouse=True)
def own_copy(ingested_sample: Path, home: Path) -> None:
    """The sample book in a home of our own, because conversations are kept in it."""
    shutil.copytree(ingested_sample, home)


@pytest.fixture
def kept(cli: Cli) -> str:
    """The id of a conversation with one turn."""
    status, out, _ = cli("chat", "--save", typed="What is an action?\n")
    assert status == 0
    return session_in(out)


def session_in(out: str) -> str:
    found = re.search(r"bythebook chat --session ([0-9a-f-]{36})\n", out)
    assert found
    return found[1]


def load(thread_id: str) -> Thread | None:
    async def loaded() -> Thread | None:
        engine = await open_database(load_settings().database)
        try:
            return await Threads(engine).load(thread_id)
        finally:
            await engine.dispose()

    return asyncio.run(loaded())


def change(thread_id: str, *, delete: bool) -> None:
    async def changed() -> None:
        engine = await open_database(load_settings().database)
        threads = Threads(engine)
        if delete:
            assert await threads.delete(thread_id)
        else:
            assert await threads.archive_idle(timedelta(seconds=-60)) == 1
        await engine.dispose()

    asyncio.run(changed())


def test_nothing_is_kept_unless_asked_for(cli: Cli) -> None:
    async def rows() -> list[int]:
        engine = await open_database(load_settings().database)
        found = await rows_left(engine)
        await engine.dispose()
        return found

    status, out, _ = cli("chat", typed="What is an action?\n")
    assert status == 0 and "[1]" in out and "--session" not in out
    assert asyncio.run(rows()) == [0, 0, 0]


def test_a_kept_conversation_is_gone_on_with(cli: Cli, kept: str) -> None:
    thread = load(kept)
    assert thread is not None and thread.conversation.turns[0].citations
    assert thread.metadata == {"book_id": "physical-ai-robotics", "key_id": None}
    status, out, _ = cli("chat", "--session", kept, typed="and what is it made of?\n")
    assert status == 0 and "You last asked: What is an action?" in out and "three services" in out
    thread = load(kept)
    assert thread is not None
    asked = [turn.question for turn in thread.conversation.turns]
    assert asked == ["What is an action?", "and what is it made of?"]


def test_an_archived_conversation_comes_back(cli: Cli, kept: str) -> None:
    change(kept, delete=False)
    status, out, _ = cli("chat", "--session", kept.upper(), typed="and what is it made of?\n")
    assert status == 0 and "three services" in out
    thread = load(kept)
    assert thread is not None and not thread.is_archived and thread.conversation.count == 2


def test_reset_begins_another_one(cli: Cli, kept: str) -> None:
    typed = "/reset\nWhat is Gazebo?\n"
    status, out, _ = cli("chat", "--session", kept, typed=typed)
    before, after = out.split("A new conversation begins.")
    assert status == 0 and session_in(before) == kept
    old, new = load(kept), load(session_in(after))
    assert old is not None and old.conversation.count == 1
    assert new is not None and new.conversation.turns[0].question == "What is Gazebo?"


@pytest.mark.parametrize("unknown", [UUID4, "yesterday's", ""])
def test_an_unknown_conversation_is_told(cli: Cli, unknown: str) -> None:
    status, out, err = cli("chat", "--session", unknown, typed="What is an action?\n")
    assert status == 1 and err.startswith("Error E002: There is no conversation ") and not out
    assert "--save" in err


def test_a_deleted_conversation_is_told(cli: Cli, kept: str) -> None:
    change(kept, delete=True)
    status, _, err = cli("chat", "--session", kept)
    assert status == 1 and "E002" in err


def test_a_conversation_stays_with_its_book(cli: Cli, kept: str) -> None:
    status, _, err = cli("chat", "--session", kept, "--book", "another")
    assert status == 1 and "E005" in err and "about physical-ai-robotics" in err
    status, _, _ = cli("chat", "--session", kept, "--book", "physical-ai-robotics")
    assert status == 0


async def test_a_conversation_that_is_deleted_meanwhile_is_no_longer_kept(
    capsys: pytest.CaptureFixture[str],
) -> None:
    engine = await open_database(load_settings().database)
    threads = Threads(engine)
    talk = ChatSession(threads, None, "physical-ai-robotics")
    talk.conversation.add(turn("first"))
    await talk.keep()
    assert talk.resuming and await threads.delete(talk.conversation.id)
    for told in ("This conversation has been deleted; it is no longer saved.", ""):
        talk.conversation.add(turn("again"))
        await talk.keep()
        assert capsys.readouterr().out.strip() == told and talk.resuming == ""
    assert await rows_left(engine) == [0, 0, 0]
    await engine.dispose()
