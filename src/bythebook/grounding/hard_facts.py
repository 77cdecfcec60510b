"""Hard facts of a sentence, which a passage must have whatever the reader makes of the words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from bythebook.grounding.evidence import parse_passage
from bythebook.grounding.quantities import (
    COUNTS,
    UNITS,
    Date,
    Number,
    Time,
    dates_of,
    implied_numbers,
    numbers_of,
    rates_missing,
    same_quantity,
    times_of,
    units_named,
)
from bythebook.grounding.words import STRAIGHT, bare, stems_of, words_of
from bythebook.index.sparse import STOP_WORDS

SPAN = re.compile(r"(?<!`)`++([^`\n]++)`+")
LINK_TARGET = re.compile(r"\]\(\s*<?([^)\s>]+)")
# A part of a path or name has at most 100 signs: it is looked for at each of its words.
BARE = re.compile(
    r"""(?P<address>https?://[^\s<>()\[\]"'`]+|\bwww\.[^\s<>()\[\]"'`]+)
    |(?P<email>(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)++)
    |(?P<option>(?<![\w-])(?:--[A-Za-z][\w-]*(?:=[^\s,;]+)?|(?<=\s)-[A-Za-z]\b(?!-)))
    |(?P<decorator>(?<![\w@])@[A-Za-z][\w./-]*)
    |(?P<path>(?<![\w/.:])(?:~|\.{1,2})?/[A-Za-z_][\w./-]*\w|\b[\w.-]{1,100}+(?:/[\w.-]{1,100}+){2,}
        |\b[\w-]{1,100}+/[\w-]{1,100}+\.\w{1,5}\b)
    |(?P<call>\b[A-Za-z_][\w.]{0,100}+\(\))
    |(?P<dotted>\b[A-Za-z_][\w-]{0,100}+(?:(?:\.|::)[A-Za-z_]\w*)+)
    |(?P<snake>(?<![\w])_*[A-Za-z][A-Za-z0-9]*(?:_+[A-Za-z0-9]+)+)
    |(?P<humps>\b(?:[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z][A-Za-z0-9]*)(?:-\w+)*)""",
    re.VERBOSE,
)
LATIN = frozenset({"e.g", "i.e", "a.m", "p.m", "u.s", "u.k", "z.b", "d.h", "u.a", "etc"})
ENDS = ".,;:!?'\""
PLAIN = re.compile(r"[A-Za-z]+(?:[ -][A-Za-z]+)*$")
SPACE = re.compile(r"\s+")


def missing_identifiers(claim: str, evidence: str) -> Iterator[str]:
    """Those of a claim (its citations removed) that the evidence does not hold."""
    flat = SPACE.sub(" ", evidence)
    for span in SPAN.findall(claim):
        wanted = SPACE.sub(" ", span).strip()
        if wanted and not _contains_span(wanted, flat):
            yield wanted
    for target in LINK_TARGET.findall(claim):
        if target.rstrip("/") not in flat:
            yield target
    prose = SPAN.sub(" ", re.sub(r"\]\([^)\]\[]*+\)", "]", claim))
    for found in BARE.finditer(prose):
        wanted = found[0].rstrip(ENDS)
        if wanted.lower() in LATIN or wanted.lower() in UNITS:  # kHz and MiB name nothing
            continue
        if not contains_name(
            wanted, flat, any_case=found.lastgroup in {"humps", "address", "email"}
        ):
            yield wanted


def _contains_span(wanted: str, flat: str) -> bool:
    if contains_name(wanted, flat, any_case=bool(PLAIN.match(wanted))):
        return True
    parts = wanted.split(" ")
    return len(parts) > 1 and all(contains_name(part, flat) for part in parts)


def contains_name(wanted: str, flat: str, *, any_case: bool = False) -> bool:
    """Whether a text has this name, not as a part of a longer one."""
    if any_case:
        wanted, flat = wanted.lower(), flat.lower()
    if wanted.endswith("()"):
        wanted = wanted[:-2]
    if not wanted:
        return True
    at = flat.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if not _joins(flat, at - 1, at) and not _joins(flat, end - 1, end):
            return True
        at = flat.find(wanted, at + 1)
    return False


def _joins(text: str, left: int, right: int) -> bool:
    """Whether two neighbours belong to one name."""
    if left < 0 or right >= len(text):
        return False
    a, b = text[left], text[right]
    if _is_part(a) and _is_part(b):
        return True
    # "plug-in" is not "plug", but a dash before an option or behind a word is only a dash.
    if a == "-" and _is_part(b):
        return left > 0 and _is_part(text[left - 1])
    if b == "-" and _is_part(a):
        return right + 1 < len(text) and _is_part(text[right + 1])
    return False


def _is_part(character: str) -> bool:
    return character.isalnum() or character == "_"


TOKEN = re.compile(r"[^\W\d_][\w]*(?:[-.&'’][^\W_]\w*)*\.?|\d+\w+")
BEFORE_SENTENCE = '.!?:;…•|(["“«„'
LABEL = re.compile(r"\s*[^:.!?]{1,60}:")
POSSESSIVE = re.compile(r"['’]s?$")
# Languages that write every noun with a capital.
NOUN_CAPITALS = ("de", "lb")


def missing_names(
    claim: str, language: str, has_word: Callable[[str], bool], initials: str, capitals: str
) -> Iterator[str]:
    """Names of a bare claim whose words the evidence lacks; at the start of a sentence only
    abbreviations, since any word has a capital there. `initials` are the first letters of the
    evidence's words, `capitals` those that are capitals: for abbreviations it only spells out."""
    found = list(TOKEN.finditer(claim))
    label = LABEL.match(claim)
    labelled = label.end() if label and _is_titled(TOKEN.findall(label[0])) else 0
    if not claim.rstrip().endswith(".") and _is_titled([token[0] for token in found]):
        labelled = len(claim)
    for token in found:
        name = POSSESSIVE.sub("", token[0].rstrip("."))
        if not any(letter.isupper() for letter in name) or name in {"I", "OK"}:
            continue
        is_acronym = sum(letter.isupper() for letter in name) > 1
        if not is_acronym and (
            token.start() < labelled
            or language.startswith(NOUN_CAPITALS)
            or name.lower() in STOP_WORDS
            or _begins_sentence(claim[: token.start()])
        ):
            continue
        if not _is_known(name, has_word) and not (
            is_acronym and _spelled_out(name, initials, capitals)
        ):
            yield name


def _begins_sentence(before: str) -> bool:
    """Whether a sentence or a part of one begins behind this, perhaps with quotation marks."""
    unquoted = before.rstrip("\"'“‘«(")
    if any(sign in BEFORE_SENTENCE for sign in before[len(unquoted) :]):
        return True
    said = unquoted.rstrip()
    if not said or "\n" in unquoted[len(said) :] or said[-1] in BEFORE_SENTENCE:
        return True
    return said[-1] in "-–—" and said[-2:-1].isspace()


def _is_titled(words: list[str]) -> bool:
    """A heading writes most of its words with capitals: they say nothing about names."""
    longer = [word for word in words if len(word) > 3]
    return len(longer) > 1 and sum(word[0].isupper() for word in longer) >= 0.75 * len(longer)


def _is_known(name: str, has_word: Callable[[str], bool]) -> bool:
    if has_word(name) or (name.endswith("s") and has_word(name[:-1])):
        return True
    parts = [part for part in re.split(r"[-.&'’]", name) if part]
    return len(parts) > 1 and all(has_word(part) for part in parts)


def _spelled_out(name: str, initials: str, capitals: str) -> bool:
    letters = re.sub(r"[^A-Za-z]", "", name).removesuffix("s").lower()
    return letters in (initials if len(letters) >= 3 else capitals)


# The number of a step is the answer's own.
STEP = re.compile(r"^\s*(?:[-*+]\s+)?(?:\*\*)?(?:step\s+)?\d{1,3}[.):]", re.IGNORECASE)
QUOTED = re.compile(r"\"([^\"\n]{2,200}+)\"|“([^”\n]{2,200}+)”|«([^»\n]{2,200}+)»")
HYPHENED = re.compile(r"(?<![^\W_])[^\W_]++(?:-[^\W_]++)++")
# What stands before a number that is rounded: the reader judges it.
ROUNDED = re.compile(
    r"(?:about|around|roughly|approximately|nearly|almost|some|over|above|below|under|more than"
    r"|less than|up to|at least|at most|circa|~|≈)\s*$",
    re.IGNORECASE,
)
# Up to this, a number in words may have been counted: "there are three ways".
COUNTED = 12


@dataclass(frozen=True, eq=False)
class PassageFacts:
    """What a passage knows."""

    text: str
    flat: str
    # Each number, and the units that its sentence, row or table head names apart from it.
    numbers: tuple[tuple[Number, frozenset[str]], ...]
    dates: tuple[Date, ...]
    times: tuple[Time, ...]
    bag: frozenset[str]
    # First letters of its words, and those of them that are capitals.
    initials: str
    capitals: str


@lru_cache(maxsize=512)
def facts_of(text: str, language: str) -> PassageFacts:
    plain = bare(text)
    words = words_of(plain, language)
    joined = {found[0].replace("-", "").lower() for found in HYPHENED.finditer(plain)}
    first = [plain[word.start] for word in words]
    return PassageFacts(
        text=text,
        flat=_flat(plain),
        numbers=tuple(_numbers_with_units(plain, text, language)),
        dates=tuple(dates_of(plain)),
        times=tuple(times_of(plain)),
        bag=frozenset(stem for word in words for stem in (*word.stems, word.text)) | joined,
        initials="".join(first).lower(),
        capitals="".join(letter.lower() if letter.isupper() else " " for letter in first),
    )


def _numbers_with_units(
    plain: str, text: str, language: str
) -> Iterator[tuple[Number, frozenset[str]]]:
    units = parse_passage(text, language).units
    for number in numbers_of(plain):
        around = next((unit for unit in units if unit.start <= number.start < unit.end), None)
        if number.unit or around is None or around.kind == "code":
            yield number, frozenset()
        else:
            above = text[slice(*around.header)] if around.header else ""
            yield number, units_named(f"{above} {plain[around.start : around.end]}")
    for number in implied_numbers(plain):
        yield number, frozenset()


def _has_quantity(evidence: PassageFacts, ours: Number) -> bool:
    return any(
        same_quantity(ours, theirs) or (ours.value == theirs.value and ours.unit in named)
        for theirs, named in evidence.numbers
    )


def broken_facts(claim: str, evidence: PassageFacts, language: str) -> list[str]:
    """Why the evidence can't be where the claim comes from: a reason for each missing fact."""
    claim = STEP.sub(_blank, claim)
    reasons = [
        *_missing_dates(claim, evidence),
        *_missing_times(claim, evidence),
        *_missing_numbers(claim, evidence),
        *(f"“{rate}” is not in the passage" for rate in rates_missing(claim, evidence.flat)),
        *(f"“{name}” is not in the passage" for name in missing_identifiers(claim, evidence.text)),
        *(f"“{words}” is not in the passage" for words in _missing_quotations(claim, evidence)),
        *(
            f"the name “{name}” is not in the passage"
            for name in _missing_names(claim, evidence, language)
        ),
    ]
    return list(dict.fromkeys(reasons))


def in_words_of(claim: str, evidence: PassageFacts) -> str:
    """The claim with its quantities and dates written as the evidence writes them: a network knows
    words, not that 2000 ms are 2 seconds."""
    changed: list[tuple[int, int, str]] = []
    told = _times_told(claim, evidence)
    for time in told:
        same = [other.shown for other in evidence.times if time.agrees(other)]
        if time.shown not in same:
            changed.append((time.start, time.end, same[0]))
    for number in quantities_of(claim, told):
        same = [other.shown for other, _ in evidence.numbers if same_quantity(number, other)]
        if same and number.shown not in same:
            changed.append((number.start, number.end, same[0]))
    for date in dates_of(bare(claim)):
        same = [other.shown for other in evidence.dates if date.agrees(other)]
        if same and date.shown not in same:
            changed.append((date.start, date.end, same[0]))
    for start, end, words in sorted(changed, reverse=True):
        claim = claim[:start] + words + claim[end:]
    return claim


def quantities_of(claim: str, told: Sequence[Time] = ()) -> list[Number]:
    """Those that are no part of a date, or of a time that the evidence has."""
    plain = bare(claim)
    when: list[Date | Time] = [*dates_of(plain), *told]
    inside = [(one.start, one.end) for one in when]
    return [
        number
        for number in numbers_of(plain, with_one=False)
        if not any(start <= number.start < end for start, end in inside)
    ]


def _missing_numbers(claim: str, evidence: PassageFacts) -> Iterator[str]:
    plain = bare(claim)
    for number in quantities_of(claim, _times_told(claim, evidence)):
        counted = number.spelled and number.unit in ("", *COUNTS)
        counted = counted and float(number.value) <= COUNTED
        if counted or _has_quantity(evidence, number):
            continue
        if any(number.value == other.value for other, _ in evidence.numbers):
            yield f"the number {number.shown} has another unit in the passage"
        elif not ROUNDED.search(plain, max(0, number.start - 20), number.start):
            yield f"the number {number.shown} is not in the passage"


def _missing_dates(claim: str, evidence: PassageFacts) -> Iterator[str]:
    for date in dates_of(bare(claim)):
        if not any(date.agrees(other) for other in evidence.dates):
            yield f"the date {date.shown} is not in the passage"


def _times_told(claim: str, evidence: PassageFacts) -> list[Time]:
    """Times of a claim that the evidence has too, perhaps in another form."""
    return [
        time
        for time in times_of(bare(claim))
        if not time.named and any(map(time.agrees, evidence.times))
    ]


def _missing_times(claim: str, evidence: PassageFacts) -> Iterator[str]:
    """3 am for 3 pm. Any other time is two numbers: "10:30" may be a place in a text as well."""
    for time in times_of(bare(claim)):
        known = [other for other in evidence.times if time.same_on_the_clock(other)]
        if known and not time.named and not any(map(time.agrees, known)):
            yield f"the time {time.shown} is not in the passage"


def _missing_quotations(claim: str, evidence: PassageFacts) -> Iterator[str]:
    for found in QUOTED.finditer(SPAN.sub(" ", claim)):
        words = next(filter(None, found.groups()))
        if _flat(bare(words)).strip(" .,;:!?…") not in evidence.flat:
            yield words


def _flat(plain: str) -> str:
    return SPACE.sub(" ", plain.translate(STRAIGHT)).lower()


def _missing_names(claim: str, evidence: PassageFacts, language: str) -> Iterator[str]:
    def has_word(word: str) -> bool:
        stems: Sequence[str] = stems_of(word, language)
        return not stems or stems[0] in evidence.bag or word.lower() in evidence.bag

    prose = bare(SPAN.sub(_blank, claim))
    measured = [(number.start, number.end) for number in numbers_of(prose)]
    when: list[Date | Time] = [*dates_of(prose), *times_of(prose)]
    measured += [(one.start, one.end) for one in when]
    # Neither "12 March 2024", "3 PM" nor "100 degrees Celsius" names anybody.
    for start, end in measured:
        prose = f"{prose[:start]}{' ' * (end - start)}{prose[end:]}"
    yield from missing_names(prose, language, has_word, evidence.initials, evidence.capitals)


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])
