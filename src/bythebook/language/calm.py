"""Text of a stranger, without what makes looking through it slow."""

from __future__ import annotations

import re

# Longer than any indentation that means something.
LONG_SPACE = re.compile(r"\s{17,}")


def calm(text: str) -> str:
    """With every long run of white space as short as it can be: patterns that look for words try
    each place in such a run anew, and a thousand blanks can take them a minute."""
    return LONG_SPACE.sub(_shortened, text)


def _shortened(run: re.Match[str]) -> str:
    return "\n\n" if run[0].count("\n") > 1 else "\n" if "\n" in run[0] else " "
