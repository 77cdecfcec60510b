"""Questions that the book did not answer well: grouped by meaning, as CSV, and in a summary to
read or to send."""

from __future__ import annotations

import asyncio
import csv
import io
import re
import unicodedata
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from email.message import EmailMessage
from email.utils import format_datetime
from typing import TYPE_CHECKING

from bythebook.embedding.embedder import MiniLM
from bythebook.models.asked_question import (
    MAX_REASONS,
    MAX_WORDINGS,
    Gap,
    GapChoice,
    GapReport,
    SectionLink,
    Summary,
    titled,
)
from bythebook.models.values import counted
from bythebook.questions import Questions, Unanswered
from bythebook.runtime import Processes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


EDGES = " \t.,;:!?¿¡…。?!\"'`*()[]"
SPACES = re.compile(r"\s+")


def plain(question: str) -> str:
    """A question without case, spacing and outer punctuation: equal if the words are the same."""
    text = unicodedata.normalize("NFKC", question).replace("’", "'")
    text = SPACES.sub(" ", text).casefold().strip(EDGES)
    return text or question.strip()


# Least cosine of two questions that count as one; see benchmarks/gaps.py for how it was chosen.
ALIKE = 0.70
# Rows compared with all others at a time: 20,000 questions need 20 MB for it.
BLOCK = 256


def grouped(
    vectors: NDArray[np.float32], weights: Sequence[int], alike: float = ALIKE
) -> list[list[int]]:
    """Put each row into one group. A group begins with its centre, and all the others are like the
    centre, so that no chain leads from one meaning to another.

    The first centre is the question that was asked most often, counted with all that are like it;
    the next is the first of the rest that is like no centre, and so on. Every other question then
    joins the nearest centre.
    """
    import numpy as np

    count = len(vectors)
    # Whole numbers; float32 is exact for them up to 16 million.
    asked = np.asarray(weights, np.float32)
    around = np.zeros(count, np.float32)
    for rows in _blocks(np.arange(count)):
        around[rows] = (vectors[rows] @ vectors.T >= alike).astype(np.float32) @ asked
    densest = np.lexsort((np.arange(count), -asked, -around))
    centres: list[int] = []
    is_taken = np.zeros(count, bool)
    for rows in _blocks(densest):
        near = vectors[rows] @ vectors.T >= alike
        for row, like_it in zip(rows.tolist(), near, strict=True):
            if not is_taken[row]:
                centres.append(row)
                is_taken |= like_it
                is_taken[row] = True
    groups: dict[int, list[int]] = {centre: [centre] for centre in centres}
    others = np.setdiff1d(np.arange(count), centres)
    middle = vectors[centres].T
    for rows in _blocks(others):
        nearest = (vectors[rows] @ middle).argmax(axis=1)
        for row, centre in zip(rows.tolist(), nearest.tolist(), strict=True):
            groups[centres[centre]].append(row)
    return list(groups.values())


def _blocks(rows: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    for start in range(0, len(rows), BLOCK):
        yield rows[start : start + BLOCK]


# A book and a question in plain words.
Wording = tuple[str, str]


def by_wording(asked: Iterable[Unanswered]) -> dict[Wording, list[Unanswered]]:
    """Questions by book and wording, sorted: the order in which they come makes no difference."""
    found: dict[Wording, list[Unanswered]] = {}
    for one in asked:
        found.setdefault((one.book_id, plain(one.question)), []).append(one)
    return dict(sorted(found.items()))


def gap_of(wordings: Sequence[Sequence[Unanswered]]) -> Gap:
    """One gap from a group. Each wording is the list of its askings; the centre comes first."""
    # Sorting is stable: where all wordings were asked equally often, the centre names the gap.
    ranked = sorted(wordings, key=lambda askings: -len(askings))
    written = [_as_written(askings) for askings in ranked]
    every = [one for askings in wordings for one in askings]
    newest = sorted(every, key=lambda one: (one.asked_at, one.reason or ""), reverse=True)
    return Gap(
        question=written[0],
        wordings=written[1 : MAX_WORDINGS + 1],
        different=len(written),
        book_id=every[0].book_id,
        asked=len(every),
        sessions=len({one.session_id for one in every}),
        refused=sum(one.outcome == "refused" for one in every),
        low=sum(one.outcome == "answered" and one.confidence_level == "low" for one in every),
        nearest=_nearest(every),
        up=sum(one.rating == "up" for one in every),
        down=sum(one.rating == "down" for one in every),
        reasons=[one.reason for one in newest if one.reason][:MAX_REASONS],
        last_asked=newest[0].asked_at,
    )


def most_asked_first(gap: Gap) -> tuple[int, int, float, str, str]:
    return (-gap.asked, -gap.sessions, -gap.last_asked.timestamp(), gap.book_id, gap.question)


def _as_written(askings: Sequence[Unanswered]) -> str:
    written = Counter(" ".join(one.question.split()) for one in askings)
    return min(written, key=lambda text: (-written[text], -len(text), text))


def _nearest(asked: Iterable[Unanswered]) -> SectionLink | None:
    """The section that came first most often."""
    sections = (titled(one.nearest[0]) for one in asked if one.nearest)
    firsts = Counter((section["title"], section.get("url") or "") for section in sections)
    if not firsts:
        return None
    title, url = min(firsts, key=lambda section: (-firsts[section], section))
    return SectionLink(title=title, url=url or None)


# At most this many questions, the newest, are grouped at once, to bound time and memory.
MOST = 20_000
# Embedding this many takes no longer than starting a process for it.
FEW = 200


class Gaps:
    """Groups the questions that are kept. Their vectors stay cached until `forget`."""

    def __init__(
        self, questions: Questions, *, threads: int = 0, in_background: bool = False
    ) -> None:
        self.questions = questions
        self.threads = threads
        self.in_background = in_background
        self.vectors: dict[str, array[float]] = {}
        self._one_at_a_time = asyncio.Lock()

    async def find(
        self,
        days: int,
        limit: int,
        *,
        books: Collection[str] | None = None,
        choice: GapChoice | None = None,
    ) -> GapReport:
        """The gaps of the last days, in these books or in all. `choice` is the kind of questions to
        look at: without it, the refused and the uncertain ones."""
        async with self._one_at_a_time:
            asked, count = await self.questions.unanswered(days, MOST, books=books, choice=choice)
            gaps = await self._group(await asyncio.to_thread(by_wording, asked))
        return GapReport(
            days=min(days, self.questions.keep_days),
            questions=count,
            groups=len(gaps),
            left_out=count - len(asked),
            gaps=sorted(gaps, key=most_asked_first)[:limit],
        )

    def forget(self) -> None:
        """Drop the cached vectors: nothing of a question may outlive it for long."""
        self.vectors.clear()

    async def _group(self, wordings: dict[Wording, list[Unanswered]]) -> list[Gap]:
        known = await self._embedded({text for _, text in wordings})
        books: dict[str, list[Wording]] = defaultdict(list)
        for wording in wordings:
            books[wording[0]].append(wording)
        gaps: list[Gap] = []
        for own in books.values():
            askings = [wordings[wording] for wording in own]
            vectors = [known[text] for _, text in own]
            gaps += await asyncio.to_thread(_gaps_of, askings, vectors)
        return gaps

    async def _embedded(self, texts: set[str]) -> dict[str, array[float]]:
        known = {text: self.vectors[text] for text in texts & self.vectors.keys()}
        new = sorted(texts - known.keys())
        if not new:
            return known
        embedder, processes = MiniLM(threads=self.threads), Processes(self.threads)
        if self.in_background and len(new) > FEW:
            embedder.stay_in(processes)
        try:
            vectors = await embedder.embed_documents(new)
        finally:
            await embedder.close()
            await processes.close()
        known.update(zip(new, vectors, strict=True))
        self.vectors = {**self.vectors, **known} if len(self.vectors) < MOST else dict(known)
        return known


def _gaps_of(askings: Sequence[list[Unanswered]], vectors: Sequence[array[float]]) -> list[Gap]:
    import numpy as np

    groups = grouped(np.array(vectors, np.float32), [len(one) for one in askings])
    return [gap_of([askings[row] for row in group]) for group in groups]


COLUMNS = (
    "question asked sessions refused low nearest link up down reasons wordings different book "
    "last_asked"
).split()
BETWEEN = " | "
# A spreadsheet takes what begins with these for a formula, and a formula may send data elsewhere.
FORMULA = tuple("=+-@＝＋－＠")
CONTROL = tuple("\t\r\n")


def as_csv(gaps: Iterable[Gap]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    writer.writerow(COLUMNS)
    for gap in gaps:
        writer.writerow(_cell(value) for value in _row(gap))
    return text.getvalue()


def _row(gap: Gap) -> Iterable[str | int]:
    yield from (gap.question, gap.asked, gap.sessions, gap.refused, gap.low)
    yield gap.nearest.title if gap.nearest else ""
    yield (gap.nearest.url if gap.nearest else None) or ""
    yield from (gap.up, gap.down, BETWEEN.join(gap.reasons), BETWEEN.join(gap.wordings))
    yield from (gap.different, gap.book_id, f"{gap.last_asked:%Y-%m-%d %H:%M}")


def _cell(value: str | int) -> str:
    """A leading apostrophe makes a spreadsheet treat a risky cell as text."""
    text = str(value)
    is_risky = text.startswith(CONTROL) or text.lstrip().startswith(FORMULA)
    return f"'{text}" if is_risky else text


SUMMARY_DAYS = 7
SUMMARY_GAPS = 10


async def summarise(gaps: Gaps, days: int, *, books: Collection[str] | None = None) -> Summary:
    """Counts, the largest gaps and the pages most cited of the last days."""
    found = await gaps.questions.summary(days, books=books)
    found.gaps = (await gaps.find(days, SUMMARY_GAPS, books=books)).gaps
    return found


def as_text(summary: Summary) -> str:
    return "\n".join(_summary_lines(summary)) + "\n"


def as_mail(summary: Summary) -> bytes:
    """Without sender and recipient, which whoever sends it adds."""
    mail = EmailMessage()
    mail["Subject"] = f"{_summary_title(summary)}: {counted(summary.questions, 'question')}"
    mail["Date"] = format_datetime(summary.until)
    mail.set_content(as_text(summary), cte="quoted-printable")
    return mail.as_bytes()


def _summary_title(summary: Summary) -> str:
    of = f" of {summary.book_id}" if summary.book_id else ""
    return f"Questions{of} from {summary.since:%Y-%m-%d} to {summary.until:%Y-%m-%d}"


def _summary_lines(summary: Summary) -> Iterator[str]:
    yield _summary_title(summary)
    yield ""
    counts = (
        ("questions", summary.questions),
        ("answered", summary.answered),
        ("  uncertain", summary.uncertain),
        ("refused", summary.refused),
        ("failed", summary.failed),
        ("thumbs up", summary.up),
        ("thumbs down", summary.down),
    )
    for name, count in counts:
        yield f"{name:<12}{count:>8,}"
    yield ""
    yield "What the book did not answer, or hardly" if summary.gaps else "There are no gaps."
    for number, gap in enumerate(summary.gaps, 1):
        yield from _gap_lines(number, gap)
    if summary.cited:
        yield ""
        yield "Pages most cited"
    for page in summary.cited:
        yield f"{page.answers:>4,}x {_printable(page.title)}"
        if page.url:
            yield f"      {_printable(page.url)}"


def _gap_lines(number: int, gap: Gap) -> Iterator[str]:
    yield f"{number:>3}. {_printable(gap.question)}"
    kinds = ((gap.refused, "refused"), (gap.low, "uncertain"), (gap.down, "rated down"))
    facts = [f"{count:,} {kind}" for count, kind in kinds if count]
    yield f"     asked {gap.asked:,}x: {', '.join(facts)}; {gap.book_id}"
    if gap.nearest:
        place = (gap.nearest.title, gap.nearest.url)
        yield f"     nearest: {_printable(' '.join(filter(None, place)))}"


def _printable(text: str) -> str:
    """On one line, without signs that control a terminal."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
