"""Asks every book its questions and writes what the reader is trained on and judged by.

    python benchmarks/reader/prepare.py --data ../shared/data --work WORK [--start]

Writes WORK/asked.jsonl (each question with the gate's evidence and the passages found) and
WORK/rows.npz (word pieces, labels and folds); the first run embeds the books, minutes. `--start`
also fetches the published MiniLM, as scripts/make_minilm.py does, and writes WORK/start.npz: its
weights by name as float16, without the word embeddings, which the package has.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from bythebook.evaluation.folder import json_lines, read_folder  # noqa: E402
from bythebook.index.sparse import STOP_WORDS  # noqa: E402
from bythebook.library import Library, sample_book  # noqa: E402
from bythebook.models.search import SearchQuery  # noqa: E402
from bythebook.quoting.followup import standalone  # noqa: E402
from bythebook.retrieval.coverage import LOOKED_AT  # noqa: E402
from bythebook.retrieval.labelled import LONGEST as LONGEST_QUERY  # noqa: E402
from bythebook.retrieval.labelled import QUERIES, read_questions  # noqa: E402
from bythebook.settings import Settings  # noqa: E402
from questions import SETS  # noqa: E402
from reader.made import ANSWERS, SUPPORTS, Manual, Pair, made_pairs  # noqa: E402

SAMPLE, MANUAL = "physical-ai-robotics", "docusaurus"
OWN, TESTS = ROOT / "benchmarks" / "data", ROOT / "tests" / "data"
HAND = {name: [OWN / f"{name}.jsonl"] for name in ("anthropic_docs", MANUAL)} | {
    SAMPLE: [*sorted(TESTS.glob("ask_*.jsonl")), TESTS / "sample_questions.jsonl"]
}
# Manuals, and from how many of their passages pairs are made.
MADE_FROM = {"docusaurus-docs": 1000, "mdn-javascript": 3000}
# Questions of each other set that every book is asked.
OFF_TOPIC = 150
# The last, in place of a fold: never trained on.
FOLDS, UNSEEN = 4, -2
START, END = 101, 102
LONGEST, LONGEST_ASKED, LONGEST_HEADING, STRIDE = 256, 80, 32, 16
Entry = dict[str, Any]


def entries(data: Path, book: str) -> Iterator[Entry]:
    """Questions for a book. `folds`: one where a question or conversation is kept together, one
    where an article is; the kept-aside half of squad2 has other questions about these articles,
    a new book has not."""
    for name in SETS:
        folder = data / "qa" / name
        rows = {row["_id"]: row for row in json_lines(folder / QUERIES, ["_id"])}
        asked = read_folder(folder).questions
        if name != book:
            asked = [question for question in asked if question.covered]
            asked = random.Random(7).sample(asked, min(OFF_TOPIC, len(asked)))
        for one in asked:
            key = one.id.split("<::>")[0]
            article = rows[one.id]["context_id"].split(":")[1] if name == "squad2" else key
            about: Entry = {"book": book, "folds": [fold(f"{name}/{k}") for k in (key, article)]}
            about |= {"kind": "off-topic", "question": one.text}
            if name == book:
                about["kind"] = {True: "covered", False: "near", None: "unclear"}[one.covered]
                about["question"] = standalone(one.text, list(one.history)).query
                about["gold"] = [place.page for place in one.answered_at]
            yield about
    for written in (one for file in HAND.get(book, []) for one in read_questions(file)):
        kind = "covered" if written.covered else "off-topic" if written.off_topic else "near"
        yield {"book": book, "folds": [UNSEEN] * 2, "kind": kind, "question": written.question}


def fold(key: str) -> int:
    return int(hashlib.sha256(key.encode()).hexdigest()[:8], 16) % FOLDS


async def ask(library: Library, entry: Entry) -> Entry:
    """The entry with what the search finds."""
    text = entry["question"][:LONGEST_QUERY]
    found = await library.search(
        SearchQuery(text=text, book_id=entry["book"], hardware_tier_filter=4, limit=LOOKED_AT)
    )
    assert found.evidence is not None, "a book of some passages always finds one"
    passages = [
        {"page": p.metadata.source_file, "path": p.metadata.heading_path, "text": p.text}
        for p in found.passages
    ]
    return entry | {"evidence": asdict(found.evidence), "passages": passages}


async def ask_all(data: Path, work: Path) -> list[Entry]:
    places = {MANUAL: unpacked(data, work, "docusaurus-docs") / "docs", SAMPLE: sample_book()}
    for name in SETS:
        places[name] = work / "sets" / name / "book"
        read_folder(data / "qa" / name).write_book(places[name])
    asked: list[Entry] = []
    async with await Library.open(Settings(home=work / "home")) as library:
        for book, place in places.items():
            await library.ingest(place, book_id=book)
            asked += [await ask(library, entry) for entry in entries(data, book)]
            print(f"{book}: {len(asked)} questions so far", flush=True)
    return asked


def unpacked(data: Path, work: Path, name: str) -> Path:
    if not (work / name).exists():
        with tarfile.open(data / "books" / f"{name}.tar.xz") as archive:
            archive.extractall(work / name, filter="data")
    return work / name


def label(entry: Entry, passage: Entry, rank: int) -> int:
    """1 if the passage answers the question, 0 if not, -1 where the set does not tell."""
    if entry["folds"][0] == UNSEEN or entry["kind"] == "unclear":
        return -1
    if entry["kind"] == "off-topic":  # many and easy: those of one book are enough
        return 0 if entry["book"] == "anthropic_docs" else -1
    if passage["page"] in entry["gold"]:
        return 1
    # What ranks high and is not marked as gold may answer a covered question all the same.
    return 0 if entry["kind"] == "near" or rank >= 2 else -1


def all_pairs(data: Path, work: Path, asked: list[Entry]) -> Iterator[Pair]:
    for number, entry in enumerate(asked):
        about = (entry["book"], number, *entry["folds"])
        for rank, passage in enumerate(entry["passages"]):
            shown = (entry["question"], " › ".join(passage["path"]), passage["text"])
            yield Pair(ANSWERS, *shown, label(entry, passage, rank), *about)
    for row in json_lines(data / "qa" / "begin" / "begin.jsonl.gz", ["knowledge", "response"]):
        known, right = row["knowledge"], int(row["begin_label"] == "Fully attributable")
        folds = [fold(known)] * 2
        yield Pair(SUPPORTS, row["response"], "", known, right, "begin", -1, *folds)
    for name, most in MADE_FROM.items():
        yield from made_pairs(Manual(unpacked(data, work, name)), most, random.Random(1))


def pieces(tokenizer: Tokenizer, pair: Pair) -> list[int]:
    """What the reader sees: the question, then the headings and as much of the passage as fits,
    the stretch with the most of the question's words."""
    asked, heading, text = (tokenizer.encode(part, add_special_tokens=False) for part in pair[1:4])
    first, above = asked.ids[:LONGEST_ASKED], heading.ids[:LONGEST_HEADING]
    wanted = {i for i, t in zip(asked.ids, asked.tokens, strict=True) if t not in STOP_WORDS}
    often = Counter(piece for piece in text.ids if piece in wanted)
    room = LONGEST - 3 - len(first) - len(above)
    starts = [*range(0, max(1, len(text.ids) - room), STRIDE), max(0, len(text.ids) - room)]
    cuts = (text.ids[at : at + room] for at in starts)
    best = max(cuts, key=lambda cut: sum(often[p] ** -0.5 for p in wanted.intersection(cut)))
    return [START, *first, END, *above, *best, END]


def write_rows(file: Path, pairs: list[Pair]) -> None:
    weights = ROOT / "src" / "bythebook" / "embedding" / "weights"
    tokenizer = Tokenizer.from_file(str(weights / "tokenizer.json"))
    tokenizer.encode_special_tokens = True  # a book that writes [SEP] means the word
    rows = [pieces(tokenizer, pair) for pair in pairs]
    arrays: dict[str, Any] = {
        name: np.array([getattr(pair, name) for pair in pairs])
        for name in ("head", "label", "source", "question", "by_question", "by_article")
    }
    arrays["lengths"] = np.array([len(row) for row in rows])
    np.savez_compressed(file, flat=np.concatenate(rows).astype(np.uint16), **arrays)
    for key, count in sorted(Counter((p.source, p.head, p.label) for p in pairs).items()):
        print(*key, count)


def write_start(file: Path) -> None:
    from scripts.make_minilm import fetch, read_safetensors

    with tempfile.TemporaryDirectory() as folder:
        weights = read_safetensors(fetch(Path(folder))["model.safetensors"])
    kept: dict[str, Any] = {
        n: w.astype(np.float16) for n, w in weights.items() if ".word_" not in n
    }
    np.savez_compressed(file, **kept)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--data", type=Path, default=Path("../shared/data"))
    options.add_argument("--work", type=Path, required=True)
    options.add_argument("--start", action="store_true")
    chosen = options.parse_args()
    chosen.work.mkdir(parents=True, exist_ok=True)
    asked = asyncio.run(ask_all(chosen.data, chosen.work))
    with (chosen.work / "asked.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(entry) + "\n" for entry in asked)
    write_rows(chosen.work / "rows.npz", list(all_pairs(chosen.data, chosen.work, asked)))
    if chosen.start:
        write_start(chosen.work / "start.npz")


if __name__ == "__main__":
    main()
