"""What every peer gets: two books, the question sets as books, and chunks with made vectors."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import tarfile
from pathlib import Path
from typing import Any

import numpy as np

from bythebook.ingestion.plan import make_plan
from bythebook.models.chunk import DocumentChunk, chunk_id
from bythebook.models.job import IngestionState
from bythebook.reading.document import PLAIN
from bythebook.reading.layout import find_book

DOCS, MDN = "docs", "mdn"
SLICE = 300
MOST = 50_000
QUESTIONS = 200
CHAPTERS = 10
MAX_BYTES = 5_000_000


NEW_SENTENCE = "The zanzibar quokka setting keeps a copy of every page for nine days."
NEW_QUESTION = "How long does the zanzibar quokka setting keep a copy?"


def prepare(data: Path, work: Path) -> None:
    """Unpack the books; of MDN only the first files in sorted order."""
    _unpack(data, "docusaurus-docs", work / "books" / DOCS)
    whole = work / "books" / "mdn-whole"
    _unpack(data, "mdn-javascript", whole)
    part = work / "books" / MDN
    if not part.exists():
        for file in sorted(whole.rglob("*.md"))[:SLICE]:
            target = part / file.relative_to(whole)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, target)
    if not (work / "questions.json").exists():
        _make_chunks(whole, work)


def _unpack(data: Path, name: str, target: Path) -> None:
    if not target.exists():
        with tarfile.open(data / "books" / f"{name}.tar.xz") as archive:
            archive.extractall(target, filter="data")


def own_copy(work: Path, book: str, target: Path) -> Path:
    """A copy that may be changed."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(work / "books" / book, target)
    return target


def edit_a_section(folder: Path) -> Path:
    """Adds a sentence below the second heading of the file in the middle of the book."""
    file = _files(folder)[len(_files(folder)) // 2]
    lines = file.read_text(encoding="utf-8").split("\n")
    headings = [number for number, line in enumerate(lines) if line.startswith("## ")]
    lines.insert(headings[0] + 1 if headings else len(lines), f"\n{NEW_SENTENCE}\n")
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def delete_a_file(folder: Path) -> Path:
    file = _files(folder)[len(_files(folder)) // 3]
    file.unlink()
    return file


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*.md*") if file.is_file())


def size_of(folder: Path) -> dict[str, int]:
    texts = [file.read_text(encoding="utf-8") for file in _files(folder)]
    return {
        "files": len(texts),
        "bytes": sum(len(text.encode()) for text in texts),
        "words": sum(len(text.split()) for text in texts),
    }


def chunks_of(folder: Path) -> list[DocumentChunk]:
    book = find_book(folder, "book")
    empty = IngestionState(book_id="book", collection_name="none")
    plan = make_plan(book, empty, "full", MAX_BYTES)
    pages = (
        PLAIN.read(book, file, plan.placements[file], MAX_BYTES).document for file in plan.process
    )
    return [chunk for page in pages for chunk in page.chunks]


def _make_chunks(whole: Path, work: Path) -> None:
    """Real passages again and again, each with a number of its own, and random unit vectors."""
    real = chunks_of(whole)
    with (work / "chunks.jsonl").open("w", encoding="utf-8") as lines:
        for number in range(MOST):
            lines.write(json.dumps(_numbered(real[number % len(real)], number)) + "\n")
    generator = np.random.default_rng(7)
    vectors = generator.standard_normal((MOST, 384), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    np.save(work / "vectors.npy", vectors)
    sampled = random.Random(1).sample(real[:1000], QUESTIONS)
    questions = [
        f"How does {one.metadata.title} {one.metadata.heading_path[-1]} work?"[:200]
        for one in sampled
    ]
    (work / "questions.json").write_text(json.dumps(questions))


def _numbered(real: DocumentChunk, number: int) -> dict[str, Any]:
    """With bythebook's own form beside it, because only an ingest makes that otherwise."""
    text = f"{real.text}\n\nNote {number}."
    content_hash = hashlib.sha256(text.encode()).hexdigest()
    chunk = real.model_copy(deep=True)
    chunk.id, chunk.text = chunk_id("book", content_hash), text
    chunk.metadata.content_hash = content_hash
    chunk.metadata.source_file = f"{number:05}.md"
    chunk.metadata.chapter = number % CHAPTERS
    return {
        "id": chunk.id,
        "text": text,
        "source": chunk.metadata.source_file,
        "chapter": number % CHAPTERS,
        "bythebook": chunk.model_dump(mode="json"),
    }
