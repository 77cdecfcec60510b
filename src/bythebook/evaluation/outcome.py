"""What became of one question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bythebook.evaluation.facts import Conveyed, conveyed
from bythebook.evaluation.metrics import sentence_f1, token_f1
from bythebook.evaluation.question import Question
from bythebook.grounding.connective import is_connective
from bythebook.grounding.verifier import Verifier
from bythebook.models.answer import Answer, Citation, Sentence
from bythebook.models.passage import Passage

Ending = Literal["answered", "refused", "failed"]
# A sentence in bold type only is a title that the answerer put above a quotation.
TITLE = re.compile(r"\s*\*\*[^*]+\*\*\s*(?:\[\d+\])*\s*")


@dataclass(frozen=True)
class Cited:
    """A place that an answer cites."""

    page: str
    label: str
    confidence: float
    gold: bool


@dataclass(frozen=True)
class Outcome:
    """`ranked` are the places that were found, best first; `coverage` says how sure the search was
    that the book answers. `cited` begins with the citation of the greatest confidence."""

    question: Question
    ending: Ending
    query: str = ""
    ranked: tuple[str, ...] = ()
    coverage: float = 0.0
    confidence: float = 0.0
    text: str = ""
    cited: tuple[Cited, ...] = ()
    sentences: int = 0
    supported: int = 0
    token_f1: float | None = None
    sentence_f1: float | None = None
    facts: Conveyed | None = None
    milliseconds: float = 0.0
    problem: str = ""

    @property
    def answered(self) -> bool:
        return self.ending == "answered"

    @property
    def cited_right(self) -> bool:
        return any(cited.gold for cited in self.cited)

    @property
    def best_is_gold(self) -> bool:
        return bool(self.cited) and self.cited[0].gold

    @property
    def judges_confidence(self) -> bool:
        """Whether its confidence can be judged: it was answered, and it is known where it should
        have been answered from, or that it should not have been answered."""
        known = self.question.covered is False or bool(self.question.answered_at)
        return self.answered and known

    @property
    def what_happened(self) -> str:
        covered = self.question.covered
        if self.ending == "failed":
            return "failed"
        if self.ending == "refused":
            if covered is None:
                return "refused"
            return "refused, though covered" if covered else "rightly refused"
        if covered is False:
            return "answered, though not covered"
        if not self.question.answered_at:
            return "answered"
        if self.best_is_gold:
            return "answered from the right place"
        return "right place cited second" if self.cited_right else "answered from another place"


async def outcome_of(
    question: Question,
    answer: Answer,
    query: str,
    passages: Sequence[Passage],
    coverage: float,
    milliseconds: float,
    verifier: Verifier,
) -> Outcome:
    numbered = {citation.number: citation for citation in answer.citations}
    said = [] if answer.refused else [shown for shown in answer.sentences if _claims(answer, shown)]
    texts = [answer.text[shown.start : shown.end] for shown in said]
    supported = [await _is_supported(answer, shown, numbered, verifier) for shown in said]
    compared = not answer.refused and question.covered is not False
    quoted = [text for text in texts if not TITLE.fullmatch(text)]
    return Outcome(
        question=question,
        ending="refused" if answer.refused else "answered",
        query=query,
        ranked=tuple(question.units(passages)),
        coverage=coverage,
        confidence=answer.confidence.average_similarity,
        text=answer.text,
        cited=_cited(question, answer),
        sentences=len(said),
        supported=sum(supported),
        token_f1=token_f1("\n".join(texts), question.answers)
        if compared and question.answers
        else None,
        sentence_f1=sentence_f1(quoted, question.sentences)
        if compared and question.sentences
        else None,
        facts=conveyed(question.facts, texts, [passage.text for passage in passages])
        if question.facts
        else None,
        milliseconds=milliseconds,
    )


def _cited(question: Question, answer: Answer) -> tuple[Cited, ...]:
    """Best first: by confidence, then in the order of the answer."""
    best = sorted(answer.citations, key=lambda one: (-one.confidence, one.number))
    return tuple(
        Cited(
            one.passage.metadata.source_file,
            one.label,
            one.confidence,
            question.is_gold(one.passage),
        )
        for one in best
    )


def _claims(answer: Answer, shown: Sentence) -> bool:
    """Whether it says something; "Here are the steps:" needs no support."""
    return bool(shown.citations) or not is_connective(answer.text[shown.start : shown.end])


async def _is_supported(
    answer: Answer, shown: Sentence, numbered: dict[int, Citation], verifier: Verifier
) -> bool:
    """Checked again from the text as the reader sees it: the passages it cites, one of them or two
    together, must bear the whole sentence."""
    claim = answer.text[shown.start : shown.end]
    for number in shown.citations:
        claim = re.sub(rf"\s*\[{number}\]", "", claim)
    passages = [numbered[number].passage for number in shown.citations if number in numbered]
    for passage in passages:
        if (await verifier.check(claim, passage)).supported:
            return True
    return len(passages) > 1 and (await verifier.check_together(claim, passages)).supported
