"""The sample book's questions, from the search to the quoted answer."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np

from bythebook.library import Library
from bythebook.models.search import SearchQuery
from bythebook.quoting.compose import compose
from bythebook.quoting.excerpt import Excerpt
from bythebook.settings import Settings
from quoting.quoting_tools import assert_by_the_book, words_outside_code

QUESTIONS = Path(__file__).parent.parent / "data" / "sample_questions.jsonl"
# What an answer must hold, in the order of the file.
ESSENTIAL = (
    "A **node** is", "0 to 101", "builds one package and nothing else", "mutually exclusive group",
    "27.6 MB", "use an action", "never connect", "is rejected", "revolute", "only one parent",
    "map_saver_cli", "multi_step: 100", "simulated time divided by real time",
    "constant offset", "in both directions", "A **prim**", "always loaded",
    "extensions", "not supported", "a camera paired with a resolution", "runs once",
    "looks the same after every full period", "move with the camera", "twice as large",
    "trtexec", "divided by the number of words", "Put the world into the prompt", "256 bins",
    "Move the arm to 15 to 20 poses", "you need 300",
)  # fmt: skip


async def test_every_question_is_answered_from_its_section(sample_home: Path) -> None:
    async with await Library.open(Settings(home=sample_home)) as library:
        wrong = [each async for each in wrong_answers(library)]
    assert len(wrong) <= 1, "\n\n".join(wrong)


async def wrong_answers(library: Library) -> AsyncIterator[str]:
    asked = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    for entry, essential in zip(asked, ESSENTIAL, strict=True):
        query = SearchQuery(
            text=entry["question"], book_id="physical-ai-robotics", hardware_tier_filter=4
        )
        found = (await library.search(query)).passages
        excerpts = [
            Excerpt(n, p.text, p.metadata.title, p.metadata.section_title or "", p.score)
            for n, p in enumerate(found, 1)
        ]
        texts: list[str] = []

        def remember(_: str, few: Sequence[str], into: list[str] = texts) -> list[float]:
            into.extend(few)
            return [0.0] * len(few)

        compose(entry["question"], excerpts, similarity=remember)
        vectors = await library.embedder.embed_documents(texts)
        asked_for = await library.embedder.embed_query(entry["question"])
        cosines = dict(zip(texts, np.asarray(vectors) @ asked_for, strict=True))

        def meaning(_: str, few: Sequence[str], known: dict[str, float] = cosines) -> list[float]:
            return [float(known[text]) for text in few]

        answer = compose(entry["question"], excerpts, similarity=meaning)
        assert_by_the_book(answer, excerpts)
        assert words_outside_code(answer) <= 130
        cited = {int(number) for number in re.findall(r"\[(\d)\]", answer)}
        right = any(
            found[number - 1].metadata.source_file == entry["file"]
            and entry["section"] in found[number - 1].metadata.heading_path
            for number in cited
        )
        if essential not in answer or not right:
            yield f"{entry['question']}\n{answer}"
