"""A second chance for sentences that no passage bears: the model may restate or withdraw them, and
judge those of which the reader is unsure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bythebook.agent.release import Held
from bythebook.grounding.evidence import parse_evidence
from bythebook.models.passage import Passage

# More than this is not a slip: the answer as a whole is not the book's.
MOST = 8
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
LINE = re.compile(r"^\W*(\d{1,2})\s*[:.)]\s*(\S.*)$", re.MULTILINE)
WITHDRAWN = re.compile(r"[\s\-–—_*.]*$|(?:withdrawn?|none|n/a)\W*$", re.IGNORECASE)
YES = re.compile(r"\W*yes\b", re.IGNORECASE)


def restate_request(failed: Sequence[Held], passages: Sequence[Passage], language: str) -> str:
    sentences = "\n".join(
        f"{number}: {_said(held)}\n   Why it fails: {'; '.join(held.reasons)}"
        for number, held in enumerate(failed, 1)
    )
    shown = _shown(failed, passages, language)
    return f"{shown}\n\nSentences:\n{sentences}\n\n{RESTATE_FORM}"


def judge_request(unsure: Sequence[Held], passages: Sequence[Passage], language: str) -> str:
    sentences = "\n".join(f"{number}: {_said(held)}" for number, held in enumerate(unsure, 1))
    shown = _shown(unsure, passages, language)
    return f"{shown}\n\nSentences:\n{sentences}\n\n{JUDGE_FORM}"


def restated(reply: str, failed: Sequence[Held]) -> list[tuple[Held, str]]:
    """New words for those that the model did not withdraw."""
    return [(held, text) for held, text in _by_number(reply, failed) if not WITHDRAWN.match(text)]


def approved(reply: str, unsure: Sequence[Held]) -> list[Held]:
    return [held for held, text in _by_number(reply, unsure) if YES.match(text)]


def _shown(some: Sequence[Held], passages: Sequence[Passage], language: str) -> str:
    """The passages that are nearest to the sentences, by their numbers; orders in them left out."""
    near = {held.nearest.passage.id: held.nearest for held in some if held.nearest}
    texts = []
    for number, passage in enumerate(passages, 1):
        if passage.id in near:
            evidence = parse_evidence(passage.text, language)
            place = near[passage.id]
            texts.append(f"Passage [{number}]:\n{evidence.around(place.start, place.end, ROOM)}")
    return "\n\n".join(texts)


def _by_number(reply: str, asked: Sequence[Held]) -> list[tuple[Held, str]]:
    """The first line for each number counts; a model that numbers wildly is not understood."""
    found: dict[int, str] = {}
    for number, text in LINE.findall(reply):
        if 0 < int(number) <= len(asked):
            found.setdefault(int(number), text.strip())
    return [(asked[number - 1], text) for number, text in found.items()]


def _said(held: Held) -> str:
    return " ".join(held.unit.split())
