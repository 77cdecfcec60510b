"""An answer made of nothing but what the book says."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bythebook.index.sparse import terms
from bythebook.language.sentences import split_sentences
from bythebook.quoting.bundle import Bundle, bundles_of
from bythebook.quoting.excerpt import Excerpt
from bythebook.quoting.likeness import same_words
from bythebook.quoting.material import Material, materials_of
from bythebook.quoting.question import names_in, platforms_in, questions_in
from bythebook.quoting.rendering import rendered
from bythebook.quoting.scoring import Scorer, Similarity
from bythebook.quoting.selecting import select
from bythebook.quoting.wanted import is_missing

__all__ = ["Similarity", "compose"]

# A sentence this near in meaning may answer under another name.
NEARLY_THE_QUESTION = 0.6
MARKER = re.compile(r"\[\d{1,3}\]")


def compose(
    question: str,
    excerpts: Sequence[Excerpt],
    language: str = "en",
    similarity: Similarity | None = None,
    already_said: Sequence[str] = (),
) -> str:
    """Markdown that quotes the pieces which answer, each with its marker, or "" if none does.

    What was `already_said` is not quoted again: give it only where more is asked for.
    """
    asked = [part for part in questions_in(question, language) if part.terms]
    if not asked or not excerpts:
        return ""
    materials = [materials_of(at, excerpt, language) for at, excerpt in enumerate(excerpts)]
    scorer = Scorer(excerpts, materials, language)
    long_code = any(part.wants_long_code for part in asked)
    bundles = [bundle for found in materials for bundle in bundles_of(found, long_code)]
    if already_said:
        said = _stems_said(already_said, language)
        bundles = [bundle for bundle in bundles if not _was_said(bundle, materials, said)]
    if similarity is not None:
        cores = dict.fromkeys((one.excerpt, place) for one in bundles for place in one.core)
        pieces = [materials[excerpt][place] for excerpt, place in cores]
        prose = [piece for piece in pieces if piece.kind in ("sentence", "item", "heading")]
        scorer.compare_meaning(question, asked, prose, similarity)
    everywhere = range(len(excerpts))
    far = scorer.nearest < NEARLY_THE_QUESTION
    if far and scorer.lacks(names_in(question, language), everywhere):
        return ""
    chosen = select(scorer, asked, bundles)
    if far and scorer.lacks(platforms_in(question, language), chosen.order[:1]):
        return ""
    if is_missing(question, list(chosen.chosen()), language):
        return ""
    return rendered(chosen)


def _stems_said(texts: Sequence[str], language: str) -> list[frozenset[str]]:
    """Of each line and of each sentence: an item may have several."""
    lines = [MARKER.sub("", line) for text in texts for line in text.splitlines()]
    sentences = [line[start:end] for line in lines for start, end in split_sentences(line)]
    return [frozenset(terms(text, language)) for text in dict.fromkeys([*lines, *sentences])]


def _was_said(
    bundle: Bundle, materials: Sequence[Sequence[Material]], said: Sequence[frozenset[str]]
) -> bool:
    core = [materials[bundle.excerpt][place] for place in bundle.core]
    return any(
        piece.stems and any(same_words(piece.stems, stems) for stems in said) for piece in core
    )
