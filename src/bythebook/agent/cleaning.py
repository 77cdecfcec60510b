"""What a language model writes, without signs that a reader can't see or that no UTF-8 holds."""

from __future__ import annotations

import re

# Signs that turn the order of others around, or that no screen shows. Joiners and variation
# selectors stay: Persian, Hindi and pictures are written with them.
UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e"
    "\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
HALF = re.compile("[\ud800-\udfff]")
FIRST_HALVES = ("\ud800", "\udbff")


class Cleaning:
    """Takes text piece by piece; what is checked is then what is seen. A sign whose two halves
    come in two pieces is put together, and a half alone is shown as a sign that can't be."""

    def __init__(self) -> None:
        self._half = ""

    def clean(self, piece: str) -> str:
        text = self._half + piece
        self._half = ""
        if text and FIRST_HALVES[0] <= text[-1] <= FIRST_HALVES[1]:
            text, self._half = text[:-1], text[-1]
        if HALF.search(text):
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return UNSEEN.sub("", text)
