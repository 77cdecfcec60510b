"""Where sentences end."""

from __future__ import annotations

import re
from collections.abc import Iterator

# A marker behind the full stop belongs to the sentence before it.
MARKERS = r"(?:[ \t]*\[\d{1,3}(?:\s*,\s*\d{1,3})*\])*"
END = re.compile(rf"(?:[.!?…]+[\"'”’»)\]*_]*{MARKERS}(?=\s|$)|[。！？]+[」』”）]*{MARKERS})")
OPENING = re.compile(r"\s+[\"'“‘«(\[*_`]*(?P<first>\S?)", re.DOTALL)
WORD_BEFORE = re.compile(r"(\S+)$")
ABBREVIATIONS = frozenset(
    """e.g. i.e. etc. cf. vs. al. approx. ca. resp. incl. no. nos. fig. figs. eq. eqs. sec. ch. vol.
    pp. p. ed. eds. mr. mrs. ms. dr. prof. st. jr. sr. inc. ltd. co. corp. dept. est. jan. feb. mar.
    apr. jun. jul. aug. sep. sept. oct. nov. dec. u.s. u.k. a.m. p.m. z.b. d.h. bzw. usw.""".split()
)
INITIAL = re.compile(r"^\W*[^\W\d_]\.$")
# A marker that brings the words it translates, not yet closed: `[1: "A node is …`
OPEN_QUOTE = re.compile(r"\[\d{1,3}\s*:[^\]\n]*$")
LIST_NUMBER = re.compile(r"^\W*\d{1,3}\.$")


def split_sentences(text: str, start: int = 0, end: int | None = None) -> list[tuple[int, int]]:
    """Offsets of the sentences of a stretch of prose, without the white space between them."""
    stop = len(text) if end is None else end
    found: list[tuple[int, int]] = []
    for boundary in [*_boundaries(text, start, stop), stop]:
        left, right = trimmed(text, start, boundary)
        if left < right:
            found.append((left, right))
        start = boundary
    return found


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The range without white space at its ends."""
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end


def _boundaries(text: str, start: int, end: int) -> Iterator[int]:
    for found in END.finditer(text, start, end):
        if found.end() < end and is_boundary(text, start, found.start(), found.end()):
            yield found.end()
            start = found.end()


def is_boundary(text: str, start: int, stop: int, after: int) -> bool:
    """Whether the sentence that began at `start` ends at the full stop at `stop`; what follows
    begins at `after`."""
    if text[stop] in "。！？":
        return True
    if _in_code(text, start, stop) or OPEN_QUOTE.search(text[start:stop]):
        return False
    following = OPENING.match(text, after)
    first = following["first"] if following else ""
    if "\n\n" in (following[0] if following else ""):
        return True
    if text[stop] in "!?":
        return not first.islower()  # “Really?” he asked.
    before = WORD_BEFORE.search(text, max(start, stop - 30), stop + 1)
    word = before[0].lower().lstrip("([*_\"'“‘") if before else ""
    if word in ABBREVIATIONS:
        # "etc." may end a sentence, "e.g." can't.
        return word in {"etc.", "a.m.", "p.m.", "inc.", "ltd."} and first.isupper()
    if INITIAL.match(word) or (
        LIST_NUMBER.match(word) and not text[start:stop].strip(" \t\n.0123456789#*_>+-")
    ):
        return False
    return not first.islower()


def _in_code(text: str, start: int, stop: int) -> bool:
    return text.count("`", start, stop) % 2 == 1
