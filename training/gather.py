"""Gathers all rows and unlabelled pairs into one file of word pieces for `training.train`.

    python -m training.gather --data ../shared/data --work WORK [--pairs 1000000]
    python -m training.gather --data ../shared/data --work WORK --labelled   # no unlabelled pairs
    python -m training.gather --data ../shared/data --work WORK --own        # our own rows alone

Needs what `training.found` wrote, except with `--own`. Writes WORK/rows.npz: every text once as
word pieces, and pairs that name a question or sentence, a heading, a text and the stretch of it
that is read. A label of -1 is unknown: the large model scores those pairs, and the small one learns
from its scores.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import bm25s
import numpy as np
from tokenizers import Tokenizer

from bythebook.reader.network import LONGEST_ASKED, LONGEST_HEADING, windows
from training.books import BOOKS, CHECK_BOOKS, BookPassage, passages, unpack
from training.made import Maker
from training.rows import (
    ONLY_POSITIVE,
    PARTS,
    Row,
    Span,
    asked_of_sets,
    begin,
    human_eval,
    look_alikes,
    own,
    public,
    typing_errors,
)  # fmt: skip

TOKENIZER = Path(__file__).parents[1] / "src/bythebook/embedding/weights/tokenizer.json"
UNKNOWN = -1.0
OWN_WEIGHT = {"questions": 1.0, "sentences": 2.0}
# The share of evidence that makes a window an answer, of a passage that is one.
ENOUGH = 0.5
MADE_SENTENCES = 4
# The share of our own questions that are also asked with a slip of the hand.
TYPING_ERRORS = 0.3
MOST_PUBLIC = 45_000
TRAINED_BOOKS = [name for name in BOOKS if name not in CHECK_BOOKS]


class Texts:
    """Each text once, as word pieces with the characters they stand for."""

    def __init__(self) -> None:
        self.tokenizer = Tokenizer.from_file(str(TOKENIZER))
        self.tokenizer.encode_special_tokens = True
        self.places: dict[str, int] = {}
        self.ids: list[np.ndarray] = []
        self.offsets: dict[int, list[tuple[int, int]]] = {}

    def add(self, text: str, *, offsets: bool = False) -> int:
        place = self.places.get(text)
        if place is None or (offsets and place not in self.offsets):
            found = self.tokenizer.encode(text, add_special_tokens=False)
            if place is None:
                place = self.places[text] = len(self.ids)
                self.ids.append(np.array(found.ids, np.uint16))
            if offsets:
                self.offsets[place] = found.offsets
        return place

    def length(self, place: int) -> int:
        return len(self.ids[place])


class Pairs:
    """Columns of rows.npz; evidence is kept as stretches of word pieces with a value each."""

    def __init__(self, texts: Texts, *, only_labelled: bool = False) -> None:
        self.texts, self.only_labelled = texts, only_labelled
        self.columns: dict[str, list[float]] = {
            name: []
            for name in (
                "asked",
                "heading",
                "text",
                "start",
                "end",
                "head",
                "label",
                "marked",
                "weight",
                "part",
                "set",
                "row",
                "question",
            )
        }
        self.evidence: list[tuple[int, int, int, float]] = []
        self.sets: dict[str, int] = {}
        self.questions: dict[tuple[str, str], int] = {}

    def add(self, row: Row, number: int = -1) -> None:
        asked, heading = self.texts.add(row.asked), self.texts.add(row.heading)
        text = self.texts.add(row.text, offsets=row.spans is not None)
        spans = self._pieces(text, row.spans or ())
        total = sum((end - start) * value for start, end, value in spans)
        stretches = windows(self.texts.length(text))
        if row.label > 0 and row.part == "train" and not total:
            stretches = [self._likeliest(asked, text, stretches)]
        for start, end in stretches:
            inside = [(max(a, start), min(b, end), v) for a, b, v in spans if a < end and b > start]
            label = row.label
            if row.label == 1 and spans and total:
                share = sum((b - a) * v for a, b, v in inside) / total
                if 0 < share < ENOUGH and row.part == "train":
                    continue  # half an answer teaches neither
                label = float(share >= ENOUGH)
            at = len(self.columns["asked"])
            self._append(asked, heading, text, start, end, row, label, number)
            self.evidence += [(at, a - start, b - start, v) for a, b, v in inside]

    def _likeliest(
        self, asked: int, text: int, stretches: list[tuple[int, int]]
    ) -> tuple[int, int]:
        """Where nobody marked what makes it true, the stretch that shares most words: the others
        would teach that anything is an answer."""
        wanted, pieces = self.texts.ids[asked], self.texts.ids[text]
        return max(stretches, key=lambda s: len(np.intersect1d(wanted, pieces[s[0] : s[1]])))

    def unlabelled(
        self, asked: str, passage: BookPassage | str, head: int, pick: random.Random
    ) -> None:
        if self.only_labelled:
            return
        text, heading = passage, ""
        if isinstance(passage, BookPassage):
            text, heading = passage.text, " › ".join(passage.headings)
        place = self.texts.add(str(text))
        start, end = pick.choice(windows(self.texts.length(place)))
        row = Row("supports" if head else "answers", asked, heading, "", UNKNOWN, "unlabelled")
        self._append(
            self.texts.add(asked), self.texts.add(heading), place, start, end, row, UNKNOWN, -1
        )

    def _append(
        self,
        asked: int,
        heading: int,
        text: int,
        start: int,
        end: int,
        row: Row,
        label: float,
        number: int,
    ) -> None:
        values: dict[str, float] = {
            "asked": asked,
            "heading": heading,
            "text": text,
            "start": start,
            "end": end,
            "head": int(row.head == "supports"),
            "label": label,
            "marked": int(row.spans is not None),
            "weight": row.weight,
            "part": PARTS.index(row.part),
            "set": self.sets.setdefault(row.set, len(self.sets)),
            "row": number,
            "question": self._question(row),
        }
        for name, value in values.items():
            self.columns[name].append(value)

    def _question(self, row: Row) -> int:
        """Our own questions are asked of several passages each: a number for the same question of
        the same book, and -1 for everything else."""
        if row.head != "answers" or row.set != "own":
            return -1
        key = (row.group.partition("/")[0], row.asked)
        return self.questions.setdefault(key, len(self.questions))

    def _pieces(self, text: int, spans: Iterable[Span]) -> list[tuple[int, int, float]]:
        """Spans of characters as stretches of word pieces."""
        found = []
        for start, end, value in spans:
            inside = [
                n for n, (a, b) in enumerate(self.texts.offsets[text]) if a < end and b > start
            ]
            if inside:
                found.append((inside[0], inside[-1] + 1, value))
        return found

    def save(self, file: Path) -> None:
        lengths = np.array([len(ids) for ids in self.texts.ids], np.int32)
        kinds = {"label": np.float32, "weight": np.float32}
        columns = {
            name: np.array(values, kinds.get(name, np.int32))
            for name, values in self.columns.items()
        }
        np.savez_compressed(
            file,
            flat=np.concatenate(self.texts.ids),
            lengths=lengths,
            evidence=np.array(self.evidence, np.float32),
            sets=np.array(list(self.sets)),
            # The networks are trained where bythebook is not installed: told, not imported there.
            longest=np.array([LONGEST_ASKED, LONGEST_HEADING]),
            **columns,  # type: ignore[arg-type]
        )


def search(texts: Sequence[str], asked: Sequence[str], most: int) -> np.ndarray:
    """For each thing asked the numbers of the texts that share most of its words."""
    index = bm25s.BM25()
    index.index(bm25s.tokenize(texts, stopwords="en", show_progress=False), show_progress=False)
    tokens = bm25s.tokenize(asked, stopwords="en", show_progress=False)
    places = index.retrieve(tokens, k=min(most, len(texts)), show_progress=False, n_threads=2)[0]
    return np.asarray(places)


def labelled(where: argparse.Namespace) -> list[Row]:
    data, work = where.data, where.work
    rows = list(public(data / "reader"))
    rows += look_alikes(rows, ONLY_POSITIVE)
    rows += asked_of_sets(work / "found.jsonl.gz")
    rows += begin(data / "qa")
    rows += human_eval(data / "qa")
    return rows + of_our_own(OWN_WEIGHT)


def of_our_own(weights: Mapping[str, float]) -> list[Row]:
    rows: list[Row] = []
    for kind, weight in weights.items():
        rows += own(kind, "train", weight)
        rows += own(kind, "check", 1.0)
    return rows


def swapped_words(book: list[BookPassage], most: int) -> Iterator[Row]:
    """True sentences of a check book, each also with one word that its passage does not have."""
    maker = Maker(book, seed=11)
    true: dict[int, str] = {}
    for made_one in maker.sentences(2):
        passage = book[made_one.number]
        if made_one.kind == "as it stands":
            true[made_one.number] = made_one.asked
        elif made_one.kind == "word" and most > 0:
            most -= 1
            for said, label in ((true[made_one.number], 1), (made_one.asked, 0)):
                heading = " › ".join(passage.headings)
                yield Row("supports", said, heading, passage.text, label, "swapped words", "judge")


def made(book: list[BookPassage], pairs: Pairs, pick: random.Random) -> Iterator[tuple[str, int]]:
    """Adds rows made from a book by rule; yields its questions."""
    maker = Maker(book, seed=7)
    for sentence in maker.sentences(MADE_SENTENCES):
        own_passage = book[sentence.number]
        heading = " › ".join(own_passage.headings)
        # All of them are scored by the large model; a part is labelled, so that it learns them.
        if pick.random() < 0.35:
            row = Row(
                "supports",
                sentence.asked,
                heading,
                own_passage.text,
                sentence.label,
                "made",
                kind=sentence.kind,
            )
            pairs.add(row)
        else:
            pairs.unlabelled(sentence.asked, own_passage, 1, pick)
    for question in maker.questions():
        yield question.asked, question.number


def book_of(name: str, where: argparse.Namespace) -> list[BookPassage]:
    return list(passages(name, unpack(name, where.data / "books", where.work)))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--work", type=Path, required=True)
    options.add_argument("--pairs", type=int, default=1_000_000)
    options.add_argument("--labelled", action="store_true", help="for the large network alone")
    options.add_argument("--own", action="store_true", help="to go on from a trained network")
    chosen = options.parse_args()
    pick = random.Random(5)
    pairs = Pairs(Texts(), only_labelled=chosen.labelled or chosen.own)
    rows = of_our_own(dict.fromkeys(OWN_WEIGHT, 1.0)) if chosen.own else labelled(chosen)
    for name in CHECK_BOOKS:
        rows += swapped_words(book_of(name, chosen), 250)
    for number, row in enumerate(rows):
        pairs.add(row, number)
        if row.part == "train" and row.head == "answers" and row.set == "own":
            # The same slip with all passages of a question.
            hand = random.Random(row.asked)
            if hand.random() < TYPING_ERRORS:
                pairs.add(replace(row, asked=typing_errors(row.asked, hand)), number)
    print("labelled", len(pairs.columns["asked"]), flush=True)
    if not chosen.own:
        books = {name: book_of(name, chosen) for name in [*TRAINED_BOOKS, "mdn-javascript"]}
        if chosen.labelled:
            for book in books.values():
                deque(made(book, pairs, pick), maxlen=0)
        else:
            add_unlabelled(rows, books, pairs, pick, chosen.pairs)
    save(rows, pairs, chosen.work)


def add_unlabelled(
    rows: list[Row],
    books: dict[str, list[BookPassage]],
    pairs: Pairs,
    pick: random.Random,
    most: int,
) -> None:
    """Pairs that the large network scores and the small one learns from."""
    own_asked = {
        row.asked: row.group.split("/")[0]
        for row in rows
        if row.set == "own" and row.part == "train" and row.head == "answers"
    }
    every_question: list[tuple[str, str]] = []
    for name, book in books.items():
        asked = [question for question, _ in made(book, pairs, pick)]
        asked += [question for question, where in own_asked.items() if where == name]
        found = search([" ".join((*p.headings, p.text)) for p in book], asked, 8)
        for question, places in zip(asked, found, strict=True):
            every_question.append((name, question))
            if pick.random() < 0.15:
                question = typing_errors(question, pick)
            for place in places:
                pairs.unlabelled(question, book[place], 0, pick)
        print(name, len(pairs.columns["asked"]), flush=True)
    # Public questions and claims against passages that only look alike.
    trained = [row for row in rows if row.part == "train" and row.set != "own"]
    for head, count in (("answers", 4), ("supports", 2)):
        of_head = [row for row in trained if row.head == head]
        of_head = pick.sample(of_head, min(MOST_PUBLIC, len(of_head)))
        texts = list(dict.fromkeys(row.text for row in of_head))
        asked = list(dict.fromkeys(row.asked for row in of_head))
        for question, places in zip(asked, search(texts, asked, count), strict=True):
            for place in places:
                pairs.unlabelled(question, texts[place], int(head == "supports"), pick)
        print(head, len(pairs.columns["asked"]), flush=True)
    # Questions of one book asked of another: nothing answers.
    names = list(books)
    while len(pairs.columns["asked"]) < most:
        name, question = pick.choice(every_question)
        other = pick.choice(books[pick.choice([n for n in names if n != name])])
        pairs.unlabelled(question, other, 0, pick)


def save(rows: list[Row], pairs: Pairs, work: Path) -> None:
    pairs.save(work / "rows.npz")
    rows_file = work / "rows.jsonl"
    with rows_file.open("w", encoding="utf-8") as out:
        for row in rows:
            out.write(json.dumps(row.__dict__) + "\n")
    used = Counter((row.set, row.head, row.part) for row in rows)
    told = [{"set": s, "head": h, "part": p, "rows": n} for (s, h, p), n in sorted(used.items())]
    (work / "rows.json").write_text(json.dumps(told, indent=1))
    print(
        len(pairs.columns["asked"]),
        "pairs,",
        (work / "rows.npz").stat().st_size >> 20,
        "MiB",
    )


if __name__ == "__main__":
    main()
