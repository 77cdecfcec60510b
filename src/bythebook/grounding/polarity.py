"""What a sentence denies, and whether two sentences say opposite things of the same words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from bythebook.grounding.lexicon import RELATIONS, opposites
from bythebook.grounding.words import Word

DENIALS = frozenset(
    """not no never cannot without neither nor none nothing nobody nowhere unlike hardly rarely
    seldom lack lacks lacking avoid avoids avoiding unable fail fails failed failure nicht kein
    keine keinen keiner nie ohne ne pas jamais sans non nunca sin""".split()
)
PAIRED = {("instead", "of"), ("rather", "than"), ("except", "for"), ("far", "from")}
NO_DENIAL = {
    ("not", "only"), ("no", "matter"), ("no", "doubt"), ("not", "just"), ("or", "not"), ("not",
    "merely"), ("not", "least"), ("no", "later"), ("no", "more"), ("no", "less"), ("no",
    "fewer"), ("no", "earlier"), ("not", "more"), ("not", "later"), ("not", "necessarily"),
}  # fmt: skip
SCOPE_ENDS = frozenset(
    """but because since although though unless until while whereas which who and so if when where
    however instead rather therefore""".split()
)
# With these a denial may be turned round: "not until you ask" is "only when you ask".
TURNING = frozenset(
    """only unless until except whether remove removes removed eliminate eliminates prevent prevents
    zero free""".split()
)
CLAUSE_END = re.compile(r"[,;:.!?()—–|]")
SCOPE = 2
PREFIXES = ("un", "in", "im", "non", "dis", "ir", "il", "counter", "anti")
NOT_OPPOSED = frozenset({"option", "options"})
DETERMINERS = frozenset(
    "the a an of in on to for with by from and or its their his her this that these at as".split()
)


def denied_words(words: Sequence[Word], text: str) -> set[int]:
    """Indices of the words a denial reaches: the next few with a meaning, in the same clause."""
    found: set[int] = set()
    for index, word in enumerate(words):
        behind = _scope_start(words, index)
        if behind is None or (index == 0 and word.text in {"no", "non"} and _ends(words, 0, text)):
            continue
        reached = 0
        for at in range(behind, len(words)):
            if CLAUSE_END.search(text, words[at - 1].end, words[at].start):
                break
            if words[at].text in SCOPE_ENDS:
                break
            if words[at].stems:
                found.add(at)
                reached += 1
                if reached == SCOPE:
                    break
    return found


def _scope_start(words: Sequence[Word], index: int) -> int | None:
    word = words[index].text
    following = words[index + 1].text if index + 1 < len(words) else ""
    before = words[index - 1].text if index else ""
    if (word, following) in PAIRED:
        return index + 2
    if word in DENIALS or word.endswith("n't"):
        if (word, following) in NO_DENIAL or (before, word) in NO_DENIAL:
            return None
        return index + 1
    return None


def _ends(words: Sequence[Word], index: int, text: str) -> bool:
    stop = words[index + 1].start if index + 1 < len(words) else len(text)
    return bool(CLAUSE_END.search(text, words[index].end, stop))


def denial_conflict(
    claim: Sequence[Word], claim_text: str, unit: Sequence[Word], unit_text: str
) -> str | None:
    """A word that one denies and the other does not."""
    said = {word.text for word in claim} | {word.text for word in unit}
    if said & TURNING:
        return None
    ours, theirs = _signs(claim, claim_text), _signs(unit, unit_text)
    if _denied(ours) & _denied(theirs):
        return None
    for stem, (signs, word) in ours.items():
        against = _signs_of(stem, ours, theirs)
        if against and not signs & against:
            return word
    return None


Signs = dict[str, tuple[set[bool], str]]
"""Whether each stem is affirmed, denied or both, and a word it stands for."""


def _signs(words: Sequence[Word], text: str) -> Signs:
    denied = denied_words(words, text)
    found: Signs = {}
    for index, word in enumerate(words):
        if word.stems and not word.text.isdigit():
            stem = word.stems[0]
            found.setdefault(stem, (set(), word.text))[0].add(index not in denied)
    return found


def _denied(signs: Signs) -> set[str]:
    return {stem for stem, (found, _) in signs.items() if False in found}


def _signs_of(stem: str, ours: Signs, theirs: Signs) -> set[bool]:
    if stem in theirs:
        return theirs[stem][0]
    if stem in NOT_OPPOSED:
        return set()
    for prefix in PREFIXES:
        for other in (prefix + stem, stem.removeprefix(prefix)):
            if other not in ours and len(other) > 3 and other in theirs:
                return {not sign for sign in theirs[other][0]}
    if stem not in RELATIONS:
        for other in opposites().get(stem, frozenset()) - ours.keys():
            if other in theirs and theirs[other][1] not in NOT_OPPOSED:
                return {not sign for sign in theirs[other][0]}
    return set()


def order_conflict(claim: Sequence[Word], unit: Sequence[Word], in_order: bool) -> str | None:
    """Whether it is "A before B" against "B before A" or "A after B". `in_order` says that the
    claim's words stand in the unit's order, so that only the word between them can differ."""
    for index, word in enumerate(claim):
        if word.text not in RELATIONS:
            continue
        left, right = _sides(claim, index)
        for at, other in enumerate(unit):
            same = other.text == word.text
            if not same and other.text not in opposites().get(word.text, frozenset()):
                continue
            their_left, their_right = _sides(unit, at)
            direct = len(left & their_left) + len(right & their_right)
            crossed = len(left & their_right) + len(right & their_left)
            turned = left & their_right and right & their_left and not right & their_right
            if (same and turned and not in_order) or (
                not same and direct >= 2 and direct > crossed and word.text not in _texts(unit)
            ):
                return word.text
    return None


def _texts(words: Sequence[Word]) -> set[str]:
    return {word.text for word in words}


def _sides(words: Sequence[Word], index: int, reach: int = 4) -> tuple[set[str], set[str]]:
    left = [word.stems[0] for word in words[:index] if word.stems][-reach:]
    right = [word.stems[0] for word in words[index + 1 :] if word.stems][:reach]
    return set(left), set(right)


JOINING = frozenset("by from into to than".split())


def role_conflict(
    claim: Sequence[Word], claim_text: str, unit: Sequence[Word], unit_text: str
) -> str | None:
    """Whether it is "the server calls the client" against "the client calls the server"."""
    if _is_passive(claim) != _is_passive(unit):
        return None
    theirs = {word.stems[0]: at for at, word in _pivots(unit, unit_text)}
    for index, word in _pivots(claim, claim_text):
        at = theirs.get(word.stems[0])
        if at is None:
            continue
        left, right = _clause_sides(claim, claim_text, index)
        their_left, their_right = _clause_sides(unit, unit_text, at)
        if word.text.endswith(("ed", "ing")) and not (
            claim[index + 1].text == unit[at + 1].text and claim[index + 1].text in JOINING
        ):
            continue
        left, right = left - right, right - left
        their_left, their_right = their_left - their_right, their_right - their_left
        if left & their_right and right & their_left and not left & their_left:
            return word.text
    return None


def _clause_sides(words: Sequence[Word], text: str, index: int) -> tuple[set[str], set[str]]:
    first, behind = index, index + 1
    while first and not CLAUSE_END.search(text, words[first - 1].end, words[first].start):
        first -= 1
    while behind < len(words) and not CLAUSE_END.search(
        text, words[behind - 1].end, words[behind].start
    ):
        behind += 1
    return _sides(words[first:behind], index - first, 3)


def _pivots(words: Sequence[Word], text: str) -> Iterator[tuple[int, Word]]:
    """Words that stand like a verb: between two others, not in a list, without an article."""
    count = Counter(word.stems[0] for word in words if word.stems)
    for index in range(1, len(words) - 1):
        before, word, behind = words[index - 1 : index + 2]
        if not word.stems or count[word.stems[0]] > 1 or before.text in DETERMINERS:
            continue
        if behind.text in {"and", "or", "of"}:
            continue
        if "," in text[before.end : word.start] or "," in text[word.end : behind.start]:
            continue
        yield index, word


def _is_passive(words: Sequence[Word]) -> bool:
    return any(word.text == "by" for word in words)


STRONG = frozenset("all every always must only never entirely exclusively guaranteed any".split())
WEAK = frozenset(
    """may might could some usually often sometimes most many typically generally normally possibly
    perhaps probably mostly rarely occasionally likely""".split()
)


def strengthened(claim: Sequence[Word], unit: Sequence[Word]) -> tuple[str, str] | None:
    """A word of the claim that promises more than the passage: always for usually."""
    ours, theirs = _texts(claim), _texts(unit)
    if any(word in DENIALS or word.endswith("n't") for word in ours | theirs):
        return None
    strong = sorted((ours & STRONG) - theirs)
    weak = sorted((theirs & WEAK) - ours)
    if strong and weak and not theirs & STRONG:
        return strong[0], weak[0]
    return None
