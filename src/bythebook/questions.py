"""Questions that were asked over HTTP: kept for a while, rated by readers, counted for admins."""

from __future__ import annotations

import math
import re
import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, delete, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bythebook.database.engine import readable, reading, transaction
from bythebook.database.tables import asked_questions as table
from bythebook.database.tables import storable, storable_json
from bythebook.errors import InputError
from bythebook.models.asked_question import (
    OUTCOMES,
    AskedQuestion,
    Choice,
    CitedPage,
    Counts,
    DayCounts,
    FeedbackCounts,
    GapChoice,
    Outcome,
    QuestionEntry,
    QuestionList,
    Rating,
    Summary,
    Usage,
    titled,
)
from bythebook.models.chunk import now
from bythebook.models.passage import ConfidenceLevel

# Where a list goes on: microseconds since 1970 and an id. No clock gets beyond 16 digits.
CURSOR = re.compile(r"([0-9]{1,16})-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
CURSOR_PATTERN = f"^{CURSOR.pattern}$"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

# Answers whose citations are counted, the newest, and pages that a summary names.
MOST_CITING = 20_000
SUMMARY_PAGES = 10

_SHOWN = [table.c[name] for name in QuestionEntry.model_fields]


class Unanswered(NamedTuple):
    """A question that was refused, answered with low confidence, or whose answer was rated as
    bad."""

    book_id: str
    question: str
    session_id: str
    outcome: Outcome
    nearest: list[Any]
    rating: Rating | None
    reason: str | None
    asked_at: datetime
    confidence_level: ConfidenceLevel | None = None


class Questions:
    """The table of questions; with 0 days nothing gets into it."""

    def __init__(self, engine: AsyncEngine, keep_days: int) -> None:
        self.engine = engine
        self.keep_days = keep_days

    @property
    def are_kept(self) -> bool:
        return self.keep_days > 0

    async def note(self, asked: AskedQuestion) -> None:
        row = asked.model_dump()
        row |= {
            "question": storable(asked.question),
            "nearest": [
                {"title": storable(section.title), "url": storable(section.url or "") or None}
                for section in asked.nearest
            ],
            "metadata": storable_json(asked.metadata),
        }
        async with transaction(self.engine) as connection:
            await connection.execute(insert(table).values(**row))

    async def forget(self, answer_id: str) -> None:
        async with transaction(self.engine) as connection:
            await connection.execute(delete(table).where(table.c.answer_id == answer_id))

    async def forget_old(self) -> int:
        """Delete what was kept long enough; how many there were."""
        too_old = table.c.asked_at <= now() - timedelta(days=self.keep_days)
        async with transaction(self.engine) as connection:
            return (await connection.execute(delete(table).where(too_old))).rowcount

    async def rate(
        self, answer_id: str, key_id: str | None, rating: Rating, reason: str | None
    ) -> bool:
        """Note what a reader says of an answer, in place of what was said before; False if there
        is no such answer, or it was given to another key."""
        mine = table.c.key_id.is_(None) if key_id is None else table.c.key_id == key_id
        values = {"rating": rating, "reason": None if reason is None else storable(reason)}
        async with transaction(self.engine) as connection:
            found = await connection.execute(
                update(table).where(table.c.answer_id == answer_id, mine).values(**values)
            )
            return found.rowcount > 0

    async def list(
        self,
        choice: Choice | None = None,
        *,
        limit: int = 50,
        before: str | None = None,
        books: Collection[str] | None = None,
    ) -> QuestionList:
        """Newest first, of these books or of all; `before` is the `next` of an earlier list."""
        wanted = [*_of_books(books), *_chosen(choice)]
        if before is not None:
            wanted.append(_older_than(before))
        query = (
            select(*_SHOWN)
            .where(*wanted)
            .order_by(table.c.asked_at.desc(), table.c.answer_id.desc())
            .limit(limit + 1)
        )
        async with reading(self.engine) as connection:
            rows = (await connection.execute(query)).mappings().all()
        items = readable("question", map(dict, rows[:limit]), QuestionEntry.model_validate)
        return QuestionList(items=items, next=_cursor(rows[limit - 1]) if rows[limit:] else None)

    async def unanswered(
        self,
        days: int,
        most: int,
        *,
        books: Collection[str] | None = None,
        choice: GapChoice | None = None,
    ) -> tuple[Sequence[Unanswered], int]:
        """The newest of the last days, and how many there are; without a choice the refused and the
        uncertain. What was kept too long is left out, also where no service is running that
        forgets it."""
        since = now() - timedelta(days=min(days, self.keep_days))
        choices: Sequence[GapChoice] = (choice,) if choice else ("refused", "low")
        is_gap = or_(*(and_(*_chosen(one)) for one in choices))
        wanted = [*_of_books(books), table.c.asked_at > since, is_gap]
        query = (
            select(*(table.c[name] for name in Unanswered._fields))
            .where(*wanted)
            .order_by(table.c.asked_at.desc(), table.c.answer_id)
            .limit(most)
        )
        async with reading(self.engine) as connection:
            rows = [
                Unanswered(**{**row, "nearest": _links(row["nearest"])})
                for row in (await connection.execute(query)).mappings()
            ]
            if len(rows) < most:
                return rows, len(rows)
            count = await connection.execute(select(func.count()).where(*wanted))
            return rows, count.scalar_one()

    async def summary(self, days: int, *, books: Collection[str] | None = None) -> Summary:
        """Counts of the last days, to the minute, and the pages that were cited most; without
        gaps."""
        until = now()
        since = until - timedelta(days=min(days, self.keep_days))
        wanted = [*_of_books(books), table.c.asked_at > since]
        kinds = (table.c.outcome, table.c.confidence_level, table.c.rating)
        counted = select(*kinds, func.count()).where(*wanted).group_by(*kinds)
        answered = select(table.c.nearest).where(*wanted, table.c.outcome == "answered")
        newest = answered.order_by(table.c.asked_at.desc()).limit(MOST_CITING)
        found = Summary(since=since, until=until)
        async with reading(self.engine) as connection:
            for outcome, level, rating, count in await connection.execute(counted):
                found.questions += count
                setattr(found, outcome, getattr(found, outcome) + count)
                found.uncertain += count if (outcome, level) == ("answered", "low") else 0
                if rating:
                    setattr(found, rating, getattr(found, rating) + count)
            found.cited = _most_cited(row.nearest for row in await connection.execute(newest))
        return found

    async def usage(self, days: int, *, books: Collection[str] | None = None) -> Usage:
        """The last days, with today as the last of them."""
        today = now().date()
        every = [today - timedelta(days=ago) for ago in reversed(range(days))]
        since = datetime.combine(every[0], time(), UTC)
        wanted = [*_of_books(books), table.c.asked_at >= since]
        found = {day: DayCounts(day=day) for day in every}
        totals, feedback = Counts(), FeedbackCounts()
        async with reading(self.engine) as connection:
            for day, outcome, count in await self._by_day(connection, wanted):
                # What is asked right at midnight may belong to a day that has just begun.
                if counts := found.get(date.fromisoformat(day)):
                    counts.add(outcome, count)
                    totals.add(outcome, count)
            rated = select(table.c.rating, func.count()).where(*wanted, table.c.rating.is_not(None))
            for rating, count in await connection.execute(rated.group_by(table.c.rating)):
                setattr(feedback, rating, count)
            p50, p95 = [await _percentile(connection, wanted, share) for share in (0.5, 0.95)]
        return Usage(
            days=list(found.values()), totals=totals, feedback=feedback, p50_ms=p50, p95_ms=p95
        )

    async def _by_day(
        self, connection: AsyncConnection, wanted: Sequence[ColumnElement[bool]]
    ) -> Sequence[Any]:
        day: ColumnElement[str] = func.date(table.c.asked_at)
        if self.engine.dialect.name == "postgresql":
            day = func.to_char(func.timezone("UTC", table.c.asked_at), "YYYY-MM-DD")
        day = day.label("day")
        query = select(day, table.c.outcome, func.count()).where(*wanted)
        return (await connection.execute(query.group_by(day, table.c.outcome))).all()


async def _percentile(
    connection: AsyncConnection, wanted: Sequence[ColumnElement[bool]], share: float
) -> int | None:
    """The nearest rank; SQLite has no function for it."""
    count = (await connection.execute(select(func.count()).where(*wanted))).scalar_one()
    query = select(table.c.milliseconds).where(*wanted).order_by(table.c.milliseconds)
    rank = max(math.ceil(share * count) - 1, 0)
    found = (await connection.execute(query.limit(1).offset(rank))).scalar()
    return None if found is None else int(found)


def _of_books(books: Collection[str] | None) -> list[ColumnElement[bool]]:
    return [] if books is None else [table.c.book_id.in_(books)]


def _chosen(choice: Choice | None) -> list[ColumnElement[bool]]:
    if choice is None:
        return []
    if choice in OUTCOMES:
        return [table.c.outcome == choice]
    if choice == "down":
        return [table.c.rating == "down"]
    return [table.c.outcome == "answered", table.c.confidence_level == "low"]


def _links(nearest: Any) -> list[Any]:
    """Those that are links, or titles as they were noted before; somebody else may write rows."""
    return [one for one in nearest if _is_link(one)] if isinstance(nearest, list) else []


def _is_link(one: Any) -> bool:
    if not isinstance(one, dict):
        return isinstance(one, str)
    return isinstance(one.get("title"), str) and isinstance(one.get("url"), str | None)


def _most_cited(answers: Iterable[Any]) -> list[CitedPage]:
    """An answer that cites several sections of a page counts once for it."""
    counts: Counter[tuple[str, str | None]] = Counter()
    for sections in answers:
        links = map(titled, _links(sections))
        counts.update(
            {
                (one["title"].partition(" › ")[0], (one.get("url") or "").partition("#")[0] or None)
                for one in links
            }
        )
    ranked = sorted(counts, key=lambda page: (-counts[page], page[0], page[1] or ""))
    return [CitedPage(title=t, url=u, answers=counts[t, u]) for t, u in ranked[:SUMMARY_PAGES]]


def _cursor(last: Mapping[Any, Any]) -> str:
    return f"{(last['asked_at'] - EPOCH) // MICROSECOND}-{last['answer_id']}"


def _older_than(cursor: str) -> ColumnElement[bool]:
    found = CURSOR.fullmatch(cursor)
    if found is None:
        raise InputError(
            f"{cursor!r} is no place in the list.",
            action="Send the `next` of an earlier list.",
            details={"field": "before"},
        )
    asked_at = EPOCH + int(found[1]) * MICROSECOND
    same = and_(table.c.asked_at == asked_at, table.c.answer_id < str(uuid.UUID(found[2])))
    return or_(table.c.asked_at < asked_at, same)
