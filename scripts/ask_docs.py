"""Asks the documentation what newcomers ask, with the built-in answerer and a home of its own.

python -m scripts.ask_docs [--show]     # --show prints the answers too

A question of `tests/docs_questions.jsonl` is answered from the right page when an answer cites one
of the pages named there. One without a page should be refused.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bythebook.agent.assistant import Assistant
from bythebook.library import Library
from bythebook.models.answer import Answer
from bythebook.settings import Settings

ROOT = Path(__file__).parents[1]
QUESTIONS = ROOT / "tests" / "docs_questions.jsonl"
BOOK = "bythebook-docs"


@dataclass(frozen=True)
class Asked:
    question: str
    pages: frozenset[str]
    answer: Answer

    @property
    def is_right(self) -> bool:
        if not self.pages:
            return self.answer.refused
        cited = {citation.passage.metadata.source_file for citation in self.answer.citations}
        return not self.answer.refused and bool(cited & self.pages)


async def ask_docs(home: Path) -> AsyncIterator[Asked]:
    settings = Settings(home=home, answerer="built-in")
    async with await Library.open(settings) as library, Assistant(library) as assistant:
        await library.ingest(ROOT, book_id=BOOK)
        for line in QUESTIONS.read_text(encoding="utf-8").splitlines():
            one = json.loads(line)
            answer = await assistant.ask(one["question"], book_id=BOOK)
            yield Asked(one["question"], frozenset(one["pages"]), answer)


async def main(show: bool) -> None:
    right = asked = 0
    with TemporaryDirectory() as home:
        async for one in ask_docs(Path(home)):
            asked += 1
            right += one.is_right
            sources = ", ".join(
                dict.fromkeys(cited.passage.metadata.source_file for cited in one.answer.citations)
            )
            print(f"{'right' if one.is_right else 'WRONG'}  {one.question}  [{sources}]")
            if show:
                print(f"{one.answer.text}\n")
    print(f"{right} of {asked} right")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="store_true", help="print the answers too")
    asyncio.run(main(parser.parse_args().show))
