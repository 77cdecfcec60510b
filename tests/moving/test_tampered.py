"""Backups and exports that somebody changed on their way: refused as a whole, or read as if nothing
had been done to them. Nothing is written beside the home."""

from __future__ import annotations

import hashlib
import json
import random
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from booktext import WriteBook, small_book
from bythebook.errors import BookError
from bythebook.keys import Keys
from bythebook.library import Library
from bythebook.moving.archive import BOOK, export_book, import_book
from bythebook.moving.backup import ABOUT, back_up
from bythebook.moving.restore import restore
from bythebook.settings import Settings
from invariants import content_of

FLIPPED = 60
EVIL = "../../evil"


@pytest.fixture
async def made(library: Library, write_book: WriteBook, tmp_path: Path) -> dict[str, Path]:
    await library.ingest(write_book(small_book()))
    await Keys(library.engine).create("website", ["chat"])
    files = {"backup": tmp_path / "all.backup", "export": tmp_path / "small.btb"}
    await back_up(library, files["backup"])
    await export_book(library, "small", files["export"])
    return files


async def taken(kind: str, file: Path, home: Path) -> dict[str, Any] | None:
    """The passages that arrived, or None where the file was refused."""
    settings = Settings(home=home)
    try:
        if kind == "backup":
            await restore(settings, file)
        async with await Library.open(settings) as library:
            if kind == "export":
                await import_book(library, file)
            return await content_of(library, "small")
    except BookError as refused:
        assert refused.action, refused
        return None


@pytest.mark.parametrize("kind", ["backup", "export"])
async def test_flipped_bits_are_noticed_or_do_nothing(
    kind: str, made: dict[str, Path], library: Library, tmp_path: Path
) -> None:
    whole = made[kind].read_bytes()
    right = await content_of(library, "small")
    chance = random.Random(7)
    refused = 0
    for number in range(FLIPPED):
        data = bytearray(whole)
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        bad = tmp_path / "bad"
        bad.write_bytes(data)
        arrived = await taken(kind, bad, tmp_path / f"new{number}")
        refused += arrived is None
        assert arrived is None or arrived == right
    assert refused > FLIPPED // 2


def link(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.create_system = 3
    entry.external_attr = 0o120777 << 16
    return entry


@pytest.mark.parametrize("kind", ["backup", "export"])
async def test_other_members_are_not_unpacked(
    kind: str, made: dict[str, Path], tmp_path: Path
) -> None:
    with zipfile.ZipFile(made[kind], "a") as archive:
        for name in (EVIL, "/tmp/evil", "..\\..\\evil", "home/bythebook.db", "a\x01b"):
            archive.writestr(name, "evil")
        archive.writestr(link("index"), "/etc")
    home = tmp_path / "below" / "new"
    assert await taken(kind, made[kind], home) is None
    assert not list(tmp_path.rglob("*evil*"))
    assert not [file for file in home.rglob("*") if file.is_symlink()]


@pytest.mark.parametrize("kind", ["backup", "export"])
async def test_a_size_that_is_not_true(kind: str, made: dict[str, Path], tmp_path: Path) -> None:
    """Of every member, in the list at the end: four gigabytes."""
    data = bytearray(made[kind].read_bytes())
    at = -1
    while (at := data.find(b"PK\x01\x02", at + 1)) >= 0:
        struct.pack_into("<I", data, at + 24, 2**32 - 2)
    made[kind].write_bytes(data)
    assert await taken(kind, made[kind], tmp_path / "new") is None


@pytest.mark.parametrize("kind", ["backup", "export"])
async def test_a_member_that_is_a_link_or_there_twice(
    kind: str, made: dict[str, Path], tmp_path: Path
) -> None:
    about = ABOUT if kind == "backup" else BOOK
    with zipfile.ZipFile(made[kind], "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr(link(about), "/etc/passwd")
    assert await taken(kind, made[kind], tmp_path / "new") is None


def forged(file: Path, part: str, change: Callable[[str], str]) -> None:
    """A part of a backup changed, with a digest that fits."""
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts[part] = change(parts[part].decode()).encode()
    manifest = json.loads(parts[ABOUT])
    if part != ABOUT:
        manifest["sha256"][part] = hashlib.sha256(parts[part]).hexdigest()
    parts[ABOUT] = json.dumps(manifest).encode()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        (ABOUT, lambda text: text.replace('"small"', f'"{EVIL}"')),
        ("tables/books.jsonl", lambda text: text.replace('"small"', f'"{EVIL}"')),
        ("tables/api_keys.jsonl", lambda text: text.replace('"chat"', '"root"')),
        ("tables/api_keys.jsonl", lambda text: text + text),
        (
            ABOUT,
            lambda text: text.replace('"format": 1', '"format": 99').replace(
                '"format":1', '"format":99'
            ),
        ),
    ],
)
async def test_rows_that_were_forged_are_refused(
    made: dict[str, Path], tmp_path: Path, part: str, change: Callable[[str], str]
) -> None:
    file = made["backup"]
    before = file.read_bytes()
    forged(file, part, change)
    assert file.read_bytes() != before
    home = tmp_path / "below" / "new"
    assert await taken("backup", file, home) is None
    assert not list(tmp_path.rglob("*evil*"))
    async with await Library.open(Settings(home=home)) as library:
        scopes = {scope for key in await Keys(library.engine).list() for scope in key.scopes}
        assert not scopes and not await library.books()
