"""Replies on a chat platform: the answer and its sources, or why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bythebook.errors import BookError, Overloaded
from bythebook.models.answer import Answer
from bythebook.models.passage import ConfidenceLevel, label_of
from bythebook.server.conversations import SavedAnswer
from bythebook.server.platforms.dialects import Dialect, in_dialect, web_address

# As on the page; a refusal speaks for itself.
CONFIDENCE: dict[ConfidenceLevel, str] = {
    "high": "High confidence",
    "medium": "Medium confidence",
    "low": "Low confidence: few passages fit the question. Read what is quoted before you rely on "
    "it.",
    "insufficient": "Not covered",
}
NEAREST = "These sections come closest, although they don't answer it:"
HOW_TO_ASK = "Ask me a question about the book, and I answer with what the book says."
TRY_AGAIN = "The question could not be answered just now. Try again in a moment."
CUT = "…"
SEPARATOR = "\n\n"
LONGEST_LABEL = 150

Outcome = SavedAnswer | BookError


@dataclass(frozen=True)
class Reply:
    """A message in three parts, in the dialect of the platform; only the first is never empty."""

    body: str
    sources: str = ""
    footer: str = ""


@dataclass(frozen=True)
class ReplyLimits:
    """Limits in characters of each part, and of all of them together."""

    body: int
    sources: int
    footer: int
    together: int


def render_outcome(outcome: Outcome, dialect: Dialect, room: ReplyLimits) -> Reply:
    """The answer as it fits. Errors that the asker can mend are shown; the others are for the
    operator's log."""
    if isinstance(outcome, BookError):
        is_shown = outcome.http_status < 500 or isinstance(outcome, Overloaded)
        words = outcome.message if is_shown else TRY_AGAIN
        return Reply(shortened(words, dialect, room.body))
    answer = outcome.answer
    if answer.refused:
        places = [passage.metadata for passage in answer.nearest]
        near = [_source(label_of(place), place.url, dialect) for place in places]
        listed = _listed([dialect.bullet + line for line in dict.fromkeys(near)], room.sources)
        title = dialect.text(NEAREST)
        near_by = f"{title}\n{listed}" if listed else ""
        sources = near_by if length(near_by) <= room.sources else ""
        return Reply(_body(answer, dialect, _left(room, sources)), sources)
    lines = [
        _source(cited.label, cited.url, dialect, f"[{cited.number}] ") for cited in answer.citations
    ]
    remarks = [CONFIDENCE[answer.confidence.confidence_level], *answer.notes]
    footer = shortened(" · ".join(remark.rstrip(".") for remark in remarks), dialect, room.footer)
    sources = _listed(lines, room.sources)
    return Reply(_body(answer, dialect, _left(room, sources, footer)), sources, footer)


def shortened(text: str, dialect: Dialect, room: int) -> str:
    """Plain text, cut between words where it must be."""
    text = " ".join(text.split())
    return _fitting(text, dialect, room, is_plain=True)


def length(text: str) -> int:
    """As UTF-16 counts, which is the most that a platform can mean by a character."""
    return len(text.encode("utf-16-le", "replace")) // 2


def _left(room: ReplyLimits, *others: str) -> int:
    used = sum(length(SEPARATOR + other) for other in others if other)
    return min(room.body, room.together - used)


def _body(answer: Answer, dialect: Dialect, room: int) -> str:
    whole = dialect.without_mentions(in_dialect(answer.text, dialect))
    if 0 < length(whole) <= room:
        return whole
    for number, sentence in reversed([*enumerate(answer.sentences)][:-1]):
        ending = _read_on(answer, answer.sentences[number + 1].citations, dialect)
        part = in_dialect(answer.text[: sentence.end], dialect)
        cut = dialect.without_mentions(f"{part}{SEPARATOR}{ending}")
        if part and length(cut) <= room:
            return cut
    return _fitting(answer.text, dialect, room)


def _read_on(answer: Answer, numbers: Iterable[int], dialect: Dialect) -> str:
    """A link to what the first sentence that was left out rests on."""
    cited = {citation.number: citation.url for citation in answer.citations}
    for url in [cited[number] for number in numbers if number in cited]:
        if target := web_address(url):
            return f"{CUT} {dialect.link('Read on in the book', target)}"
    return CUT


def _fitting(text: str, dialect: Dialect, room: int, *, is_plain: bool = False) -> str:
    """As much of a text as fits once it is written, which may take several signs for one."""
    take = len(text)
    while True:
        part = text[:take]
        if take < len(text):
            part = (part.rpartition(" ")[0] or part) + CUT
        shown = dialect.text(part) if is_plain else in_dialect(part, dialect)
        shown = dialect.without_mentions(shown)
        if length(shown) <= room:
            return shown or CUT
        take = min(take - 1, take * room // length(shown))


def _listed(lines: list[str], room: int) -> str:
    """As many lines as fit, and how many more there are."""
    for count in range(len(lines), 0, -1):
        left = len(lines) - count
        more = [f"and {left} more"] if left else []
        listed = "\n".join([*lines[:count], *more])
        if length(listed) <= room:
            return listed
    return ""


def _source(label: str, url: str, dialect: Dialect, number: str = "") -> str:
    """A link behind its number; only the words where the book has no public address."""
    if len(label) > LONGEST_LABEL:
        label = label[: LONGEST_LABEL - 1] + CUT
    marker = dialect.text(number) if number else ""
    target = web_address(url)
    shown = dialect.link(label, target) if target else dialect.text(label)
    return dialect.without_mentions(marker + shown)


def parts_of(message: Reply) -> Iterator[str]:
    yield from filter(None, (message.body, message.sources, message.footer))
