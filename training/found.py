"""Asks the question sets by bythebook's own search and notes the five passages found.

    python -m training.found --data ../shared/data --work WORK

Writes WORK/found.jsonl.gz. The first run embeds the passages of the sets: some minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
from pathlib import Path
from typing import Any

from bythebook.evaluation.dataset import QUERIES, Question, json_lines, read_folder
from bythebook.language.query_rewrite import rewrite_standalone
from bythebook.library import Library
from bythebook.models.search_messages import MAX_QUERY, SearchQuery
from bythebook.settings import Settings

# anthropic_docs is not among them: it judges the product, so nothing may be trained on it.
SETS = ("clapnq_dev", "mtrag_un", "squad2")
PASSAGES = 5


def asked_of(question: Question) -> str:
    """What the reader is asked: the question, behind the one before it in a conversation."""
    earlier = [turn.question for turn in question.history][-1:]
    return " ".join([*earlier, question.text])


async def ask(
    library: Library, book: str, question: Question, row: dict[str, Any]
) -> dict[str, Any]:
    query = rewrite_standalone(question.text, list(question.history)).query[:MAX_QUERY]
    found = await library.search(
        SearchQuery(text=query, book_id=book, hardware_tier_filter=4, limit=PASSAGES)
    )
    article = question.id.split("<::>")[0]
    if book == "squad2":
        article = row["context_id"].split(":")[1]
    gold = {place.page for place in question.answered_at}
    people = [list(chosen) for chosen in question.sentences] or [[a] for a in question.answers[:1]]
    passages = []
    for passage in found.passages:
        page = passage.metadata.source_file
        spans = spans_of(passage.text, people) if page in gold else []
        passages.append(
            {"page": page, "heading": passage.metadata.title, "text": passage.text, "spans": spans}
        )
    return {
        "set": book,
        "id": question.id,
        "article": f"{book}/{article}",
        "question": asked_of(question),
        "covered": question.covered,
        "gold": sorted(gold),
        "passages": passages,
    }


def spans_of(text: str, people: list[list[str]]) -> list[tuple[int, int, float]]:
    """Where the marked words stand, with the share of people who marked them; a short answer
    counts with its sentence."""
    shares: dict[tuple[int, int], float] = {}
    for marked in people:
        for words in marked:
            at = text.find(words.strip())
            if at < 0 or not words.strip():
                continue
            start, end = at, at + len(words.strip())
            if len(words) < 60:
                start = max(text.rfind(". ", 0, start) + 2, text.rfind("\n", 0, start) + 1)
                stop = text.find(". ", end)
                end = len(text) if stop < 0 else stop + 1
            shares[start, end] = shares.get((start, end), 0) + 1 / len(people)
    return [(start, end, share) for (start, end), share in sorted(shares.items())]


async def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--work", type=Path, required=True)
    chosen = options.parse_args()
    async with await Library.open(Settings(home=chosen.work / "home")) as library:
        with gzip.open(chosen.work / "found.jsonl.gz", "wt", encoding="utf-8") as out:
            for name in SETS:
                folder = read_folder(chosen.data / "qa" / name)
                folder.write_book(chosen.work / "sets" / name / "book")
                await library.ingest(chosen.work / "sets" / name / "book", book_id=name)
                rows = {
                    r["_id"]: r for r in json_lines(chosen.data / "qa" / name / QUERIES, ["_id"])
                }
                for question in folder.questions:
                    entry = await ask(library, name, question, rows[question.id])
                    out.write(json.dumps(entry) + "\n")
                print(name, len(folder.questions), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
