"""Long texts, cut into pieces a small model was trained for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise


def even_windows(pieces: Sequence[int], size: int) -> list[Sequence[int]]:
    """As few windows as possible, all of about the same length, that together hold every piece.

    Even windows make their plain mean a fair one: with full windows and a short rest, the rest
    would count as much as all before it. No pieces at all make one empty window.
    """
    count = max(1, math.ceil(len(pieces) / size))
    edges = [len(pieces) * i // count for i in range(count + 1)]
    return [pieces[start:end] for start, end in pairwise(edges)]
