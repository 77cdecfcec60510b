"""Units that only lead from one to the next: "Here are the steps:", "For example:"."""

from __future__ import annotations

import re

from bythebook.grounding.words import bare, words_of
from bythebook.language.pieces import ROW

# Words that say nothing of their own beside the stop words of searching.
CONNECTIVE = frozenset(
    """here here's let's following follow follows below above step steps example examples instance
    summary sum short conclusion conclude overall finally firstly secondly lastly first second third
    next last also additionally moreover furthermore however therefore thus hence note notes
    important importantly key main point points takeaway takeaways answer answers explanation
    details detail look see more information further overview introduction background step-by-step
    according based book text passage passages lesson chapter section provided given sources source
    says say said states describes explains mentions briefly simply put words other hand one
    contrast comparison similarly likewise instead specifically namely particular general addition
    result consequence reason reasons way ways thing things list lists it's that's main summarize
    now again let explain question quote sure certainly happy help like""".split()
)
LEADS_ON = re.compile(r"[:,…]\s*\**\s*$|\.\.\.\s*$")
HEADING = re.compile(r"^\s*(?:#{1,6}\s|\*\*[^*]+\*\*\s*:?\s*$)")
RULE_ROW = re.compile(r"^(?=[\s:|]*-)[\s:|-]*$")
MOST_WORDS = 12
LONGEST = 300


def is_connective(unit: str) -> bool:
    """Whether a unit says nothing by itself, so that it needs no evidence."""
    if len(unit) > LONGEST:
        return False
    if not unit.strip() or RULE_ROW.match(unit):
        return True
    if "`" in unit or ROW.match(unit) or any(letter.isdigit() for letter in bare(unit)):
        return False
    words = words_of(bare(unit), "en")
    if not words or len(words) > MOST_WORDS:
        return False
    if not (LEADS_ON.search(bare(unit)) or HEADING.match(unit)):
        return False
    return all(not word.stems or word.text in CONNECTIVE for word in words)
