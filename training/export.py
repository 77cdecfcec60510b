"""Writes a trained reader as an 8-bit ONNX graph into packages/reader/.

    python -m training.export --work WORK --name large

Needs torch, onnx and onnxruntime. The graph is the embedder's (scripts/make_minilm.py) with a
second input, which pieces belong to the passage, and three outputs. The same weights give the same
bytes. Compares the graph with the torch network on rows that nothing was trained on.
"""

from __future__ import annotations

import argparse
import json
import shutil
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
import torch  # type: ignore[import-not-found]
from onnx import TensorProto, helper
from scripts.make_minilm import MICROSOFT, Array, Graph

from training.batches import Rows
from training.network import PLACES, Reader, buckets, load

ROOT = Path(__file__).resolve().parent.parent
WEIGHTS = ROOT / "packages" / "reader" / "src" / "bythebook_reader" / "weights"
TOKENIZER = ROOT / "src" / "bythebook" / "embedding" / "weights" / "tokenizer.json"
COMPARED = 60
LARGEST_DIFFERENCE = 0.1


def bert_names(reader: Reader) -> dict[str, Array]:
    """The network's weights by the names that the embedder's graph knows."""
    state = {name: value.float().numpy() for name, value in reader.state_dict().items()}
    found = {
        "embeddings.word_embeddings.weight": state["words.weight"],
        "embeddings.position_embeddings.weight": state["places.weight"],
        "embeddings.token_type_embeddings.weight": state["kinds.weight"],
    }
    parts = {"out": "attention.output.dense", "norm1": "attention.output.LayerNorm"}
    parts |= {"wide": "intermediate.dense", "narrow": "output.dense", "norm2": "output.LayerNorm"}
    for kind in ("weight", "bias"):
        found[f"embeddings.LayerNorm.{kind}"] = state[f"norm.{kind}"]
        for number in range(reader.shape.layers):
            there = f"encoder.layer.{number}"
            three = np.split(state[f"layers.{number}.project.{kind}"], 3)
            for part, value in zip(("query", "key", "value"), three, strict=True):
                found[f"{there}.attention.self.{part}.{kind}"] = value
            for ours, theirs in parts.items():
                found[f"{there}.{theirs}.{kind}"] = state[f"layers.{number}.{ours}.{kind}"]
    kept = ("pool.", "head.", "distance.")
    return found | {name: value for name, value in state.items() if name.startswith(kept)}


class ReaderGraph(Graph):
    """The embedder's graph with heads in place of pooling."""

    def __init__(self, reader: Reader, *, int8: bool) -> None:
        super().__init__(bert_names(reader), int8=int8, masked=False)
        self.shape = reader.shape
        self.bias = ""
        self.pick = np.random.default_rng(0)
        self.rounded = self.up_or_down

    def up_or_down(self, weights: Array) -> Array:
        """Up as often as a weight is near the upper number. The nearest number would be the one
        before where a network that was rounded once is trained on: each step is too small."""
        up: Array = np.floor(weights + self.pick.random(weights.shape, np.float32))
        return up

    def embeddings(self) -> str:
        words = self.words()
        kinds = self.weights["embeddings.token_type_embeddings.weight"]
        kind = self.node("Gather", self.constant(kinds), "kinds")
        place = self.places(self.weights["embeddings.position_embeddings.weight"])
        together = self.node("Add", self.node("Add", words, place), kind)
        return self.layer_norm(together, "embeddings.LayerNorm")

    def layer_norm(self, x: str, prefix: str) -> str:
        gain, bias = self.weights[f"{prefix}.weight"], self.weights[f"{prefix}.bias"]
        inputs = (x, self.constant(gain), self.constant(bias))
        return self.node("LayerNormalization", *inputs, axis=-1, epsilon=self.shape.epsilon)

    def attention(self, heads: list[str], mask: str) -> str:
        inputs = [*heads, "", mask, self.bias] if self.bias else heads
        return self.node(
            "MultiHeadAttention", *inputs, domain=MICROSOFT, num_heads=self.shape.heads
        )

    def distances(self) -> str:
        """MPNet's bias by how far apart two word pieces are, one matrix for each head."""
        far = np.arange(1 - PLACES, PLACES)
        table = self.weights["distance.weight"][buckets(torch.as_tensor(far)).numpy()].T
        one = self.constant(np.array([1]))
        length = self.node("Gather", self.node("Shape", "input_ids"), one)
        count = self.node("Squeeze", length)
        zero, step = (self.node("Squeeze", self.constant(np.array([n]))) for n in (0, 1))
        place = self.node("Range", zero, count, step)
        first, second = self.constant(np.array([0])), one
        across, down = (self.node("Unsqueeze", place, axis) for axis in (first, second))
        apart = self.node("Sub", across, down)
        apart = self.node("Add", apart, self.constant(np.array([PLACES - 1])))
        bias = self.node("Gather", self.constant(table), apart, axis=1)
        return self.node("Unsqueeze", bias, first)

    def plain(self, x: str, name: str, output: str) -> str:
        """A small matrix, not rounded."""
        weight, bias = self.weights[f"{name}.weight"].T, self.weights[f"{name}.bias"]
        product = self.node("MatMul", x, self.constant(weight))
        self.nodes.append(helper.make_node("Add", [product, self.constant(bias)], [output]))
        return output

    def model(self) -> bytes:
        axes = ["batch", "pieces"]
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, axes)
            for name in ("input_ids", "kinds")
        ]
        x = self.embeddings()
        if self.shape.relative:
            self.bias = self.distances()
        for number in range(self.shape.layers):
            x = self.layer(x, number, "")
        first = self.node("Gather", x, self.constant(np.array([0])), axis=1)
        outputs = []
        for name in ("answers", "supports"):
            pooled = self.node("Tanh", self.plain(first, f"pool.{name}", f"pooled_{name}"))
            self.plain(pooled, f"head.{name}", name)
            outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 1, 1]))
        self.plain(x, "head.evidence", "evidence")
        outputs.append(helper.make_tensor_value_info("evidence", TensorProto.FLOAT, [*axes, 1]))
        graph = helper.make_graph(self.nodes, "reader", inputs, outputs, self.constants)
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid(MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        return bytes(model.SerializeToString(deterministic=True))


def session(model: bytes) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def differences(model: bytes, reader: Reader, rows: Rows) -> dict[str, float]:
    """How far probabilities of the graph are from the network's, on average."""
    run = session(model)
    chosen = np.flatnonzero(rows.part == 2)[:: max(1, int((rows.part == 2).sum()) // COMPARED)]
    far: dict[str, list[float]] = {"answers": [], "supports": [], "evidence": []}
    reader.eval()
    for number in chosen:
        ids, kinds, _ = rows.batch(np.array([number]))
        ids, kinds = ids[:, : rows.length[number]], kinds[:, : rows.length[number]]
        with torch.no_grad():
            exact = reader(ids, kinds)
        small = run.run(None, {"input_ids": ids.numpy(), "kinds": kinds.numpy()})
        for name, value in zip(("answers", "supports", "evidence"), small, strict=True):
            both = [torch.sigmoid(torch.as_tensor(v).flatten()) for v in (value, exact[name])]
            far[name].append(float((both[0] - both[1]).abs().mean()))
    return {name: float(np.mean(values)) for name, values in far.items()}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--work", type=Path, required=True)
    options.add_argument("--name", default="large")
    options.add_argument("--out", type=Path, default=WEIGHTS)
    chosen = options.parse_args()
    reader = load(chosen.work / f"{chosen.name}.pt")
    model = ReaderGraph(reader, int8=True).model()
    rows = Rows(chosen.work / "rows.npz")
    exact = differences(ReaderGraph(reader, int8=False).model(), reader, rows)
    far = differences(model, reader, rows)
    print(
        f"{len(model) / 1e6:.1f} MB; mean difference of probabilities: float {exact}, 8-bit {far}"
    )
    if max(exact.values()) > 1e-3 or max(far.values()) > LARGEST_DIFFERENCE:
        raise SystemExit("The graph does not say what the network says.")
    chosen.out.mkdir(parents=True, exist_ok=True)
    (chosen.out / "model.onnx").write_bytes(model)
    shutil.copyfile(TOKENIZER, chosen.out / "tokenizer.json")
    shutil.copyfile(chosen.work / "rows.json", chosen.out / "trained_on.json")
    shutil.copyfile(ROOT / "LICENSE", chosen.out / "LICENSE")
    write_sums(chosen.out)


def write_sums(folder: Path) -> None:
    files = sorted(f for f in folder.iterdir() if f.suffix in (".onnx", ".json"))
    sums = [f"{zlib.crc32(file.read_bytes()):08x}  {file.name}\n" for file in files]
    (folder / "CRC32SUMS").write_text("".join(sums))
    print(json.dumps([line.strip() for line in sums], indent=1))


if __name__ == "__main__":
    main()
