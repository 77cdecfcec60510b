"""Everything that reads what a stranger wrote: a name, samples, and what it does with bytes.

A parser may refuse what it is given with an error for a person; anything else is a finding.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

from pydantic import SecretStr, ValidationError

from bythebook.agent.citations import take_markers
from bythebook.errors import BookError, KeyRefused
from bythebook.evaluation.dataset import CORPUS, QRELS, QUERIES, read_folder, read_questions
from bythebook.grounding.instructions import without_instructions
from bythebook.keys import checked_origin
from bythebook.language.segmentation import split_units
from bythebook.models.chat_messages import ChatRequest
from bythebook.models.retrieval_tool import SearchArguments
from bythebook.moving.archive import (
    PARTS,
    open_export,
    points_of,
    read_archive_manifest,
    records_of,
)
from bythebook.moving.backup import BackupManifest, open_backup, part_names
from bythebook.reading.layout import find_book
from bythebook.reading.metadata import Teaching, read_front_matter, read_head, read_teaching
from bythebook.server.body import nesting
from bythebook.server.caller import listed_origins
from bythebook.server.logs import Masks, secrets_of
from bythebook.server.openai_completion import CompletionRequest
from bythebook.server.rendering import answer_html, passage_html
from bythebook.server.webhook import check_signature, read_push
from bythebook.settings import Settings
from reading.converting import page_of
from reading.test_reading_fuzz import SUFFIXES, sample
from security.moved_books import sample as moved
from security.moved_books import taken
from security.over_http import CHUNKED, REQUEST, ROUTES, header_value, sent_raw, sent_to
from security.sandboxed_readers import FORMATS, in_sandbox

PAGE = b"""---
title: "Nodes"
hardware_tier: 2
sidebar_position: 1.5
tags: [a, b]
---
import Part from './_part.mdx'

# Nodes {#nodes}

:::note Title

Some **bold** text with `code`, <b title="x">tags</b>, {props.value} and [a link](./b.md#c).

:::

<Tabs>
<TabItem value="a">

| a | b |
|---|---|
| 1 | 2 |

</TabItem>
</Tabs>

<!-- comment -->

```python title="x.py"
print("hello")
```
"""
MANIFEST = b'[book]\nid = "a"\ntitle = "A"\nlanguage = "en"\n\n[modules]\n"./part" = "Part"\n'
QUESTION = b'{"id": "q1", "question": "What?", "gold": [{"file": "a.md"}], "covered": true}\n'
CHAT = b'{"message": "What is a node?", "filters": {"chapter_min": 1}, "stream": false}'
COMPLETION = b'{"model": "a", "messages": [{"role": "user", "content": "What?"}], "stream": true}'


KNOWN = Settings.model_fields
# However long a paragraph or a word is, it is cut before.
LONGEST_PASSAGE = 6_000


@dataclass(frozen=True)
class Parser:
    samples: Callable[[], list[bytes]]
    run: Callable[[bytes], object]


def text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def front_matter(data: bytes) -> None:
    front = read_front_matter(text(data))
    read_head(text(data), front)
    read_teaching(front.values, Teaching())


def in_book(name: str) -> Callable[[bytes], object]:
    """A file that tells how a book is laid out."""

    def run(data: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "src").mkdir()
            (Path(folder) / "src" / "a.md").write_bytes(b"# A\n\nText.\n")
            (Path(folder) / "a.md").write_bytes(b"# A\n\nText.\n")
            (Path(folder) / name).write_bytes(data)
            book = find_book(Path(folder), "book")
            root = Path(folder).resolve()
            assert book.root.resolve().is_relative_to(root), "it led out of the book"

    return run


def questions(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "questions.jsonl"
        file.write_bytes(data)
        read_questions(file)


def question_folder(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in (CORPUS, QUERIES, QRELS):
            (Path(folder) / name).parent.mkdir(exist_ok=True)
        parts = data.split(b"\0")[:3]
        parts += [b""] * (3 - len(parts))
        for name, part in zip((CORPUS, QUERIES, QRELS), parts, strict=True):
            packed = gzip.compress(part, 0) if name.endswith(".gz") else part
            (Path(folder) / name).write_bytes(packed)
        read_folder(Path(folder))


def exported(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "book.zip"
        file.write_bytes(data)
        with open_export(file) as reader:
            manifest = read_archive_manifest(reader)
            reader.check_digests(PARTS, manifest.sha256)
            list(records_of(reader, manifest))
            list(points_of(reader, manifest))


def saved(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "all.backup"
        file.write_bytes(data)
        reader, manifest = open_backup(file)
        with reader:
            reader.check_digests(part_names(manifest), manifest.sha256)


@cache
def zipped(*names: str) -> bytes:
    made = BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name in names:
            archive.writestr(name, "{}\n")
    return made.getvalue()


@cache
def empty_backup() -> bytes:
    part = "tables/books.jsonl"
    manifest = BackupManifest(
        format=1,
        bythebook="0.1.0",
        revision="0001",
        made_at=datetime.now(UTC),
        books=[],
        rows={"books": 0},
        left_out=[],
        sha256={part: hashlib.sha256().hexdigest()},
    )
    made = BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("backup.json", manifest.model_dump_json())
        archive.writestr(part, "")
    return made.getvalue()


def webhook(data: bytes) -> None:
    read_push(data)
    with suppress(KeyRefused):  # as it must be
        check_signature(SecretStr("secret"), text(data[:80]), data)


def given_settings(data: bytes) -> None:
    lines = (line.partition("=") for line in text(data).splitlines())
    given: dict[str, Any] = {name: value for name, _, value in lines if name in KNOWN}
    made = Settings(**given)
    secrets_of(made)
    listed_origins(made)


def written(data: bytes) -> None:
    """What a model writes, on its way to the reader."""
    units = split_units(text(data))
    assert "".join(units) == text(data)
    for unit in units:
        take_markers(unit)
    answer_html(text(data), [])


def shown(data: bytes) -> None:
    passage = text(data)[:LONGEST_PASSAGE]
    without_instructions(passage)
    html = passage_html(passage, [(0, 10)], "https://b.example/a")
    assert "<script" not in html.lower() and "javascript:" not in html.lower()


def logged(data: bytes) -> None:
    Masks({"hunter22"}).masked(text(data))


def page(suffix: str) -> Callable[[bytes], object]:
    return lambda data: page_of(data, f"a{suffix}")


def of_format(suffix: str) -> Parser:
    return Parser(lambda: [sample(suffix)], page(suffix))


def sandboxed(suffix: str) -> Parser:
    return Parser(lambda: [sample(suffix) if suffix in SUFFIXES else PAGE], in_sandbox(suffix))


PARSERS: dict[str, Parser] = {
    "front matter": Parser(lambda: [PAGE, b"+++\ntitle = 'a'\n+++\n"], front_matter),
    "Markdown": Parser(lambda: [PAGE], page(".md")),
    "MDX": Parser(lambda: [PAGE], page(".mdx")),
    **{suffix[1:].upper(): of_format(suffix) for suffix in SUFFIXES},
    **{f"{suffix[1:].upper()}, sandboxed": sandboxed(suffix) for suffix in FORMATS},
    "bythebook.toml": Parser(lambda: [MANIFEST], in_book("bythebook.toml")),
    "book.toml": Parser(lambda: [b'[book]\ntitle = "A"\nsrc = "src"\n'], in_book("book.toml")),
    "mkdocs.yml": Parser(
        lambda: [b"site_name: A\ndocs_dir: src\nnav:\n  - A: a.md\n  - B: [a.md]\n"],
        in_book("mkdocs.yml"),
    ),
    "SUMMARY.md": Parser(lambda: [b"# S\n\n- [A](a.md)\n  - [B](b.md)\n"], in_book("SUMMARY.md")),
    "questions": Parser(lambda: [QUESTION], questions),
    "folder of questions": Parser(
        lambda: [b'{"_id":"1","text":"a"}\0{"_id":"q","text":"What is b?"}\0a\tb\tc\nq\t1\t1\n'],
        question_folder,
    ),
    "exported book": Parser(
        lambda: [zipped("book.json", "files.jsonl", "points.jsonl", "vectors.f32")], exported
    ),
    "backup": Parser(lambda: [empty_backup()], saved),
    "import, digests fit": Parser(lambda: moved("small.btb"), taken("small.btb")),
    "restore, digests fit": Parser(lambda: moved("all.backup"), taken("all.backup")),
    "webhook": Parser(
        lambda: [b'{"ref":"refs/heads/main","repository":{"default_branch":"main"}}'], webhook
    ),
    **{f"body of {route}": Parser(lambda: [CHAT, COMPLETION], sent_to(route)) for route in ROUTES},
    "whole request": Parser(lambda: [REQUEST, CHUNKED, REQUEST + CHUNKED], sent_raw),
    "value of a header": Parser(
        lambda: [line.partition(b": ")[2] for line in REQUEST.split(b"\r\n")[1:-2]], header_value
    ),
    "nesting": Parser(lambda: [CHAT, b"[" * 100], nesting),
    "chat request": Parser(lambda: [CHAT], ChatRequest.model_validate_json),
    "completion request": Parser(
        lambda: [COMPLETION],
        lambda data: CompletionRequest.model_validate_json(data).history(5, "No."),
    ),
    "tool arguments": Parser(
        lambda: [json.dumps({"query": "a node", "filters": {}}).encode()],
        SearchArguments.model_validate_json,
    ),
    "settings": Parser(
        lambda: [b"database_url=postgresql://a:b@c/d\nport=80\ncors_origins=https://a.b"],
        given_settings,
    ),
    "origin": Parser(
        lambda: [b"https://book.example.org:8080"], lambda data: checked_origin(text(data))
    ),
    "model's answer": Parser(lambda: [PAGE, b"A node is a process [1]. It [2, 3] runs."], written),
    "passage as HTML": Parser(lambda: [PAGE], shown),
    "log line": Parser(
        lambda: [b"Authorization: Bearer abc postgresql://a:b@c sk-abcdefgh"], logged
    ),
}


def parse(name: str, data: bytes) -> bool:
    """Whether it was taken; a refusal in the way that refusals are made is fine."""
    try:
        PARSERS[name].run(data)
    except BookError as problem:
        assert problem.message
        return False
    except ValidationError:
        return False
    return True
