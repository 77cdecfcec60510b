"""The reader as a torch network: an encoder over question and passage together, and three heads.

Both starts share BERT's word pieces: MPNet's vocabulary is the same list four places further on.
So the large network (MPNet) and the small one (MiniLM) see the same ids, and the small one can
learn what the large one says of each word piece.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch  # type: ignore[import-not-found]
from torch import Tensor, nn
from torch.nn import functional  # type: ignore[import-not-found]

PAD, START, END, MASK = 0, 101, 102, 103
VOCABULARY, PLACES = 30522, 512
MPNET_SHIFT, MPNET_PAD, MPNET_START, MPNET_END, MPNET_MASK = 4, 1, 0, 2, 30526
BUCKETS, FARTHEST = 32, 128


@dataclass(frozen=True)
class Shape:
    size: int
    layers: int
    heads: int = 12
    epsilon: float = 1e-12
    relative: bool = False
    dropout: float = 0.1


LARGE = Shape(768, 12, epsilon=1e-5, relative=True)


class Layer(nn.Module):  # type: ignore[misc]
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        size = shape.size
        self.heads, self.dropout = shape.heads, shape.dropout
        self.project, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.wide, self.narrow = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)
        self.norm1 = nn.LayerNorm(size, shape.epsilon)
        self.norm2 = nn.LayerNorm(size, shape.epsilon)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        batch, length, size = x.shape
        parts = self.project(x).view(batch, length, 3, self.heads, size // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        drop = self.dropout if self.training else 0.0
        seen = functional.scaled_dot_product_attention(query, key, value, mask, dropout_p=drop)
        seen = self.out(seen.transpose(1, 2).reshape(batch, length, size))
        x = self.norm1(x + functional.dropout(seen, drop))
        wide = self.narrow(functional.gelu(self.wide(x)))
        return self.norm2(x + functional.dropout(wide, drop))


class Reader(nn.Module):  # type: ignore[misc]
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        size = shape.size
        self.words, self.places = nn.Embedding(VOCABULARY, size), nn.Embedding(PLACES, size)
        self.kinds, self.norm = nn.Embedding(2, size), nn.LayerNorm(size, shape.epsilon)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.pool = nn.ModuleDict({name: nn.Linear(size, size) for name in ("answers", "supports")})
        self.head = nn.ModuleDict(
            {name: nn.Linear(size, 1) for name in ("answers", "supports", "evidence")}
        )
        if shape.relative:
            self.distance = nn.Embedding(BUCKETS, shape.heads)
        for module in (*self.pool.values(), *self.head.values()):
            nn.init.normal_(module.weight, std=0.02)
            nn.init.zeros_(module.bias)

    def forward(self, ids: Tensor, kinds: Tensor) -> dict[str, Tensor]:
        """Logits; those of `evidence` one for each word piece."""
        length = ids.shape[1]
        x = self.words(ids) + self.places.weight[:length] + self.kinds(kinds)
        x = functional.dropout(self.norm(x), self.shape.dropout if self.training else 0.0)
        mask = torch.zeros(ids.shape, device=x.device).masked_fill(ids == PAD, -1e4)
        mask = mask[:, None, None, :]
        if self.shape.relative:
            mask = mask + self.distances(length)[None]
        half = torch.is_autocast_enabled(ids.device.type)
        mask = mask.to(torch.bfloat16 if half else torch.float32)
        for layer in self.layers:
            x = layer(x, mask)
        first = x[:, 0]
        found = {
            name: self.head[name](torch.tanh(self.pool[name](first)))[:, 0].float()
            for name in ("answers", "supports")
        }
        found["evidence"] = self.head["evidence"](x)[:, :, 0].float()
        return found

    def distances(self, length: int) -> Tensor:
        """MPNet's bias by how far apart two word pieces are; kept as it was published."""
        place = torch.arange(length, device=self.distance.weight.device)
        return self.distance(buckets(place[None, :] - place[:, None])).permute(2, 0, 1).detach()


def buckets(distance: Tensor) -> Tensor:
    half = BUCKETS // 2
    exact = half // 2
    far = distance.abs()
    log = torch.log(far.float().clamp(min=1) / exact) / math.log(FARTHEST / exact)
    large = (exact + (log * (half - exact)).long()).clamp(max=half - 1)
    return (distance > 0).long() * half + torch.where(far < exact, far, large)


def from_mpnet(published: dict[str, Tensor]) -> Reader:
    """all-mpnet-base-v2, its word pieces put in BERT's order."""
    reader = Reader(LARGE)
    words = published["embeddings.word_embeddings.weight"].float()
    order = torch.arange(VOCABULARY) + MPNET_SHIFT
    order[PAD], order[START], order[END] = MPNET_PAD, MPNET_START, MPNET_END
    order[MASK] = MPNET_MASK
    state = {
        "words.weight": words[order],
        "places.weight": published["embeddings.position_embeddings.weight"][2:],
        "kinds.weight": torch.zeros(2, LARGE.size),
        "distance.weight": published["encoder.relative_attention_bias.weight"],
    }
    names = {
        "out": "attention.attn.o",
        "norm1": "attention.LayerNorm",
        "wide": "intermediate.dense",
    }
    names |= {"narrow": "output.dense", "norm2": "output.LayerNorm"}
    three = [f"attention.attn.{part}" for part in "qkv"]
    _take(state, published, LARGE.layers, names, three)
    return _loaded(reader, state)


def from_bert(published: dict[str, Tensor], layers: list[int]) -> Reader:
    """all-MiniLM-L6-v2, its layers taken in this order; twice each makes a deeper network."""
    size = published["embeddings.word_embeddings.weight"].shape[1]
    reader = Reader(Shape(size, len(layers)))
    state = {
        "words.weight": published["embeddings.word_embeddings.weight"],
        "places.weight": published["embeddings.position_embeddings.weight"],
        "kinds.weight": published["embeddings.token_type_embeddings.weight"],
    }
    names = {"out": "attention.output.dense", "norm1": "attention.output.LayerNorm"}
    names |= {"wide": "intermediate.dense", "narrow": "output.dense", "norm2": "output.LayerNorm"}
    three = [f"attention.self.{part}" for part in ("query", "key", "value")]
    _take(state, published, len(layers), names, three, layers)
    return _loaded(reader, state)


def _take(
    state: dict[str, Tensor],
    published: dict[str, Tensor],
    count: int,
    names: dict[str, str],
    three: list[str],
    layers: list[int] | None = None,
) -> None:
    for kind in ("weight", "bias"):
        state[f"norm.{kind}"] = published[f"embeddings.LayerNorm.{kind}"]
        for number in range(count):
            there = f"encoder.layer.{layers[number] if layers else number}"
            parts = [published[f"{there}.{part}.{kind}"] for part in three]
            state[f"layers.{number}.project.{kind}"] = torch.cat(parts)
            for ours, theirs in names.items():
                state[f"layers.{number}.{ours}.{kind}"] = published[f"{there}.{theirs}.{kind}"]


def _loaded(reader: Reader, state: dict[str, Tensor]) -> Reader:
    state = {name: value.float() for name, value in state.items()}
    missing, unexpected = reader.load_state_dict(state, strict=False)
    heads = {name for name in missing if name.startswith(("pool.", "head."))}
    if unexpected or set(missing) != heads:
        raise SystemExit(f"The published weights do not fit: {missing}, {unexpected}.")
    return reader


def save(reader: Reader, file: Path) -> None:
    """Weights as float16: half the size, and the export rounds them to bytes anyway."""
    state = {name: value.half().cpu() for name, value in reader.state_dict().items()}
    torch.save({"shape": asdict(reader.shape), "state": state}, file)


def load(file: Path) -> Reader:
    stored: dict[str, Any] = torch.load(file, map_location="cpu", weights_only=True)
    reader = Reader(Shape(**stored["shape"]))
    reader.load_state_dict({name: value.float() for name, value in stored["state"].items()})
    return reader
