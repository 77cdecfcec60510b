"""A second chance for sentences that no passage bears: the model may restate or withdraw them, and
judge those of which the reader is unsure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bythebook.agent.verified_stream import CheckedUnit
from bythebook.grounding.evidence import parse_passage
from bythebook.models.passage import Passage

# More than this is not a slip: the answer as a whole is not the book's.
MOST = 8
# A model whose answer took longer is not asked again: nobody likes to wait twice.
QUICK_SECONDS = 20.0
# For a sentence and its number. Small models never come to an end of the list.
TOKENS_EACH = 80
# Of each passage so many characters are shown, around the place where the sentence should stand.
ROOM = 1200
RESTATE = (
    "You wrote sentences about a book. A check found that the passages do not say what these "
    "sentences say. For each sentence, write it anew so that it says only what a passage says, "
    "close to its words, with the number of the passage at the end, like [1]. If no passage says "
    "it, write a dash instead."
)
RESTATE_FORM = (
    "Reply with one line for each sentence and nothing else: its number, a colon, then the new "
    "sentence or a dash."
)
JUDGE = (
    "You check sentences against passages of a book. A sentence holds only if a passage says all "
    "of it: no condition left out, nothing swapped, nothing added."
)
JUDGE_FORM = (
    "Reply with one line for each sentence and nothing else: its number, a colon, then yes or no."
)
LINE = re.compile(r"^[^\w\n]*+(\d{1,2})\s*+[:.)]\s*+(\S.*)$", re.MULTILINE)
WITHDRAWN = re.compile(r"[\s\-–—_*.]*$|(?:withdrawn?|none|n/a)\W*$", re.IGNORECASE)
YES = re.compile(r"\W*yes\b", re.IGNORECASE)


def restate_request(
    failed: Sequence[CheckedUnit], passages: Sequence[Passage], language: str
) -> str:
    sentences = "\n".join(
        f"{number}: {_said(checked)}\n   Why it fails: {'; '.join(checked.reasons)}"
        for number, checked in enumerate(failed, 1)
    )
    shown = _shown(failed, passages, language)
    return f"{shown}\n\nSentences:\n{sentences}\n\n{RESTATE_FORM}"


def judge_request(unsure: Sequence[CheckedUnit], passages: Sequence[Passage], language: str) -> str:
    sentences = "\n".join(f"{number}: {_said(checked)}" for number, checked in enumerate(unsure, 1))
    shown = _shown(unsure, passages, language)
    return f"{shown}\n\nSentences:\n{sentences}\n\n{JUDGE_FORM}"


def restated(reply: str, failed: Sequence[CheckedUnit]) -> list[tuple[CheckedUnit, str]]:
    """New words for those that the model did not withdraw."""
    return [
        (checked, text) for checked, text in _by_number(reply, failed) if not WITHDRAWN.match(text)
    ]


def approved(reply: str, unsure: Sequence[CheckedUnit]) -> list[CheckedUnit]:
    return [checked for checked, text in _by_number(reply, unsure) if YES.match(text)]


def _shown(some: Sequence[CheckedUnit], passages: Sequence[Passage], language: str) -> str:
    """The passages that are nearest to the sentences, by their numbers; orders in them left out."""
    near = {checked.nearest.passage.id: checked.nearest for checked in some if checked.nearest}
    texts = []
    for number, passage in enumerate(passages, 1):
        if passage.id in near:
            evidence = parse_passage(passage.text, language)
            place = near[passage.id]
            texts.append(f"Passage [{number}]:\n{evidence.around(place.start, place.end, ROOM)}")
    return "\n\n".join(texts)


def _by_number(reply: str, asked: Sequence[CheckedUnit]) -> list[tuple[CheckedUnit, str]]:
    """The first line for each number counts; a model that numbers wildly is not understood."""
    found: dict[int, str] = {}
    for number, text in LINE.findall(reply):
        if 0 < int(number) <= len(asked):
            found.setdefault(int(number), text.strip())
    return [(asked[number - 1], text) for number, text in found.items()]


def _said(checked: CheckedUnit) -> str:
    return " ".join(checked.unit.split())
