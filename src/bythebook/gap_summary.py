"""A week of questions for people: as plain text, and as a file that a mail program can send."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from email.message import EmailMessage
from email.utils import format_datetime

from bythebook.gaps import Gaps
from bythebook.models.asked_question import Gap, Summary

SUMMARY_DAYS = 7
SUMMARY_GAPS = 10


async def summarise(gaps: Gaps, days: int, *, books: Collection[str] | None = None) -> Summary:
    """Counts, the largest gaps and the pages most cited of the last days."""
    found = await gaps.questions.summary(days, books=books)
    found.gaps = (await gaps.find(days, SUMMARY_GAPS, books=books)).gaps
    return found


def as_text(summary: Summary) -> str:
    return "\n".join(_lines(summary)) + "\n"


def as_mail(summary: Summary) -> bytes:
    """With neither sender nor receiver: whoever sends it knows them."""
    mail = EmailMessage()
    mail["Subject"] = f"{_title(summary)}: {_counted(summary.questions, 'question')}"
    mail["Date"] = format_datetime(summary.until)
    mail.set_content(as_text(summary), cte="quoted-printable")
    return mail.as_bytes()


def _title(summary: Summary) -> str:
    of = f" of {summary.book_id}" if summary.book_id else ""
    return f"Questions{of} from {summary.since:%Y-%m-%d} to {summary.until:%Y-%m-%d}"


def _lines(summary: Summary) -> Iterator[str]:
    yield _title(summary)
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
        yield f"{page.answers:>4,}x {_plain(page.title)}"
        if page.url:
            yield f"      {_plain(page.url)}"


def _gap_lines(number: int, gap: Gap) -> Iterator[str]:
    yield f"{number:>3}. {_plain(gap.question)}"
    kinds = ((gap.refused, "refused"), (gap.low, "uncertain"), (gap.down, "rated down"))
    facts = [f"{count:,} {kind}" for count, kind in kinds if count]
    yield f"     asked {gap.asked:,}x: {', '.join(facts)}; {gap.book_id}"
    if gap.nearest:
        place = (gap.nearest.title, gap.nearest.url)
        yield f"     nearest: {_plain(' '.join(filter(None, place)))}"


def _plain(text: str) -> str:
    """One line, which changes nothing in a terminal."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def _counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"
