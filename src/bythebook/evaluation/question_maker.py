"""A starter question set for a book, from its own text or reworded by a language model."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import resources

from bythebook.agent.language_model import LanguageModel
from bythebook.errors import ModelError
from bythebook.evaluation.dataset import QuestionLine, headings_of, same_heading
from bythebook.evaluation.outcomes import all_passages
from bythebook.index.sparse import terms
from bythebook.language.question_templates import (
    Dictionary,
    definition_question,
    heading_question,
    plain_text,
    term_questions,
)
from bythebook.language.segmentation import pieces_of
from bythebook.library import Library
from bythebook.models.chunk import BookInfo
from bythebook.models.passage import Passage
from bythebook.settings import Settings

DEFAULT_QUESTIONS = 60
# Of another book's passages, so many are enough to find uncovered questions in.
MOST_OTHER_PASSAGES = 2000
# A heading whose rarest word stands on more pages than this could be about anything.
COMMON_PAGES = 4
COMMON_SHARE = 0.1
KINDS = ("definition", "heading", "term")
SHIPPED = "everyday_questions.txt"

# What questions have in common, whatever they are about.
ASKING_WORDS = frozenset(terms("mean explain know book say about", "en"))


@dataclass(frozen=True)
class Draft:
    """A question and the passage that answers it."""

    text: str
    passage: Passage
    section: str | None
    kind: str
    answer: str | None = None
    also: tuple[str, ...] = ()

    def line(self) -> QuestionLine:
        return QuestionLine(
            question=self.text,
            covered=True,
            source_file=self.passage.metadata.source_file,
            section=self.section,
            also=list(self.also),
            answer=self.answer,
            kind=self.kind,
        )


async def make_questions(
    library: Library,
    book: BookInfo,
    count: int = DEFAULT_QUESTIONS,
    *,
    on_step: Callable[[int, int], None] = lambda _done, _all: None,
    on_problem: Callable[[str], None] = lambda _line: None,
) -> list[QuestionLine]:
    """At most `count` questions that the book covers, from all over it, and half as many that it
    does not."""
    passages = await all_passages(library, book.book_id)
    drafts = spread(drafts_of(passages, book.language), count)
    if library.settings.uses_language_model:
        drafts = await reword(library.settings, drafts, on_step, on_problem)
    others = [other for other in await library.books() if other.book_id != book.book_id]
    elsewhere: list[str] = []
    for other in others:
        found = (await all_passages(library, other.book_id))[:MOST_OTHER_PASSAGES]
        elsewhere += [one.text for one in spread(drafts_of(found, other.language), count)]
    wanted = max(1, count // 2)
    uncovered = _uncovered(elsewhere, passages, book.language, wanted)
    uncovered += _uncovered(_everyday_questions(), passages, book.language, wanted - len(uncovered))
    return [
        *(draft.line() for draft in drafts),
        *(QuestionLine(question=text, covered=False, kind="uncovered") for text in uncovered),
    ]


def drafts_of(passages: Sequence[Passage], language: str) -> list[Draft]:
    """Every question that the passages suggest, each once, in reading order. A heading that stands
    on several pages is asked on none."""
    words = Dictionary.of(passage.text for passage in passages)
    pages = _pages_of(passages, lambda passage: terms(passage.text, language))
    total = len({passage.metadata.source_file for passage in passages})
    headings = _pages_of(passages, headings_of)

    def is_common(heading: str) -> bool:
        counts = [len(pages[term]) for term in terms(heading, language)]
        return min(counts, default=0) > max(COMMON_PAGES, COMMON_SHARE * total)

    every = [
        draft for passage in passages for draft in _drafts_in(passage, words, headings, is_common)
    ]
    found: dict[str, Draft] = {}
    for draft in sorted(every, key=lambda one: KINDS.index(one.kind)):
        key = " ".join(sorted({*terms(draft.text, language)} - ASKING_WORDS))
        known = found.setdefault(key, draft)
        page = draft.passage.metadata.source_file
        if known.kind == draft.kind and page not in (
            known.passage.metadata.source_file,
            *known.also,
        ):
            found[key] = replace(known, also=(*known.also, page))
    order = {draft.text: number for number, draft in enumerate(every)}
    return sorted(found.values(), key=lambda draft: order[draft.text])


def _drafts_in(
    passage: Passage,
    words: Dictionary,
    headings: dict[str, set[str]],
    is_common: Callable[[str], bool],
) -> Iterator[Draft]:
    section: str | None = passage.metadata.section_title
    for piece in pieces_of(passage.text):
        text = passage.text[piece.start : piece.end]
        if piece.kind == "heading":
            section = clean_section(text)
            if text.startswith("# ") or len(headings[same_heading(section)]) > 1:
                continue  # a whole page, or one of many: too wide for one answer
            alone = not text.endswith("?") and not is_common(section)
            question = heading_question(text, words, None if alone else passage.metadata.title)
            if question:
                yield Draft(question, passage, section, "heading")
        elif piece.kind == "sentence":
            question = definition_question(text, words)
            if question:
                yield Draft(question, passage, section, "definition", plain_text(text))
        if piece.kind in ("sentence", "item"):
            for _, question in term_questions(text, words):
                yield Draft(question, passage, section, "term")


def clean_section(heading: str) -> str:
    """A heading as a person would name the section."""
    return plain_text(heading.lstrip("# \t")).strip()


def _pages_of(
    passages: Iterable[Passage], parts: Callable[[Passage], Iterable[str]]
) -> dict[str, set[str]]:
    """The pages on which each term or heading stands."""
    pages: dict[str, set[str]] = defaultdict(set)
    for passage in passages:
        for part in parts(passage):
            pages[part].add(passage.metadata.source_file)
    return pages


def spread(drafts: Sequence[Draft], count: int) -> list[Draft]:
    """So many of them from all over the book: chapter by chapter in turn, from page to page within
    each, and of every kind; then in reading order."""
    chapters: dict[tuple[str, int], list[Draft]] = {}
    for draft in drafts:
        place = draft.passage.metadata
        chapters.setdefault((place.module, place.chapter), []).append(draft)
    queues = [_mixed(found) for found in chapters.values()]
    chosen: list[Draft] = []
    while queues and len(chosen) < count:
        for queue in queues:
            if len(chosen) < count:
                chosen.append(queue.pop(0))
        queues = [queue for queue in queues if queue]
    order = {id(draft): number for number, draft in enumerate(drafts)}
    return sorted(chosen, key=lambda draft: order[id(draft)])


def _mixed(drafts: Sequence[Draft]) -> list[Draft]:
    """One of each kind in turn; of a kind, one from each page in turn."""
    kinds = [_by_pages([draft for draft in drafts if draft.kind == kind]) for kind in KINDS]
    longest = max(map(len, kinds))
    return [kind[at] for at in range(longest) for kind in kinds if at < len(kind)]


def _by_pages(drafts: Sequence[Draft]) -> list[Draft]:
    seen: Counter[str] = Counter()
    placed: list[tuple[int, int, Draft]] = []
    for number, draft in enumerate(drafts):
        page = draft.passage.metadata.source_file
        placed.append((seen[page], number, draft))
        seen[page] += 1
    return [draft for _, _, draft in sorted(placed, key=lambda row: row[:2])]


def _everyday_questions() -> list[str]:
    text = (resources.files("bythebook.evaluation") / SHIPPED).read_text("utf-8")
    return [line.strip() for line in text.splitlines() if line.strip()]


def _uncovered(
    questions: Sequence[str], passages: Sequence[Passage], language: str, count: int
) -> list[str]:
    """Those of which no passage of the book has more than half of the words, from all over."""
    vocabularies = [set(terms(passage.chunk.embedded_text, language)) for passage in passages]

    def is_uncovered(question: str) -> bool:
        asked = set(terms(question, language))
        most = max((len(asked & known) for known in vocabularies), default=0)
        return bool(asked) and 2 * most <= len(asked)

    found = [question for question in dict.fromkeys(questions) if is_uncovered(question)]
    return [found[at * len(found) // count] for at in range(count)] if count < len(found) else found


# "In their own words" keeps the question from being the heading again; "without the passage" from
# "according to the text"; "one line" is what small models forget first.
INSTRUCTIONS = (
    "You write test questions for a book. You are given a passage and a draft question about it. "
    "Write one question that a reader of the book might ask in their own words, that this passage "
    "answers, and that can be understood without the passage. Reply with the question on one line "
    "and nothing else."
)
LONGEST_PASSAGE = 4000
QUESTION_TOKENS = 100
SHORTEST, LONGEST = 10, 200
POINTS_TO_TEXT = re.compile(
    r"\b(?:this|the (?:above|given|following|provided)) (?:passage|text|section|excerpt)\b|"
    r"\b(?:the|this) passage\b|\baccording to the (?:text|passage|section)\b",
    re.IGNORECASE,
)
LABEL = re.compile(r"^(?:question|q)\s*[:.]\s*", re.IGNORECASE)


async def reword(
    settings: Settings,
    drafts: Sequence[Draft],
    on_step: Callable[[int, int], None],
    on_problem: Callable[[str], None],
) -> list[Draft]:
    """The drafts with the model's questions; where it has none that can be used, the draft stays.
    When it fails it is not asked again."""
    model = LanguageModel(settings)
    asked = {same_heading(draft.text) for draft in drafts}
    better: list[Draft] = []
    try:
        for number, draft in enumerate(drafts, 1):
            question = usable(await _reply(model, draft))
            if question and same_heading(question) not in asked:
                asked.add(same_heading(question))
                draft = replace(draft, text=question)
            better.append(draft)
            on_step(number, len(drafts))
    except ModelError as problem:
        left = len(drafts) - len(better)
        on_problem(f"{problem.message} {left} questions keep their first wording.")
        better += drafts[len(better) :]
    finally:
        await model.close()
    return better


async def _reply(model: LanguageModel, draft: Draft) -> str:
    passage = draft.passage.text[:LONGEST_PASSAGE]
    text = f"Passage:\n{passage}\n\nDraft question: {draft.text}"
    return await model.reply(INSTRUCTIONS, text, QUESTION_TOKENS)


def usable(reply: str) -> str | None:
    """The question in a reply, if it is one that stands alone."""
    lines = [line.strip() for line in reply.splitlines() if line.strip()]
    if len(lines) != 1:
        return None
    question = LABEL.sub("", lines[0]).strip("\"'“”*` ")
    fits = SHORTEST <= len(question) <= LONGEST and question.endswith("?")
    return question if fits and not POINTS_TO_TEXT.search(question) else None
