"""Finding gaps. The built-in embedder compares the questions, also where books have another one: no
question leaves the machine for this."""

from __future__ import annotations

import asyncio
from array import array
from collections import defaultdict
from collections.abc import Collection, Sequence

from bythebook.embedding.minilm import MiniLM
from bythebook.gaps.alike import grouped
from bythebook.gaps.counting import Wording, by_wording, gap_of, most_asked_first
from bythebook.models.gap import Gap, GapReport
from bythebook.processes import Processes
from bythebook.questions import Questions, Unanswered

# Questions that are grouped at a time, the newest; time and memory are bounded by it.
MOST = 20_000
# So many are embedded before a process of its own has started.
FEW = 200


class Gaps:
    """Groups what is kept. Vectors are held for those who ask again soon, until `forget`."""

    def __init__(
        self, questions: Questions, *, threads: int = 0, in_background: bool = False
    ) -> None:
        self.questions = questions
        self.threads = threads
        self.in_background = in_background
        self.vectors: dict[str, array[float]] = {}
        self._one_at_a_time = asyncio.Lock()

    async def find(
        self, days: int, limit: int, *, books: Collection[str] | None = None
    ) -> GapReport:
        """The gaps of the last days, in these books or in all."""
        async with self._one_at_a_time:
            asked, count = await self.questions.unanswered(days, MOST, books=books)
            gaps = await self._group(await asyncio.to_thread(by_wording, asked))
        return GapReport(
            days=min(days, self.questions.keep_days),
            questions=count,
            groups=len(gaps),
            left_out=count - len(asked),
            gaps=sorted(gaps, key=most_asked_first)[:limit],
        )

    def forget(self) -> None:
        """Nothing of a question outlives it for long."""
        self.vectors.clear()

    async def _group(self, wordings: dict[Wording, list[Unanswered]]) -> list[Gap]:
        known = await self._embedded({text for _, text in wordings})
        books: dict[str, list[Wording]] = defaultdict(list)
        for wording in wordings:
            books[wording[0]].append(wording)
        gaps: list[Gap] = []
        for own in books.values():
            askings = [wordings[wording] for wording in own]
            vectors = [known[text] for _, text in own]
            gaps += await asyncio.to_thread(_gaps_of, askings, vectors)
        return gaps

    async def _embedded(self, texts: set[str]) -> dict[str, array[float]]:
        known = {text: self.vectors[text] for text in texts & self.vectors.keys()}
        new = sorted(texts - known.keys())
        if not new:
            return known
        embedder, processes = MiniLM(threads=self.threads), Processes(self.threads)
        if self.in_background and len(new) > FEW:
            embedder.stay_in(processes)
        try:
            vectors = await embedder.embed_documents(new)
        finally:
            await embedder.close()
            await processes.close()
        known.update(zip(new, vectors, strict=True))
        self.vectors = {**self.vectors, **known} if len(self.vectors) < MOST else dict(known)
        return known


def _gaps_of(askings: Sequence[list[Unanswered]], vectors: Sequence[array[float]]) -> list[Gap]:
    import numpy as np

    groups = grouped(np.array(vectors, np.float32), [len(one) for one in askings])
    return [gap_of([askings[row] for row in group]) for group in groups]
