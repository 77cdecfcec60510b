"""Trains the large reader, lets it score the unlabelled pairs, and trains the small one on them.

    python training/train.py large --work WORK --start all-mpnet.pt --name first → WORK/first.pt
    python training/train.py large --work WORK --start WORK/first.pt --name one --seed 1
    python training/train.py average --work WORK --name large --of one two  → WORK/large.pt
    python training/train.py score --work WORK                             → WORK/scores.pt
    python training/train.py small --work WORK --start minilm.pt --name small --layers 0 0 1 1 …
    python training/train.py read --work WORK --name small                 → WORK/read-small.npz

Needs torch and numpy alone, so that it runs on a machine that has nothing else; WORK/rows.npz is
what `training.gather` wrote. `read` notes what a network says of the rows that nothing was trained
on, for `training.judge`. Seeds are fixed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch  # type: ignore[import-not-found]
from torch import Tensor
from torch.nn import functional  # type: ignore[import-not-found]

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from training.batches import (
    DEVICE,
    TRAIN,
    UNKNOWN,
    Rows,
    asked,
    batches,
    drawn,
    question_batches,
    repeated,
)
from training.network import END, MASK, PAD, START, Reader, from_bert, from_mpnet, load, save

SMOOTHING, EVIDENCE_WEIGHT, NO_EVIDENCE_WEIGHT = 0.005, 2.0, 0.2
# What the choice among the passages of one question weighs beside each passage's own label.
AMONG_WEIGHT = 0.3
# A logit beyond this says no more; the small network need not follow it there.
SURE = 7.0
# Between these steps it is measured how long one takes: the first ones are slow.
WARM, TIMED = 60, 160


def autocast() -> torch.autocast:
    return torch.autocast(DEVICE, dtype=torch.bfloat16)


def freeze(reader: Reader, lowest: int) -> None:
    """Leaves the word vectors and so many layers above them as they are, which takes a third of
    the work away: nothing is handed back through them."""
    embeddings = (reader.words, reader.places, reader.kinds, reader.norm)
    for module in (*embeddings, *reader.layers[:lowest]):
        module.requires_grad_(False)


def prepare(reader: Reader, how: argparse.Namespace) -> None:
    if how.frozen:
        freeze(reader, how.frozen)
    for layer in reader.layers:
        layer.dropout = how.dropout
    reader.shape = replace(reader.shape, dropout=how.dropout)
    if how.compile:
        for layer in reader.layers:
            layer.compile(dynamic=True)
    reader.to(DEVICE).train()


class Schedule:
    """AdamW with a warm-up and a linear decay; says how fast it goes. Where the steps planned
    would take longer than `seconds`, it leaves some out, spread evenly, and says so."""

    def __init__(self, reader: Reader, rate: float, steps: int, seconds: float) -> None:
        self.seconds = seconds
        parameters = [p for p in reader.parameters() if p.requires_grad]
        self.reader, self.rate, self.steps, self.step, self.began = (
            reader,
            rate,
            steps,
            0,
            time.monotonic(),
        )
        self.optimizer = torch.optim.AdamW(
            parameters, lr=rate, weight_decay=0.01, fused=DEVICE == "cuda"
        )
        self.sums: Counter[str] = Counter()
        self.kept = 1.0

    def wants(self, place: int) -> bool:
        """Whether there is time for the batch at this place of the plan."""
        return place < TIMED or int(place * self.kept) != int((place - 1) * self.kept)

    def take(self, losses: dict[str, Tensor]) -> None:
        share = self.step / self.steps
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate * min(share / 0.06, max(0.0, (1 - share) / 0.94))
        self.optimizer.zero_grad(set_to_none=True)
        torch.stack(list(losses.values())).sum().backward()
        torch.nn.utils.clip_grad_norm_(self.reader.parameters(), 1.0)
        self.optimizer.step()
        self.step += 1
        if self.step == WARM:
            self.warm = time.monotonic()
        if self.step == TIMED:
            self._fit_in((time.monotonic() - self.warm) / (TIMED - WARM))
        for name, loss in losses.items():
            self.sums[name] += loss.detach()
        if self.step % 200 == 0 or self.step == 20:
            told = ", ".join(
                f"{name} {float(value) / 200:.4f}" for name, value in self.sums.items()
            )
            self.sums.clear()
            left = (time.monotonic() - self.began) / self.step * (self.steps - self.step)
            print(f"{self.step}/{self.steps}: {told}; {left:.0f} s left", flush=True)

    def _fit_in(self, each: float) -> None:
        affordable = TIMED + int((self.seconds - time.monotonic() + self.began) / each)
        if affordable < self.steps:
            print(f"{affordable} of {self.steps} steps, for want of time", flush=True)
            self.kept = (affordable - TIMED) / (self.steps - TIMED)
            self.steps = affordable


def weighted(loss: Tensor, weight: Tensor) -> Tensor:
    return (loss * weight).sum() / weight.sum().clamp(min=1e-6)


def masked(ids: Tensor, head: Tensor, most: float) -> Tensor:
    """Up to such a share of a question's and a passage's word pieces hidden, in each row another
    share, so that no row can be learnt by heart. Whether a sentence holds may hang on each."""
    share = torch.rand(len(ids), 1, device=ids.device) * most * (head == 0)[:, None]
    hidden = torch.rand(ids.shape, device=ids.device) < share
    hidden &= (ids != PAD) & (ids != START) & (ids != END)
    return torch.where(hidden, MASK, ids)


def among(logits: Tensor, label: Tensor, question: Tensor) -> Tensor:
    """How surely each question's right passages are told from its others."""
    same = question[:, None] == question[None, :]
    first = torch.triu(same, diagonal=1).sum(0) == 0
    lowest = torch.finfo(logits.dtype).min
    own = same[first & (question >= 0)]
    right = own & (label == 1)[None]
    mixed = right.any(1) & (own & (label < 1)[None]).any(1)
    spread = logits[None].expand(len(own), -1)
    every = torch.logsumexp(spread.masked_fill(~own, lowest), 1)
    best = torch.logsumexp(spread.masked_fill(~right, lowest), 1)
    return ((every - best) * mixed).sum() / mixed.sum().clamp(min=1)


def labelled_losses(
    rows: Rows, reader: Reader, chosen: np.ndarray, hidden: float
) -> dict[str, Tensor]:
    ids, kinds, begin = rows.batch(chosen)
    head = torch.as_tensor(rows.head[chosen], device=DEVICE)
    ids = masked(ids, head, hidden)
    with autocast():
        said = reader(ids, kinds)
    label = torch.as_tensor(rows.label[chosen], device=DEVICE)
    wanted = label * (1 - SMOOTHING) + SMOOTHING / 2
    logits = torch.where(head == 1, said["supports"], said["answers"])
    weight = torch.as_tensor(rows.balance[chosen], device=DEVICE)
    loss = functional.binary_cross_entropy_with_logits(logits, wanted, reduction="none")
    losses = {
        "answers": (loss * weight * (head == 0)).sum() / len(chosen),
        "supports": (loss * weight * (head == 1)).sum() / len(chosen),
    }
    marked = (head == 0) & (
        (torch.as_tensor(rows.marked[chosen], device=DEVICE) == 1) | (label == 0)
    )
    target, inside = rows.evidence_of(chosen, begin, ids.shape[1])
    each = functional.binary_cross_entropy_with_logits(said["evidence"], target, reduction="none")
    by_row = (each * inside).sum(1) / inside.sum(1).clamp(min=1)
    weight = marked * torch.where(label > 0, 1.0, NO_EVIDENCE_WEIGHT)
    losses["evidence"] = EVIDENCE_WEIGHT * (by_row * weight).sum() / len(chosen)
    question = torch.as_tensor(rows.question[chosen], device=DEVICE)
    losses["among"] = AMONG_WEIGHT * among(said["answers"], label, question)
    return losses


def train_large(rows: Rows, reader: Reader, rate: float, how: argparse.Namespace) -> None:
    torch.manual_seed(1 + how.seed)
    prepare(reader, how)
    if reader.shape.relative:
        reader.distance.weight.requires_grad_(False)
    first, last = how.public
    plan = []
    for n, share in enumerate(np.linspace(first, last, how.passes), how.passes * how.seed):
        one = batches(
            rows.length, drawn(rows, share, how.made, how.longest, seed=n), how.pieces, seed=n
        )
        one += question_batches(
            rows.length, asked(rows, how.wrong, how.longest, n), how.pieces, seed=n
        )
        np.random.default_rng(n).shuffle(one)
        plan += one
    schedule = Schedule(reader, rate, len(plan), how.seconds)
    print(f"{sum(map(len, plan))} rows, {len(plan)} steps", flush=True)
    for place, batch in enumerate(plan):
        if schedule.wants(place):
            schedule.take(labelled_losses(rows, reader, batch, how.hidden))


def average(files: list[Path]) -> Reader:
    """The mean of networks that were trained from one start."""
    readers = [load(file) for file in files]
    states = [reader.state_dict() for reader in readers]
    mean = {name: sum(state[name] for state in states) / len(states) for name in states[0]}
    readers[0].load_state_dict(mean)
    return readers[0]


@torch.no_grad()  # type: ignore[untyped-decorator]
def said(
    rows: Rows, reader: Reader, chosen: np.ndarray
) -> Iterator[tuple[np.ndarray, dict[str, Tensor], Tensor]]:
    reader.to(DEVICE).eval()
    for batch in batches(rows.length, chosen, 200_000 if DEVICE == "cuda" else 8_000, None):
        ids, kinds, begin = rows.batch(batch)
        with autocast():
            found = reader(ids, kinds)
        yield batch, found, begin


def score(rows: Rows, reader: Reader, file: Path) -> None:
    """What the large network says of every training pair, labelled or not."""
    chosen = np.flatnonzero(rows.part == TRAIN)
    logits = torch.zeros(len(rows.head))
    starts = np.concatenate([[0], np.cumsum(rows.text_length * (rows.head == 0))])
    evidence = torch.zeros(int(starts[-1]), dtype=torch.float16, device=DEVICE)
    began = time.monotonic()
    for batch, found, begin in said(rows, reader, chosen):
        head = torch.as_tensor(rows.head[batch], device=DEVICE)
        logits[batch] = torch.where(head == 1, found["supports"], found["answers"]).cpu()
        place = evidence_places(rows, starts, batch, begin, found["evidence"].shape[1])
        evidence[place[2]] = found["evidence"][place[0], place[1]].half()
    torch.save({"logits": logits, "evidence": evidence.cpu()}, file)
    print(f"scored {len(chosen)} pairs in {time.monotonic() - began:.0f} s", flush=True)


def evidence_places(
    rows: Rows, starts: np.ndarray, batch: np.ndarray, begin: Tensor, width: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Line and column of each text piece of the questions' rows, and its place in the scores."""
    inside = (
        rows.inside(batch, begin, width)
        & torch.as_tensor(rows.head[batch] == 0, device=DEVICE)[:, None]
    )
    line, column = inside.nonzero(as_tuple=True)
    base = torch.as_tensor(starts[batch], device=DEVICE) - begin
    return line, column, base[line] + column


def train_small(
    rows: Rows, reader: Reader, scores: Path, rate: float, how: argparse.Namespace
) -> None:
    torch.manual_seed(2)
    prepare(reader, how)
    stored = torch.load(scores, weights_only=True)
    logits = stored["logits"].to(DEVICE).clamp(-SURE, SURE)
    evidence = stored["evidence"].to(DEVICE)
    starts = np.concatenate([[0], np.cumsum(rows.text_length * (rows.head == 0))])
    chosen = repeated(rows, np.flatnonzero(rows.part == TRAIN))
    plan = [
        b for n in range(how.passes) for b in batches(rows.length, chosen, how.pieces, seed=10 + n)
    ]
    schedule = Schedule(reader, rate, len(plan), how.seconds)
    print(f"{len(chosen)} pairs, {len(plan)} steps", flush=True)
    for place, batch in enumerate(plan):
        if not schedule.wants(place):
            continue
        ids, kinds, begin = rows.batch(batch)
        with autocast():
            found = reader(ids, kinds)
        head = torch.as_tensor(rows.head[batch], device=DEVICE)
        label = torch.as_tensor(rows.label[batch], device=DEVICE)
        own = torch.where(head == 1, found["supports"], found["answers"])
        taught = logits[torch.as_tensor(batch, device=DEVICE)]
        soft = torch.sigmoid(taught)
        # A known label counts for half, what the large network says for the other.
        wanted = torch.where(label == UNKNOWN, soft, 0.5 * soft + 0.5 * label)
        loss = functional.binary_cross_entropy_with_logits(own, wanted, reduction="none")
        near = functional.smooth_l1_loss(own, taught, reduction="none")
        near = near * (label == UNKNOWN) + 0.3 * near * (label != UNKNOWN)
        both = loss + 0.1 * near
        losses = {
            "answers": (both * (head == 0)).sum() / len(batch),
            "supports": (both * (head == 1)).sum() / len(batch),
        }
        line, column, place = evidence_places(rows, starts, batch, begin, ids.shape[1])
        if len(line):
            target = torch.sigmoid(evidence[place].float())
            each = functional.binary_cross_entropy_with_logits(
                found["evidence"][line, column], target, reduction="none"
            )
            # Where nothing is evidence there is little to learn.
            losses["evidence"] = weighted(each, 0.2 + soft[line])
        schedule.take(losses)


def read(rows: Rows, reader: Reader, file: Path) -> None:
    chosen = np.flatnonzero(rows.part != TRAIN)
    logits = np.zeros(len(chosen), np.float32)
    place_of = {int(n): at for at, n in enumerate(chosen)}
    tokens: list[np.ndarray] = [np.zeros(0, np.float16)] * len(chosen)
    for batch, found, begin in said(rows, reader, chosen):
        head = torch.as_tensor(rows.head[batch], device=DEVICE)
        values = torch.where(head == 1, found["supports"], found["answers"]).cpu().numpy()
        for line, number in enumerate(batch):
            at = place_of[int(number)]
            logits[at] = values[line]
            if rows.marked[number]:
                first = int(begin[line])
                piece = found["evidence"][line, first : first + int(rows.text_length[number])]
                tokens[at] = piece.half().cpu().numpy()
    np.savez_compressed(
        file,
        pair=chosen,
        logits=logits,
        tokens=np.concatenate(tokens),
        lengths=[len(t) for t in tokens],
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("step", choices=("large", "average", "score", "small", "read"))
    options.add_argument("--work", type=Path, required=True)
    options.add_argument("--start", type=Path, help="published weights, as torch saved them")
    options.add_argument("--name", default="large")
    options.add_argument("--layers", type=int, nargs="*", default=[0, 1, 2, 3, 4, 5])
    options.add_argument("--of", nargs="*", default=[], help="the networks to average")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument(
        # They teach reading, our own examples what to read for.
        "--public",
        type=float,
        nargs=2,
        default=[1.0, 0.2],
        help="the share of public rows in the first and in the last pass",
    )
    options.add_argument(
        "--made", type=float, default=0.4, help="the share of rows made by rule: many and alike"
    )
    options.add_argument(
        "--hidden", type=float, default=0.15, help="at most this share of word pieces is hidden"
    )
    options.add_argument(
        "--frozen", type=int, default=0, help="so many of the lowest layers stay as they are"
    )
    options.add_argument("--dropout", type=float, default=0.1)
    options.add_argument(
        "--wrong", type=int, default=99, help="at most so many wrong passages of a question"
    )
    options.add_argument(
        "--longest",
        type=int,
        default=512,
        help="leave out what has more word pieces, and questions with such a passage",
    )
    options.add_argument("--passes", type=int, default=2)
    options.add_argument("--rate", type=float)
    options.add_argument("--pieces", type=int, default=24_000, help="word pieces a batch")
    options.add_argument("--compile", action="store_true", help="fuse each layer's operations")
    options.add_argument("--seconds", type=float, default=1e9, help="train no longer than this")
    chosen = options.parse_args()
    began = time.monotonic()
    place = chosen.work / f"{chosen.name}.pt"
    if chosen.step == "average":
        save(average([chosen.work / f"{name}.pt" for name in chosen.of]), place)
        return
    rows = Rows(chosen.work / "rows.npz")
    print(
        f"{len(rows.head)} pairs read in {time.monotonic() - began:.0f} s on {DEVICE}", flush=True
    )
    if chosen.step == "large":
        torch.manual_seed(0)
        start = torch.load(chosen.start, weights_only=True)
        reader = load(chosen.start) if "shape" in start else from_mpnet(start)
        train_large(rows, reader, chosen.rate or 3e-5, chosen)
        save(reader, place)
    elif chosen.step == "score":
        score(rows, load(place), chosen.work / "scores.pt")
    elif chosen.step == "small":
        start = torch.load(chosen.start, weights_only=True)
        reader = load(chosen.start) if "shape" in start else from_bert(start, chosen.layers)
        train_small(rows, reader, chosen.work / "scores.pt", chosen.rate or 2e-4, chosen)
        save(reader, place)
    else:
        read(rows, load(place), chosen.work / f"read-{chosen.name}.npz")
    print(f"{chosen.step} {chosen.name}: {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
