"""What writers and judges of examples are given to read, and what they wrote made into rows.

    python -m training.packets make --books BOOKS --work WORK [--round 2]   # packets for writers
    python -m training.packets blind --work WORK                  # the same for judges, no labels
    python -m training.packets merge --work WORK                  # rows into training/data/

BOOKS is ../shared/data/books. A packet shows a few groups of four passages: A, its neighbour on
the page, and two that share its words elsewhere in the book. A writer asks questions and says
which units of which passage answer them, and writes true and false sentences. A judge, who sees
neither labels nor the writer, does the same for the questions and sentences. Rows on which the two
differ are dropped, and the share is reported.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from math import log
from pathlib import Path
from typing import Any

from bythebook.index.sparse import document_terms, query_terms
from bythebook.reader.network import evidence_units
from training.books import (
    ASKED_BOOKS,
    BOOKS,
    CHECK_BOOKS,
    DOCUMENTATION,
    BookPassage,
    passages,
    unpack,
)

SEED = 20261118
# Groups of each book in a round; the fifth asks the books from PyPI alone.
GROUPS = {
    1: {"train": 48, "check": 40},
    2: {"train": 32, "check": 0},
    3: {"train": 20, "check": 0},
    4: {"train": 24, "check": 0},
    5: {"train": 9, "check": 0},
}
ASKED = {1: 2, 2: 3, 3: 2, 4: 0, 5: 0}
LETTERS = "ABCDEFGH"
PACKET_CHARACTERS = 26_000
LEAST_WORDS = 70
QUESTION_KINDS = (
    "how", "what", "why", "value", "yes-no", "show", "beginner", "two", "keywords", "typing",
)  # fmt: skip
FALSE_KINDS = (
    "condition", "old-value", "swapped", "cause", "quantifier", "row", "platform", "opposite",
    "number", "identifier", "word",
)  # fmt: skip
HARD_QUESTIONS = ("beginner", "typing", "yes-no", "why")
HARD_FALSE = ("swapped", "row", "platform", "opposite", "number", "identifier", "word", "old-value")
TRUE_KINDS = ("short", "joined", "voice", "units", "table-or-command", "pronoun", "reworded")
DATA = Path(__file__).parent / "data"
Row = dict[str, Any]


class WordSearch:
    """Plain BM25 over one book: which passages share the words of another."""

    def __init__(self, book: Sequence[BookPassage]) -> None:
        self.book = book
        self.weights: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for number, passage in enumerate(book):
            found = document_terms(" ".join((*passage.headings, passage.text)), "en")
            for term, weight in zip(found.indices, found.values, strict=True):
                self.weights[term].append((number, weight))

    def best(self, asked: str, most: int) -> list[int]:
        scores: dict[int, float] = defaultdict(float)
        for term in query_terms(asked, "en").indices:
            places = self.weights.get(term, [])
            rarity = log(1 + len(self.book) / (len(places) + 0.5))
            for number, weight in places:
                scores[number] += rarity * weight
        return sorted(scores, key=lambda number: (-scores[number], number))[:most]


def groups(book: Sequence[BookPassage], most: int, pick: random.Random) -> Iterator[list[int]]:
    """Four passages each, spread over the book; few pages are asked about twice."""
    search = WordSearch(book)
    numbers = [n for n, p in enumerate(book) if len(p.text.split()) >= LEAST_WORDS]
    pick.shuffle(numbers)
    pages: Counter[str] = Counter()
    made = 0
    for number in numbers:
        own = book[number]
        if made == most:
            return
        if pages[own.path] >= 2:
            continue
        near = [n for n in (number + 1, number - 1) if 0 <= n < len(book)]
        near = [n for n in near if book[n].path == own.path]
        words = f"{' '.join(own.headings[-2:])} {own.text[:300]}"
        alike = [n for n in search.best(words, 12) if n != number and n not in near]
        chosen = [number, *near[:1], *alike]
        if len(chosen) < 4:
            continue
        pages[own.path] += 1
        made += 1
        yield chosen[:4]


def shown(passage: BookPassage, letter: str) -> str:
    """A passage with its units numbered from 1, and the headings between them."""
    lines = [f"== {letter} | {passage.path} | {' > '.join(passage.headings)}"]
    done = 0
    for number, (start, end) in enumerate(evidence_units(passage.text), 1):
        lines += passage.text[done:start].split("\n")
        lines.append(f"[{number}] {passage.text[start:end]}")
        done = end
    return "\n".join(line for line in lines if line.strip())


def wishes(pick: random.Random, turn: int) -> str:
    if turn >= 3:  # what networks were weakest in; from the fourth on sentences alone
        asked = pick.sample(HARD_QUESTIONS, ASKED[turn])
        false, true = pick.sample(HARD_FALSE, 6), pick.sample(TRUE_KINDS, 6)
        if turn == 5:
            false = ["swapped", "swapped", "swapped", *pick.sample(HARD_FALSE[1:], 4)]
        questions = f"questions: {', '.join(asked)}; unanswered: {pick.choice(QUESTION_KINDS)}; "
        return f"{questions * bool(asked)}false: {', '.join(false)}; true: {', '.join(true)}"
    asked = pick.sample(QUESTION_KINDS, ASKED[turn])
    false, true = pick.sample(FALSE_KINDS, 4), pick.sample(TRUE_KINDS, 3)
    return (
        f"questions: {', '.join(asked)}; unanswered: {pick.choice(QUESTION_KINDS)}; "
        f"false: three of {', '.join(false)}; true: {', '.join(true)}"
    )


def make(archives: Path, work: Path, turn: int) -> None:
    folder = work / "packets"
    folder.mkdir(parents=True, exist_ok=True)
    file = work / "groups.json"
    known: dict[str, Row] = json.loads(file.read_text()) if file.exists() else {}
    for name in DOCUMENTATION if turn == 5 else [n for n in BOOKS if n not in DOCUMENTATION]:
        label = name if turn == 1 else f"{name}-r{turn}"
        book = list(passages(name, unpack(name, archives, work)))
        pick = random.Random(f"{SEED} {label}")
        most = GROUPS[turn]["check" if name in CHECK_BOOKS else "train"]
        parts: list[str] = []
        packet = size = 0
        for number, chosen in enumerate(groups(book, most, pick)):
            key = f"{label}-{number:03}"
            known[key] = {
                "book": name,
                "passages": [
                    {"path": p.path, "headings": p.headings, "text": p.text}
                    for p in (book[n] for n in chosen)
                ],
            }
            texts = [shown(book[n], letter) for n, letter in zip(chosen, LETTERS, strict=False)]
            part = "\n\n".join([f"######## GROUP {key}\nWANTED {wishes(pick, turn)}", *texts])
            if parts and size + len(part) > PACKET_CHARACTERS:
                (folder / f"{label}-p{packet:02}.txt").write_text("\n\n".join(parts))
                parts, size, packet = [], 0, packet + 1
            parts.append(part)
            size += len(part)
        if parts:
            (folder / f"{label}-p{packet:02}.txt").write_text("\n\n".join(parts))
    file.write_text(json.dumps(known))


def written(work: Path) -> dict[str, Row]:
    """What the writers wrote, by group."""
    rows = (line for file in sorted((work / "written").glob("*.jsonl")) for line in lines(file))
    return {row["group"]: row for row in rows}


def lines(file: Path) -> list[Row]:
    return [json.loads(line) for line in file.read_text().split("\n") if line.strip()]


def blind(work: Path) -> None:
    """Packets for judges: the passages with the questions and sentences, in another order."""
    (work / "blind").mkdir(exist_ok=True)
    done = written(work)
    for file in sorted((work / "packets").glob("*.txt")):
        parts = file.read_text().split("######## GROUP ")[1:]
        keys = [part.split("\n", 1)[0].strip() for part in parts]
        if not all(key in done for key in keys):
            continue
        texts = []
        for key, part in zip(keys, parts, strict=True):
            body = part.split("\n", 2)[2].strip()
            asked = [f"Q{n} {q['q']}" for n, q in enumerate(done[key]["questions"], 1)]
            said = done[key]["sentences"]
            order = sentence_order(key, len(said))
            told = [
                f"S{n} ({'+'.join(said[i]['p'])}) {said[i]['s']}" for n, i in enumerate(order, 1)
            ]
            texts.append("\n".join([f"######## GROUP {key}", body, "", *asked, *told]))
        (work / "blind" / file.name).write_text("\n\n".join(texts))


def sentence_order(key: str, count: int) -> list[int]:
    """True and false ones mixed, the same way each time."""
    return random.Random(f"{SEED} {key}").sample(range(count), count)


def merge(work: Path) -> None:
    files = sorted((work / "judged").glob("*.jsonl"))
    judged = [row for file in files for row in lines(file)]
    keep(json.loads((work / "groups.json").read_text()), written(work), judged)


def keep(groups: dict[str, Row], done: dict[str, Row], verdicts: Sequence[Row]) -> None:
    """Adds the rows on which writer and judge agree to training/data/; prints how many they
    differ on."""
    counts: Counter[str] = Counter()
    rows: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for judged in verdicts:
        group = groups[judged["group"]]
        part = "check" if group["book"] in CHECK_BOOKS else "train"
        own = done[judged["group"]]
        for kind, found in (
            ("questions", question_rows(judged, own, group, counts)),
            ("sentences", sentence_rows(judged, own, group, counts)),
        ):
            rows[kind, part] += list(found)
    DATA.mkdir(exist_ok=True)
    for (kind, part), new in sorted(rows.items()):
        file = DATA / f"{kind}-{part}.jsonl.gz"
        kept = [json.dumps(row, ensure_ascii=False) for row in new]
        if file.exists():
            kept = [*gzip.decompress(file.read_bytes()).decode().rstrip("\n").split("\n"), *kept]
        kept = list(dict.fromkeys(kept))
        file.write_bytes(gzip.compress("".join(f"{line}\n" for line in kept).encode(), mtime=0))
        print(kind, part, len(kept), Counter(row["label"] for row in new))
    for name, count in sorted(counts.items()):
        print(name, count)


def question_rows(judged: Row, own: Row, group: Row, counts: Counter[str]) -> Iterator[Row]:
    if len(judged["answers"]) != len(own["questions"]):
        counts["groups whose questions were not judged"] += 1
        return
    for question, verdict in zip(own["questions"], judged["answers"], strict=True):
        for letter, passage in zip(LETTERS, group["passages"], strict=False):
            if letter not in verdict:
                counts["question rows that were not judged"] += 1
                continue
            said = verdict[letter]
            partly = (letter in question.get("partly", []), said == "partly")
            if any(partly) and not all(partly):
                counts["question rows that one of the two called partly"] += 1
                continue
            by_writer = question["yes"].get(letter)
            by_judge = said if said not in ("no", "partly") else None
            if (by_writer is None) != (by_judge is None):
                counts["question rows on which the two differ"] += 1
                continue
            row = {"question": question["q"], "kind": question["kind"], "label": 0}
            row |= origin(group, [passage])
            if all(partly):
                row["partly"] = True
            elif by_writer and by_judge:
                ranges = evidence_units(passage["text"])
                both = [set(by_writer), {n for n in by_judge if 0 < n <= len(ranges)}]
                if not both[0] & both[1]:
                    counts["question rows on whose evidence the two differ"] += 1
                    continue
                row["label"] = 1
                row["evidence"], row["evidence_judged"] = (
                    [list(ranges[n - 1]) for n in sorted(each)] for each in both
                )
            else:
                row["why"] = question["no"].get(letter, "")
            counts["question rows kept"] += 1
            yield row


def sentence_rows(judged: Row, own: Row, group: Row, counts: Counter[str]) -> Iterator[Row]:
    order = sentence_order(own["group"], len(own["sentences"]))
    if len(judged["supports"]) != len(order):
        counts["groups whose sentences were not judged"] += 1
        return
    for place, verdict in zip(order, judged["supports"], strict=True):
        sentence = own["sentences"][place]
        if verdict not in ("yes", "no") or (verdict == "yes") != sentence["true"]:
            counts["sentence rows on which the two differ"] += 1
            continue
        cited = [group["passages"][LETTERS.index(letter)] for letter in sentence["p"]]
        counts["sentence rows kept"] += 1
        yield {
            "sentence": sentence["s"],
            "kind": sentence["kind"],
            "label": int(sentence["true"]),
            **origin(group, cited),
        }


def origin(group: Row, cited: list[Row]) -> Row:
    repository, licence = {**BOOKS, **ASKED_BOOKS}[group["book"]]
    return {
        "book": group["book"],
        "repository": repository,
        "licence": licence,
        "passages": [{key: one[key] for key in ("path", "headings", "text")} for one in cited],
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("step", choices=("make", "blind", "merge"))
    options.add_argument("--books", type=Path, help="folder of the books' archives")
    options.add_argument("--work", type=Path, required=True)
    options.add_argument("--round", type=int, choices=tuple(GROUPS), default=1)
    chosen = options.parse_args()
    if chosen.step == "make":
        make(chosen.books, chosen.work, chosen.round)
    else:
        {"blind": blind, "merge": merge}[chosen.step](chosen.work)


if __name__ == "__main__":
    main()
