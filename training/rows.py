"""The labelled rows: public sets, the question sets of ../shared/data/qa, and our own examples.

A row is judged on, never trained on, where its `part` says so. Question sets are split by article,
conversation or knowledge, so that nothing judged shares a passage's subject with what was trained.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from bythebook.grounding.verifier import is_connective
from bythebook.language.segmentation import split_units
from training.books import DEV_BOOKS

Head = Literal["answers", "supports"]
Part = Literal["train", "judge", "check", "dev"]
# As they are numbered in rows.npz.
PARTS: tuple[Part, ...] = get_args(Part)
Span = tuple[int, int, float]
OWN = Path(__file__).parent / "data"
# Public sets that hold positive rows only: look-alike passages serve as negatives.
ONLY_POSITIVE = ("boolq", "nq_conflicts", "policyqa", "pubmedqa")
# What half an answer counts: better than none, and never before a whole one.
PARTLY = 0.35
# At most this many rows of one set and label: short entailment pairs are many and far from books.
MOST = {
    "vitaminc": 10_000, "fever_nli_dev": 4_000, "mnli": 5_000, "conjnli": 2_500, "cad_nli": 2_500,
    "breaking_nli": 800, "scone": 1_500, "med": 1_500, "negnli": 1_200, "squadshifts_wiki": 5_000,
}  # fmt: skip
JUDGED_SHARE = 3  # one in three articles or conversations


@dataclass(frozen=True)
class Row:
    """`spans` are evidence in `text` with a value each; None: nobody marked it."""

    head: Head
    asked: str
    heading: str
    text: str
    label: float
    set: str
    part: Part = "train"
    spans: tuple[Span, ...] | None = None
    kind: str = ""
    group: str = ""
    weight: float = 1.0


def json_rows(file: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def digest(key: str) -> int:
    return int(hashlib.sha256(key.encode()).hexdigest()[:8], 16)


def part_of(key: str) -> Part:
    return "judge" if digest(key) % JUDGED_SHARE == 0 else "train"


def public(folder: Path) -> Iterator[Row]:
    """The sets of ../shared/data/reader, capped, shuffled by a fixed seed."""
    texts = [row["text"] for row in json_rows(folder / "passages.jsonl.gz")]
    pick = random.Random(1)
    spans = {
        (row["question"], row["passage"]): tuple((a, b, 1.0) for a, b in row["spans"])
        for row in json_rows(folder / "evidence.jsonl.gz")
    }
    counts: dict[tuple[str, int], int] = defaultdict(int)
    heads: dict[str, Head] = {"answerability": "answers", "support": "supports"}
    for name, head in heads.items():
        rows = list(json_rows(folder / f"{name}.jsonl.gz"))
        pick.shuffle(rows)
        for row in rows:
            key = (row["set"], row["label"])
            counts[key] += 1
            if counts[key] > MOST.get(row["set"], 10**9):
                continue
            asked = row["question"] if head == "answers" else row["claim"]
            marked = spans.pop((asked, row["passage"]), None) if head == "answers" else None
            yield Row(
                head, asked, "", texts[row["passage"]], row["label"], row["set"], spans=marked
            )
    # Evidence whose question is not among the labelled ones.
    for (asked, passage), marked in spans.items():
        yield Row("answers", asked, "", texts[passage], 1, "evidence", spans=marked)


def judged_articles(entries: Sequence[dict[str, Any]]) -> set[str]:
    """Articles or conversations that hold a third of a set's questions, chosen by their hash: a
    few are long, so they are counted by their questions."""
    sizes = Counter(entry["article"] for entry in entries)
    left = len(entries) / JUDGED_SHARE
    chosen = set()
    for article in sorted(sizes, key=digest):
        if sizes[article] <= left:
            chosen.add(article)
            left -= sizes[article]
    return chosen


def asked_of_sets(found: Path) -> Iterator[Row]:
    """Questions of the sets with the passages that search found (`training.found`)."""
    entries = [entry for entry in json_rows(found) if entry["covered"] is not None]
    judged: set[str] = set()
    for name in {entry["set"] for entry in entries}:
        judged |= judged_articles([entry for entry in entries if entry["set"] == name])
    for entry in entries:
        part: Part = "judge" if entry["article"] in judged else "train"
        for rank, passage in enumerate(entry["passages"]):
            gold = passage["page"] in entry["gold"]
            # What ranks high and is not marked as gold may answer a covered question all the same.
            unclear = entry["covered"] and not gold and rank < 2
            if unclear and part == "train":
                continue
            spans = None
            if gold and passage.get("spans"):
                spans = tuple((a, b, v) for a, b, v in passage["spans"])
            yield Row(
                "answers",
                entry["question"],
                passage["heading"],
                passage["text"],
                float(gold and bool(entry["covered"])),
                entry["set"],
                part,
                spans,
                kind="covered" if entry["covered"] else "near",
                group=f"{entry['set']}/{entry['id']}",
            )


def begin(folder: Path) -> Iterator[Row]:
    for row in json_rows(folder / "begin" / "begin.jsonl.gz"):
        right = float(row["begin_label"] == "Fully attributable")
        part = part_of(row["knowledge"])
        yield Row("supports", row["response"], "", row["knowledge"], right, "begin", part)


def human_eval(folder: Path) -> Iterator[Row]:
    """Sentences of rated answers with each of their contexts; none is trained on."""
    for number, row in enumerate(json_rows(folder / "mtrag_human_eval" / "evaluations.jsonl.gz")):
        grades = [float(grade) for grade in row["human"]["faithfulness"].values()]
        rating = sum(grades) / len(grades)
        said = [unit for unit in split_units(row["response"]) if not is_connective(unit)]
        for place, unit in enumerate(said):
            for context in row["contexts"]:
                yield Row(
                    "supports",
                    unit,
                    "",
                    context["text"],
                    rating / 4,
                    "mtrag_human_eval",
                    "judge",
                    kind=str(place),
                    group=str(number),
                )


def own(kind: str, part: Part, weight: float) -> Iterator[Row]:
    """Our examples: what writer and judge both marked counts whole, what one marked half."""
    spans: tuple[Span, ...] | None
    for number, row in enumerate(json_rows(OWN / f"{kind}-{part}.jsonl.gz")):
        text = "\n\n".join(one["text"] for one in row["passages"])
        heading = " › ".join(row["passages"][0]["headings"])
        about = {"kind": row["kind"], "group": f"{row['book']}/{number}", "weight": weight}
        where: Part = "dev" if row["book"] in DEV_BOOKS else part
        if kind == "sentences":
            yield Row(
                "supports", row["sentence"], heading, text, row["label"], "own", where, **about
            )
            continue
        label, spans = row["label"], ()
        if row.get("partly"):
            if where != "train":
                continue
            label, spans = PARTLY, None
        if row["label"]:
            both = [{tuple(span) for span in row[k]} for k in ("evidence", "evidence_judged")]
            spans = tuple(
                (*span, 1.0 if span in both[0] & both[1] else 0.5) for span in both[0] | both[1]
            )
        yield Row("answers", row["question"], heading, text, label, "own", where, spans, **about)


def typing_errors(text: str, pick: random.Random) -> str:
    """One or two slips of a hand: a letter dropped, doubled or exchanged with its neighbour."""
    for _ in range(pick.choice((1, 1, 2))):
        at = pick.randrange(1, max(2, len(text) - 1))
        if text[at - 1 : at + 2].isalpha():
            how = pick.randrange(3)
            middle = ("", text[at] * 2, "")[how]
            if how == 2:
                text = text[:at] + text[at + 1] + text[at] + text[at + 2 :]
            else:
                text = text[:at] + middle + text[at + 1 :]
    return text


def look_alikes(rows: Sequence[Row], names: Sequence[str]) -> Iterator[Row]:
    """Negatives for sets without any: a passage of the set that shares the question's words."""
    import bm25s

    for name in names:
        own_rows = [row for row in rows if row.set == name]
        texts = list(dict.fromkeys(row.text for row in own_rows))
        index = bm25s.BM25()
        index.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)
        asked = bm25s.tokenize([row.asked for row in own_rows], show_progress=False)
        found, _ = index.retrieve(asked, k=8, show_progress=False)
        pick = random.Random(2)
        for row, places in zip(own_rows, found, strict=True):
            other = [texts[place] for place in places[2:] if texts[place] != row.text]
            if other:
                yield Row("answers", row.asked, "", pick.choice(other), 0, name, spans=())
