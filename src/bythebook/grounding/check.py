"""Whether a sentence is supported by the passage it cites."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import exp

from bythebook.grounding.claim import Claim, parse_claim
from bythebook.grounding.code import is_code, missing_lines
from bythebook.grounding.connective import is_connective
from bythebook.grounding.evidence import Evidence, parse_evidence
from bythebook.grounding.facts import broken_facts, is_near_copy
from bythebook.grounding.matching import (
    LIGHT,
    WINDOW,
    Stretch,
    best_stretch,
    common_order,
    splices,
)
from bythebook.grounding.weights import BIAS, WEIGHTS

__all__ = ["Support", "check", "is_connective"]

SUPPORTED = 0.5
# A broken fact leaves at most this much, whatever the words.
BROKEN = 0.4
FIRST_PERSON = frozenset("i i'm i've i'd i'll my mine me".split())
SHOWN_WORDS = 4
# No sentence is longer; the time a check takes grows faster than its claim.
LONGEST = 2000


@dataclass(frozen=True)
class Support:
    """`reasons` say why it fails, `evidence[start:end]` is what bears the claim best."""

    supported: bool
    score: float
    reasons: tuple[str, ...]
    start: int
    end: int


def check(claim: str, evidence: str, language: str = "en", *, question: str = "") -> Support:
    """Whether `evidence` says what `claim` says. Whatever was added makes it fail."""
    parsed = parse_evidence(evidence, language)
    if is_code(claim):
        return _check_code(claim, parsed)
    if len(claim) > LONGEST:
        return Support(False, 0.0, ("it is too long for one statement",), 0, 0)
    said = parse_claim(claim, language, question)
    quoted = _verbatim(said, parsed)
    if quoted:
        return Support(True, 1.0, (), *quoted)
    if not said.terms and not said.numbers:
        return Support(False, 0.0, ("it says nothing that could be checked",), 0, 0)
    stretch = find_stretch(said, parsed)
    reasons = list(broken_facts(said, parsed, stretch))
    if said.is_thin and not is_near_copy(said, parsed, stretch):
        reasons.append("it says too little to be checked")
    score = probability(features(said, parsed, stretch))
    if reasons:
        score = min(score, 1.0) * BROKEN
    elif score < SUPPORTED:
        reasons.append(_too_little(said, stretch))
    return Support(not reasons, score, tuple(reasons), *_whole_pieces(parsed, stretch))


def find_stretch(claim: Claim, evidence: Evidence) -> Stretch:
    # A row of a table must not be put together from several, nor a yes from words here and there.
    width = 1 if claim.is_row or claim.restates else WINDOW
    options, rows = claim.options(evidence), claim.rows(evidence)
    return best_stretch(claim.terms, options, rows, evidence.heading, width)


def features(claim: Claim, evidence: Evidence, stretch: Stretch) -> dict[str, float]:
    """What the weights are for: all between 0 and 1."""
    options = claim.options(evidence)
    units = evidence.units[stretch.first : stretch.last + 1]
    sequence = [stem for unit in units for stem in unit.sequence]
    clauses = [(index, clause) for index, unit in enumerate(units) for clause in unit.clauses]
    apart = [
        unit.block if unit.kind in {"item", "table"} else -index for index, unit in enumerate(units)
    ]
    heavy = [o for t, o in zip(claim.terms, options, strict=True) if t.weight > LIGHT]
    unmatched = sum(t.weight for t, q in zip(claim.terms, stretch.quality, strict=True) if not q)
    said = {word.text for word in claim.words if claim.bare[word.end : word.end + 2] != ".e"}
    heard = {text for unit in evidence.units for text, *_ in unit.written}
    return {
        "stretch": stretch.coverage,
        "order": common_order(heavy, sequence) / max(1, len(heavy)),
        "spliced": min(splices(heavy, sequence, clauses, apart), 2) / 2,
        "unmatched": min(unmatched, 6.0) / 6.0,
        "first_person": float(bool(said & FIRST_PERSON) and not heard & FIRST_PERSON),
        "asks": float("?" in claim.bare),
    }


def probability(values: dict[str, float]) -> float:
    return 1 / (1 + exp(-BIAS - sum(WEIGHTS[name] * value for name, value in values.items())))


def _check_code(claim: str, evidence: Evidence) -> Support:
    reasons = missing_lines(claim, evidence.text)
    blocks = [piece for piece in evidence.pieces if piece.kind == "code"]
    wanted = {line.strip() for line in claim.splitlines()[1:-1]} - {""}
    best = max(
        blocks,
        key=lambda b: sum(line in evidence.text[b.start : b.end] for line in wanted),
        default=None,
    )
    start, end = (best.start, best.end) if best else (0, len(evidence.text))
    return Support(not reasons, 0.0 if reasons else 1.0, reasons, start, end)


def _verbatim(claim: Claim, evidence: Evidence) -> tuple[int, int] | None:
    """Where the evidence has these very words, from the beginning of a unit to the end of one."""
    if not claim.tokens:
        return None
    tokens = evidence.tokens
    for first in evidence.opening.get(claim.tokens[0][0], ()):
        behind = first + len(claim.tokens)
        if behind in evidence.closing and all(
            ours[0] == theirs[0]
            for ours, theirs in zip(claim.tokens, tokens[first:behind], strict=True)
        ):
            return _pieces_around(evidence, tokens[first][1], tokens[behind - 1][2])
    return None


def _pieces_around(evidence: Evidence, start: int, end: int) -> tuple[int, int]:
    touched = [piece for piece in evidence.pieces if piece.start < end and start < piece.end]
    return (touched[0].start, touched[-1].end) if touched else (start, end)


def _whole_pieces(evidence: Evidence, stretch: Stretch) -> tuple[int, int]:
    if not evidence.units:
        return 0, 0
    first, last = evidence.units[stretch.first], evidence.units[stretch.last]
    return evidence.pieces[first.piece].start, evidence.pieces[last.piece].end


def _too_little(claim: Claim, stretch: Stretch) -> str:
    missing = list(dict.fromkeys(_unfound(claim, stretch)))[:SHOWN_WORDS]
    if not missing:
        return "the passage has its words, but not together"
    return f"the passage does not speak of: {', '.join(missing)}"


def _unfound(claim: Claim, stretch: Stretch) -> Iterator[str]:
    for term, quality in zip(claim.terms, stretch.quality, strict=True):
        if not quality:
            yield term.word
