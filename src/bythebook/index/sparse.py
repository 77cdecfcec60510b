"""BM25 as sparse vectors: term weights are ours, the inverse document frequency is Qdrant's."""

from __future__ import annotations

import re
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import chain, repeat

import Stemmer

from bythebook.index.qdrant_models import SparseVector

K1 = 1.2
B = 0.75
# Terms of an average chunk. Fixed, so that a chunk's vector does not depend on the others.
AVERAGE_LENGTH = 130

TERM = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+|[^\W_]+(?:_+[^\W_]+)*", re.UNICODE)
IDEOGRAPHIC = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
NAME_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
STEMMERS = {
    "ar": "arabic", "da": "danish", "de": "german", "en": "english", "es": "spanish",
    "fi": "finnish", "fr": "french", "hu": "hungarian", "it": "italian", "nl": "dutch",
    "no": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sv": "swedish",
    "tr": "turkish",
}  # fmt: skip
# Words so common in English questions that finding them says nothing.
STOP_WORDS = frozenset(
    """a about am an and any are as at be been being but by can could did do does doing for from
    had has have having he her hers him his how i if in into is it its just me my no nor not of on
    or our ours she should so some such than that the their theirs them then there these they this
    those to too us was we were what when where which while who whom why will with would you your
    yours s t d ll re ve m""".split()
)


def document_terms(text: str, language: str) -> SparseVector:
    """BM25 weight of each term of a chunk, without its inverse document frequency."""
    counts = Counter(terms(text, language))
    length = sum(counts.values())
    norm = K1 * (1 - B + B * length / AVERAGE_LENGTH)
    return _vector({term: n * (K1 + 1) / (n + norm) for term, n in counts.items()})


def query_terms(text: str, language: str) -> SparseVector:
    """Each different term of a question counts once."""
    return _vector(dict.fromkeys(terms(text, language), 1.0))


def terms(text: str, language: str) -> Iterator[str]:
    """Stemmed words without stop words; a name such as `create_node` also gives its parts."""
    return chain.from_iterable(map(_terms_of, TERM.findall(text), repeat(language)))


@lru_cache(maxsize=50_000)  # a book has few different words
def _terms_of(word: str, language: str) -> tuple[str, ...]:
    if IDEOGRAPHIC.match(word):
        return tuple(word[i : i + 2] for i in range(max(1, len(word) - 1)))
    lower = word.lower()
    if lower in STOP_WORDS and language.startswith("en"):
        return ()
    stem = _stemmer(language)
    parts = [part.lower() for part in NAME_PARTS.findall(word)]
    if len(parts) == 1:
        return (stem(lower),)
    return (stem(lower), *(stem(part) for part in parts if len(part) > 1))


def _vector(weights: dict[str, float]) -> SparseVector:
    numbered: dict[int, float] = {}
    for term, weight in weights.items():
        number = zlib.crc32(term.encode("utf-8"))
        numbered[number] = numbered.get(number, 0.0) + weight
    indices = sorted(numbered)
    return SparseVector(indices=indices, values=[numbered[index] for index in indices])


_local = threading.local()  # a stemmer must not be shared between threads


def _stemmer(language: str) -> Callable[[str], str]:
    name = STEMMERS.get(language.partition("-")[0])
    if name is None:
        return lambda word: word
    stemmers: dict[str, Stemmer.Stemmer] = _local.__dict__.setdefault("stemmers", {})
    if name not in stemmers:
        stemmers[name] = Stemmer.Stemmer(name)
    stem: Callable[[str], str] = stemmers[name].stemWord
    return stem
