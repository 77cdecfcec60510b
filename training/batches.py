"""Rows as word pieces on the device, put together into batches of like length.

Needs torch and numpy alone; `training.gather` writes what it reads.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import torch  # type: ignore[import-not-found]
from torch import Tensor

from training.network import END, PAD, START

TRAIN, UNKNOWN = 0, -1
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Rows:
    """All that gather wrote, on the device; a batch is put together from its parts."""

    def __init__(self, file: Path) -> None:
        stored = np.load(file)
        self.flat = torch.tensor(stored["flat"].astype(np.int32), device=DEVICE)
        lengths = stored["lengths"].astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        col = {
            name: stored[name].astype(np.int64)
            for name in ("asked", "heading", "text", "start", "end")
        }
        self.head, self.part = stored["head"], stored["part"]
        self.label, self.marked, self.set = stored["label"], stored["marked"], stored["set"]
        self.weight, self.row, self.sets = stored["weight"], stored["row"], stored["sets"].tolist()
        longest_asked, longest_heading = stored["longest"].tolist()
        asked = np.minimum(lengths[col["asked"]], longest_asked)
        heading = np.minimum(lengths[col["heading"]], longest_heading)
        text = col["end"] - col["start"]
        self.length, self.text_length = 3 + asked + heading + text, text
        # A long question is kept from its end: what came before is an earlier turn.
        first = starts[col["asked"]] + lengths[col["asked"]] - asked
        parts = (
            first,
            asked,
            starts[col["heading"]],
            heading,
            starts[col["text"]] + col["start"],
            text,
        )
        self.parts = torch.tensor(np.stack(parts, 1), device=DEVICE)
        evidence = stored["evidence"].reshape(-1, 4)
        self.evidence = evidence[np.argsort(evidence[:, 0], kind="stable")]
        self.balance = self._balance()
        self.question, self.text = stored["question"], stored["text"]

    def _balance(self) -> np.ndarray:
        """Right and wrong of each set count alike, or the set itself would tell. Half answers,
        which have no counterpart, count half."""
        keys = list(zip(self.set.tolist(), self.head.tolist(), self.label.tolist(), strict=True))
        counts = Counter(keys)
        even = {k: (n + counts[k[0], k[1], 1 - k[2]]) / (2 * n) for k, n in counts.items()}
        return np.array([min(3.0, even[key]) for key in keys], np.float32)

    def batch(self, chosen: np.ndarray) -> tuple[Tensor, Tensor, Tensor]:
        """Ids, kinds, and the place where each passage's text begins."""
        parts = self.parts[torch.as_tensor(chosen, device=DEVICE)]
        first, asked, above, heading, begin, text = (column[:, None] for column in parts.unbind(1))
        widest = int(-(-int(self.length[chosen].max()) // 16) * 16)
        at = torch.arange(widest, device=DEVICE)[None].expand(len(chosen), -1)
        edge = 1 + asked
        source = torch.where(at < edge, first + at - 1, above + at - edge - 1)
        body = edge + 1 + heading
        source = torch.where(at >= body, begin + at - body, source)
        ids = self.flat[source.clamp(0, len(self.flat) - 1)].long()
        ids = torch.where(at == 0, START, ids)
        ids = torch.where((at == edge) | (at == body + text), END, ids)
        ids = torch.where(at > body + text, PAD, ids)
        return ids, (at > edge).long(), body[:, 0]

    def evidence_of(self, chosen: np.ndarray, begin: Tensor, width: int) -> tuple[Tensor, Tensor]:
        """Wanted values of evidence, and which word pieces count."""
        wanted = np.zeros((len(chosen), width), np.float32)
        starts = begin.cpu().numpy()
        lows = np.searchsorted(self.evidence[:, 0], chosen)
        highs = np.searchsorted(self.evidence[:, 0], chosen, side="right")
        for line, (low, high) in enumerate(zip(lows, highs, strict=True)):
            for _, a, b, value in self.evidence[low:high]:
                wanted[line, starts[line] + int(a) : starts[line] + int(b)] = value
        return torch.tensor(wanted, device=DEVICE), self.inside(chosen, begin, width)

    def inside(self, chosen: np.ndarray, begin: Tensor, width: int) -> Tensor:
        at = torch.arange(width, device=DEVICE)[None]
        length = torch.as_tensor(self.text_length[chosen], device=DEVICE)[:, None]
        return (at >= begin[:, None]) & (at < begin[:, None] + length)


def repeated(rows: Rows, chosen: np.ndarray) -> np.ndarray:
    """Rows as often as their weight says: our own count more than once."""
    return np.repeat(chosen, rows.weight[chosen].astype(int))


def drawn(rows: Rows, public: float, made: float, longest: int, seed: int) -> np.ndarray:
    """The rows of one pass: all of our own sentences and of the question sets, a share of the
    others. Our own questions come with all their passages, apart from these."""
    known = (rows.part == TRAIN) & (rows.label != UNKNOWN) & (rows.question < 0)
    known &= rows.length <= longest
    asked = ("own", "clapnq_dev", "mtrag_un", "squad2", "begin")
    shares = {**dict.fromkeys(asked, 1.0), "made": made}
    share = np.array([shares.get(name, public) for name in rows.sets])[rows.set]
    lucky = np.random.default_rng(100 + seed).random(len(share)) < share
    return repeated(rows, np.flatnonzero(known & lucky))


def asked(rows: Rows, wrong: int, longest: int, seed: int) -> np.ndarray:
    """The question of each of our own rows to train on, -1 for others: of each question all right
    passages and some wrong ones, first those that answer another question about the same text."""
    question = np.where(rows.part == TRAIN, rows.question, -1)
    widest = np.zeros(question.max() + 2, np.int64)
    np.maximum.at(widest, question, rows.length)
    question[widest[question] > longest] = -1
    answering = np.bincount(rows.text, (rows.label > 0) & (question >= 0))[rows.text]
    chance = np.random.default_rng(200 + seed).random(len(question))
    is_wrong = (question >= 0) & (rows.label == 0)
    order = np.lexsort((chance, -answering, question, ~is_wrong))[: is_wrong.sum()]
    first = np.searchsorted(question[order], question[order])
    question[order[np.arange(len(order)) - first >= wrong]] = -1
    return question


def question_batches(
    length: np.ndarray, question: np.ndarray, pieces: int, seed: int
) -> list[np.ndarray]:
    """All rows of a question in one batch, with questions whose rows are about as long."""
    pick = np.random.default_rng(seed)
    places = np.flatnonzero(question >= 0)
    if not len(places):
        return []
    places = places[np.argsort(question[places], kind="stable")]
    starts = np.flatnonzero(np.diff(question[places], prepend=-1))
    groups = np.split(places, starts[1:])
    widest = np.array([length[group].max() for group in groups])
    found: list[np.ndarray] = []
    batch: list[np.ndarray] = []
    width = 0
    for number in np.argsort(widest + pick.normal(0, 12, len(groups)), kind="stable"):
        size = sum(map(len, batch)) + len(groups[number])
        if batch and max(width, widest[number]) * size > pieces:
            found.append(np.concatenate(batch))
            batch, width = [], 0
        batch.append(groups[number])
        width = max(width, widest[number])
    found += [np.concatenate(batch)] if batch else []
    pick.shuffle(found)
    return found


def batches(
    length: np.ndarray, chosen: np.ndarray, pieces: int, seed: int | None
) -> list[np.ndarray]:
    """Rows of like length together, up to so many word pieces; in random order with a seed."""
    pick = np.random.default_rng(seed)
    noise = pick.normal(0, 12, len(chosen)) if seed is not None else np.zeros(len(chosen))
    order = chosen[np.argsort(length[chosen] + noise, kind="stable")]
    found, start = [], 0
    while start < len(order):
        end = start + 1
        widest = length[order[start]]
        while end < len(order):
            widest = max(widest, length[order[end]])
            if widest * (end - start + 1) > pieces:
                break
            end += 1
        found.append(order[start:end])
        start = end
    if seed is not None:
        pick.shuffle(found)
    return found
