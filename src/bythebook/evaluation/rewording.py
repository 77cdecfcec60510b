"""Better questions from a language model: the same places, asked as a reader would."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bythebook.agent.language_model import LanguageModel
from bythebook.errors import ModelError
from bythebook.evaluation.question import same_heading
from bythebook.settings import Settings

if TYPE_CHECKING:
    from bythebook.evaluation.making import Draft

# "In their own words" keeps the question from being the heading again; "without the passage" from
# "according to the text"; "one line" is what small models forget first.
INSTRUCTIONS = (
    "You write test questions for a book. You are given a passage and a draft question about it. "
    "Write one question that a reader of the book might ask in their own words, that this passage "
    "answers, and that can be understood without the passage. Reply with the question on one line "
    "and nothing else."
)
LONGEST_PASSAGE = 4000
SHORTEST, LONGEST = 10, 200
POINTS_TO_TEXT = re.compile(
    r"\b(?:this|the (?:above|given|following|provided)) (?:passage|text|section|excerpt)\b|"
    r"\b(?:the|this) passage\b|\baccording to the (?:text|passage|section)\b",
    re.IGNORECASE,
)
LABEL = re.compile(r"^(?:question|q)\s*[:.]\s*", re.IGNORECASE)


async def reword(
    settings: Settings,
    drafts: Sequence[Draft],
    on_step: Callable[[int, int], None],
    on_problem: Callable[[str], None],
) -> list[Draft]:
    """The drafts with the model's questions; where it has none that can be used, the draft stays.
    When it fails it is not asked again."""
    model = LanguageModel(settings)
    asked = {same_heading(draft.text) for draft in drafts}
    better: list[Draft] = []
    try:
        for number, draft in enumerate(drafts, 1):
            question = usable(await _reply(model, draft))
            if question and same_heading(question) not in asked:
                asked.add(same_heading(question))
                draft = replace(draft, text=question)
            better.append(draft)
            on_step(number, len(drafts))
    except ModelError as problem:
        left = len(drafts) - len(better)
        on_problem(f"{problem.message} {left} questions keep their first wording.")
        better += drafts[len(better) :]
    finally:
        await model.close()
    return better


async def _reply(model: LanguageModel, draft: Draft) -> str:
    from agents import ModelSettings
    from agents.models.interface import ModelTracing
    from openai.types.responses import ResponseOutputMessage, ResponseOutputText

    passage = draft.passage.text[:LONGEST_PASSAGE]
    reply = await model.get_response(
        INSTRUCTIONS,
        f"Passage:\n{passage}\n\nDraft question: {draft.text}",
        ModelSettings(temperature=0.0, max_tokens=100),
        [],
        None,
        [],
        ModelTracing.DISABLED,
    )
    return "".join(
        part.text
        for item in reply.output
        if isinstance(item, ResponseOutputMessage)
        for part in item.content
        if isinstance(part, ResponseOutputText)
    )


def usable(reply: str) -> str | None:
    """The question in a reply, if it is one that stands alone."""
    lines = [line.strip() for line in reply.splitlines() if line.strip()]
    if len(lines) != 1:
        return None
    question = LABEL.sub("", lines[0]).strip("\"'“”*` ")
    fits = SHORTEST <= len(question) <= LONGEST and question.endswith("?")
    return question if fits and not POINTS_TO_TEXT.search(question) else None
