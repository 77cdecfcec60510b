"""The packaged 8-bit graph as a torch network again, to train it further or to average with it.

    python -m training.restore --work WORK      → WORK/packaged.pt

Needs torch and onnx. WORK/mpnet.pt gives what training never changes. What is lost is only what
rounding to bytes took.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import torch  # type: ignore[import-not-found]
from onnx import numpy_helper
from scripts.make_minilm import GELU_FLOOR, Array

from training.export import WEIGHTS
from training.network import LARGE, Reader, from_mpnet, save


def constants(file: Path) -> Iterator[Array]:
    """The graph's weights in their order, without the numbers that only the graph needs."""
    for tensor in onnx.load(file).graph.initializer:
        value = numpy_helper.to_array(tensor)
        if value.dtype not in (np.int64, np.uint8):
            yield value


def restored(file: Path, published: Path) -> Reader:
    reader = from_mpnet(torch.load(published, weights_only=True))
    found = constants(file)

    def rounded(*, by_row: bool = False) -> Array:
        values, scale = next(found), next(found)
        return values.astype(np.float32) * (scale if by_row else scale[None])

    state: dict[str, Array] = {"words.weight": rounded(by_row=True)}
    state["kinds.weight"], state["places.weight"] = next(found), next(found)
    state["norm.weight"], state["norm.bias"] = next(found), next(found)
    next(found)  # distances, as they were published
    for number in range(LARGE.layers):
        here = f"layers.{number}"
        for name in ("project", "out"):
            state[f"{here}.{name}.weight"], state[f"{here}.{name}.bias"] = rounded().T, next(found)
        state[f"{here}.norm1.weight"], state[f"{here}.norm1.bias"] = next(found), next(found)
        state[f"{here}.wide.weight"], state[f"{here}.wide.bias"] = rounded().T, next(found)
        for _ in range(3):  # GELU's floor and two steps
            next(found)
        narrow = rounded()
        state[f"{here}.narrow.weight"] = narrow.T
        state[f"{here}.narrow.bias"] = next(found) + GELU_FLOOR * narrow.sum(axis=0)
        state[f"{here}.norm2.weight"], state[f"{here}.norm2.bias"] = next(found), next(found)
    for name in ("answers", "supports", "evidence"):
        for part in ("pool", "head") if name != "evidence" else ("head",):
            state[f"{part}.{name}.weight"] = next(found).T
            state[f"{part}.{name}.bias"] = next(found)
    whole = {name: torch.tensor(np.ascontiguousarray(value)) for name, value in state.items()}
    reader.load_state_dict({**reader.state_dict(), **whole})
    return reader


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--work", type=Path, required=True)
    options.add_argument("--graph", type=Path, default=WEIGHTS / "model.onnx")
    chosen = options.parse_args()
    save(restored(chosen.graph, chosen.work / "mpnet.pt"), chosen.work / "packaged.pt")


if __name__ == "__main__":
    main()
