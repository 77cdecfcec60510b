"""Which questions mean much the same, by their vectors. Nothing here depends on chance; what comes
out depends on the order of the rows only where two are exactly as good."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Least cosine of two questions that count as one; see benchmarks/gaps.py for how it was chosen.
ALIKE = 0.70
# Rows compared with all others at a time: 20,000 questions need 20 MB for it.
BLOCK = 256


def grouped(
    vectors: NDArray[np.float32], weights: Sequence[int], alike: float = ALIKE
) -> list[list[int]]:
    """The rows in groups, each row in one. First in a group is its centre, which all others are
    like: there are no chains from one meaning to another.

    The question with most askings around it becomes a centre, then the next one that is like no
    centre, and so on. Then every other question goes to the centre nearest to it.
    """
    import numpy as np

    count = len(vectors)
    # Whole numbers, which 32 bits hold exactly up to 16 million.
    asked = np.asarray(weights, np.float32)
    around = np.zeros(count, np.float32)
    for rows in _blocks(np.arange(count)):
        around[rows] = (vectors[rows] @ vectors.T >= alike).astype(np.float32) @ asked
    densest = np.lexsort((np.arange(count), -asked, -around))
    centres: list[int] = []
    is_taken = np.zeros(count, bool)
    for rows in _blocks(densest):
        near = vectors[rows] @ vectors.T >= alike
        for row, like_it in zip(rows.tolist(), near, strict=True):
            if not is_taken[row]:
                centres.append(row)
                is_taken |= like_it
                is_taken[row] = True
    groups: dict[int, list[int]] = {centre: [centre] for centre in centres}
    others = np.setdiff1d(np.arange(count), centres)
    middle = vectors[centres].T
    for rows in _blocks(others):
        nearest = (vectors[rows] @ middle).argmax(axis=1)
        for row, centre in zip(rows.tolist(), nearest.tolist(), strict=True):
            groups[centres[centre]].append(row)
    return list(groups.values())


def _blocks(rows: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    for start in range(0, len(rows), BLOCK):
        yield rows[start : start + BLOCK]
