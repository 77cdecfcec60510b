"""Many readers at once: 100 chats against a scripted language model that takes 500 ms a call.

    python benchmarks/load.py [--chats 100] [--rounds 5] [--latency 0.5]
    python benchmarks/load.py --http
    BYTHEBOOK_READER=off python benchmarks/load.py

"The model's own time" is measured, not assumed: the same requests, one a chat, are sent in the same
burst, and the streams are read to their end: once by a client that does nothing else, once by the
official client library. A question that was asked before costs less, since the reader remembers
what it has read, so both are told. With --http the chats and searches go through `bythebook serve`,
a process of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Self
from urllib.parse import urlsplit

from openai import AsyncOpenAI, OpenAIError

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from bythebook.agent.assistant import Assistant  # noqa: E402
from bythebook.errors import BookError  # noqa: E402
from bythebook.library import Library, sample_book  # noqa: E402
from bythebook.models.search_messages import SearchQuery  # noqa: E402
from bythebook.settings import Settings  # noqa: E402
from standins.llm_process import answers, llm_process  # noqa: E402
from standins.llm_server import running_llm  # noqa: E402

# What a turn sends to the model, in order, by its question.
Requests = dict[str, list[bytes]]
Ask = Callable[[str], Awaitable[object]]
FAILURES = (BookError, OpenAIError, OSError, EOFError)


@dataclass(frozen=True)
class Burst:
    """Everything asked at once: seconds until the last was answered, and until each was."""

    seconds: float
    each: list[float]
    errors: list[str]


async def burst(ask: Ask, questions: Iterable[str]) -> Burst:
    started = time.perf_counter()
    each: list[float] = []
    errors: list[str] = []

    async def one(question: str) -> None:
        try:
            await ask(question)
        except FAILURES as problem:
            errors.append(f"{question}: {problem!r}")
        each.append(time.perf_counter() - started)

    await asyncio.gather(*(one(question) for question in questions))
    return Burst(time.perf_counter() - started, each, errors)


def covered_questions(count: int) -> list[str]:
    """Questions the sample book answers; every one is different."""
    found: dict[str, None] = {}
    for file in sorted((ROOT / "tests" / "data").glob("ask_*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row["covered"]:
                found[row["question"]] = None
    if len(found) < count:
        sys.exit(f"There are only {len(found)} questions.")
    return list(found)[:count]


def settings_for(home: Path, llm_url: str) -> Settings:
    return Settings(
        home=home,
        answerer="openai",
        openai_base_url=llm_url,
        openai_api_key="any",  # type: ignore[arg-type]
        openai_model="stand-in",
        model_down="error",
    )


async def recorded(home: Path, questions: list[str]) -> Requests:
    """What an answer to each question sends, taken down by a model without latency."""
    sent: Requests = {}
    with running_llm(always=answers()) as server:
        async with (
            await Library.open(settings_for(home, server.base_url)) as library,
            Assistant(library) as assistant,
        ):
            for question in questions:
                before = len(server.bodies)
                answer = await assistant.ask(question)
                if answer.status != "success":
                    print(f"not answered: {question}", flush=True)
                sent[question] = [
                    json.dumps(body, ensure_ascii=False).encode() for body in server.bodies[before:]
                ]
    return sent


class Wire:
    """HTTP with nothing around it: a connection for each chat, kept open. A client library's pool
    would cost more than what is measured."""

    def __init__(self, url: str) -> None:
        self._url = urlsplit(url)
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def post(self, path: str, body: bytes) -> bytes:
        while self._idle:
            try:
                return await self._exchange(*self._idle.pop(), path, body)
            except (asyncio.IncompleteReadError, ConnectionResetError):
                continue  # the other side has closed it since
        return await self._exchange(*await self._connect(), path, body)

    async def _exchange(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str, body: bytes
    ) -> bytes:
        writer.write(
            f"POST {self._url.path}{path} HTTP/1.1\r\nHost: {self._url.netloc}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        if b"transfer-encoding: chunked" in head:
            content = await reader.readuntil(b"0\r\n\r\n")
        else:
            length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
            content = await reader.readexactly(int(length))
        self._idle.append((reader, writer))
        if not head.startswith(b"http/1.1 200"):
            raise ConnectionError(content[:500].decode(errors="replace"))
        return content

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(self._url.hostname, self._url.port, limit=2**22)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_problem: object) -> None:
        for _, writer in self._idle:
            writer.close()
            await writer.wait_closed()


def model_alone(wire: Wire, sent: Requests) -> Ask:
    """The requests of a turn and nothing else."""

    async def ask(question: str) -> None:
        for body in sent[question]:
            await wire.post("/chat/completions", body)

    return ask


def official_client(client: AsyncOpenAI, sent: Requests) -> Ask:
    """The same as a program sends and reads it that knows nothing of books."""
    bodies = {question: [json.loads(body) for body in sent[question]] for question in sent}

    async def ask(question: str) -> None:
        for body in bodies[question]:
            async for _ in await client.chat.completions.create(**body):
                pass

    return ask


def post(wire: Wire, path: str, field: str) -> Ask:
    async def ask(question: str) -> None:
        await wire.post(path, json.dumps({field: question}).encode())

    return ask


def show(what: str, figure: str) -> None:
    print(f"{what}: {figure}", flush=True)


async def compare(
    name: str, ask: Ask, llm_url: str, sent: Requests, questions: list[str], rounds: int
) -> None:
    """Turn by turn in the same run: what else the machine does hits all alike."""
    async with (
        Wire(llm_url) as wire,
        AsyncOpenAI(base_url=llm_url, api_key="any", max_retries=0) as client,
    ):
        asks = {
            "model alone": model_alone(wire, sent),
            "model alone, official client": official_client(client, sent),
            name: ask,
        }
        warm = {what: await burst(each, questions) for what, each in asks.items() if each != ask}
        new = (await burst(ask, questions)).seconds / warm["model alone"].seconds
        show(f"{name} ÷ model alone, questions that nobody asked before", f"{new:.2f}")
        bursts: dict[str, list[Burst]] = {what: [] for what in asks}
        for _ in range(rounds):
            for what, each in asks.items():
                bursts[what].append(await burst(each, questions))
    for what, some in bursts.items():
        show(f"{len(questions)} at once, {what}, s", f"{spread(some)}; each {mean_of(some):.3f}")
    *models, ours = bursts.values()
    for what, alone in zip(bursts, models, strict=False):
        ratios = [a.seconds / b.seconds for a, b in zip(ours, alone, strict=True)]
        show(
            f"{name} ÷ {what}, asked again, median of {rounds} (from – to)",
            f"{median(ratios):.3f} ({min(ratios):.3f} – {max(ratios):.3f})",
        )
    errors = [error for some in bursts.values() for each in some for error in each.errors]
    show("errors", f"{len(errors)} {errors[:3] or ''}")


def spread(bursts: list[Burst]) -> str:
    times = [each.seconds for each in bursts]
    return f"{median(times):.3f} ({min(times):.3f} – {max(times):.3f})"


def mean_of(bursts: list[Burst]) -> float:
    each = [seconds for one in bursts for seconds in one.each]
    return sum(each) / len(each)


async def processor_time(name: str, ask: Ask, questions: list[str]) -> None:
    """One after the other: the loop's own thread, which all chats share, and the others."""
    await ask("What is this book about?")
    turn = 1000 / len(questions)
    for when in ("never asked before", "asked again"):
        whole, own = time.process_time(), time.thread_time()
        for question in questions:
            await ask(question)
        own, whole = time.thread_time() - own, time.process_time() - whole
        figure = f"{own * turn:.2f} + {(whole - own) * turn:.2f}"
        show(f"processor ms of one {name}, {when}, the loop's thread + others", figure)


async def in_process(chosen: argparse.Namespace, home: Path, questions: list[str]) -> None:
    sent = await recorded(home, questions)
    async with running(home) as (assistant, _):
        await processor_time("chat", assistant.ask, questions)
        await searches(assistant.library, questions)
    async with running(home, chosen.latency) as (assistant, url):
        await compare("chats", assistant.ask, url, sent, questions, chosen.rounds)


@asynccontextmanager
async def running(home: Path, latency: float = 0.0) -> AsyncIterator[tuple[Assistant, str]]:
    """An assistant and the address of its model."""
    with llm_process(latency=latency) as url:
        async with (
            await Library.open(settings_for(home, url)) as library,
            Assistant(library) as assistant,
        ):
            yield assistant, url


async def over_http(chosen: argparse.Namespace, home: Path, questions: list[str]) -> None:
    sent = await recorded(home, questions)
    with llm_process(latency=chosen.latency) as llm_url, serving(home, llm_url) as address:
        async with Wire(address) as reader:
            rounds = [await burst(post(reader, "/search", "text"), questions) for _ in range(4)][1:]
            errors = [error for each in rounds for error in each.errors]
            show(f"{len(questions)} searches over HTTP at once, s", f"{spread(rounds)}")
            show("errors", f"{len(errors)} {errors[:3] or ''}")
            ask = post(reader, "/chat/run", "message")
            await compare("chats over HTTP", ask, llm_url, sent, questions, chosen.rounds)


@contextmanager
def serving(home: Path, llm_url: str) -> Iterator[str]:
    """The address of a service that uses the scripted model."""
    environment = {
        **os.environ,
        "BYTHEBOOK_HOME": str(home),
        "BYTHEBOOK_ANSWERER": "openai",
        "BYTHEBOOK_LOG_LEVEL": "warning",
        "OPENAI_BASE_URL": llm_url,
        "OPENAI_API_KEY": "any",
        "OPENAI_MODEL": "stand-in",
    }
    command = [sys.executable, "-m", "bythebook", "serve", "--port", "0"]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as own:
        assert own.stderr is not None
        try:
            for line in own.stderr:
                if found := re.search(r"listens on (\S+)", line):
                    yield found[1]
                    return
            sys.exit("The service did not start.")
        finally:
            own.terminate()


async def searches(library: Library, questions: list[str]) -> None:
    (book,) = await library.books()

    async def search(question: str) -> object:
        return await library.search(SearchQuery(text=question, book_id=book.book_id))

    await processor_time("search", search, questions)
    rounds = [await burst(search, questions) for _ in range(3)]
    errors = [error for each in rounds for error in each.errors]
    show(f"{len(questions)} searches at once, s", f"{spread(rounds)}; errors: {len(errors)}")


async def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--chats", type=int, default=100)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--latency", type=float, default=0.5)
    options.add_argument("--http", action="store_true", help="through `bythebook serve`")
    chosen = options.parse_args()
    questions = covered_questions(chosen.chats)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        async with await Library.open(Settings(home=home)) as library:
            await library.ingest(sample_book())
        await (over_http if chosen.http else in_process)(chosen, home, questions)


if __name__ == "__main__":
    asyncio.run(main())
