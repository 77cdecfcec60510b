"""Pairs made from manuals, for training before there is any labelled question.

Answers: a heading or a definition as a question, with its own passage and with near ones.
Supports: a sentence with its own passage, the same changed in one place, and with a near passage.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import log
from pathlib import Path
from typing import NamedTuple

from bythebook.index.sparse import document_terms, query_terms, terms
from bythebook.ingestion.plan import make_plan, read_page
from bythebook.language.pieces import pieces_of, readable
from bythebook.language.wording import Dictionary, definition_question, heading_question
from bythebook.models.state import IngestionState
from bythebook.reading.layout import find_book

ANSWERS, SUPPORTS = 0, 1
MADE = -1  # in place of a fold: always trained on
MAX_BYTES = 1_000_000
SENTENCES_A_PASSAGE = 2
MAY_SAY = 0.6  # what has this share of a text's words may say the same
# A word that stands in more than a tenth of the passages finds nothing.
LEAST_RARITY = log(10)
HEADING = re.compile(r"^#+ .*$", re.MULTILINE)
NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
CODE = re.compile(r"`[^`\n]{2,40}`")
NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+[A-Za-z0-9]*\b")
VERB = re.compile(r"\b(is|are|was|can|will|does|do|must|should|has|have)\b( not\b)?")


class Pair(NamedTuple):
    """What is asked or said and a passage, whether it answers or supports that (-1: not known),
    where it is from, and its fold when questions or when articles are kept together."""

    head: int
    asked: str
    heading: str
    text: str
    label: int
    source: str = "made"
    question: int = -1
    by_question: int = MADE
    by_article: int = MADE


class Manual:
    """A book's passages, cut as for searching, and a plain BM25 search among them."""

    def __init__(self, folder: Path) -> None:
        book = find_book(folder, "manual")
        state = IngestionState(book_id="manual", collection_name="none")
        plan = make_plan(book, state, "full", MAX_BYTES)
        pages = (read_page(book, f, plan.placements[f], MAX_BYTES)[1] for f in plan.process)
        chunks = (chunk for page in pages for chunk in page.chunks)
        self.passages = [(" › ".join(c.metadata.heading_path), c.text) for c in chunks]
        self.weights: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for number, passage in enumerate(self.passages):
            found = document_terms(" ".join(passage), "en")
            for term, weight in zip(found.indices, found.values, strict=True):
                self.weights[term].append((number, weight))

    def near(self, asked: str, own: int, told_by: int) -> list[int]:
        """Other passages that share words with what is asked, but too few in their headings (0)
        or in their text (1) to tell it as well."""
        scores: dict[int, float] = defaultdict(float)
        for term in query_terms(asked, "en").indices:
            places = self.weights.get(term, [])
            rarity = log(len(self.passages) / (len(places) + 0.5))
            for number, weight in places if rarity > LEAST_RARITY else []:
                scores[number] += rarity * weight
        best = sorted(scores, key=lambda number: (-scores[number], number))[:8]
        return [n for n in best if n != own and shared(asked, self.passages[n][told_by]) < MAY_SAY]


def shared(text: str, other: str) -> float:
    wanted = set(terms(text, "en"))
    return len(wanted & set(terms(other, "en"))) / max(1, len(wanted))


def changed(sentence: str, names: Sequence[str], pick: random.Random) -> str | None:
    """The sentence with one number, identifier, name or negation changed."""
    for pattern in pick.sample([NUMBER, CODE, NAME, VERB], 4):
        for place in pattern.finditer(sentence):
            if pattern is NUMBER:
                new = str(int(place[0]) + pick.choice([1, 2, 3, 10, 50]))
            elif pattern is VERB:
                new = place[1] if place[2] else f"{place[1]} not"
            else:
                new = pick.choice([n for n in names if pattern.search(f"a {n}")] or [place[0]])
            if new != place[0]:
                return sentence[: place.start()] + new + sentence[place.end() :]
    return None


def made_pairs(manual: Manual, most: int, pick: random.Random) -> Iterator[Pair]:
    """Pairs from so many passages of a manual."""
    chosen = pick.sample(range(len(manual.passages)), min(most, len(manual.passages)))
    words = Dictionary.of(manual.passages[n][1] for n in chosen)
    every = [name for n in chosen for name in NAME.findall(manual.passages[n][1])]
    for own in chosen:
        heading, text = manual.passages[own]
        raw = [text[p.start : p.end] for p in pieces_of(text) if p.kind == "sentence"]
        questions = [heading_question(heading.split(" › ")[-1], words)]
        questions += [definition_question(sentence, words) for sentence in raw]
        for question in list(filter(None, questions))[:2]:
            places = [own, *manual.near(question, own, 0)[:2]]
            for n in places if len(places) > 1 else []:
                # The heading that was made the question would give its passage away.
                shown = HEADING.sub("", manual.passages[n][1])
                yield Pair(ANSWERS, question, "", shown, int(n == own))
        sentences = [said for said in map(readable, raw) if 5 <= len(said.split()) <= 45]
        names = [*CODE.findall(text), *pick.sample(every, min(20, len(every)))]
        for said in pick.sample(sentences, min(SENTENCES_A_PASSAGE, len(sentences))):
            yield Pair(SUPPORTS, said, heading, text, 1)
            if false := changed(said, names, pick):
                yield Pair(SUPPORTS, false, heading, text, 0)
            for n in manual.near(said, own, 1)[:1] if pick.random() < 0.5 else []:
                yield Pair(SUPPORTS, said, *manual.passages[n], 0)
