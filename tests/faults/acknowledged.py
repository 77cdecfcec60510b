"""Work over HTTP that remembers whatever was acknowledged, and looks for it afterwards."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import httpx

from booktext import TOPICS, lesson, section
from bythebook.models.job import IngestionJob
from faults.tally import Tally
from server.running import parse_events, until

BOOK = "faulted"
FILES = 6
# A history tells of the last 25 exchanges.
MOST_TURNS = 20


def write_lessons(root: Path, generator: random.Random) -> None:
    """Change, add and remove some lessons, so that every ingest has something to do."""
    topics = list(TOPICS)
    for number in generator.sample(range(FILES), 2):
        file = root / BOOK / f"module-1/chapter-{number % 2 + 1}/{number:02}-lesson.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.exists() and generator.random() < 0.2:
            file.unlink()
            continue
        chosen = generator.sample(topics, 2)
        text = lesson(f"Lesson {number}", *(section(f"About {topic}", topic) for topic in chosen))
        file.write_text(text, encoding="utf-8")


@dataclass
class Acknowledged:
    """All that one service said yes to, over all of its starts."""

    tally: Tally
    books: Path
    generator: random.Random
    turns: dict[str, list[str]] = field(default_factory=dict)
    jobs: list[int] = field(default_factory=list)
    # Sent, but nobody knows what became of them: they may be there once, or not at all.
    unknown: set[str] = field(default_factory=set)
    killed: bool = False

    async def chat(self, http: httpx.AsyncClient, *, stream: bool) -> bool:
        """One turn, in a conversation that goes on or a new one."""
        open_ones = [session for session, turns in self.turns.items() if len(turns) < MOST_TURNS]
        session = str(uuid4())
        if open_ones and self.generator.random() < 0.7:
            session = self.generator.choice(open_ones[-5:])
        topic = self.generator.choice(list(TOPICS))
        question = f"What is said about {topic}? ({uuid4().hex[:8]})"
        body = {"message": question, "session_id": session, "book_id": BOOK}
        self.unknown.add(question)
        path = "/chat/stream" if stream else "/chat/run"
        try:
            response = await http.post(path, json=body)
        except httpx.TransportError as problem:
            self.tally.ended(path, problem, killed=self.killed)
            return False
        if not self.tally.took(response) or not self._was_kept(response, stream):
            return False
        self.turns.setdefault(session, []).append(question)
        self.tally.acknowledged += 1
        return True

    def _was_kept(self, response: httpx.Response, stream: bool) -> bool:
        if not stream:
            return True
        name, data = parse_events(response.text)[-1]
        if name == "error":
            if data["error"] == "E000":
                self.tally.wrong += 1
                self.tally.note(json.dumps(data))
            else:
                self.tally.refused += 1
        return name == "done"

    async def trigger(self, http: httpx.AsyncClient) -> int | None:
        """Queue an ingest of the changed book; its job, or None where it was refused."""
        path = "/ingestion/trigger"
        try:
            response = await http.post(path, json={"path": BOOK, "book_id": BOOK})
        except httpx.TransportError as problem:
            self.tally.ended(path, problem, killed=self.killed)
            return None
        if not self.tally.took(response):
            return None
        job = int(response.json()["job_id"])
        self.jobs.append(job)
        self.tally.acknowledged += 1
        return job

    async def keep_chatting(self, http: httpx.AsyncClient, *, stream: bool) -> None:
        while not self.killed:
            await self.chat(http, stream=stream)

    async def keep_ingesting(self, http: httpx.AsyncClient) -> None:
        while not self.killed:
            write_lessons(self.books, self.generator)
            job = await self.trigger(http)
            while job is not None and not self.killed:
                if (await self._job(http, job)) is None:
                    break
                await asyncio.sleep(0.05)

    async def _job(self, http: httpx.AsyncClient, job: int) -> IngestionJob | None:
        """The job while it waits or runs."""
        path = f"/ingestion/status/{job}"
        try:
            response = await http.get(path)
        except httpx.TransportError as problem:
            self.tally.ended(path, problem, killed=self.killed)
            return None
        if not self.tally.took(response):
            return None
        found = IngestionJob.model_validate(response.json())
        return found if found.completed_at is None else None

    async def _has_ended(self, http: httpx.AsyncClient, job: int) -> bool:
        return await self._job(http, job) is None

    async def check(self, http: httpx.AsyncClient, *, jobs: int = 20, sessions: int = 20) -> None:
        """Count what was acknowledged and is not there, or is there twice; the newest only, for
        the older ones have been looked for before."""
        for session in list(self.turns)[-sessions:]:
            response = await http.get(f"/session/{session}/history")
            messages = response.json()["messages"] if response.is_success else []
            asked = Counter(message["content"] for message in messages if message["role"] == "user")
            missing = [question for question in self.turns[session] if not asked[question]]
            if missing or len(messages) != 2 * asked.total():
                self.tally.lost += max(1, len(missing))
                self.tally.note(f"session {session}: {response.text[:300]}")
            kept = [message["content"] for message in messages if message["content"] in asked]
            in_order = [question for question in kept if question in self.turns[session]]
            strange = set(asked) - self.unknown
            if strange or max(asked.values(), default=0) > 1 or in_order != self.turns[session]:
                self.tally.wrong += 1
                self.tally.note(f"session {session}: {kept} instead of {self.turns[session]}")
        for job in self.jobs[-jobs:]:
            response = await http.get(f"/ingestion/status/{job}")
            if not response.is_success:
                self.tally.lost += 1
                self.tally.note(f"job {job}: {response.text[:300]}")

    async def recover(self, http: httpx.AsyncClient) -> None:
        """The service does its work again without anybody's help: a chat, and an ingest to the
        end, after which the index is as the folder."""
        try:
            await until(lambda: self._works(http))
        except TimeoutError:
            self.tally.unrecovered += 1
            health = await http.get("/health")
            jobs = await http.get("/ingestion/status", params={"limit": 1})
            self.tally.note(f"not recovered: {jobs.text[:700]} {health.text[:300]}")

    async def _works(self, http: httpx.AsyncClient) -> bool:
        if not list((self.books / BOOK).rglob("*.md")):
            write_lessons(self.books, self.generator)
        job = await self.trigger(http)
        if job is None:  # the one from before the fault may still be waiting
            await asyncio.sleep(0.2)
            return False
        await until(lambda: self._has_ended(http, job))
        done = await http.get(f"/ingestion/status/{job}")
        if not done.is_success or done.json()["status"] != "completed":
            return False
        changes = await http.get("/ingestion/changes", params={"book_id": BOOK})
        if not changes.is_success or not changes.json()["up_to_date"]:
            return False
        return await self.chat(http, stream=False)
