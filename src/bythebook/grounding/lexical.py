"""A check by words alone, where the reader can't judge: it is off, or the text is not English.

A sentence passes when a few sentences of the passage that stand together have all its words, and
when it denies nothing that they say and says nothing that they deny."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bythebook.grounding.evidence import Evidence, Stretch
from bythebook.index.sparse import terms

WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
DENIALS = frozenset(
    """not no never none nor neither without cannot nothing nobody nowhere hardly
    nicht kein keine keinen keinem keiner keines nie niemals ohne weder
    ne pas jamais aucun aucune sans ni nunca jamás ningún ninguna ninguno sin tampoco
    non mai nessun nessuno nessuna senza não nenhum nenhuma sem niet geen nooit zonder
    inte aldrig ingen utan ikke aldri uten nie bez не ни нет без""".split()
)
# With fewer words of the passage a sentence says nothing that could be told from something else.
FEWEST = 2
# An English sentence may add these without adding a fact.
ADDED = frozenset(
    """also however therefore thus use used using make made allow allows provide provides help
    include includes note example following case both each other because since all whether
    while although first second third then last may might must yes need needs one called means
    according""".split()
)


def words_missing(
    claim: str, evidence: Evidence, stretches: Sequence[Stretch], language: str
) -> str:
    """Why the stretch with most of its words does not say it; empty where it does."""
    stretch = max(stretches, key=lambda each: len(each.found), default=None)
    if stretch is None:
        return "the passage is empty"
    added = frozenset(terms(" ".join(ADDED), language)) if language.startswith("en") else set()
    missing = [
        word[0]
        for word in WORD.finditer(claim)
        if not set(terms(word[0], language)) <= stretch.found | added
    ]
    if not missing and len(set(terms(claim, language)) - added) < FEWEST:
        return "it says too little to be checked"
    if missing:
        return f"the passage does not say: {', '.join(dict.fromkeys(missing))}"
    said = _denies(claim)
    there = _denies(evidence.text[stretch.start : stretch.end])
    if said != there:
        return "the passage says the opposite"
    return ""


def _denies(text: str) -> bool:
    words = {word[0].lower().replace("’", "'") for word in WORD.finditer(text)}
    return bool(words & DENIALS) or any(word.endswith("n't") for word in words)
