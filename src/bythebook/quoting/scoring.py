"""How well a piece answers a question."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import log

from bythebook.index.sparse import terms
from bythebook.quoting.cues import sign_of
from bythebook.quoting.excerpt import Excerpt
from bythebook.quoting.material import Material
from bythebook.quoting.question import Asked

Similarity = Callable[[str, Sequence[str]], Sequence[float]]

# Fitted by hand on one half of the question sets; see benchmarks/quoting.py.
HEADING = 0.4
FIRST = 0.6
TITLE = 0.2
BEFORE = 0.3
PASSAGE = 0.3
RANK = 0.15
SIGN = 0.2
DEFINING = 0.5
MEANING = 0.6
INCOMPLETE = 0.15
POINTER = 0.3
ASKING_WORD = 0.3
# A word that every piece has is still what the question is about.
TOPIC_WORD = 0.5
CONTEXT_WORD = 0.4
# Sentences that are embedded, most of what an answer takes: 25 answer no better, 6 worse.
COMPARED = 12
# It only says where to read on.
POINTS_AWAY = re.compile(
    r"^\W*(?:see|read|refer to|check out|learn more|make sure to (?:also )?read|"
    r"for (?:more|further) (?:information|details?)|you (?:may|can) refer to|visit|"
    r"this (?:section|chapter|page|lesson|guide|document) (?:explains|describes|shows|covers))\b",
    re.IGNORECASE,
)


@dataclass
class Scorer:
    """Scores the pieces of all excerpts against one question, words weighed by how rare they are
    among these pieces."""

    excerpts: Sequence[Excerpt]
    materials: Sequence[Sequence[Material]]
    language: str
    _weights: dict[str, float] = field(default_factory=dict)
    _weights_of: dict[str, dict[str, float]] = field(default_factory=dict)
    _meaning: dict[tuple[int, int], float] = field(default_factory=dict)
    _usual_meaning: float = 0.0
    _titles: list[frozenset[str]] = field(default_factory=list)
    _sections: list[frozenset[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._titles = [frozenset(terms(excerpt.title, self.language)) for excerpt in self.excerpts]
        self._sections = [
            frozenset(terms(excerpt.section, self.language)) for excerpt in self.excerpts
        ]

    def weight(self, term: str) -> float:
        if term not in self._weights:
            pieces = [m for found in self.materials for m in found if m.kind != "heading"]
            having = sum(term in piece.stems for piece in pieces)
            self._weights[term] = TOPIC_WORD + log(1 + max(len(pieces), 1) / (0.5 + having))
        return self._weights[term]

    def weights_of(self, asked: Asked) -> dict[str, float]:
        if asked.text not in self._weights_of:
            own = {
                term: self.weight(term) * (ASKING_WORD if term in asked.asking else 1.0)
                for term in asked.terms
            }
            context = {term: CONTEXT_WORD * self.weight(term) for term in asked.context}
            self._weights_of[asked.text] = own | context
        return self._weights_of[asked.text]

    def coverage(self, asked: Asked, stems: Iterable[str]) -> float:
        """The share of the question, by weight, that these words hold."""
        weights = self.weights_of(asked)
        whole = sum(weights.values())
        return sum(weights[term] for term in set(stems) & weights.keys()) / whole if whole else 0.0

    def mentioned(self, asked: Asked, excerpt: int) -> float:
        """The share of the words asked about that stand anywhere in an excerpt or its titles."""
        about = [term for term in asked.terms if term not in asked.asking]
        stems = self._titles[excerpt].union(
            self._sections[excerpt], *(piece.stems for piece in self.materials[excerpt])
        )
        return sum(term in stems for term in about) / max(len(about), 1)

    def lacks(self, names: Iterable[frozenset[str]], excerpts: Iterable[int]) -> bool:
        """Whether a name stands in none of these excerpts."""
        stems = frozenset[str]()
        for excerpt in excerpts:
            own = (piece.stems for piece in self.materials[excerpt])
            stems = stems.union(self._titles[excerpt], self._sections[excerpt], *own)
        return any(stems.isdisjoint(name) for name in names)

    @property
    def nearest(self) -> float:
        """The meaning of the piece that is nearest to the question."""
        return max(self._meaning.values(), default=0.0)

    def means(self, excerpt: int) -> float:
        """How near in meaning the excerpt's nearest piece is to the question."""
        return max((v for (e, _), v in self._meaning.items() if e == excerpt), default=0.0)

    def around(self, material: Material) -> frozenset[str]:
        """The words of the headings above a piece."""
        return self._titles[material.excerpt] | self.heading(material)

    def heading(self, material: Material) -> frozenset[str]:
        if material.heading is None:
            return self._sections[material.excerpt]
        return self.materials[material.excerpt][material.heading].stems

    def score(self, asked: Asked, material: Material) -> float:
        """Of one piece, on no particular scale: to compare pieces with each other."""
        seen = material.stems
        own = self.coverage(asked, seen)
        headed = self.coverage(asked, seen | self.heading(material))
        titled = self.coverage(asked, seen | self.around(material))
        prior = titled
        if material.at and material.kind == "sentence":
            previous = self.materials[material.excerpt][material.at - 1]
            if previous.block == material.block:
                prior = self.coverage(asked, seen | self.around(material) | previous.stems)
        sign = sign_of(asked, material, self.language)
        meaning = self._meaning.get((material.excerpt, material.at), self._usual_meaning)
        return (
            own
            + (FIRST if self._is_first(material) else HEADING) * (headed - own)
            + TITLE * (titled - headed)
            + BEFORE * (prior - titled)
            + PASSAGE * self._standing(material.excerpt)
            + (DEFINING if asked.kind == "definition" else SIGN) * sign
            + MEANING * meaning
            - (0.0 if material.complete or material.kind != "sentence" else INCOMPLETE)
            - (POINTER if POINTS_AWAY.match(material.plain) else 0.0)
        )

    def _standing(self, excerpt: int) -> float:
        """Calibrated scores are often all near 1: the order of the excerpts tells more."""
        return self.excerpts[excerpt].score * max(0.0, 1 - RANK * excerpt)

    def _is_first(self, material: Material) -> bool:
        """What stands directly below a heading speaks of it."""
        return material.heading is not None and material.at == material.heading + 1

    def compare_meaning(
        self, question: str, asked: Sequence[Asked], pieces: Sequence[Material], how: Similarity
    ) -> None:
        """Let the embedder have its say about the pieces that words speak for most."""
        best = sorted(pieces, key=lambda m: -max(self.score(part, m) for part in asked))[:COMPARED]
        if not best:
            return
        found = list(how(question, [piece.shown for piece in best]))
        self._usual_meaning = sum(found) / len(found)
        for piece in pieces:
            self._meaning[piece.excerpt, piece.at] = min(found)
        for piece, cosine in zip(best, found, strict=True):
            self._meaning[piece.excerpt, piece.at] = cosine
