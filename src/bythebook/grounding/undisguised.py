"""Text as a reader of it would take it: without the tricks that hide words from a search."""

from __future__ import annotations

import re
import unicodedata
from html import unescape

# Zero-width signs, the soft hyphen, variation selectors, and tags that no screen shows.
INVISIBLE = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2060-\u2064\u206a-\u206f"
    "\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)
# What turns the order of the signs around, up to its end.
REVERSED = re.compile("[\u202e\u2067]([^\u202c\u2069\\n]*)[\u202c\u2069]?")
DIRECTIONS = re.compile("[\u202a-\u202e\u2066-\u2069]")
# Letters of other scripts that look like Latin ones.
ALIKE = str.maketrans(
    "ıаеіорсухѕјһԁԛԝАВЕКМНОРСТХІЅЈοαενικρτυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "iaeiopcyxsjhdqwABEKMHOPCTXISJoaevikptuxABEZHIKMNOPTYX",
)
LATIN = re.compile("[A-Za-z]")


def undisguised(text: str) -> str:
    """For looking through only: it is no longer the book's text, and stands elsewhere in it."""
    if text.isascii() and "&" not in text:
        return text
    plain = unescape(INVISIBLE.sub("", text))
    plain = REVERSED.sub(lambda found: found[1][::-1], plain)
    plain = unicodedata.normalize("NFKC", DIRECTIONS.sub("", plain))
    return re.sub(r"\w+", _as_latin, plain)


def _as_latin(word: re.Match[str]) -> str:
    """Only in a word that has Latin letters as well: all in Cyrillic, it is Cyrillic."""
    return word[0].translate(ALIKE) if LATIN.search(word[0]) else word[0]
