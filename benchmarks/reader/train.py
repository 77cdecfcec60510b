"""Trains the reader fold by fold and writes what it says of the questions that were left out.

    python benchmarks/reader/train.py --work WORK --start WORK/start.npz --out OUT

Needs torch, numpy and onnx, not the package; minutes on one GPU. WORK/rows.npz and the starting
weights are what `prepare.py --start` wrote. First the made pairs, then for each fold the labelled
pairs of the others. Writes OUT/by_question.npz and OUT/by_article.npz: both heads' logits of every
row that is not made.
"""

from __future__ import annotations

import argparse
import copy
import time
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import torch  # type: ignore[import-not-found]
from onnx import numpy_helper
from torch import Tensor, nn
from torch.nn import functional  # type: ignore[import-not-found]

EMBEDDER = Path(__file__).resolve().parents[2] / "src/bythebook/embedding/weights/model.onnx"
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
END, LONGEST, FOLDS, MADE, UNSEEN, SUPPORTS = 102, 256, 4, -1, -2, 1
VOCABULARY, SIZE, LAYERS, ATTENTION_HEADS, PLACES, EPSILON = 30522, 384, 6, 12, 512, 1e-12
DROPOUT, SMOOTHING, BATCH = 0.1, 0.05, 64
# Passes and learning rate over the made pairs, then over each fold's.
FIRST, THEN = (1, 4e-5), (3, 4e-5)
# Made sentences that are seen again beside the labelled ones.
AGAIN = 0.4
LAYER_PARTS = {
    "self_attn.out_proj": "attention.output.dense",
    "norm1": "attention.output.LayerNorm",
    "linear1": "intermediate.dense",
    "linear2": "output.dense",
    "norm2": "output.LayerNorm",
}


def published(start: Path) -> dict[str, Tensor]:
    """The published weights by our names; the words are the built-in embedder's, in bytes."""
    constants = [numpy_helper.to_array(each) for each in onnx.load(EMBEDDER).graph.initializer]
    table = next(each for each in constants if each.shape == (VOCABULARY, SIZE))
    scale = next(each for each in constants if each.shape == (VOCABULARY, 1))
    stored = np.load(start)
    found = {
        "words.weight": table * scale,
        "places.weight": stored["embeddings.position_embeddings.weight"],
        "kinds.weight": stored["embeddings.token_type_embeddings.weight"],
    }
    for kind in ("weight", "bias"):
        found[f"norm.{kind}"] = stored[f"embeddings.LayerNorm.{kind}"]
        for n in range(LAYERS):
            there = f"encoder.layer.{n}"
            three = [f"{there}.attention.self.{part}.{kind}" for part in ("query", "key", "value")]
            found[f"layers.{n}.self_attn.in_proj_{kind}"] = np.concatenate(
                [stored[t] for t in three]
            )
            for ours, theirs in LAYER_PARTS.items():
                found[f"layers.{n}.{ours}.{kind}"] = stored[f"{there}.{theirs}.{kind}"]
    return {name: torch.tensor(value.astype(np.float32)) for name, value in found.items()}


class Reader(nn.Module):  # type: ignore[misc]
    """MiniLM over question and passage together, with a logit for each head."""

    def __init__(self, start: Path) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(VOCABULARY, SIZE), nn.Embedding(PLACES, SIZE)
        self.kinds, self.norm = nn.Embedding(2, SIZE), nn.LayerNorm(SIZE, EPSILON)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                SIZE, ATTENTION_HEADS, 4 * SIZE, DROPOUT, "gelu", EPSILON, batch_first=True
            )
            for _ in range(LAYERS)
        )
        self.heads, self.dropout = nn.Linear(SIZE, 2), nn.Dropout(DROPOUT)
        nn.init.normal_(self.heads.weight, std=0.02)
        nn.init.zeros_(self.heads.bias)
        missing, unexpected = self.load_state_dict(published(start), strict=False)
        if unexpected or set(missing) != {"heads.weight", "heads.bias"}:
            raise SystemExit(f"{start} does not fit: {missing}, {unexpected}")

    def forward(self, ids: Tensor) -> Tensor:
        ends = (ids == END).int()
        kinds = (ids != 0) & (ends.cumsum(1) > ends)  # behind the first end mark: the passage
        x = self.words(ids) + self.places.weight[: ids.shape[1]] + self.kinds(kinds.int())
        x = self.dropout(self.norm(x))
        for layer in self.layers:
            x = layer(x, src_key_padding_mask=ids == 0)
        seen = (ids != 0)[:, :, None].to(x.dtype)
        return self.heads(self.dropout((x * seen).sum(1) / seen.sum(1)))


class Rows:
    """All that prepare.py wrote, on the device."""

    def __init__(self, file: Path) -> None:
        stored = np.load(file)
        ids = np.zeros((len(stored["lengths"]), LONGEST), np.int64)
        ids[np.arange(LONGEST) < stored["lengths"][:, None]] = stored["flat"]
        self.ids = torch.tensor(ids, device=DEVICE)
        self.heads = torch.tensor(stored["head"], device=DEVICE)
        self.labels = torch.tensor(stored["label"], device=DEVICE)
        self.folds = {
            name: torch.tensor(stored[name], device=DEVICE)
            for name in ("by_question", "by_article")
        }
        columns = (stored[name].tolist() for name in ("head", "source", "label"))
        keys = list(zip(*columns, strict=True))
        counts = Counter(keys)
        # Right and wrong of each source count alike, or the source itself would tell.
        even = {k: (n + counts[*k[:2], 1 - k[2]]) / (2 * n) for k, n in counts.items()}
        self.weights = torch.tensor([min(4.0, even[key]) for key in keys], device=DEVICE)

    def logits(self, reader: Reader, places: Tensor) -> Tensor:
        with torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=DEVICE == "cuda"):
            return reader(self.ids[places]).float()


def train(reader: Reader, rows: Rows, chosen: Tensor, how: tuple[int, float], seed: int) -> None:
    passes, rate = how
    torch.manual_seed(seed)
    orders = (chosen[torch.randperm(len(chosen), device=DEVICE)] for _ in range(passes))
    plan = [batch for order in orders for batch in order.split(BATCH)]
    optimizer = torch.optim.AdamW(reader.parameters(), lr=rate, weight_decay=0.01, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, rate, total_steps=len(plan), pct_start=0.1, anneal_strategy="linear"
    )
    reader.train()
    for batch in plan:
        said = rows.logits(reader, batch).gather(1, rows.heads[batch][:, None])[:, 0]
        wanted = rows.labels[batch] * (1 - SMOOTHING) + SMOOTHING / 2
        loss = functional.binary_cross_entropy_with_logits(said, wanted, rows.weights[batch])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    reader.eval()


def main() -> None:
    options = argparse.ArgumentParser()
    for name in ("--work", "--start", "--out"):
        options.add_argument(name, type=Path, required=True)
    chosen = options.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    rows, reader = Rows(chosen.work / "rows.npz"), Reader(chosen.start).to(DEVICE)
    made = rows.folds["by_question"] == MADE
    train(reader, rows, made.nonzero()[:, 0], FIRST, seed=1)
    print(f"made pairs: {time.monotonic() - began:.0f} s", flush=True)
    state = copy.deepcopy(reader.state_dict())
    again = made & (rows.heads == SUPPORTS) & (torch.rand(len(made), device=DEVICE) < AGAIN)
    for folding, folds in rows.folds.items():
        logits = torch.zeros(len(folds), 2, device=DEVICE)
        for fold in range(FOLDS):
            reader.load_state_dict(state)
            others = (rows.labels >= 0) & (folds >= 0) & (folds != fold)
            train(reader, rows, (others | again).nonzero()[:, 0], THEN, seed=fold)
            # What no fold was trained on gets the mean of all.
            for part, share in ((fold, 1.0), (UNSEEN, 1 / FOLDS)):
                for batch in (folds == part).nonzero()[:, 0].split(512):
                    with torch.no_grad():
                        logits[batch] += share * rows.logits(reader, batch)
        np.savez_compressed(chosen.out / f"{folding}.npz", logits=logits.cpu().numpy())
        print(f"{folding}: {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
