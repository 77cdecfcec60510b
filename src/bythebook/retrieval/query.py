"""What a question names, and what it asks with and for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from bythebook.embedding.onnx_model import checked_file
from bythebook.index.sparse import TERM, query_terms, terms

# Names that are a letter and signs.
SIGNED = re.compile(r"(?<!\w)[A-Za-z](?:\+\+|#)")
# From this share of capitals on (titles, shouting) they say nothing.
ALL_CAPITALS = 0.8
# Languages that write every noun with a capital.
NOUNS_ARE_CAPITAL = frozenset({"de", "lb"})
# A rare word counts less than a name: it may be said in other words.
RARE_WORD = 0.6
LEAST_RARE = 4
ENDINGS = "s es ed d ing er ers r est ly ness able ation ations ization isation ize ise n't".split()


@dataclass(frozen=True)
class Name:
    """`weight` says how much its absence counts, from 0 to 1."""

    word: str
    stem: str
    weight: float


def names_in(text: str, language: str, weight_of: Callable[[str], float]) -> list[Name]:
    """The names of a question, each once. A word weighs 1 if the book never says it, and near 0
    if every page does."""
    found: dict[str, Name] = {}
    matches = list(TERM.finditer(text))
    by_capital = not _all_capitals([match[0] for match in matches]) and (
        language.partition("-")[0] not in NOUNS_ARE_CAPITAL
    )
    for match in matches:
        word = match[0]
        stem = next(iter(terms(word, language)), None)
        if stem is None or stem in found:
            continue
        weight = weight_of(word)
        if _is_name(match, by_capital):
            found[stem] = Name(word, stem, weight)
        elif weight >= 1 and language.startswith("en") and _is_rare(word):
            found[stem] = Name(word, stem, RARE_WORD)
    for word in SIGNED.findall(text):
        found[word.lower()] = Name(word, word.lower(), 1.0)
    return list(found.values())


def missing_names(names: Collection[Name], text: str, language: str) -> list[Name]:
    """Those that a text does not have, heaviest first."""
    # Most are there as they are asked for, and to find all words of a text takes a millisecond.
    unsaid = [name for name in names if not _says(text, name.word)]
    if not unsaid:
        return []
    stems = set(terms(text, language))
    if any(SIGNED.fullmatch(name.word) for name in unsaid):
        stems.update(word.lower() for word in SIGNED.findall(text))
    missing = [name for name in unsaid if name.stem not in stems]
    return sorted(missing, key=lambda name: -name.weight)


def _says(text: str, word: str) -> bool:
    """Whether a text has a word as it is written, or in small letters."""
    for form in (word, word.lower()):
        start = text.find(form)
        while start >= 0:
            end = start + len(form)
            around = text[max(0, start - 1) : start] + text[end : end + 1]
            if not any(sign.isalnum() or sign == "_" for sign in around):
                return True
            start = text.find(form, end)
    return False


def _all_capitals(words: list[str]) -> bool:
    letters = [word for word in words[1:] if word[0].isalpha() and word != "I"]
    capitals = sum(word[0].isupper() for word in letters)
    return len(letters) > 2 and capitals >= ALL_CAPITALS * len(letters)


def _is_name(match: re.Match[str], by_capital: bool) -> bool:
    word = match[0]
    if len(word) < 2:
        return False
    if "_" in word or any(character.isdigit() for character in word):
        return True
    if not by_capital or word.islower():
        return False
    inside = any(character.isupper() for character in word[1:])
    return inside or (word[0].isupper() and not _begins_sentence(match))


def _begins_sentence(match: re.Match[str]) -> bool:
    """Such a word is written with a capital whatever it is."""
    begin = max(0, match.start() - 12)
    before = match.string[begin : match.start()].rstrip("\"'“‘«([*_`-")
    said = before.rstrip()
    if said == before:
        return not before and begin == 0
    return "\n" in before[len(said) :] or said.endswith(tuple(".!?…:;"))


def _is_rare(word: str) -> bool:
    lower = word.lower()
    if len(lower) < LEAST_RARE or not (lower.isascii() and lower.isalpha()):
        return False
    return not any(form in _everyday_words() for form in _forms(lower))


def _forms(word: str) -> Iterator[str]:
    """The word and what it may be derived from."""
    yield word
    yield from terms(word, "en")
    for ending in ENDINGS:
        if word.endswith(ending):
            shorter = word[: -len(ending)]
            yield from (shorter, f"{shorter}e", shorter[:-1])


def is_everyday(word: str) -> bool:
    return word in _everyday_words()


@cache
def _everyday_words() -> frozenset[str]:
    """The words that the built-in embedder was made to know whole: the 20,000 most common."""
    vocabulary = json.loads(checked_file("tokenizer.json").read_bytes())["model"]["vocab"]
    return frozenset(word for word in vocabulary if len(word) > 1 and word.isalpha())


# Words a person asks with. Whether a passage has them says nothing about it, so they count only
# where there is nothing else.
ASKING = (
    "please explain describe define tell help want know understand wonder meaning mean thanks "
    "thank hello hi hey"
)
# "What is a topic?", "What are topics in ROS 2?", "define topic", "explain what a topic is"
DEFINITION = re.compile(
    r"^(?:so|and|ok|please|can you|could you|\W)*+(?:what(?:'s|’s|\s++(?:is|are|does))|"
    r"define|explain(?:\s++what)?|describe)\s++(?:an?\s++|the\s++)?"
    r"(?P<term>[\w-]++(?:\s++[\w-]++){0,2}?)"
    r"(?:\s++(?:is|are|means?|in|on|of|for|stands?)\b.{0,40})?\s*+[?.!]*+$",
    re.IGNORECASE,
)

Found = TypeVar("Found")


def asked_terms(text: str, language: str) -> list[int]:
    """The numbers of the words that are asked about."""
    words = list(query_terms(text, language).indices)
    return [word for word in words if word not in _asking(language)] or words


def weight_as_written(word: str, language: str, weights: Mapping[int, float]) -> float:
    """The weight of a word of a question: of its heaviest term, 0 where it is not asked about."""
    known = (weights.get(term, 0.0) for term in query_terms(word, language).indices)
    return max(known, default=0.0)


@cache
def _asking(language: str) -> frozenset[int]:
    return frozenset(query_terms(ASKING, language).indices)


def term_to_define(text: str) -> str | None:
    """What a question wants to be told the meaning of."""
    found = DEFINITION.match(text)
    return found["term"] if found else None


def defining(term: str) -> re.Pattern[str]:
    """What a text that defines the term says of it."""
    name = r"\s++".join(re.escape(word) for word in term.split())
    return re.compile(
        rf"(?:\*\*|\b(?:an?|the)\s++\**+){name}s?\**+(?:\s*+\([^()]*+\))?\s++"
        r"(?:is|are|means?|refers?\s++to|describes?)\b|"
        rf"(?:^|[.!?]\s++){name}s?\s++(?:is|are)\s++(?:an?|the)\b|"
        rf"\b(?:called|known\s++as)\s++(?:an?\s++|the\s++)?\*\*{name}s?\*\*",
        re.IGNORECASE | re.MULTILINE,
    )


def definitions_first(term: str, found: Sequence[Found], texts: Sequence[str]) -> list[Found]:
    """In the same order, but those first whose text defines the term: short questions have too few
    words to tell them from passages that merely use it."""
    defines = defining(term)
    marked = [(not defines.search(text), each) for each, text in zip(found, texts, strict=True)]
    return [each for _, each in sorted(marked, key=lambda pair: pair[0])]
