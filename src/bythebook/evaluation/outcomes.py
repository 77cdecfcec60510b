"""Puts questions to a book as a reader would, and notes what became of each."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from bythebook.agent.assistant import Assistant
from bythebook.errors import BookError, InputError
from bythebook.evaluation.dataset import Fact, Question, headings_of, same_heading
from bythebook.evaluation.metrics import DIGITS, rounded, sentence_f1, token_f1
from bythebook.grounding.verifier import Verifier, is_connective
from bythebook.index.store import all_points, book_filter
from bythebook.library import Library
from bythebook.models.answer import Answer, Sentence
from bythebook.models.chunk import BookInfo
from bythebook.models.conversation import Conversation
from bythebook.models.passage import Passage
from bythebook.models.search_messages import MAX_RESULTS, SearchFilters, SearchQuery
from bythebook.retrieval.neighbours import passages_of

SIGNS = re.compile(r"[*_`\\]+|\[\d{1,3}\]")
FEW = 5


@dataclass(frozen=True)
class FactCounts:
    """How many of a question's facts stand in the answer, in the first passage found and in the
    first five; and of the answer's characters, those of sentences that hold a fact."""

    facts: int
    by_answer: int
    by_first: int
    by_five: int
    characters: int = 0
    telling: int = 0


def count_conveyed(
    facts: Sequence[Fact], shown: Sequence[str], passages: Sequence[str]
) -> FactCounts:
    """`shown` are the answer's sentences, `passages` the texts found, best first."""
    return FactCounts(
        facts=len(facts),
        by_answer=count_facts(facts, "\n".join(shown)),
        by_first=count_facts(facts, "\n".join(passages[:1])),
        by_five=count_facts(facts, "\n".join(passages[:FEW])),
        characters=sum(map(len, shown)),
        telling=sum(len(sentence) for sentence in shown if count_facts(facts, sentence)),
    )


def count_facts(facts: Sequence[Fact], text: str) -> int:
    """How many of the facts the text holds."""
    said = plain(text)
    return sum(any(plain(way) in said for way in ways) for ways in facts)


def plain(text: str) -> str:
    return " ".join(SIGNS.sub("", text).casefold().split())


Ending = Literal["answered", "refused", "failed"]
# A sentence in bold type only is a title that the answerer put above a quotation.
TITLE = re.compile(r"\s*+\*\*[^*]++\*\*\s*+(?:\[\d+\])*+\s*+")


@dataclass(frozen=True)
class Cited:
    """A place that an answer cites."""

    page: str
    label: str
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
    facts: FactCounts | None = None
    milliseconds: float = 0.0
    problem: str = ""

    @property
    def answered(self) -> bool:
        return self.ending == "answered"

    @property
    def refused(self) -> bool:
        return self.ending == "refused"

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
        if self.refused:
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

    def details(self) -> dict[str, Any]:
        """One question as `--details` lists it."""
        return {
            "id": self.question.id,
            "question": self.question.text,
            "group": self.question.group,
            "what_happened": self.what_happened,
            "query": self.query,
            "coverage": round(self.coverage, DIGITS),
            "confidence": round(self.confidence, DIGITS),
            "answer": self.text,
            "cited": [cited.page for cited in self.cited],
            "best_citation_gold": self.best_is_gold if self.judges_confidence else None,
            "gold": [gold.unit for gold in self.question.answered_at],
            "found": list(self.ranked[:10]),
            "sentences": self.sentences,
            "supported": self.supported,
            "token_f1": rounded(self.token_f1),
            "gold_sentence_f1": rounded(self.sentence_f1),
            "facts": asdict(self.facts) if self.facts else None,
            **({"problem": self.problem} if self.problem else {}),
        }


def _cited(question: Question, answer: Answer) -> tuple[Cited, ...]:
    """Best first: by confidence, then in the order of the answer."""
    best = sorted(answer.citations, key=lambda one: (-one.confidence, one.number))
    return tuple(
        Cited(one.passage.metadata.source_file, one.label, question.is_gold(one.passage))
        for one in best
    )


def _claims(answer: Answer, shown: Sentence) -> bool:
    """Whether it says something; "Here are the steps:" needs no support."""
    return bool(shown.citations) or not is_connective(answer.text[shown.start : shown.end])


async def _is_supported(answer: Answer, shown: Sentence, verifier: Verifier) -> bool:
    """Checked again from the text as the reader sees it: the passages it cites, one of them or two
    together, must bear the whole sentence."""
    claim = answer.text[shown.start : shown.end]
    for number in shown.citations:
        claim = re.sub(rf"(?<!\s)\s*+\[{number}\]", "", claim)
    numbered = {citation.number: citation.passage for citation in answer.citations}
    passages = [numbered[number] for number in shown.citations if number in numbered]
    for passage in passages:
        if (await verifier.check(claim, passage)).supported:
            return True
    return len(passages) > 1 and (await verifier.check_together(claim, passages)).supported


OnQuestion = Callable[[int, int], None]


async def ask_all(
    assistant: Assistant,
    book: BookInfo,
    questions: Sequence[Question],
    on_question: OnQuestion = lambda _done, _all: None,
) -> list[Outcome]:
    """What became of each. A question that fails counts as neither answered nor refused; if all
    fail there is nothing to measure, and the last failure is raised."""
    outcomes: list[Outcome] = []
    failure: BookError | None = None
    if questions:  # what is loaded once is no part of any answer's time
        await assistant.library.search(_search(questions[0].text, book))
    for question in questions:
        try:
            outcomes.append(await _ask(assistant, book, question))
        except BookError as problem:
            failure = problem
            outcomes.append(Outcome(question, "failed", problem=problem.message))
        on_question(len(outcomes), len(questions))
    if failure and all(outcome.ending == "failed" for outcome in outcomes):
        raise failure
    return outcomes


async def _ask(assistant: Assistant, book: BookInfo, question: Question) -> Outcome:
    conversation = Conversation(turns=list(question.history))
    started = time.perf_counter()
    answer = await assistant.ask(question.text, conversation, book_id=book.book_id)
    milliseconds = 1000 * (time.perf_counter() - started)
    query = next(iter(answer.queries), question.text)
    found = await assistant.library.search(_search(query, book))
    said = [] if answer.refused else [shown for shown in answer.sentences if _claims(answer, shown)]
    texts = [answer.text[shown.start : shown.end] for shown in said]
    quoted = [text for text in texts if not TITLE.fullmatch(text)]
    verifier = Verifier(assistant.library.reader, book.language, question.text)
    supported = [await _is_supported(answer, shown, verifier) for shown in said]
    is_compared = not answer.refused and question.covered is not False
    by_words, by_sentences = question.answers, question.sentences
    return Outcome(
        question=question,
        ending="refused" if answer.refused else "answered",
        query=query,
        ranked=tuple(question.units(found.passages)),
        coverage=found.coverage,
        confidence=answer.confidence.average_similarity,
        text=answer.text,
        cited=_cited(question, answer),
        sentences=len(said),
        supported=sum(supported),
        token_f1=token_f1("\n".join(texts), by_words) if is_compared and by_words else None,
        sentence_f1=sentence_f1(quoted, by_sentences) if is_compared and by_sentences else None,
        facts=count_conveyed(question.facts, texts, [passage.text for passage in found.passages])
        if question.facts
        else None,
        milliseconds=milliseconds,
    )


def _search(text: str, book: BookInfo) -> SearchQuery:
    """As the assistant searches, but for as many places as there may be."""
    return SearchQuery(
        text=text, book_id=book.book_id, limit=MAX_RESULTS, **SearchFilters().model_dump()
    )


async def all_passages(library: Library, book_id: str) -> list[Passage]:
    """Every passage of a book, page by page in reading order."""
    records = await all_points(await library.store(), book_filter(book_id))
    return sorted(
        passages_of(records),
        key=lambda one: (one.metadata.source_file, one.metadata.chunk_index, one.id),
    )


async def check_places(library: Library, book_id: str, questions: Sequence[Question]) -> None:
    """Whether the book has every place that the questions name: a slip of the pen would otherwise
    look like a bad answer."""
    headings: dict[str, set[str]] = {}
    for passage in await all_passages(library, book_id):
        headings.setdefault(passage.metadata.source_file, set()).update(headings_of(passage))
    for question in questions:
        for gold in question.gold:
            if gold.page not in headings:
                raise InputError(
                    f"Line {question.id} names the page {gold.page}, which {book_id} does not "
                    "have.",
                    action="Write its path as `bythebook search --json` shows it in source_file.",
                )
            if gold.section and same_heading(gold.section) not in headings[gold.page]:
                raise InputError(
                    f"Line {question.id} names the section {gold.section!r}, which {gold.page} "
                    "does not have.",
                    action="Write the heading as it stands in the page, or leave it out.",
                )
