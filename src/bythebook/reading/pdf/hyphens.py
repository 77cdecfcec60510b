"""Words that were broken at the end of a line."""

from __future__ import annotations

import re
from collections.abc import Iterable

WORD = re.compile(r"[^\W\d_]+(?:[-‐][^\W\d_]+)*")
# Read from the end of a line: from its beginning, each letter of a long word would be tried.
DAEH = re.compile(r"(?:[^\W\d_]+-)*[^\W\d_]{2,}")
HEAD = re.compile(r"(?P<tail>[^\W\d_]+)")


class Vocabulary:
    """The words of a document as they stand within lines."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.words: set[str] = set()
        for line in lines:
            found = [word.lower() for word in WORD.findall(line)]
            if _broken_word(line):
                found = found[:-1]
            self.words.update(found)
            self.words.update(part for word in found for part in word.split("-"))

    def join(self, left: str, right: str) -> str:
        """Two lines as one text. A hyphen goes when the document knows the whole word, or does not
        know both halves as words of their own."""
        end = _broken_word(left)
        start = HEAD.match(right)
        if not end or not start:
            broken = left.endswith(("-", "‐")) and right[:1].islower() and left[-2:-1].isalnum()
            return left + right if broken else f"{left} {right}"
        head, tail = end.lower(), start["tail"].lower()
        if head + tail in self.words:
            return left[:-1] + right
        both = head.rpartition("-")[2] in self.words and tail in self.words
        if both or not start["tail"].islower() or f"{head}-{tail}" in self.words:
            return left + right
        return left[:-1] + right


def _broken_word(line: str) -> str:
    """What stands before the hyphen that a line ends with."""
    if not line.endswith(("-", "‐")):
        return ""
    found = DAEH.match(line[line.rfind(" ") + 1 : -1][::-1])
    return found[0][::-1] if found else ""
