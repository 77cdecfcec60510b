"""Checks by words alone: code, other languages, and where the reader can't judge; and what else a
sentence might have been about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bythebook.grounding.evidence import CheckedPassage, EvidenceStretch
from bythebook.grounding.hard_facts import BARE, ENDS, missing_identifiers, quantities_of
from bythebook.grounding.instructions import without_instructions
from bythebook.grounding.quantities import Number, numbers_of, same_quantity
from bythebook.grounding.words import STRAIGHT, bare, blank, tokens_of, without_markers
from bythebook.index.sparse import terms

FENCED = re.compile(
    r"^[ \t>]*+(?P<fence>`{3,}+|~{3,}+)[^\n]*+\n(?P<code>[\s\S]*?)(?:^[ \t>]*+(?P=fence)|\Z)",
    re.MULTILINE,
)
CONTINUED = re.compile(r"\\\n\s*")
PROMPT = re.compile(r"^\s*(?:\$|>>>|\.\.\.) ")
LEFT_OUT = re.compile(r"^\s*+(?:#|//|--|;|<!--)?+\s*+(?:\.\.\.|…)\s*+(?:-->)?+$")
SPAN = re.compile(r"`([^`\n]+)`")


def is_code(unit: str) -> bool:
    return unit.lstrip().startswith(("```", "~~~"))


def missing_lines(claim: str, evidence: str) -> tuple[str, ...]:
    """Why a fenced block is not the passage's."""
    found = FENCED.search(claim.strip() + "\n")
    wanted = _lines(found["code"] if found else "")
    if not wanted:
        return ("it is an empty block",)
    blocks = "\n".join(block["code"] for block in FENCED.finditer(evidence + "\n"))
    offered = [*_lines(blocks), *(_normal(span) for span in SPAN.findall(evidence))]
    missing = [line for line in wanted if line not in set(offered)]
    if missing:
        return tuple(f"the line “{_short(line)}” is not in the passage's code" for line in missing)
    rest = iter(_lines(blocks))
    in_code = [line for line in wanted if line in set(_lines(blocks))]
    if not all(line in rest for line in in_code):
        return ("its lines stand in another order in the passage",)
    return ()


def _lines(code: str) -> list[str]:
    joined = CONTINUED.sub(" ", code)
    return [
        _normal(line) for line in joined.splitlines() if line.strip() and not LEFT_OUT.match(line)
    ]


def _normal(line: str) -> str:
    return " ".join(PROMPT.sub("", line).translate(STRAIGHT).split())


def _short(line: str) -> str:
    return line if len(line) <= 60 else line[:59] + "…"


WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
DENIALS = frozenset(
    """not no never none nor neither without cannot nothing nobody nowhere hardly
    nicht kein keine keinen keinem keiner keines nie niemals ohne weder
    ne pas jamais aucun aucune sans ni nunca jamás ningún ninguna ninguno sin tampoco
    non mai nessun nessuno nessuna senza não nenhum nenhuma sem niet geen nooit zonder
    inte aldrig ingen utan ikke aldri uten nie bez не ни нет без""".split()
)
# With fewer words of the passage a sentence says nothing that could be told from something else.
FEWEST = 2
# An English sentence may add these without adding a fact.
ADDED = frozenset(
    """also however therefore thus use used using make made allow allows provide provides help
    include includes note example following case both each other because since all whether
    while although first second third then last may might must yes need needs one called means
    according""".split()
)


def words_missing(
    claim: str, evidence: CheckedPassage, stretches: Sequence[EvidenceStretch], language: str
) -> str:
    """Why the stretch with most of its words does not say it; empty where it does."""
    stretch = max(stretches, key=lambda each: len(each.found), default=None)
    if stretch is None:
        return "the passage is empty"
    added = frozenset(terms(" ".join(ADDED), language)) if language.startswith("en") else set()
    missing = [
        word[0]
        for word in WORD.finditer(claim)
        if not set(terms(word[0], language)) <= stretch.found | added
    ]
    if not missing and len(set(terms(claim, language)) - added) < FEWEST:
        return "it says too little to be checked"
    if missing:
        return f"the passage does not say: {', '.join(dict.fromkeys(missing))}"
    said = _denies(claim)
    there = _denies(evidence.text[stretch.start : stretch.end])
    if said != there:
        return "the passage says the opposite"
    return ""


def _denies(text: str) -> bool:
    words = {word[0].lower().replace("’", "'") for word in WORD.finditer(text)}
    return bool(words & DENIALS) or any(word.endswith("n't") for word in words)


FEWEST_WORDS = 4
GROUPED = re.compile(r"[1-9]\d{0,2}(?:\.\d{3})+")


def check_quote(quote: str, evidence: str) -> tuple[int, int] | None:
    """Where the evidence has the words of a quotation, if it has them; markup, white space, case
    and punctuation at the edges of words don't matter."""
    wanted = [token for token, _, _ in tokens_of(bare(quote))]
    if len(wanted) < FEWEST_WORDS:
        return None
    offered = tokens_of(bare(without_instructions(evidence)))
    for first in range(len(offered) - len(wanted) + 1):
        found = offered[first : first + len(wanted)]
        if all(theirs[0] == ours for theirs, ours in zip(found, wanted, strict=True)):
            return found[0][1], found[-1][2]
    return None


def facts_agree(claim: str, quote: str) -> tuple[str, ...]:
    """Numbers and identifiers of a claim that its quotation does not have, as reasons."""
    said = without_markers(claim)
    quoted = numbers_of(bare(quote))
    missing = [
        f"the number {number.shown} is not in the quotation"
        for number in numbers_of(bare(said), with_one=False)
        if not any(_agree(number, other) for other in quoted)
    ]
    names = dict.fromkeys(missing_identifiers(said, quote))
    return (*missing, *(f"“{name}” is not in the quotation" for name in names))


def _agree(ours: Number, theirs: Number) -> bool:
    """Units are compared only where both are known: "Sekunden" is not in the list. Many languages
    write 1.000 for one thousand."""
    grouped = GROUPED.search(ours.shown)
    values = {ours.value, grouped[0].replace(".", "") if grouped else ours.value}
    return theirs.value in values and (not ours.unit or not theirs.unit or ours.unit == theirs.unit)


SHAPES = (
    (re.compile(r"[a-z]+(?:[-_][a-z]+)*"), "a"),
    (re.compile(r"[A-Z]+"), "A"),
    (re.compile(r"\d+"), "0"),
)


def about_others(claim: str, text: str) -> Iterator[tuple[str, str]]:
    """The claim with another number or identifier of the text instead of its own, one of the same
    kind: first what was put in."""
    ours = quantities_of(claim)
    theirs = quantities_of(text)
    for number in ours:
        for other in theirs:
            known = any(same_quantity(one, other) or one.value == other.value for one in ours)
            if other.unit == number.unit and not known:
                yield other.shown, claim[: number.start] + other.shown + claim[number.end :]
    names = _identifiers(text)
    for name, start in _identifiers(claim):
        for another in dict.fromkeys(other for other, _ in names):
            if another not in claim and _shape(another) == _shape(name):
                yield another, claim[:start] + another + claim[start + len(name) :]


def _identifiers(text: str) -> list[tuple[str, int]]:
    spans = [(found[1], found.start(1)) for found in SPAN.finditer(text)]
    prose = SPAN.sub(lambda found: blank(found[0]), text)
    return spans + [(found[0].rstrip(ENDS), found.start()) for found in BARE.finditer(prose)]


def _shape(name: str) -> str:
    for signs, short in SHAPES:
        name = signs.sub(short, name)
    return name
