"""The peers, their own environments, and the process that one of them runs in."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from peers.float_weights import cache_in

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# No step takes a peer longer that is worth waiting for.
LIMIT_S = 1200
WEIGHTS = ROOT / "src" / "bythebook" / "embedding" / "weights"


@dataclass(frozen=True)
class Peer:
    """One way to set up one library."""

    name: str
    library: str
    setup: str
    told: str

    @property
    def embeds_itself(self) -> bool:
        """By a way it offers; the others are handed bythebook's embedder."""
        return self.name.endswith(("-own", "-onnx"))

    @property
    def environment(self) -> str:
        """FastEmbed is not installed beside the set-ups that do without it."""
        return f"{self.library}-fastembed" if self.setup == "fastembed" else self.library


PEERS = {
    peer.name: peer
    for peer in (
        Peer("bythebook", "bythebook", "", "as installed"),
        Peer(
            "langchain",
            "langchain",
            "chroma",
            "RecursiveCharacterTextSplitter 1000/200; Chroma and BM25Retriever in an "
            "EnsembleRetriever; indexing API with SQLRecordManager",
        ),
        Peer("langchain-faiss", "langchain", "faiss", "FAISS, the rest the same"),
        Peer(
            "langchain-faiss-own",
            "langchain",
            "fastembed",
            "the same with FastEmbedEmbeddings: the published float weights in ONNX",
        ),
        Peer(
            "llamaindex",
            "llamaindex",
            "simple",
            "SentenceSplitter 1024/200; SimpleVectorStore and BM25Retriever in a "
            "QueryFusionRetriever; refresh_ref_docs",
        ),
        Peer(
            "llamaindex-chroma",
            "llamaindex",
            "chroma",
            "Chroma, SentenceSplitter 256/20, the rest the same",
        ),
        Peer(
            "haystack",
            "haystack",
            "",
            "DocumentSplitter 200 words; InMemoryDocumentStore, its BM25 and embedding retrievers "
            "joined by reciprocal ranks",
        ),
        Peer(
            "haystack-own",
            "haystack",
            "fastembed",
            "the same with FastembedDocumentEmbedder and FastembedTextEmbedder: the published "
            "float weights in ONNX",
        ),
        Peer(
            "txtai",
            "txtai",
            "",
            "Segmentation by paragraphs; Embeddings with content and hybrid: Faiss, SQLite, BM25",
        ),
        Peer(
            "txtai-own",
            "txtai",
            "own",
            "the same with its own embedder: the published float weights in PyTorch",
        ),
        Peer(
            "txtai-onnx",
            "txtai",
            "onnx",
            "the same with its own export of these weights to 8-bit ONNX",
        ),
        Peer(
            "raglite",
            "raglite",
            "",
            "its own semantic chunks and multi-vectors; DuckDB with HNSW and full-text search",
        ),
    )
}


def environment_of(peer: Peer, work: Path) -> dict[str, Any]:
    """Make the peer's virtual environment unless it is there; tells seconds and megabytes."""
    folder = work / "environments" / peer.environment
    told = folder / "installed.json"
    if told.exists():
        installed: dict[str, Any] = json.loads(told.read_text())
        return installed
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    pip = [str(folder / "bin" / "pip"), "install", "--quiet", "--no-cache-dir"]
    if peer.library == "bythebook":
        pip += ["--constraint", str(ROOT / "constraints.txt"), str(ROOT)]
    else:
        pip += ["--requirement", str(HERE / "requirements" / f"{peer.environment}.txt")]
    quiet = {name: value for name, value in os.environ.items() if name != "PIP_CONSTRAINT"}
    # LlamaIndex wants a PyStemmer that has no wheel for ARM, and would fetch what it is built of.
    quiet["PYSTEMMER_SYSTEM_LIBSTEMMER"] = "1"
    started = time.perf_counter()
    if subprocess.run(pip, env=quiet).returncode:
        raise PeerFailed(f"{peer.name} can't be installed here; pip says why above.")
    seconds = time.perf_counter() - started
    listed = subprocess.run(
        [str(folder / "bin" / "pip"), "list", "--format", "json"],
        check=True,
        capture_output=True,
        text=True,
    )
    installed = {
        "seconds": seconds,
        "mb": megabytes_in(folder),
        "packages": {one["name"]: one["version"] for one in json.loads(listed.stdout)},
    }
    told.write_text(json.dumps(installed))
    return installed


def weights_for(peer: Peer, work: Path) -> None:
    """What FastEmbed would download, made once, not at the cost of whoever comes first."""
    cache = cache_in(work)
    if peer.setup != "fastembed" or cache.exists():
        return
    txtai = PEERS["txtai"]
    environment_of(txtai, work)
    python = work / "environments" / txtai.environment / "bin" / "python"
    logs = work / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    with (logs / "float_weights.txt").open("w") as log:
        make = [str(python), str(HERE / "float_weights.py"), str(cache)]
        subprocess.run(make, check=True, stdout=log, stderr=log)


def megabytes_in(folder: Path) -> float:
    """What the disk gives away for it: files with holes count without them."""
    return sum(f.stat().st_blocks * 512 for f in folder.rglob("*") if f.is_file()) / 1e6


class Running:
    """A peer's process; `ask` sends one command and waits for its answer."""

    def __init__(self, peer: Peer, work: Path) -> None:
        self.peer = peer
        self._python = work / "environments" / peer.environment / "bin" / "python"
        self._log = work / "logs" / f"{peer.name}.txt"
        self._work = work

    def __enter__(self) -> Self:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        (self._work / "user").mkdir(exist_ok=True)
        self._errors = self._log.open("a")
        # Nothing may reach out: what a library wants to download or report, it must do without.
        offline = {
            "HOME": str(self._work / "user"),
            "HF_HUB_OFFLINE": "1",
            "TRANSFORMERS_OFFLINE": "1",
            "HAYSTACK_TELEMETRY_ENABLED": "False",
            "ANONYMIZED_TELEMETRY": "False",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "TOKENIZERS_PARALLELISM": "true",
            "PEERS_WEIGHTS": str(WEIGHTS),
            "PEERS_WORK": str(self._work),
        }
        self.started = time.perf_counter()
        self._process = subprocess.Popen(
            [str(self._python), str(HERE / f"with_{self.peer.library}.py"), self.peer.setup],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env={**os.environ, **offline},
        )
        return self

    def ask(self, do: str, **more: Any) -> dict[str, Any]:
        pipe_in, pipe_out = self._pipes()
        pipe_in.write(json.dumps({"do": do, **more}) + "\n")
        pipe_in.flush()
        ready, _, _ = select.select([pipe_out], [], [], LIMIT_S)
        if not ready:
            raise PeerFailed(f"{self.peer.name} was stopped at {do} after {LIMIT_S} s.")
        line = pipe_out.readline()
        if not line:
            tail = self._log.read_text(errors="replace").splitlines()[-3:]
            raise PeerFailed(f"{self.peer.name} failed at {do}: {' / '.join(tail)}")
        reply: dict[str, Any] = json.loads(line)
        reply["since_start"] = time.perf_counter() - self.started
        return reply

    def _pipes(self) -> tuple[IO[str], IO[str]]:
        assert self._process.stdin and self._process.stdout
        return self._process.stdin, self._process.stdout

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pipe_in, pipe_out = self._pipes()
        if kind is None:
            pipe_in.write('{"do": "quit"}\n')
            pipe_in.flush()
        else:
            self._process.kill()
        self._process.wait()
        pipe_in.close()
        pipe_out.close()
        self._errors.close()


class PeerFailed(Exception):
    """A peer could not do what was asked; the message says what it printed last."""
