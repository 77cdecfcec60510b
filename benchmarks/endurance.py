"""Many readers for a while, with an ingest beside them; too many at once; several services.

    python benchmarks/endurance.py [--readers 50] [--minutes 1] [--think 30] [--out FILE]
    python benchmarks/endurance.py --only hold --readers 500 --minutes 10 --think 60

`hold`: readers ask, read the stream to its end, think, and ask again, while a book is ingested over
and over and somebody searches four times a second; figures stand beside those of an idle service in
the same run. `overload`: far more at once than the service takes. `replicas`: three services on
PostgreSQL, Qdrant and Redis. The language model is scripted and answers after 0.3 s a call.
Each part writes a line of JSON to --out, for scripts/make_reliability.py.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import numpy as np

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))
sys.path.insert(0, str(Path(__file__).parent))

from bythebook.library import Library, sample_book  # noqa: E402
from bythebook.settings import Settings  # noqa: E402
from endurance_replicas import check_replicas  # noqa: E402
from faults.process import ServiceProcess, service_process  # noqa: E402
from load import covered_questions  # noqa: E402
from speed import Speed, additions_ms, stolen_percent, ticks  # noqa: E402
from standins.llm_process import llm_process  # noqa: E402
from workers.fleet import write_lessons  # noqa: E402

LATENCY, PIECE_PAUSE = 0.3, 0.01
# Each before and after the load: the machine may not be the same then.
IDLE_QUESTIONS = 20
WARM_SECONDS = 10.0
IDLE_SECONDS = 45.0
# Between two searches, idle and busy: what is seldom done takes longer on the same machine.
SEARCH_PAUSE = 0.25
BOOK = "physical-ai-robotics"
TAKEN_AT_ONCE, SENT_AT_ONCE = 20, 200
MEASURE_EVERY = 5.0
# Of the book that is ingested beside them, over and over.
LESSONS = 600

Waited = tuple[float, float]


@dataclass
class Figures:
    """What readers met: when they began to wait for a first sentence or a search and when they had
    it, and outcomes."""

    first_sentence: list[Waited] = field(default_factory=list)
    search: list[Waited] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)

    @property
    def errors(self) -> int:
        return sum(count for what, count in self.outcomes.items() if what != "answered")

    def percentiles(self, speed: Speed | None = None) -> dict[str, float]:
        """Of all, or of what fell into times in which the machine was as fast as usual."""
        told: dict[str, float] = {}
        for name in ("first_sentence", "search"):
            waited: list[Waited] = getattr(self, name)
            if speed:
                waited = [each for each in waited if speed.was_ordinary(*each)]
            times = [end - start for start, end in waited] or [float("nan")]
            told[f"{name}_count"] = len(waited)
            for share in (50, 95):
                told[f"{name}_p{share}_ms"] = round(float(np.percentile(times, share)) * 1000, 1)
        return told


def many_readers(url: str) -> aiohttp.ClientSession:
    """With the client that takes least of the cores that the service needs."""
    return aiohttp.ClientSession(
        url, connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout(120)
    )


async def ask(http: aiohttp.ClientSession, question: str, figures: Figures) -> None:
    """One streamed answer, read to its end."""
    started = time.perf_counter()
    outcome = "cut off"
    waiting = True
    body = {"message": question, "book_id": BOOK}
    try:
        async with http.post("/chat/stream", json=body) as response:
            if not response.ok:
                figures.outcomes[str(response.status)] += 1
                return
            async for line in response.content:
                if waiting and line == b"event: token\n":
                    waiting = False
                    figures.first_sentence.append((started, time.perf_counter()))
                if line == b"event: done\n":
                    outcome = "answered"
                elif line == b"event: error\n":
                    outcome = "error"
    except (aiohttp.ClientError, TimeoutError) as problem:
        outcome = type(problem).__name__
    figures.outcomes[outcome] += 1


def search_apart(url: str, questions: list[str], seconds: float, pause: float) -> Figures:
    """Searches one after the other; in a process of its own, since the one that plays the readers
    is late itself when many stream."""
    figures = Figures()
    end = time.perf_counter() + seconds
    with httpx.Client(base_url=url, timeout=120) as http:
        while time.perf_counter() < end:
            body = {"text": random.choice(questions), "book_id": BOOK}
            started = time.perf_counter()
            try:
                response = http.post("/search", json=body)
            except httpx.HTTPError as problem:
                figures.outcomes[f"search: {type(problem).__name__}"] += 1
                continue
            if response.is_success:
                figures.search.append((started, time.perf_counter()))
            else:
                figures.outcomes[f"search: {response.status_code}"] += 1
            time.sleep(pause)
    return figures


async def repeat_until(end: float, pause: float, step: Callable[[], Awaitable[None]]) -> None:
    while time.perf_counter() < end:
        await step()
        await asyncio.sleep(pause)


async def keep_ingesting(http: httpx.AsyncClient, end: float) -> int:
    """How often the whole of a book was ingested."""
    done = 0
    while time.perf_counter() < end:
        body = {"path": "beside", "book_id": "beside", "mode": "recreate"}
        response = await http.post("/ingestion/trigger", json=body)
        if response.status_code == httpx.codes.CONFLICT:
            await asyncio.sleep(0.5)  # the one before has ended, but still holds the book
            continue
        response.raise_for_status()
        job = response.json()["job_id"]
        status = ""
        while status not in ("completed", "failed"):
            await asyncio.sleep(0.5)
            status = (await http.get(f"/ingestion/status/{job}")).json()["status"]
        done += status == "completed"
    return done


async def measure_process(service: ServiceProcess, end: float) -> tuple[list[float], list[int]]:
    """Megabytes in memory and open file handles, every few seconds."""
    memory, handles = [], []
    while time.perf_counter() < end:
        status = Path(f"/proc/{service.pid}/status").read_text()
        resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        memory.append(round(int(resident.split()[1]) / 1024, 1))
        handles.append(len(list(Path(f"/proc/{service.pid}/fd").iterdir())))
        await asyncio.sleep(min(MEASURE_EVERY, max(0.1, end - time.perf_counter())))
    return memory, handles


def over_time(taken: Sequence[float]) -> dict[str, float]:
    return {"at half time": taken[len(taken) // 2], "at the end": taken[-1], "most": max(taken)}


async def hold(
    chosen: argparse.Namespace, work: Path, environment: dict[str, str], questions: list[str]
) -> dict[str, Any]:
    draw = random.Random(1)
    environment = {**environment, "BYTHEBOOK_MAX_CONCURRENT": "1000"}
    loop = asyncio.get_running_loop()
    additions = [additions_ms()]
    speed = Speed()
    with ProcessPoolExecutor(1) as apart, speed.watched():
        async with service_process(work / "home", environment) as (service, http):
            idle, busy = Figures(), Figures()

            def search(seconds: float, pause: float) -> asyncio.Future[Figures]:
                return loop.run_in_executor(
                    apart, search_apart, service.url, questions, seconds, pause
                )

            async def measure_idle() -> None:
                idle.search += (await search(IDLE_SECONDS, SEARCH_PAUSE)).search
                async with many_readers(service.url) as alone:
                    for question in questions[:IDLE_QUESTIONS]:
                        await ask(alone, question, idle)

            # What is asked for the first time takes longer, also when idle.
            await search(WARM_SECONDS, 0.0)
            await measure_idle()
            async with many_readers(service.url) as many:
                end = time.perf_counter() + chosen.minutes * 60
                before = ticks()

                async def reader() -> None:
                    await asyncio.sleep(draw.random() * chosen.think)
                    await repeat_until(
                        end, chosen.think, lambda: ask(many, draw.choice(questions), busy)
                    )

                searching = search(chosen.minutes * 60, SEARCH_PAUSE)
                measuring = asyncio.create_task(measure_process(service, end))
                ingesting = asyncio.create_task(keep_ingesting(http, end))
                await asyncio.gather(*(reader() for _ in range(chosen.readers)))
                (memory, handles), ingests = await measuring, await ingesting
                searched = await searching
                stolen = stolen_percent(before)
                busy.search = searched.search
                busy.outcomes += searched.outcomes
            additions.append(additions_ms())
            await measure_idle()
    return {
        "part": "hold",
        "readers": chosen.readers,
        "minutes": chosen.minutes,
        "think_seconds": chosen.think,
        "additions_ms": additions,
        "stolen_percent": stolen,
        "answers": busy.outcomes["answered"],
        "searches": len(busy.search),
        "ingests": ingests,
        "errors": busy.errors,
        "outcomes": dict(busy.outcomes),
        "idle": idle.percentiles(),
        "busy": busy.percentiles(),
        "at_ordinary_speed": {"idle": idle.percentiles(speed), "busy": busy.percentiles(speed)},
        "memory_mb": over_time(memory),
        "file_handles": over_time(handles),
    }


async def overload(work: Path, environment: dict[str, str], questions: list[str]) -> dict[str, Any]:
    environment = {**environment, "BYTHEBOOK_MAX_CONCURRENT": str(TAKEN_AT_ONCE)}
    async with service_process(work / "home", environment) as (service, _):
        figures, after = Figures(), Figures()
        async with many_readers(service.url) as many:
            asked = [questions[number % len(questions)] for number in range(SENT_AT_ONCE)]
            await asyncio.gather(*(ask(many, question, figures) for question in asked))
            for question in questions[:5]:
                await ask(many, question, after)
    told = {"part": "overload", "taken_at_once": TAKEN_AT_ONCE, "sent_at_once": SENT_AT_ONCE}
    outcomes = {"outcomes": dict(figures.outcomes), "answered_after": after.outcomes["answered"]}
    return {**told, **outcomes}


async def prepare(work: Path) -> None:
    async with await Library.open(Settings(home=work / "home")) as library:
        await library.ingest(sample_book(), book_id=BOOK)
    write_lessons(work / "books" / "beside", LESSONS)


async def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--readers", type=int, default=50)
    options.add_argument("--minutes", type=float, default=1.0)
    options.add_argument("--think", type=float, default=30.0, help="seconds between two questions")
    options.add_argument("--only", choices=["hold", "overload", "replicas"])
    options.add_argument("--out", type=Path)
    chosen = options.parse_args()
    questions = covered_questions(100)
    lines: list[dict[str, Any]] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        llm_process(latency=LATENCY, pause=PIECE_PAUSE) as llm,
    ):
        work = Path(folder)
        environment = {
            "BYTHEBOOK_ANSWERER": "openai",
            "OPENAI_BASE_URL": llm,
            "OPENAI_API_KEY": "any",
            "OPENAI_MODEL": "stand-in",
            "BYTHEBOOK_BOOKS_FOLDER": str(work / "books"),
            "BYTHEBOOK_LOG_LEVEL": "info",
            # A scripted model says what it says once.
            "BYTHEBOOK_REPAIR": "false",
        }
        await prepare(work)
        if chosen.only in (None, "hold"):
            lines.append(await hold(chosen, work, environment, questions))
        if chosen.only in (None, "overload"):
            lines.append(await overload(work, environment, questions))
        if chosen.only in (None, "replicas"):
            lines.append(asdict(await check_replicas(work / "replicas")))
    for line in lines:
        print(json.dumps(line, indent=2), flush=True)
        if chosen.out:
            with chosen.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    asyncio.run(main())
