"""True sentences of the sample book, and the same sentences made false in one place."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import bythebook
from bythebook.ingestion.plan import make_plan
from bythebook.language.segmentation import pieces_of, readable, split_sentences
from bythebook.models.job import IngestionState
from bythebook.reading.document import PLAIN
from bythebook.reading.layout import find_book

BOOK = Path(bythebook.__file__).parent / "sample_book"
MAX_BYTES = 1_000_000


@dataclass(frozen=True)
class TrueSentence:
    text: str
    passage: str
    lesson: str


@cache
def passages() -> list[tuple[str, str]]:
    """Lesson and text of every passage of the sample book, cut as for searching."""
    book = find_book(BOOK, "sample")
    plan = make_plan(
        book, IngestionState(book_id="sample", collection_name="none"), "full", MAX_BYTES
    )
    pages = (
        PLAIN.read(book, file, plan.placements[file], MAX_BYTES).document for file in plan.process
    )
    return [(chunk.metadata.source_file, chunk.text) for page in pages for chunk in page.chunks]


@cache
def true_sentences() -> list[TrueSentence]:
    """Every sentence and list item, as an answer would show it."""
    found = []
    for lesson, passage in passages():
        for piece in pieces_of(passage):
            if piece.kind not in {"sentence", "item"}:
                continue
            shown = readable(passage[piece.start : piece.end])
            for start, end in split_sentences(shown):
                if len(shown[start:end].split()) > 3:
                    found.append(TrueSentence(shown[start:end], passage, lesson))
    return found


OTHER_NAMES = (
    "Webots",
    "Unity",
    "Kafka",
    "CARLA",
    "PyBullet",
    "Toyota",
    "MuJoCo",
    "Redis",
    "Julia",
)
OTHER_UNITS = {
    "ms": "s", "milliseconds": "seconds", "seconds": "minutes", "second": "minute", "s": "ms",
    "cm": "mm", "mm": "cm", "meters": "kilometers", "meter": "kilometer", "centimeters": "meters",
    "millimeters": "centimeters", "Hz": "kHz", "hertz": "kilohertz", "percent": "degrees",
    "degrees": "percent", "minutes": "hours", "hours": "days", "GB": "MB", "MB": "GB",
    "watts": "volts", "kg": "g", "kilograms": "grams", "million": "billion", "billion": "million",
}  # fmt: skip
OPPOSITES = {
    "before": "after", "after": "before", "always": "never", "never": "always", "larger": "smaller",
    "smaller": "larger", "increases": "decreases", "higher": "lower", "lower": "higher",
    "required": "optional", "optional": "required", "enabled": "disabled", "first": "last",
    "slower": "faster", "faster": "slower", "more": "less", "less": "more", "left": "right",
    "right": "left", "minimum": "maximum", "maximum": "minimum", "inside": "outside",
}  # fmt: skip
DIGITS = re.compile(r"(?<![\w.,:/`-])\d+(?:\.\d+)?(?![\w.]*[`\w])")
SPELLED = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
SPAN = re.compile(r"`([^`]+)`")
NAME = re.compile(r"(?<=[a-z,] )[A-Z][A-Za-z]+[A-Za-z0-9]*(?=[ ,.])")
FIRST_NAME = re.compile(
    r"^([A-Z][A-Za-z]*[A-Z][A-Za-z]*|Gazebo|Isaac|Nav2|Docker|Python|Whisper)(?= )"
)
VERB = re.compile(r" (is|are|was|can|must|should|may|does|will|has to)(?= [a-z])")
DENIED = re.compile(r" (?:(do|does|did|is|are|can|should|must|will) not|cannot|never)(?= [a-z])")


def changed_number(sentence: str, pick: random.Random) -> str | None:
    found = DIGITS.search(sentence)
    if found:
        value = float(found[0])
        other = pick.choice((value + 1, value * 2 + 1, value * 10, value + 7))
        return sentence[: found.start()] + f"{other:g}" + sentence[found.end() :]
    for index, word in enumerate(SPELLED):
        spelled = re.search(rf"\b{word}\b", sentence)
        if spelled:
            other_word = SPELLED[(index + pick.randrange(1, 8)) % len(SPELLED)]
            return sentence[: spelled.start()] + other_word + sentence[spelled.end() :]
    return None


def changed_unit(sentence: str, pick: random.Random) -> str | None:
    for found in re.finditer(r"(?<=\d )([A-Za-z]+)\b", sentence):
        if found[0] in OTHER_UNITS:
            return sentence[: found.start()] + OTHER_UNITS[found[0]] + sentence[found.end() :]
    return None


def changed_name(sentence: str, pick: random.Random) -> str | None:
    found = NAME.search(sentence)
    if not found or found[0] in {"I", "If"}:
        return None
    return sentence[: found.start()] + pick.choice(OTHER_NAMES) + sentence[found.end() :]


def changed_first_name(sentence: str, pick: random.Random) -> str | None:
    found = FIRST_NAME.search(sentence)
    return found and pick.choice(OTHER_NAMES) + sentence[found.end() :]


def changed_identifier(sentence: str, pick: random.Random) -> str | None:
    found = SPAN.search(sentence)
    letters = [m.start(1) + i for m in [found] if m for i, c in enumerate(m[1]) if c.isalpha()]
    if not letters:
        return None
    at = pick.choice(letters)
    letter = pick.choice([c for c in "abcdefghijklmnopqrstuvwxyz" if c != sentence[at].lower()])
    return sentence[:at] + letter + sentence[at + 1 :]


def negated(sentence: str, pick: random.Random) -> str | None:
    found = VERB.search(sentence)
    if not found or re.search(
        r"\b(?:not|no|never|cannot|only|without|until|unless|nor)\b", sentence
    ):
        return None
    return sentence[: found.end()] + " not" + sentence[found.end() :]


def affirmed(sentence: str, pick: random.Random) -> str | None:
    found = DENIED.search(sentence)
    if not found or re.search(r"\b(?:not only|until|unless|only)\b", sentence):
        return None
    verb = {"cannot": " can", "never": ""}.get(found[0].strip(), f" {found[1]}")
    return sentence[: found.start()] + verb + sentence[found.end() :]


def opposed(sentence: str, pick: random.Random) -> str | None:
    for found in re.finditer(r"\b[a-z]+\b", sentence):
        if found[0] in OPPOSITES:
            return sentence[: found.start()] + OPPOSITES[found[0]] + sentence[found.end() :]
    return None


CHANGES: dict[str, Callable[[str, random.Random], str | None]] = {
    "number": changed_number,
    "unit": changed_unit,
    "name": changed_name,
    "first name": changed_first_name,
    "identifier": changed_identifier,
    "negation added": negated,
    "negation removed": affirmed,
    "opposite": opposed,
}


def false_sentences(kind: str) -> Iterator[tuple[str, TrueSentence]]:
    """Every true sentence that can be changed in this way, changed."""
    pick = random.Random(kind)
    for sentence in true_sentences():
        changed = CHANGES[kind](sentence.text, pick)
        if changed and changed != sentence.text:
            yield changed, sentence
