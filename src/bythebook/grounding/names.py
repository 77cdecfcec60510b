"""Proper names and abbreviations of a claim, and whether a text knows them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from bythebook.index.sparse import STOP_WORDS

TOKEN = re.compile(r"[^\W\d_][\w]*(?:[-.&'’][^\W_]\w*)*\.?|\d+\w+")
SENTENCE_START = re.compile(r"(?:^|[.!?:;…•|\n(\[\"“«„]|\s[-–—])\s*[\"'“‘«(]*$")
LABEL = re.compile(r"\s*[^:.!?]{1,60}:")
POSSESSIVE = re.compile(r"['’]s?$")
# Languages that write every noun with a capital.
NOUN_CAPITALS = ("de", "lb")


def missing_names(
    claim: str, language: str, has_word: Callable[[str], bool], initials: str, capitals: str
) -> Iterator[str]:
    """Names of a bare claim whose words the evidence lacks; at the start of a sentence only
    abbreviations, since any word has a capital there. `initials` are the first letters of the
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
        if not is_acronym and (
            token.start() < labelled
            or language.startswith(NOUN_CAPITALS)
            or name.lower() in STOP_WORDS
            or SENTENCE_START.search(claim[: token.start()])
        ):
            continue
        if not _is_known(name, has_word) and not (
            is_acronym and _spelled_out(name, initials, capitals)
        ):
            yield name


def _is_titled(words: list[str]) -> bool:
    """A heading writes most of its words with capitals: they say nothing about names."""
    longer = [word for word in words if len(word) > 3]
    return len(longer) > 1 and sum(word[0].isupper() for word in longer) >= 0.75 * len(longer)


def _is_known(name: str, has_word: Callable[[str], bool]) -> bool:
    if has_word(name) or (name.endswith("s") and has_word(name[:-1])):
        return True
    parts = [part for part in re.split(r"[-.&'’]", name) if part]
    return len(parts) > 1 and all(has_word(part) for part in parts)


def _spelled_out(name: str, initials: str, capitals: str) -> bool:
    letters = re.sub(r"[^A-Za-z]", "", name).removesuffix("s").lower()
    return letters in (initials if len(letters) >= 3 else capitals)
