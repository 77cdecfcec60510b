"""A claim that is nearly a copy of a sentence, word by word: what was changed in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from bythebook.grounding.lexicon import light_stems, opposites, same_meaning
from bythebook.grounding.numbers import numbers_of
from bythebook.grounding.polarity import DENIALS, NOT_OPPOSED
from bythebook.index.sparse import terms

# So much of a claim must stand in the sentence, in its order, for the rest to be a change of it.
NEARLY = 0.7
# A longer stretch is a clause that was left out or added, not a word that was changed.
A_FEW = 3

Tokens = Sequence[tuple[str, str]]
"""Each token in lower case without punctuation, and as it is written."""


def changes(claim: Tokens, sentence: Tokens, names: frozenset[str]) -> Iterator[str]:
    """What makes a near copy say something else. `names` are the names the passage knows."""
    ours, theirs = [token for token, _ in claim], [token for token, _ in sentence]
    small = [
        step
        for step in nearly(claim, sentence) or ()
        if step[0] != "equal" and step[2] - step[1] <= A_FEW and step[4] - step[3] <= A_FEW
    ]
    yield from _denial(
        [word for _, a, b, _, _ in small for word in theirs[a:b]],
        [word for _, _, _, c, d in small for word in ours[c:d]],
    )
    for kind, a, b, c, d in small:
        if kind == "replace":
            before_name = d < len(claim) and not claim[d][1][:1].islower()
            yield from _replaced(
                sentence[a:b], claim[c:d], names, at_start=c == 0, before_name=before_name
            )


def nearly(claim: Tokens, sentence: Tokens) -> Sequence[tuple[str, int, int, int, int]] | None:
    """How the sentence becomes the claim, if the claim is nearly a copy."""
    ours, theirs = [token for token, _ in claim], [token for token, _ in sentence]
    if len(ours) < 3 or len(set(ours) & set(theirs)) < NEARLY * len(set(ours)):
        return None
    steps = SequenceMatcher(None, theirs, ours, autojunk=False).get_opcodes()
    same = sum(d - c for kind, _, _, c, d in steps if kind == "equal")
    return steps if same >= NEARLY * len(ours) else None


def _denial(before: list[str], now: list[str]) -> Iterator[str]:
    removed, added = _denials(before), _denials(now)
    if added and not removed:
        yield f"the passage says it without “{added[0]}”"
    elif removed and not added and not any(_is_opposed(word) for word in now):
        yield f"the passage says “{removed[0]}”"


def _denials(words: list[str]) -> list[str]:
    return [word for word in words if word in DENIALS or word.endswith("n't")]


def _is_opposed(word: str) -> bool:
    return word.startswith(("un", "in", "im", "non", "dis"))


def _replaced(
    before: Tokens, now: Tokens, names: frozenset[str], *, at_start: bool, before_name: bool
) -> Iterator[str]:
    was = numbers_of(" ".join(written for _, written in before))
    became = numbers_of(" ".join(written for _, written in now), with_one=False)
    if was and became and {n.value for n in was}.isdisjoint(n.value for n in became):
        yield f"the passage says {was[0].shown}, not {became[0].shown}"
    for old, _ in before:
        for new, _ in now:
            if _contradict(old, new):
                yield f"the passage says “{old}”, not “{new}”"
    if len(before) == len(now) == 1:
        (old, old_written), (new, new_written) = before[0], now[0]
        if new_written.endswith(":") or not (_says_something(old) and _says_something(new)):
            return
        if (old in names or before_name) if at_start else _is_other_name(old, new, new_written):
            yield f"the passage says “{old_written}”, not “{new_written}”"


def _says_something(word: str) -> bool:
    stem = next(terms(word, "en"), None)
    return stem is not None and stem not in light_stems()


def _contradict(old: str, new: str) -> bool:
    if {old, new} & NOT_OPPOSED:
        return False
    against = opposites()
    if new in against.get(old, frozenset()):
        return True
    stem = next(terms(new, "en"), new)
    return stem in against.get(next(terms(old, "en"), old), frozenset())


def _is_other_name(old: str, new: str, written: str) -> bool:
    if not written.strip("\"'“‘(")[:1].isupper() or old in same_meaning().get(new, frozenset()):
        return False
    return old.rstrip("s") != new.rstrip("s") and old[:4] != new[:4]
