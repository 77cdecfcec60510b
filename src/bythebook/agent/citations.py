"""Citations: the markers in what a model writes, such as `[1]`, `[2, 3]` or malformed ones, and the
places of the book that they point to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bythebook.models.answer import Citation
from bythebook.models.passage import Passage

LABEL = r"(?:sources?|results?|passages?|refs?|cites?|citations?)?\.?:?\s*"
NUMBERS = r"\^?\d{1,3}(?:\s*+(?:,|;|&|and|–|-)\s*+\^?\d{1,3})*+"
QUOTED = r"(?:\s*+:\s*+[\"“„«](?P<quote>[^\[\]]+?)[\"”“»]\s*+)?"
MARKER = re.compile(
    rf"(?<![ \t])[ \t]*+(?:\[{LABEL}(?P<numbers>{NUMBERS}){QUOTED}\]"
    rf"|【{LABEL}(?P<other>\d{{1,3}})[^【】]*+】)",
    re.IGNORECASE,
)
RANGE = re.compile(r"(?<!\d)(\d++)\s*+[–-]\s*+(\d+)")
CODE = re.compile(r"(```.*?```|~~~.*?~~~|`[^`\n]*`)", re.DOTALL)
SPACE_BEFORE_STOP = re.compile(r"(?<![ \t])[ \t]++([.,;:!?])")


@dataclass(frozen=True)
class Marked:
    """A unit without its markers, the numbers they held in order of first use, and the words of
    the book that a translated sentence gave with them."""

    text: str
    numbers: tuple[int, ...]
    quotes: tuple[str, ...] = ()


def take_markers(unit: str) -> Marked:
    numbers: dict[int, None] = {}
    quotes: list[str] = []

    def take(found: re.Match[str]) -> str:
        listed = found["numbers"] or found["other"]
        listed = RANGE.sub(lambda pair: _spelled_out(int(pair[1]), int(pair[2])), listed)
        numbers.update(dict.fromkeys(int(digits) for digits in re.findall(r"\d+", listed)))
        if found["quote"]:
            quotes.append(found["quote"].strip())
        return ""

    parts = CODE.split(unit)
    for index in range(0, len(parts), 2):
        left = parts[index]
        while (taken := MARKER.sub(take, left)) != left:  # what one leaves may be another
            left = SPACE_BEFORE_STOP.sub(r"\1", taken)
        parts[index] = left
    return Marked("".join(parts), tuple(numbers), tuple(quotes))


def _spelled_out(first: int, last: int) -> str:
    return ",".join(str(number) for number in range(first, min(last, first + 20) + 1))


STOP = re.compile(r"(?<![.!?:…。！？])([.!?:…。！？]++[\"'”’»)*_]*+)\s*+$")


def put_markers(text: str, numbers: tuple[int, ...]) -> str:
    """The text with its markers: before the full stop or at the end; below a block."""
    if not numbers:
        return text
    markers = "".join(f"[{number}]" for number in numbers)
    if text.rstrip().endswith(("```", "~~~")):
        return f"{text.rstrip()}\n{markers}"
    if text.lstrip().startswith("|"):
        return f"{text.rstrip()}\n\n{markers}"
    stop = STOP.search(text)
    if not stop or stop[1].startswith(("…", "..")):
        return f"{text.rstrip()} {markers}"
    return f"{text[: stop.start()]} {markers}{stop[1]}"


@dataclass(frozen=True)
class Support:
    """Where a passage supports a unit, and how well."""

    passage: Passage
    start: int
    end: int
    score: float


def citation_of(number: int, supports: Sequence[Support]) -> Citation:
    stretches = merged([(each.start, each.end) for each in supports])
    passage = supports[0].passage
    return Citation(
        number=number,
        passage=passage,
        start=stretches[0][0],
        end=stretches[-1][1],
        confidence=passage.score,
        stretches=tuple(stretches),
    )


def merged(stretches: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """In order, with those that touch joined."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(stretches):
        if joined and start <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined
