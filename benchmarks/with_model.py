"""A language model with bythebook around it, and the same model with a plain prompt.

python benchmarks/with_model.py --url URL --model NAME --data ../shared/data --work WORK --out FILE

Twenty covered and ten uncovered questions of two books, each asked twice: once as a reader would,
once with the first five passages and a plain prompt. What came of it is written to FILE, a line for
each question, to be read against the book: which answers are right, and which sentences no passage
bears. The figures printed at the end are only what can be counted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI
from pydantic import SecretStr

from answers import FACTS, found_of, library_of
from bythebook.agent.assistant import Assistant
from bythebook.errors import BookError
from bythebook.evaluation.dataset import Question, read_questions
from bythebook.evaluation.model_trial import WatchedModel
from bythebook.library import Library
from bythebook.models.passage import Passage
from bythebook.settings import Settings

PASSAGES = 5
COVERED = 10
UNCOVERED = 5
PLAIN = (
    "Answer the question from these passages of a book, and from nothing else. If they do not "
    "answer it, say that the book does not answer it."
)


def chosen(book: str) -> list[Question]:
    """The first questions of the book that are reported on."""
    questions = read_questions(FACTS / f"{book}-check.jsonl")
    covered = [one for one in questions if one.covered][:COVERED]
    return covered + [one for one in questions if not one.covered][:UNCOVERED]


async def plainly(
    client: AsyncOpenAI, model: str, question: str, passages: list[Passage]
) -> dict[str, Any]:
    shown = "\n\n".join(f"Passage {n}:\n{one.text}" for n, one in enumerate(passages, 1))
    started = time.perf_counter()
    reply = await client.chat.completions.create(
        model=model,
        messages=[{"role": "user", "content": f"{PLAIN}\n\n{shown}\n\nQuestion: {question}"}],
        temperature=0.0,
        max_tokens=400,
    )
    return {"text": reply.choices[0].message.content, "seconds": time.perf_counter() - started}


async def by_the_book(
    library: Library, settings: Settings, question: str, book: str
) -> dict[str, Any]:
    model = WatchedModel(settings)
    started = time.perf_counter()
    outcome: dict[str, Any]
    try:
        answer = await Assistant(library, settings, model).ask(question, book_id=book)
    except BookError as problem:
        outcome = {"text": f"{problem.code}: {problem}", "failed": True}
    else:
        outcome = {
            "text": answer.text,
            "refused": answer.refused,
            "sentences": [answer.text[one.start : one.end] for one in answer.sentences],
            "removed": answer.removed,
        }
    outcome["seconds"] = time.perf_counter() - started
    outcome["replies"] = [reply.text for reply in model.replies]
    return outcome


async def main(arguments: argparse.Namespace) -> None:
    client = AsyncOpenAI(base_url=arguments.url, api_key="none", timeout=600, max_retries=0)
    rows = []
    with arguments.out.open("w") as file:
        for book in arguments.books:
            library = await library_of(book, arguments.data, arguments.work)
            settings = Settings(
                home=library.settings.home,
                openai_base_url=arguments.url,
                openai_model=arguments.model,
                openai_api_key=SecretStr("none"),
                model_down="error",
            )
            async with library:
                for question in chosen(book)[arguments.first :: arguments.step]:
                    found, _ = await found_of(library, book, question)
                    passages = found.passages[:PASSAGES]
                    row: dict[str, Any] = {
                        "book": book,
                        "question": question.text,
                        "covered": question.covered,
                        "facts": question.facts,
                        "ours": await by_the_book(library, settings, question.text, book),
                        "passages": [one.text for one in passages],
                    }
                    row["plain"] = await plainly(
                        client, arguments.model, question.text, list(passages)
                    )
                    rows.append(row)
                    print(json.dumps(row), file=file, flush=True)
    report(rows)


def report(rows: list[dict[str, Any]]) -> None:
    ours = [row["ours"] for row in rows]
    asked = [row for row in rows if not row["covered"]]
    print(f"questions {len(rows)}")
    print(f"uncovered refused {sum(row['ours'].get('refused', False) for row in asked)}")
    print(f"failed {sum(told.get('failed', False) for told in ours)}")
    print(f"model calls {[len(told['replies']) for told in ours]}")
    print(f"sentences shown {sum(len(told.get('sentences', ())) for told in ours)}")
    print(f"sentences left out {sum(told.get('removed', 0) for told in ours)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--books", nargs="+", default=["hatch", "pytest"])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--first", type=int, default=0, help="the first question asked")
    parser.add_argument("--step", type=int, default=1, help="every how many questions one is asked")
    asyncio.run(main(parser.parse_args()))
