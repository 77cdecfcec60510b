"""Questions and sentences made from books by rule: many, plain, and of known origin.

Headings and definitions become questions. Sentences are joined or changed in one place, each kind
of change a kind of error that a language model makes. Nothing here is kept in the repository.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bythebook.language.question_templates import Dictionary, definition_question, heading_question
from bythebook.language.segmentation import pieces_of, readable
from training.books import BookPassage

NUMBER = re.compile(r"(?<![\w.\-])\d+(?:\.\d+)?(?![\w\-]|\.\d)")
CODE = re.compile(r"`[^`\n]{2,40}`")
NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+[A-Za-z0-9]*\b")
WORD = re.compile(r"\b[a-z]{4,}\b")
VERB = re.compile(r"\b(is|are|was|can|will|does|do|must|should|has|have)\b( not\b|n't\b)?")
CONDITION = re.compile(r"^(?:If|When|Unless|Only when|As long as|Once)\b[^,]{8,90}, (?=\w)")
LATER_CONDITION = re.compile(
    r",? (?:if|unless|only if|only when|as long as|provided that)\b[^.;]{8,90}"
)
QUANTITY = re.compile(
    r"\b(\d+(?:\.\d+)?) ?"
    r"(seconds?|minutes?|hours?|days?|ms|milliseconds|MB|GB|KB|kg|km|metres?|meters?)\b"
)
CONVERTED = {
    "second": (1000, "milliseconds"), "minute": (60, "seconds"), "hour": (60, "minutes"),
    "day": (24, "hours"), "ms": (0.001, "seconds"), "millisecond": (0.001, "seconds"),
    "MB": (1000, "KB"), "GB": (1000, "MB"), "KB": (1000, "bytes"), "kg": (1000, "grams"),
    "km": (1000, "metres"), "metre": (100, "centimetres"), "meter": (100, "centimeters"),
}  # fmt: skip
OPPOSITES: dict[str, str] = dict(
    pair
    for words in """always/never before/after more/less enable/disable enabled/disabled
    enables/disables allow/forbid allows/prevents first/last minimum/maximum increase/decrease
    increases/decreases add/remove adds/removes start/stop starts/stops above/below inside/outside
    true/false same/different required/optional public/private local/remote faster/slower
    higher/lower larger/smaller open/closed read/write client/server input/output easy/difficult
    supported/unsupported possible/impossible with/without include/exclude includes/excludes
    automatically/manually accept/reject default/custom success/failure earlier/later older/newer
    synchronous/asynchronous mutable/immutable""".split()
    for pair in (words.split("/"), words.split("/")[::-1])
)
QUANTIFIERS: dict[str, str] = dict(
    words.split("/")
    for words in """some/all many/all most/all usually/always often/always may/must can/must
    sometimes/always several/all rarely/never recommended/required all/some always/sometimes
    must/may only/also every/some never/rarely""".split()
)
CAUSES = (" because ", ", so ", " so that ", ", which is why ")
SHORT, LONG = 5, 45


@dataclass(frozen=True)
class Made:
    """A question or sentence about the passage of that number; what is known of a sentence."""

    asked: str
    number: int
    label: int = 1
    kind: str = ""


class Maker:
    """Makes questions and sentences from one book."""

    def __init__(self, book: Sequence[BookPassage], seed: int) -> None:
        self.book = book
        self.pick = random.Random(seed)
        self.words = Dictionary.of(passage.text for passage in book)
        texts = [passage.text for passage in book]
        self.names = [name for text in texts for name in NAME.findall(text)] or ["Python"]
        self.codes = [code for text in texts for code in CODE.findall(text)] or ["`value`"]
        self.plain = [word for text in texts for word in WORD.findall(text)]

    def questions(self) -> Iterator[Made]:
        for number, passage in enumerate(self.book):
            pieces = [p for p in pieces_of(passage.text) if p.kind == "sentence"]
            sentences = [passage.text[p.start : p.end] for p in pieces]
            last = passage.headings[-1] if passage.headings else ""
            asked = [heading_question(last, self.words)]
            asked += [definition_question(sentence, self.words) for sentence in sentences]
            found = list(dict.fromkeys(filter(None, asked)))[:3]
            if len(passage.headings) > 1 and self.pick.random() < 0.5:
                found.append(" ".join(passage.headings[-2:]))  # as somebody types into a search box
            for question in found:
                yield Made(question, number)

    def sentences(self, most: int) -> Iterator[Made]:
        for number, passage in enumerate(self.book):
            pieces = [p for p in pieces_of(passage.text) if p.kind in ("sentence", "item")]
            said = [readable(passage.text[p.start : p.end]) for p in pieces]
            good = [s for s in said if SHORT <= len(s.split()) <= LONG and not s.endswith(":")]
            for sentence in self.pick.sample(good, min(most, len(good))):
                yield Made(sentence, number, 1, "as it stands")
                kinds = self.pick.sample(CHANGES, len(CHANGES))
                changes = (change(self, sentence, passage.text) for change in kinds)
                for made in [m for m in changes if m and m[0] != sentence][:2]:
                    yield Made(made[0], number, made[1], made[2])
            if len(good) > 1:
                first, second = self.pick.sample(good, 2)
                yield self.joined(first, second, number)
            yield from self.told_rows(passage, number)

    def joined(self, first: str, second: str, number: int) -> Made:
        """Two sentences as one; with a cause between them it is not what the passage says."""
        first = first.rstrip(".")
        second = second[:1].lower() + second[1:] if second[1:2].islower() else second
        if self.pick.random() < 0.5:
            return Made(
                f"{first}{self.pick.choice((', and ', '; ', ' and '))}{second}", number, 1, "joined"
            )
        return Made(f"{first}{self.pick.choice(CAUSES)}{second}", number, 0, "cause")

    def told_rows(self, passage: BookPassage, number: int) -> Iterator[Made]:
        """Cells of a table said as a sentence, right and from the wrong row."""
        rows = [
            [cell.strip() for cell in line.strip().strip("|").split("|")]
            for line in passage.text.splitlines()
            if line.strip().startswith("|") and line.strip().endswith("|")
        ]
        rows = [row for row in rows if not all(set(cell) <= set(":- ") for cell in row)]
        width = len(rows[0]) if rows else 0
        if len(rows) < 4 or width < 2 or any(len(row) != width for row in rows):
            return
        header, *body = rows
        for _ in range(2):
            right, wrong = self.pick.sample(body, 2)
            column = self.pick.randrange(1, width)
            if right[column] and right[0] and wrong[column] and right[column] != wrong[column]:
                for row, label, kind in ((right, 1, "table"), (wrong, 0, "row")):
                    form = self.pick.choice(
                        ("{2} of {0}: {1}", "For {0}, {2} is {1}.", "{0} has {2} {1}.")
                    )
                    said = form.format(right[0], row[column], header[column] or "the value")
                    yield Made(said, number, label, kind)


Changed = tuple[str, int, str] | None


def _replace(sentence: str, place: re.Match[str], new: str) -> str:
    return sentence[: place.start()] + new + sentence[place.end() :]


def _word(maker: Maker, sentence: str, text: str) -> Changed:
    places = list(WORD.finditer(sentence))
    if not places:
        return None
    known = set(WORD.findall(text.lower()))
    for _ in range(8):
        place, new = maker.pick.choice(places), maker.pick.choice(maker.plain)
        # The same ending, mostly, so that grammar gives nothing away.
        fits = new[-2:] == place[0][-2:] or maker.pick.random() < 0.3
        if fits and new not in known and new[:4] != place[0][:4]:
            return _replace(sentence, place, new), 0, "word"
    return None


def _number(maker: Maker, sentence: str, text: str) -> Changed:
    places = list(NUMBER.finditer(sentence))
    if not places:
        return None
    place = maker.pick.choice(places)
    others = [n for n in NUMBER.findall(text) if n != place[0]]
    value = float(place[0])
    made = [f"{value + d:g}" for d in (1, -1, 2, 10)] + [f"{value * 2:g}", f"{value * 10:g}"]
    new = maker.pick.choice(others if others and maker.pick.random() < 0.4 else made)
    return (_replace(sentence, place, new), 0, "number") if new != place[0] else None


def _code(maker: Maker, sentence: str, text: str) -> Changed:
    places = list(CODE.finditer(sentence))
    if not places:
        return None
    place = maker.pick.choice(places)
    others = [code for code in CODE.findall(text) if code != place[0]]
    if maker.pick.random() < 0.3 and len(place[0]) > 6:
        at = maker.pick.randrange(2, len(place[0]) - 2)
        letter = maker.pick.choice("abcdefghijklmnopqrstuvwxyz")
        new = place[0][:at] + letter + place[0][at + 1 :]
    else:
        new = maker.pick.choice(others or maker.codes)
    return (_replace(sentence, place, new), 0, "identifier") if new != place[0] else None


def _name(maker: Maker, sentence: str, text: str) -> Changed:
    places = list(NAME.finditer(sentence))
    if not places:
        return None
    place, new = maker.pick.choice(places), maker.pick.choice(maker.names)
    return (_replace(sentence, place, new), 0, "name") if new not in sentence else None


def _negation(maker: Maker, sentence: str, text: str) -> Changed:
    place = VERB.search(sentence)
    if not place:
        return None
    new = place[1] if place[2] else f"{place[1]} not"
    return _replace(sentence, place, new), 0, "opposite"


def _exchange(table: dict[str, str], kind: str) -> Callable[[Maker, str, str], Changed]:
    """A change that puts one word of the table for another."""

    def change(maker: Maker, sentence: str, text: str) -> Changed:
        places = [p for p in re.finditer(r"\b[a-z]+\b", sentence) if p[0] in table]
        if not places:
            return None
        place = maker.pick.choice(places)
        return _replace(sentence, place, table[place[0]]), 0, kind

    return change


def _condition(maker: Maker, sentence: str, text: str) -> Changed:
    if place := CONDITION.search(sentence):
        rest = sentence[place.end() :]
        return rest[:1].upper() + rest[1:], 0, "condition"
    if place := LATER_CONDITION.search(sentence):
        return _replace(sentence, place, ""), 0, "condition"
    return None


def _swapped(maker: Maker, sentence: str, text: str) -> Changed:
    """Two numbers, identifiers or names of one sentence exchanged."""
    for pattern in maker.pick.sample((CODE, NUMBER, NAME), 3):
        places = list(pattern.finditer(sentence))
        if len(places) >= 2 and places[0][0] != places[-1][0]:
            first, last = places[0], places[-1]
            between = sentence[first.end() : last.start()]
            if between.strip(" ,") in ("", "and", "or"):
                continue  # a list says the same in another order
            said = (
                f"{sentence[: first.start()]}{last[0]}{between}{first[0]}{sentence[last.end() :]}"
            )
            return said, 0, "swapped"
    return None


def _units(maker: Maker, sentence: str, text: str) -> Changed:
    place = QUANTITY.search(sentence)
    if not place:
        return None
    unit = place[2] if place[2] in CONVERTED else place[2].rstrip("s")
    if unit not in CONVERTED:
        return None
    factor, other = CONVERTED[unit]
    right = maker.pick.random() < 0.6
    value = float(place[1]) * factor * (1 if right else maker.pick.choice((10, 0.1, 2)))
    return _replace(sentence, place, f"{value:g} {other}"), int(right), "units"


CHANGES = (
    _word, _word, _number, _code, _name, _negation, _condition, _swapped, _units,
    _exchange(OPPOSITES, "opposite"), _exchange(QUANTIFIERS, "quantifier"),
)  # fmt: skip
