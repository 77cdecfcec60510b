"""Files that want to fill the machine, to be put elsewhere, or to have something fetched."""

from __future__ import annotations

import io
import json
import socket
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bythebook.errors import InputError
from bythebook.moving.archive import (
    BOOK,
    FILES,
    PARTS,
    POINTS,
    VECTORS,
    open_export,
    points_of,
    read_archive_manifest,
)
from bythebook.moving.backup import open_backup
from bythebook.reading.readers import convert
from reading.made_files import docx, epub, para

ENTITIES = (
    '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd"><!ENTITY l0 "lol">'
    + "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    + "]>"
)


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """Whoever opens a connection here fails."""
    asked: list[object] = []

    def refuse(_self: socket.socket, address: object) -> None:
        asked.append(address)
        raise AssertionError(f"a connection to {address}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    yield asked
    assert not asked


def text_of(data: bytes, name: str) -> str:
    return convert(name, data, "0" * 64).text


def test_entities_of_a_document() -> None:
    made = docx(para("&x;&l9; Some words."))
    archive = zipfile.ZipFile(io.BytesIO(made))
    changed = io.BytesIO()
    with zipfile.ZipFile(changed, "w") as other:
        for name in archive.namelist():
            text = archive.read(name).decode()
            if name == "word/document.xml":
                text = ENTITIES + text
            other.writestr(name, text)
    text = text_of(changed.getvalue(), "a.docx")
    assert "root:" not in text and text.count("lol") < 100 and "Some words." in text


@pytest.mark.parametrize("name", ["a.html", "a.epub"])
def test_entities_of_a_page(name: str) -> None:
    page = f"{ENTITIES}<html><body><h1>A</h1><p>&x;&l9; Some words.</p></body></html>"
    data = page.encode() if name == "a.html" else epub({"a.xhtml": page})
    text = text_of(data, name)
    assert "root:" not in text and text.count("lol") < 100 and "Some words." in text


@pytest.mark.parametrize(
    "order",
    [
        ".. include:: /etc/passwd",
        ".. include:: /etc/passwd\n   :literal:",
        ".. raw:: html\n   :file: /etc/passwd",
        ".. raw:: html\n   :url: http://127.0.0.1:9/secret",
        ".. csv-table:: T\n   :file: /etc/passwd",
        ".. csv-table:: T\n   :url: http://127.0.0.1:9/secret",
        ".. image:: http://127.0.0.1:9/secret.png",
        ".. literalinclude:: /etc/passwd",
    ],
)
def test_a_manual_that_wants_other_files(order: str) -> None:
    text = text_of(f"Title\n=====\n\nSome words.\n\n{order}\n\nMore words.\n".encode(), "a.rst")
    assert "root:" not in text and "Some words." in text and "More words." in text


@pytest.mark.parametrize(
    "page",
    [
        '<img src="http://127.0.0.1:9/a.png"><p>Some words.</p>',
        '<link rel="stylesheet" href="http://127.0.0.1:9/a.css"><p>Some words.</p>',
        '<iframe src="file:///etc/passwd"></iframe><p>Some words.</p>',
        '<object data="http://127.0.0.1:9/a"></object><p>Some words.</p>',
    ],
)
def test_a_page_that_wants_something_fetched(page: str) -> None:
    assert "Some words." in text_of(page.encode(), "a.html")


def packed(**parts: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name.replace("__", "."), data)
    return made.getvalue()


def check_refused(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "book.zip"
    file.write_bytes(data)
    with pytest.raises(InputError, match="not a complete export"), open_export(file) as reader:
        manifest = read_archive_manifest(reader)
        reader.check_digests(PARTS, manifest.sha256)
        list(points_of(reader, manifest))
    assert [each.name for each in tmp_path.iterdir()] == ["book.zip"], "nothing was unpacked"


def bomb(large: str, *small: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in small:
            archive.writestr(name, b"{}")
        with archive.open(large, "w") as part:
            for _ in range(110):
                part.write(bytes(2**20))
    assert len(made.getvalue()) < 2**20
    return made.getvalue()


def test_an_import_that_unpacks_to_far_too_much(tmp_path: Path) -> None:
    check_refused(tmp_path, bomb(VECTORS, BOOK, FILES, POINTS))


@pytest.mark.parametrize("large", ["backup.json", "tables/books.jsonl"])
def test_a_backup_that_unpacks_to_far_too_much(tmp_path: Path, large: str) -> None:
    file = tmp_path / "all.backup"
    file.write_bytes(bomb(large, *{"backup.json"} - {large}))
    with pytest.raises(InputError, match="not a complete backup"):
        open_backup(file)


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "..\\evil", "book.json/../../evil"])
def test_an_import_with_other_names(tmp_path: Path, name: str) -> None:
    parts = dict.fromkeys((BOOK, FILES, POINTS, VECTORS), b"{}")
    check_refused(tmp_path, packed(**parts, **{name: b"evil"}))
    assert not (tmp_path.parent / "evil").exists()


def test_an_import_with_a_link(tmp_path: Path) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name in (FILES, POINTS, VECTORS):
            archive.writestr(name, b"")
        link = zipfile.ZipInfo(BOOK)
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    check_refused(tmp_path, made.getvalue())


def test_an_import_that_is_nested_without_end(tmp_path: Path) -> None:
    deep = b'{"format": ' + b"[" * 100_000
    parts = {"book__json": deep, "files__jsonl": b"", "points__jsonl": b"", "vectors__f32": b""}
    check_refused(tmp_path, packed(**parts))


def test_a_protected_import(tmp_path: Path) -> None:
    data = bytearray(packed(**dict.fromkeys((BOOK, FILES, POINTS, VECTORS), b"{}")))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(mark)
        while at >= 0:
            data[at + offset] |= 1  # says that it is encrypted
            at = data.find(mark, at + 4)
    check_refused(tmp_path, bytes(data))


def test_a_page_with_laughing_front_matter(tmp_path: Path) -> None:
    from bythebook.reading.metadata import Teaching, read_front_matter, read_head, read_teaching

    lines = ["a0: &a0 [lol, lol]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    page = (
        "---\n"
        + "\n".join([*lines, "title: *a29", "layer: *a29", "chapter: *a29"])
        + "\n---\n# A\n"
    )
    front = read_front_matter(page)
    head, problems = read_head(page, front)
    _, further = read_teaching(front.values, Teaching())
    assert len(json.dumps([head.to_json(), problems, further])) < 5000
