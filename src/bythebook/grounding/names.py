"""Proper names and abbreviations of a claim, and whether a text knows them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from bythebook.grounding.lexicon import LIGHT_WORDS
from bythebook.index.sparse import STOP_WORDS

TOKEN = re.compile(r"[^\W\d_][\w]*(?:[-.&'’][^\W_]\w*)*\.?|\d+\w+")
SENTENCE_START = re.compile(r"(?:^|[.!?:;…•|\n(\[\"“«„]|\s[-–—])\s*[\"'“‘«(]*$")
LABEL = re.compile(r"\s*[^:.!?]{1,60}:")
POSSESSIVE = re.compile(r"['’]s?$")
VERB_BEHIND = re.compile(
    r"['’]s\b|\s+(?:is|are|was|were|has|have|had|can|cannot|could|does|do|did|will|would|may|might"
    r"|must|should|[a-z]{3,}(?<!s)s\s+(?:a|an|the|its|all|every|each))\b"
)
NOT_A_SUBJECT = re.compile(r"(?:ly|ing|ed)$")
# Languages that write every noun with a capital.
NOUN_CAPITALS = ("de", "lb")


def missing_names(
    claim: str, language: str, has_word: Callable[[str], bool], initials: str, capitals: str
) -> Iterator[str]:
    """Names of a bare claim whose words the evidence lacks. `initials` are the first letters of the
    evidence's words, `capitals` those that are capitals: for abbreviations it only spells out."""
    found = list(TOKEN.finditer(claim))
    label = LABEL.match(claim)
    labelled = label.end() if label and _is_titled(TOKEN.findall(label[0])) else 0
    if not claim.rstrip().endswith(".") and _is_titled([token[0] for token in found]):
        labelled = len(claim)
    for token in found:
        name = POSSESSIVE.sub("", token[0].rstrip("."))
        if not any(letter.isupper() for letter in name) or name in {"I", "OK"}:
            continue
        is_acronym = sum(letter.isupper() for letter in name) > 1
        starts = bool(SENTENCE_START.search(claim[: token.start()]))
        if not is_acronym:
            if (
                token.start() < labelled
                or language.startswith(NOUN_CAPITALS)
                or name.lower() in STOP_WORDS
            ):
                continue
            if starts and not _is_subject(name, claim, token.end()):
                continue
        if not _is_known(name, has_word) and not (
            is_acronym and _spelled_out(name, initials, capitals)
        ):
            yield name


def _is_titled(words: list[str]) -> bool:
    """A heading writes most of its words with capitals: they say nothing about names."""
    longer = [word for word in words if len(word) > 3]
    return len(longer) > 1 and sum(word[0].isupper() for word in longer) >= 0.75 * len(longer)


def _is_subject(name: str, claim: str, end: int) -> bool:
    """Whether a capital at the start of a sentence can only be that of a name."""
    lower = name.lower()
    if lower in LIGHT_WORDS or NOT_A_SUBJECT.search(lower):
        return False
    return bool(VERB_BEHIND.match(claim, end))


def _is_known(name: str, has_word: Callable[[str], bool]) -> bool:
    if has_word(name) or (name.endswith("s") and has_word(name[:-1])):
        return True
    parts = [part for part in re.split(r"[-.&'’]", name) if part]
    return len(parts) > 1 and all(has_word(part) for part in parts)


def _spelled_out(name: str, initials: str, capitals: str) -> bool:
    letters = re.sub(r"[^A-Za-z]", "", name).removesuffix("s").lower()
    return letters in (initials if len(letters) >= 3 else capitals)
