"""One unit of an answer, made ready for checking. Parsed once for all its passages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from bythebook.grounding.evidence import Evidence
from bythebook.grounding.matching import LIGHT, Term, alternatives, rows_of, terms_of
from bythebook.grounding.numbers import Number, numbers_of
from bythebook.grounding.words import Word, bare, tokens_of, without_markers, words_of

SPAN = re.compile(r"`[^`\n]*`")
STEP = re.compile(r"^\s*(?:[-*]\s*)?\**(?:step|schritt)\s+\d+(?=\s*[:.)–-])", re.IGNORECASE)
# "Do this: 1." was cut before its list.
NEXT_ITEM = re.compile(r":\s*1[.)]\s*$")
BETWEEN_THINGS = re.compile(r",\s*(?:and|or)\s|\s(?:and|or)\s|[,;]\s")
ROW = re.compile(r"\s*\|.*\|\s*$")


@dataclass(frozen=True)
class Claim:
    """`text` has no citations, `bare` no markup, `prose` no code spans either.
    `tokens` are as in lower case and as written."""

    text: str
    bare: str
    prose: str
    language: str
    words: tuple[Word, ...]
    terms: tuple[Term, ...]
    numbers: tuple[Number, ...]
    tokens: tuple[tuple[str, str], ...]
    is_row: bool
    count: str
    # Whether it only says yes to the question, in the question's own words.
    restates: bool = False

    @property
    def is_thin(self) -> bool:
        """Whether it has not even two words that say something, nor a number."""
        heavy = sum(term.weight > LIGHT for term in self.terms)
        return heavy < 2 and not self.numbers

    def options(self, evidence: Evidence) -> tuple[dict[str, float], ...]:
        """For each term the stems of the evidence that stand for it."""
        return _matched(self.terms, self.language, evidence)[0]

    def rows(self, evidence: Evidence) -> list[list[float]]:
        """For each unit of the evidence how well it has each term."""
        return _matched(self.terms, self.language, evidence)[1]


@lru_cache(maxsize=16)
def _matched(
    claim_terms: tuple[Term, ...], language: str, evidence: Evidence
) -> tuple[tuple[dict[str, float], ...], list[list[float]]]:
    options = tuple(alternatives(term, evidence, language) for term in claim_terms)
    return options, rows_of(options, evidence)


@lru_cache(maxsize=64)
def parse_claim(text: str, language: str, question: str) -> Claim:
    # The number of a step is the answer's own.
    text = STEP.sub(lambda found: " " * len(found[0]), without_markers(text))
    text = NEXT_ITEM.sub(":", text)
    plain = bare(text)
    words = words_of(plain, language)
    numbers = tuple(numbers_of(plain, with_one=False))
    inside = [(number.start, number.end) for number in numbers]
    wordy = [word for word in words if not any(a <= word.start < b for a, b in inside)]
    known = _stems_of_question(question, language)
    terms = tuple(terms_of(wordy, plain, language, known))
    heavy = [term for term in terms if term.weight > LIGHT]
    return Claim(
        text=text,
        bare=plain,
        prose=bare(SPAN.sub(lambda found: " " * len(found[0]), text)),
        language=language,
        words=tuple(words),
        terms=terms,
        numbers=numbers,
        tokens=tuple((token, plain[a:b]) for token, a, b in tokens_of(plain)),
        is_row=bool(ROW.match(text)),
        count=_count(plain),
        restates=bool(heavy) and all(known & set(term.stems) for term in heavy),
    )


@lru_cache(maxsize=128)
def _stems_of_question(question: str, language: str) -> frozenset[str]:
    return frozenset(stem for word in words_of(question, language) for stem in word.stems)


def _count(plain: str) -> str:
    """How many things a claim lists behind its colon: "two plans: A and B" counts them itself."""
    _, colon, behind = plain.partition(":")
    listed = [part for part in BETWEEN_THINGS.split(behind) if part.strip(" .")]
    return str(len(listed)) if colon and len(listed) > 1 else ""
