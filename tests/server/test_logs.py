"""The log tells what happened, to whom, and never a key."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import socket
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from pydantic import SecretStr

from bythebook.agent.assistant import Assistant
from bythebook.library import Library
from bythebook.server.logs import (
    JsonFormatter,
    Masks,
    TextFormatter,
    add_to_log_context,
    configure_logging,
    log_context,
    shown_question,
)
from bythebook.settings import Settings
from standins.llm_server import LlmServer, says

Format = Literal["json", "text"]

logger = logging.getLogger("bythebook.test")
QUESTION = "Which wrench loosens the left hip joint?"


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    names = ("", "bythebook", "uvicorn", "uvicorn.error", "uvicorn.asgi", "uvicorn.access")
    loggers = [logging.getLogger(name) for name in names]
    before = [(one, list(one.handlers), one.level, one.propagate) for one in loggers]
    yield
    for one, handlers, level, propagate in before:
        one.handlers[:] = handlers
        one.setLevel(level)
        one.propagate = propagate
    logging.captureWarnings(False)


class Log:
    """What was written."""

    def __init__(self, **settings: Any) -> None:
        self.stream = io.StringIO()
        configure_logging(Settings(**settings), self.stream)

    @property
    def text(self) -> str:
        return self.stream.getvalue()

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text.splitlines()]


def test_a_line_of_json_holds_all_that_is_known() -> None:
    log = Log()
    with log_context(request_id="r1", session_id="s1", key_id=None):
        logger.info("%d passages found", 3, extra={"seconds": 0.25, "route": "/search"})
    (line,) = log.lines
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "info",
        "logger": "bythebook.test",
        "message": "3 passages found",
        "request_id": "r1",
        "session_id": "s1",
        "seconds": 0.25,
        "route": "/search",
    }


def test_an_exception_is_told_with_its_trace_on_the_same_line() -> None:
    log = Log()
    try:
        raise ValueError("no such lesson")
    except ValueError:
        logger.exception("It failed")
    (line,) = log.lines
    assert line["level"] == "error"
    assert line["exception"].startswith("Traceback")
    assert line["exception"].endswith("ValueError: no such lesson")


def test_text_is_one_line_for_a_person_and_the_trace_below() -> None:
    log = Log(log_format="text")
    with log_context(request_id="r1"):
        try:
            raise ValueError("no such lesson")
        except ValueError:
            logger.exception("It failed", extra={"route": "/search"})
    first, *trace = log.text.splitlines()
    assert first.endswith("error   bythebook.test: It failed request_id=r1 route=/search")
    assert trace[0] == "    Traceback (most recent call last):"
    assert all(line.startswith("    ") for line in trace)


def test_what_a_caller_sends_can_not_forge_a_line_or_colour_the_terminal() -> None:
    log = Log(log_format="text")
    logger.info("asked %s", "a\n2026 error forged\x1b[31m", extra={"book_id": "b\r\nforged"})
    assert len(log.text.splitlines()) == 1
    assert "\x1b" not in log.text
    assert "a\\n2026 error forged\\x1b[31m" in log.text


async def test_contexts_of_tasks_do_not_mix_and_end() -> None:
    log = Log()
    both = asyncio.Barrier(2)

    async def request(name: str) -> None:
        with log_context(request_id=name):
            await both.wait()
            logger.info(name)

    await asyncio.gather(request("one"), request("two"))
    logger.info("after")
    assert {line["message"]: line.get("request_id") for line in log.lines} == {
        "one": "one",
        "two": "two",
        "after": None,
    }


async def test_what_becomes_known_inside_is_known_outside() -> None:
    log = Log()
    with log_context(request_id="r1"):
        with log_context(job_id=7):
            logger.info("inner")
        await asyncio.create_task(_learn_the_key())
        logger.info("outer")
    inner, outer = log.lines
    assert (inner["request_id"], inner["job_id"]) == ("r1", 7)
    assert outer["key_id"] == "k1"
    assert "job_id" not in outer


async def _learn_the_key() -> None:
    add_to_log_context(key_id="k1")


async def test_a_stream_that_is_closed_by_another_task_ends_its_context() -> None:
    async def stream() -> Any:
        with log_context(request_id="r1"):
            yield 1
            yield 2

    events = stream()
    assert await asyncio.create_task(anext(events)) == 1
    await events.aclose()


SECRET = "Ab1_cd-EFGHIJKLMNOPQRSTUVWXYZ0123456789abcdefg"
LEAKS = {
    "our key": (f"key btb_0123456789ab_{SECRET} is bad", SECRET),
    "our key within a name": (f"KEY_btb_0123456789ab_{SECRET}", SECRET),
    "bearer": (f"Authorization: Bearer {SECRET}", SECRET),
    "bearer in a header list": (f"[(b'authorization', b'Bearer {SECRET}')]", SECRET),
    "bearer alone": (f"sent bearer {SECRET}", SECRET),
    "basic": ("Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
    "header": ("{'X-API-Key': 'whatever-it-is'}", "whatever-it-is"),
    "openai": ("Incorrect API key provided: sk-proj-abc123def456", "abc123def456"),
    "github": ("https://ghp_abcdefghij0123456789@github.com/a/b", "abcdefghij"),
    "github alone": ("token ghp_abcdefghij0123456789", "abcdefghij0123456789"),
    "database": ("postgresql+asyncpg://me:s3cr/3t@host/db", "s3cr/3t"),
    "page": ("GET https://me:s3cr3t@host:80/page@2", "s3cr3t"),
    "redis": ("can't reach redis://:hunter22@127.0.0.1:6379/0", "hunter22"),
    "at sign in a password": ("amqp://me:hun@ter22@host/x", "ter22"),
    "query": ("GET /x?api_key=hunter22&token=hunter33", "hunter22"),
    "settings": ("GITHUB_WEBHOOK_SECRET=hunter22", "hunter22"),
}


@pytest.mark.parametrize("form", ["json", "text"])
@pytest.mark.parametrize(("text", "secret"), LEAKS.values(), ids=LEAKS.keys())
def test_no_key_is_written_wherever_it_stands(form: Format, text: str, secret: str) -> None:
    log = Log(log_format=form)
    logger.warning(text)
    logger.warning("%s", text, extra={"url": text, "headers": {"nested": [text]}})
    try:
        raise ValueError(text)
    except ValueError:
        logger.exception("It failed")
    assert secret not in log.text
    assert log.text.count("***") >= 5


def test_a_field_that_is_named_like_a_secret_is_hidden() -> None:
    log = Log()
    named = {"password": "a", "openai_api_key": "b", "tokens": 5, "sent": {"cookie": "c"}}
    logger.info("x", extra=named)
    (line,) = log.lines
    assert line["password"] == line["openai_api_key"] == line["sent"]["cookie"] == "***"
    assert line["tokens"] == 5


def test_secrets_of_the_settings_are_hidden_whatever_they_look_like() -> None:
    log = Log(
        cohere_api_key=SecretStr("plain words as key"),
        database_url="postgresql://me:tide/and%2Btime@host/db",
        redis_url=SecretStr("redis://:another-one@host/0"),
    )
    logger.error("it said: plain words as key; tide/and+time; another-one")
    assert log.lines[0]["message"] == "it said: ***; ***; ***"


def test_ordinary_words_stay() -> None:
    text = (
        "task-management: the bearer of bad news has a token of thanks, see "
        "https://book.example.org/a@b?page=2 and secret gardens"
    )
    log = Log(openai_api_key=SecretStr("none"), openai_base_url="http://127.0.0.1:1/v1")
    logger.info(text)
    assert log.lines[0]["message"] == text


def test_odd_values_still_make_a_line_of_json() -> None:
    class Odd:
        def __str__(self) -> str:
            return "odd\ud800"

    # Not logged: pytest can't send half a character from one process to another.
    given = {"msg": "\ud800", "a": float("nan"), "b": Odd(), "c": {1: {2}}, "d": b"x"}
    record = logging.makeLogRecord(given)
    line = json.loads(JsonFormatter(Masks(set())).format(record))
    assert (line["a"], line["c"], line["d"]) == ("nan", {"1": [2]}, "b'x'")
    text = TextFormatter(Masks(set())).format(record)
    assert text.encode().endswith(b"\\ud800 a=nan b=odd\\ud800 c={\"1\": [2]} d=b'x'")


def test_a_field_can_not_take_the_place_of_one_of_ours() -> None:
    log = Log()
    logger.info("told", extra={"level": "debug", "time": "never"})
    (line,) = log.lines
    assert line["level"] == "info"
    assert line["time"] != "never"


def test_configured_again_it_does_not_write_twice() -> None:
    first, second = Log(), Log(log_level="warning")
    logger.info("little")
    logger.warning("much")
    assert not first.text
    assert [line["message"] for line in second.lines] == ["much"]


def test_warnings_are_logged_as_lines_too() -> None:
    log = Log()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(True)  # `catch_warnings` took back what configuring did
        warnings.warn("old way", stacklevel=1)
        logging.captureWarnings(False)
    assert "old way" in log.lines[0]["message"]


@pytest.mark.parametrize("wanted", [True, False])
def test_a_question_is_shown_only_where_it_is_wanted(wanted: bool) -> None:
    shown = shown_question(QUESTION, Settings(log_questions=wanted))
    assert (QUESTION in shown) == wanted
    assert wanted or str(len(QUESTION)) in shown


@pytest.mark.parametrize("level", ["info", "debug"])
async def test_a_real_turn_leaves_no_question_in_the_log(
    sample_home: Path, llm: LlmServer, level: Literal["info", "debug"]
) -> None:
    llm.always(says("It turns left [1]."))
    log = Log(log_level=level)
    settings = Settings(
        openai_base_url=llm.base_url, openai_api_key=SecretStr("never-to-be-seen"), retries=0
    )
    async with await Library.open(settings) as library, Assistant(library) as assistant:
        await assistant.ask("What is ROS 2 and how do nodes talk?")
    assert llm.requests
    assert "how do nodes talk" not in log.text
    assert "never-to-be-seen" not in log.text
    # The library that sends requests tells of them at our debug level.
    assert ("httpx" in log.text) == (level == "debug")


async def test_uvicorn_logs_the_same_way_and_no_access() -> None:
    log = Log()
    app = FastAPI()

    @app.get("/fails")
    async def fails() -> None:
        raise RuntimeError("sk-abcdefgh12345678")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False))
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        async with httpx.AsyncClient() as client:
            response = await client.get(f"http://127.0.0.1:{port}/fails")
        server.should_exit = True
        await serving
    assert response.status_code == 500
    loggers = {line["logger"] for line in log.lines}
    assert loggers == {"uvicorn.error"}
    (failed,) = [line for line in log.lines if "exception" in line]
    assert failed["exception"].endswith("RuntimeError: sk-***")
    assert not any("color_message" in line for line in log.lines)
