"""Citation markers in what a model writes: `[1]`, `[2, 3]`, `[1][4]`, and the forms models slip
into. In code a bracketed number is code."""

from __future__ import annotations

import re
from dataclasses import dataclass

LABEL = r"(?:sources?|results?|passages?|refs?|cites?|citations?)?\.?:?\s*"
NUMBERS = r"\^?\d{1,3}(?:\s*(?:,|;|&|and|–|-)\s*\^?\d{1,3})*"
QUOTED = r"(?:\s*:\s*[\"“„«](?P<quote>[^\]]+?)[\"”“»]\s*)?"
MARKER = re.compile(
    rf"[ \t]*(?:\[{LABEL}(?P<numbers>{NUMBERS}){QUOTED}\]|【{LABEL}(?P<other>\d{{1,3}})[^】]*】)",
    re.IGNORECASE,
)
RANGE = re.compile(r"(\d+)\s*[–-]\s*(\d+)")
CODE = re.compile(r"(```.*?```|~~~.*?~~~|`[^`\n]*`)", re.DOTALL)
SPACE_BEFORE_STOP = re.compile(r"[ \t]+([.,;:!?])")


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


STOP = re.compile(r"([.!?:…。！？]+[\"'”’»)*_]*)(\s*)$")


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
    if not stop or stop[1].startswith("…"):
        return f"{text.rstrip()} {markers}"
    return f"{text[: stop.start()]} {markers}{stop[1]}"
