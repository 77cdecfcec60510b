"""What answers convey: questions with facts about eighteen books, asked without a language model.

python benchmarks/answers.py --data ../shared/data --work WORK [--part check] [--found] [--fit]

`benchmarks/facts/BOOK-dev.jsonl` may be looked at while working, `…-check.jsonl` is reported. Each
question was written by somebody who saw only the book, with the facts that a right answer conveys;
a third is not covered. `--found` tells, by kind of question, how often one of the first twenty
passages holds all facts, and how often the first one does. `--fit` prints the weights of
retrieval/reranker.py for the part, fitted to whether the chosen passage holds all facts, and their
errors book by book.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Sequence
from io import BytesIO
from math import log
from pathlib import Path

import numpy as np

from bythebook.agent.assistant import Assistant
from bythebook.agent.turn import search_and_read
from bythebook.evaluation.dataset import Question, read_questions
from bythebook.evaluation.outcomes import FEW, Outcome, ask_all, count_facts
from bythebook.language.query_rewrite import questions_of
from bythebook.library import Library
from bythebook.models.passage import Passage
from bythebook.models.search_messages import MAX_RESULTS, SearchFilters, SearchQuery
from bythebook.retrieval.reranker import Reranked
from bythebook.retrieval.retriever import Found
from bythebook.settings import Settings

sys.path.insert(0, str(Path(__file__).parents[1]))

from training.books import JUDGING_BOOKS, from_pypi, unpack

FACTS = Path(__file__).parent / "facts"
SHARED = ("docusaurus-docs", "hf-course", "julia", "mdn-javascript", "sklearn", "turing-way")
# Our own docs as they were when the questions were written.
OWN = "bythebook-docs"
OWN_COMMIT = "8959ab8"
BOOKS = (*SHARED, *JUDGING_BOOKS, OWN)
Sample = tuple[str, float, float, bool, bool]


async def library_of(book: str, data: Path, work: Path) -> Library:
    if book in JUDGING_BOOKS:
        folder = work / "books" / book
        if not folder.exists():
            from_pypi(*JUDGING_BOOKS[book], folder)
    elif book == OWN:
        folder = own_docs(work / "books" / book)
    else:
        folder = unpack(book, data / "books", work)
    library = await Library.open(Settings(home=work / "homes" / book))
    await library.ingest(folder, book_id=book)
    return library


def own_docs(folder: Path) -> Path:
    if not folder.exists():
        root = Path(__file__).parents[1]
        packed = subprocess.run(
            ["git", "archive", OWN_COMMIT, "docs"], cwd=root, check=True, capture_output=True
        )
        with tarfile.open(fileobj=BytesIO(packed.stdout)) as archive:
            archive.extractall(folder, filter="data")
    return folder / "docs"


async def found_of(library: Library, book: str, question: Question) -> tuple[Found, Reranked]:
    query = SearchQuery(
        text=question.text, book_id=book, limit=MAX_RESULTS, **SearchFilters().model_dump()
    )
    return await search_and_read(library, await library.book(book), query)


def holds(question: Question, passage: Passage) -> bool:
    return bool(question.facts) and count_facts(question.facts, passage.text) == len(question.facts)


async def sample_of(library: Library, book: str, question: Question) -> Sample:
    """What reader and search say of the best passage, and whether it holds all facts."""
    found, judged = await found_of(library, book, question)
    best = judged.passages[0]
    answers = judged.readings[best.id].answers
    return book, answers, found.coverage, bool(question.covered), holds(question, best)


async def count_found(
    library: Library, book: str, questions: Sequence[Question], kinds: dict[str, Counter[str]]
) -> None:
    """Adds to the counts of each kind, of questions in two parts, and of all."""
    for one in questions:
        if not (one.covered and one.facts):
            continue
        found, judged = await found_of(library, book, one)
        own = Counter(
            questions=1,
            facts=len(one.facts),
            facts_20=count_facts(one.facts, "\n".join(each.text for each in found.passages)),
            recall_20=any(holds(one, each) for each in found.passages),
            recall_5=any(holds(one, each) for each in found.passages[:FEW]),
            search_1=any(holds(one, each) for each in found.passages[:1]),
            reader_1=any(holds(one, each) for each in judged.passages[:1]),
        )
        for kind in (one.group, *(["two in one"] if questions_of(one.text) else []), "all"):
            kinds.setdefault(kind, Counter()).update(own)


def print_found(kinds: dict[str, Counter[str]]) -> None:
    print("| kind | questions | facts in 20 | recall@20 | recall@5 | hit@1, search | hit@1, read |")
    print(f"|{'---|' * 7}")
    for kind, own in sorted(kinds.items(), key=lambda row: (row[0] == "all", row[0])):
        shares = [own["facts_20"] / own["facts"]]
        for name in ("recall_20", "recall_5", "search_1", "reader_1"):
            shares.append(own[name] / own["questions"])
        cells = [kind, str(own["questions"]), *(f"{share:.2f}" for share in shares)]
        print(f"| {' | '.join(cells)} |")


def fit(samples: list[Sample]) -> None:
    def odds(value: float) -> float:
        value = min(max(value, 0.001), 0.999)
        return log(value / (1 - value))

    x = np.array([[odds(answers), odds(coverage), 1.0] for _, answers, coverage, *_ in samples])
    right = np.array([float(one[4]) for one in samples])
    covered = np.array([one[3] for one in samples])
    books = np.array([one[0] for one in samples])

    def weights(chosen: np.ndarray) -> np.ndarray:
        theta = np.zeros(3)
        for _ in range(100):
            p = 1 / (1 + np.exp(-x[chosen] @ theta))
            gradient = x[chosen].T @ (right[chosen] - p) - 0.05 * theta
            hessian = (x[chosen] * (p * (1 - p))[:, None]).T @ x[chosen] + 0.05 * np.eye(3)
            theta += np.linalg.solve(hessian, gradient)
        return theta

    said = np.zeros(len(right))
    for book in set(books):
        said[books == book] = 1 / (1 + np.exp(-x[books == book] @ weights(books != book)))
    print("reader, search, bias:", weights(np.ones(len(right), bool)).round(2))
    for least in (0.15, 0.2, 0.25, 0.3, 0.4, 0.5):
        shown = said >= least
        print(
            f"from {least}: {shown[covered].mean():.3f} of covered answered, "
            f"{1 - shown[~covered].mean():.3f} of uncovered refused, "
            f"{right[shown].mean():.3f} of answers right"
        )


async def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--work", type=Path, required=True)
    options.add_argument("--part", choices=("dev", "check"), default="dev")
    options.add_argument("--books", nargs="*")
    options.add_argument("--found", action="store_true")
    options.add_argument("--fit", action="store_true")
    chosen = options.parse_args()
    books = chosen.books or [b for b in BOOKS if (FACTS / f"{b}-{chosen.part}.jsonl").exists()]
    total: Counter[str] = Counter()
    samples: list[Sample] = []
    kinds: dict[str, Counter[str]] = {}
    told_at = chosen.work / f"answers-{chosen.part}.jsonl"
    if not (chosen.fit or chosen.found):
        told_at.unlink(missing_ok=True)
        print("| book | facts | by answer | by first passage | by five | covered | answered "
              "| uncovered | refused | p50 s |")  # fmt: skip
        print(f"|{'---|' * 10}")
    for book in books:
        questions = read_questions(FACTS / f"{book}-{chosen.part}.jsonl")
        async with (
            await library_of(book, chosen.data, chosen.work) as library,
            Assistant(library) as assistant,
        ):
            if chosen.fit:
                samples += [await sample_of(library, book, question) for question in questions]
            elif chosen.found:
                await count_found(library, book, questions, kinds)
            else:
                outcomes = await ask_all(assistant, await library.book(book), questions)
                total += print_answers(book, outcomes, told_at)
    if chosen.fit:
        fit(samples)
    elif chosen.found:
        print_found(kinds)
    else:
        print(row("all", total, ""))


def print_answers(book: str, outcomes: Sequence[Outcome], told_at: Path) -> Counter[str]:
    """What is counted of a book; the answers themselves are written to a file."""
    own: Counter[str] = Counter()
    with told_at.open("a", encoding="utf-8") as answers:
        for one in outcomes:
            answers.write(json.dumps({"book": book, **one.details()}, ensure_ascii=False) + "\n")
            own["covered" if one.question.covered else "uncovered"] += 1
            own["answered"] += bool(one.question.covered) and one.answered
            own["refused"] += not one.question.covered and not one.answered
            if one.facts:
                for name in ("facts", "by_answer", "by_first", "by_five"):
                    own[name] += getattr(one.facts, name)
    seconds = sorted(one.milliseconds for one in outcomes)[len(outcomes) // 2] / 1000
    print(row(book, own, f"{seconds:.2f}"), flush=True)
    return own


def row(name: str, own: Counter[str], seconds: str) -> str:
    shares = [
        f"{own[key] / max(1, own['facts']):.2f}" for key in ("by_answer", "by_first", "by_five")
    ]
    counts = [str(own[key]) for key in ("covered", "answered", "uncovered", "refused")]
    return f"| {' | '.join([name, str(own['facts']), *shares, *counts, seconds])} |"


if __name__ == "__main__":
    asyncio.run(main())
