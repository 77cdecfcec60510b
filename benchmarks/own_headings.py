"""Whether a calibration fitted to a book's own headings and definitions, without a label, would be
better than the one that ships: judged on questions that people wrote about the same book.

    python benchmarks/own_headings.py --work WORK

WORK is that of `benchmarks/coverage.py`, which must have run before. A question made from the book
counts as covered; the same question, asked of the book without the page it was made from, as not.
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from bythebook.evaluation.asking import all_passages
from bythebook.evaluation.making import drafts_of, spread
from bythebook.library import Library
from bythebook.models.book import BookInfo
from bythebook.retrieval.calibration import BUILT_IN, Calibration, calibration_for
from bythebook.retrieval.coverage import Coverage
from bythebook.retrieval.fitting import Example, Kind, fit
from bythebook.retrieval.labelled import read_questions
from bythebook.retrieval.quality import measure
from bythebook.retrieval.search import Searcher
from bythebook.settings import Settings

HERE = Path(__file__).parent
ASKED = {
    "docusaurus": [HERE / "data" / "docusaurus.jsonl"],
    "physical-ai-robotics": sorted((HERE.parent / "tests" / "data").glob("ask_*.jsonl")),
}
DRAFTS = 150


async def made(library: Library, searcher: Searcher, book: BookInfo) -> list[Example]:
    found: list[Example] = []
    passages = await all_passages(library, book.book_id)
    for draft in spread(drafts_of(passages, book.language), DRAFTS):
        pages = [draft.passage.metadata.source_file, *draft.also]
        found.append(
            example(book, draft.text, "covered", await searcher.evidence(book, draft.text))
        )
        left = await searcher.evidence(book, draft.text, without=pages)
        found.append(example(book, draft.text, "near", left))
    return found


def example(book: BookInfo, text: str, kind: Kind, evidence: Coverage) -> Example:
    return Example(book.book_id, text, kind, evidence, None, book.background)


async def written(searcher: Searcher, book: BookInfo) -> list[Example]:
    asked = [one for file in ASKED[book.book_id] for one in read_questions(file)]
    return [
        example(
            book,
            one.question,
            "covered" if one.covered else "near",
            await searcher.evidence(book, one.question),
        )
        for one in asked
        if not one.off_topic
    ]


async def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--work", type=Path, required=True)
    chosen = options.parse_args()
    shipped = calibration_for(BUILT_IN)
    print("| book | fitted to | AUROC near | covered answered | near refused |")
    print("|---|---|---|---|---|")
    async with await Library.open(Settings(home=chosen.work / "main")) as library:
        searcher = await library.searcher()
        for name in ASKED:
            book = await library.book(name)
            judged = await written(searcher, book)
            own = fit(await made(library, searcher, book), shipped, "its own headings").calibration
            for fitted, calibration in (("what ships", shipped), ("its own headings", own)):
                print(row(name, fitted, judged, calibration))


def row(name: str, fitted: str, judged: list[Example], calibration: Calibration) -> str:
    coverages = [one.coverage(calibration) for one in judged]
    found = measure(judged, coverages, [1.0] * len(judged), calibration)
    figures = (found.auroc_near or 0, found.answered or 0, found.refused_near or 0)
    return f"| {name} | {fitted} | {' | '.join(f'{figure:.3f}' for figure in figures)} |"


if __name__ == "__main__":
    asyncio.run(main())
