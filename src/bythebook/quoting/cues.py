"""Signs that a sentence holds the kind of answer that is asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bythebook.index.sparse import terms
from bythebook.quoting.material import Material
from bythebook.quoting.question import Asked, Kind

WRITTEN_SIGNS: tuple[tuple[Kind, str, int], ...] = (
    (
        "why",
        r"\b(?:because|since|so that|reasons?|therefore|due to|in order to|thus|hence|which is "
        r"why|that is why|otherwise|to (?:avoid|prevent|protect|ensure|allow|keep|reduce|help)|"
        r"caused?|causes|owing to|as a result|purpose|intended|designed to|motivated|led to)\b",
        re.IGNORECASE,
    ),
    (
        "number",
        r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|"
        r"hundreds?|thousands?|millions?|billions?|dozens?|half|once|twice|none|single|every)\b",
        re.IGNORECASE,
    ),
    (
        "when",
        r"\b(?:1\d{3}|20\d{2})s?\b|\b\d{1,2}(?:st|nd|rd|th)?\s+(?:century|centuries)|\b(?:January|"
        r"February|March|April|May|June|July|August|September|October|November|December|Monday|"
        r"Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday|spring|summer|autumn|winter)\b|"
        r"\b(?:after|before|until|during|as soon as|whenever|once)\b",
        0,
    ),
    (
        "where",
        r"\b(?:in|at|on|near|from|under|below|inside|within|into|between|north|south|east|west|"
        r"located|folder|directory|file|page|section|placed?|stored)\b",
        re.IGNORECASE,
    ),
    ("who", r"(?<![.!?]\s)(?<!^)\b[A-Z][a-z]+(?:\s+[A-Z][\w.]*)*", 0),
    (
        "comparison",
        r"\b(?:whereas|while|differences?|differs?|unlike|instead|rather than|than|but|only|"
        r"both|on the other hand|in contrast|however|not|more|less|faster|slower)\b",
        re.IGNORECASE,
    ),
    (
        "yes_no",
        r"\b(?:can|cannot|can't|not|never|no|yes|must|only|always|may|allowed|possible|supports?|"
        r"supported|requires?|required|works?|without|unless|n't|refused?|impossible|enough)\b",
        re.IGNORECASE,
    ),
    (
        "how",
        r"^(?:\w+, )?(?:to\b|use\b|run\b|set\b|add\b|create\b|install\b|start\b|open\b|call\b|"
        r"make\b|pass\b|write\b|put\b|you can\b|first\b|begin\b|configure\b|choose\b|"
        r"place\b)|\b(?:by \w+ing|with the (?:command|option|button)|in order to|"
        r"you (?:can|need|must|should))\b|`",
        re.IGNORECASE,
    ),
    ("list", r",[^,]+,? (?:and|or) |\b(?:two|three|four|five|six|several)\b|;", re.IGNORECASE),
    ("code", r"`", 0),
)
SIGNS: dict[Kind, re.Pattern[str]] = {
    kind: re.compile(signs, flags) for kind, signs, flags in WRITTEN_SIGNS
}
IS = (
    r"(?:is|are|was|were|means?|refers? to|denotes?|describes?|stands? for|consists? of|"
    r"represents?|can be (?:defined|described|seen) as|is called|has been|defines?)\b"
)
# "the node is", "a node (see below), often called a program, is"
ASIDE = r"(?:\s*\([^)]*\)|\s*,[^,]{1,60},|\s*[–—-][^–—-]{1,60}[–—-])?"
DEFINING_VERB = re.compile(rf"{ASIDE}\s+(?:also\s+|often\s+|usually\s+|simply\s+)?{IS}", re.I)
DETERMINER = re.compile(r"^\W*(?:an?|the|in \w+,|each|every)\s+", re.IGNORECASE)
NAMED = re.compile(r"\b(?:called|known as|named|termed|referred to as)\s+(?:an?\s+|the\s+)?$", re.I)
WORD = re.compile(r"[^\W_]+(?:[_-]+[^\W_]+)*")


def sign_of(asked: Asked, material: Material, language: str) -> float:
    """0–1: how much the sentence looks like an answer of this kind."""
    if asked.kind == "definition":
        return defines(material, asked.subject, language)
    if asked.kind == "comparison" and asked.sides:
        told = sum(bool(side & material.stems) for side in asked.sides) / 2
        return 0.6 * told + 0.4 * bool(SIGNS["comparison"].search(material.plain))
    signs = SIGNS.get(asked.kind)
    if signs is None:
        return 0.0
    text = material.shown if asked.kind in ("how", "code") else material.plain
    return float(bool(signs.search(text)))


def defines(material: Material, subject: Sequence[str], language: str) -> float:
    """1 for "A **node** is …", .6 for "… is called a node", less for one that only begins so."""
    if not subject:
        return 0.0
    wanted = set(subject)
    text = material.plain
    begin = DETERMINER.match(text)
    start = begin.end() if begin else 0
    for found in WORD.finditer(text, start):
        if found.start() > start + 60 or not wanted:
            break
        stems = set(terms(found[0], language))
        if stems and not stems & set(subject) and found.start() > start + 12:
            break
        wanted -= stems
        if not wanted and DEFINING_VERB.match(text, found.end()):
            return 1.0 if _is_bold(material, found[0]) or found.end() - start < 40 else 0.8
    for found in WORD.finditer(text):
        stems = set(terms(found[0], language))
        if stems & set(subject) and NAMED.search(text, 0, found.start()):
            return 0.7
    if _bold_subject(material, set(subject), language):
        return 0.5
    return 0.2 if set(subject) & set(terms(text[: start + 25], language)) else 0.0


BOLD = re.compile(r"\*\*([^*]+)\*\*")


def _is_bold(material: Material, word: str) -> bool:
    return any(word in found for found in BOLD.findall(material.shown))


def _bold_subject(material: Material, subject: set[str], language: str) -> bool:
    return any(
        subject and subject <= set(terms(found, language)) for found in BOLD.findall(material.shown)
    )
