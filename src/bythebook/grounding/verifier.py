"""Whether a passage says what a sentence says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from bythebook.grounding.evidence import CheckedPassage, EvidenceStretch, parse_passage
from bythebook.grounding.hard_facts import broken_facts, facts_of, in_words_of
from bythebook.grounding.lexical import about_others, is_code, missing_lines, words_missing
from bythebook.grounding.words import bare, tokens_of, without_markers, words_of
from bythebook.index.sparse import terms
from bythebook.language.segmentation import ROW, RULE_SIGNS, cells_of
from bythebook.models.passage import Passage
from bythebook.reader.reader import Reader, headings_of, text_of

# Words that say nothing of their own beside the stop words of searching.
CONNECTIVE = frozenset(
    """here here's let's following follow follows below above step steps example examples instance
    summary sum short conclusion conclude overall finally firstly secondly lastly first second third
    next last also additionally moreover furthermore however therefore thus hence note notes
    important importantly key main point points takeaway takeaways answer answers explanation
    details detail look see more information further overview introduction background step-by-step
    according based book text passage passages lesson chapter section provided given sources source
    says say said states describes explains mentions briefly simply put words other hand one
    contrast comparison similarly likewise instead specifically namely particular general addition
    result consequence reason reasons way ways thing things list lists it's that's main summarize
    now again let explain question quote sure certainly happy help like""".split()
)
HEADING = re.compile(r"^\s*+(?:#{1,6}\s|\*\*[^*]++\*\*\s*+:?+\s*+$)")
RULE_ROW = re.compile(r"^(?=[\s:|]*-)[\s:|-]*$")
MOST_WORDS = 12
LONGEST_CONNECTIVE = 300


def is_connective(unit: str) -> bool:
    """Whether a unit says nothing by itself, so that it needs no evidence."""
    if len(unit) > LONGEST_CONNECTIVE:
        return False
    if not unit.strip() or RULE_ROW.match(unit):
        return True
    if "`" in unit or ROW.match(unit) or any(letter.isdigit() for letter in bare(unit)):
        return False
    words = words_of(bare(unit), "en")
    if not words or len(words) > MOST_WORDS:
        return False
    if not (_leads_on(bare(unit).rstrip()) or HEADING.match(unit)):
        return False
    return all(not word.stems or word.text in CONNECTIVE for word in words)


def _leads_on(text: str) -> bool:
    return text.endswith("...") or text.rstrip("*").rstrip().endswith((":", ",", "…"))


# The probability from which a sentence counts as said: of books that nothing was trained on, seven
# of eight false sentences stay below it (`python benchmarks/grounding.py --only check`); below the
# other one the reader is sure that it is not said.
SUPPORTED, UNSURE = 0.65, 0.35
# Where the same sentence about another thing of the passage is so much likelier, that is meant: the
# passage says of port 9090 what the sentence says of 8080. So many others are tried.
LIKELIER, MOST_OTHERS = 0.05, 3
# The reader is never surer than this that a passage says something.
SUREST = 0.92
# With a smaller share of its words a passage is about something else, and what the reader makes of
# that means nothing. Every true sentence of the check books has a quarter of its words there.
LEAST_SHARED = 0.2
# So many characters of a passage are read for a sentence: reading more takes longer, and what bears
# a sentence stands close together.
ROOM = 480
# Where words alone decide, what bears a sentence stands closer still.
CLOSE = 300
# No sentence is longer.
LONGEST = 2000
# The reader was trained on English.
READER_LANGUAGE = "en"


@dataclass(frozen=True)
class Verdict:
    """`reasons` say why it fails; `text[start:end]` of the passage bears it best. One that is
    `unsure` fails only because the reader can't tell."""

    supported: bool
    score: float
    reasons: tuple[str, ...] = ()
    start: int = 0
    end: int = 0
    unsure: bool = False


class Verifier:
    """Checks the sentences of one answer. `question` helps to understand one that is only a yes."""

    def __init__(self, reader: Reader | None, language: str, question: str = "") -> None:
        self._reader = reader if language.startswith(READER_LANGUAGE) else None
        self._language = language
        self._question = question

    async def check(self, claim: str, passage: Passage | str) -> Verdict:
        """Whether this passage says it."""
        claim = without_markers(claim).strip()
        evidence = self._evidence(passage)
        if (settled := self._check_form(claim, evidence)) is not None:
            return settled
        rows = [row for row in claim.splitlines() if row.strip(RULE_SIGNS)]
        if all(map(ROW.match, rows)):
            return await self._check_table(rows, passage)
        stretches = evidence.stretches(self._stems(claim), ROOM)
        facts = facts_of(_with_headings(passage, evidence.text), self._language)
        if reasons := broken_facts(claim, facts, self._language):
            return _fails(reasons, stretches)
        if self._reader is None:
            return self._check_words(claim, evidence)
        if not stretches:
            return _fails(["the passage is empty"])
        said = in_words_of(self._with_question(claim), facts)
        if place := evidence.verbatim(said):
            return Verdict(True, 1.0, (), *place)
        if not self._is_about_it(said, passage, evidence):
            return self._verdict_of(0.0, stretches, claim, evidence)
        text = evidence.read(stretches, ROOM)
        likely = await self._reader.supports(said, text, headings_of(passage))
        if other := await self._rather_said_of(said, text, headings_of(passage), likely):
            start, end = _place(stretches)
            reason = f"the passage says this of {other}"
            return Verdict(False, min(likely, UNSURE), (reason,), start, end)
        return self._verdict_of(likely, stretches, claim, evidence)

    def _is_about_it(self, said: str, passage: Passage | str, evidence: CheckedPassage) -> bool:
        stems = self._stems(said)
        there = self._stems(headings_of(passage)).union(*(unit.stems for unit in evidence.units))
        return len(stems & there) >= LEAST_SHARED * len(stems)

    async def _rather_said_of(self, said: str, text: str, above: str, likely: float) -> str:
        """Which other number or identifier of the text makes the sentence clearly likelier."""
        if self._reader is not None and SUPPORTED <= likely < SUREST - LIKELIER:
            for other, exchanged in islice(about_others(said, text), MOST_OTHERS):
                if await self._reader.supports(exchanged, text, above) > likely + LIKELIER:
                    return other
        return ""

    async def check_together(self, claim: str, passages: Sequence[Passage | str]) -> Verdict:
        """Whether two passages say it that each say a part of it. Says nothing of where."""
        claim = without_markers(claim).strip()
        if self._reader is None or is_code(claim) or len(claim) > LONGEST:
            return Verdict(False, 0.0, ("no passage says it",))
        parsed = [self._evidence(passage) for passage in passages]
        whole = "\n\n".join(
            _with_headings(passage, evidence.text)
            for passage, evidence in zip(passages, parsed, strict=True)
        )
        facts = facts_of(whole, self._language)
        if reasons := broken_facts(claim, facts, self._language):
            return _fails(reasons)
        stems = self._stems(claim)
        room = ROOM // len(passages)
        read = [evidence.read(evidence.stretches(stems, room), room) for evidence in parsed]
        said = in_words_of(self._with_question(claim), facts)
        likely = await self._reader.supports(said, "\n\n".join(read))
        if likely < SUPPORTED:
            return Verdict(False, likely, ("the passages do not say this together",))
        return Verdict(True, likely)

    def count_shared_words(self, claim: str, passage: Passage) -> int:
        """How many of its words the passage has in one place: where to look first."""
        stretches = self._evidence(passage).stretches(self._stems(claim), ROOM)
        return sum(len(stretch.found) for stretch in stretches)

    def _check_form(self, claim: str, evidence: CheckedPassage) -> Verdict | None:
        """What needs no judgement: code, the book's own words, and what says nothing."""
        if is_code(claim):
            reasons = missing_lines(claim, evidence.text)
            return Verdict(not reasons, float(not reasons), reasons, *_code_of(claim, evidence))
        if len(claim) > LONGEST:
            return Verdict(False, 0.0, ("it is too long for one statement",))
        if place := evidence.verbatim(claim):
            return Verdict(True, 1.0, (), *place)
        if not any(character.isalnum() for character in bare(claim)):
            return Verdict(False, 0.0, ("it says nothing that could be checked",))
        if claim.rstrip(" *_\"'”").endswith("?"):
            return Verdict(False, 0.0, ("it asks instead of saying something",))
        return None

    async def _check_table(self, rows: Sequence[str], passage: Passage | str) -> Verdict:
        """Row by row, the head too: no row may be put together from several of the passage's. Where
        the passage has no table, each is read with the head that the claim gives it."""
        evidence = self._evidence(passage)
        if any(unit.kind == "row" for unit in evidence.units):
            verdicts = [_check_row(row, evidence) for row in rows]
        else:
            rows_as_sentences = [_read_out(rows[0], row) for row in rows[1:]] or [
                " ".join(cells_of(rows[0]))
            ]
            verdicts = [await self.check(row, passage) for row in rows_as_sentences]
        worst = min(verdicts, key=lambda one: one.score)
        start, end = min(one.start for one in verdicts), max(one.end for one in verdicts)
        return Verdict(worst.supported, worst.score, worst.reasons, start, end, worst.unsure)

    def _check_words(self, claim: str, evidence: CheckedPassage) -> Verdict:
        stretches = evidence.stretches(self._stems(claim), CLOSE)
        if reason := words_missing(bare(claim), evidence, stretches, self._language):
            return _fails([reason], stretches)
        return Verdict(True, 1.0, (), *_place(stretches))

    def _verdict_of(
        self,
        likely: float,
        stretches: Sequence[EvidenceStretch],
        claim: str,
        evidence: CheckedPassage,
    ) -> Verdict:
        start, end = _place(stretches)
        if likely >= SUPPORTED:
            return Verdict(True, likely, (), start, end)
        everything = frozenset().union(*(unit.stems for unit in evidence.units))
        new = [word for word in bare(claim).split() if not set(self._stems(word)) <= everything]
        reason = "the passage does not say this"
        if new:
            reason += f"; it has no {', '.join(word.strip('.,;:') for word in new[:4])}"
        return Verdict(False, likely, (reason,), start, end, likely >= UNSURE)

    def _with_question(self, claim: str) -> str:
        """A bare yes or no says what the question asks."""
        return claim if len(self._stems(claim)) > 1 else f"{self._question} {claim}".strip()

    def _evidence(self, passage: Passage | str) -> CheckedPassage:
        return parse_passage(text_of(passage), self._language)

    def _stems(self, claim: str) -> frozenset[str]:
        return frozenset(terms(bare(claim), self._language))


def _fails(reasons: Sequence[str], stretches: Sequence[EvidenceStretch] = ()) -> Verdict:
    return Verdict(False, 0.0, tuple(reasons), *_place(stretches))


def _place(stretches: Sequence[EvidenceStretch]) -> tuple[int, int]:
    return (stretches[0].start, stretches[-1].end) if stretches else (0, 0)


def _code_of(claim: str, evidence: CheckedPassage) -> tuple[int, int]:
    """The block with most of its lines."""
    wanted = {line.strip() for line in claim.splitlines()[1:-1]} - {""}
    blocks = [unit for unit in evidence.units if unit.kind == "code"]
    best = max(
        blocks,
        key=lambda unit: sum(line in evidence.text[unit.start : unit.end] for line in wanted),
        default=None,
    )
    return (best.start, best.end) if best else (0, len(evidence.text))


def _check_row(row: str, evidence: CheckedPassage) -> Verdict:
    """Whether a row of the passage's table says each cell in its column."""
    cells = [_words(cell) for cell in cells_of(row)]
    for unit in evidence.units:
        if unit.kind == "row":
            theirs = [_words(cell) for cell in cells_of(evidence.text[unit.start : unit.end])]
            if len(cells) == len(theirs) and all(map(frozenset.issubset, cells, theirs)):
                return Verdict(True, 1.0, (), unit.start, unit.end)
    return Verdict(False, 0.0, ("the passage's table has no such row",))


def _words(cell: str) -> frozenset[str]:
    return frozenset(token for token, _, _ in tokens_of(bare(cell)))


def _read_out(head: str, row: str) -> str:
    """A row as a sentence: each cell with what its column is called."""
    names, cells = cells_of(head), cells_of(row)
    return "; ".join(f"{name}: {cell}" for name, cell in zip(names, cells, strict=False))


def _with_headings(passage: Passage | str, text: str) -> str:
    """Names and numbers in the headings above a passage count as its own."""
    return f"{headings_of(passage)}\n\n{text}"
