"""Exports and backups whose content was changed and whose digests were made to fit, so that all
that is checked behind them is reached."""

from __future__ import annotations

import asyncio
import atexit
import hashlib
import io
import json
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from booktext import small_book
from bythebook.keys import Keys
from bythebook.library import Library
from bythebook.models.search_messages import SearchQuery
from bythebook.moving.archive import BOOK, export_book, import_book
from bythebook.moving.backup import ABOUT, back_up
from bythebook.moving.restore import restore
from bythebook.settings import Settings


class Home:
    """A library with a small book, its export and its backup; it ends with this process."""

    def __init__(self) -> None:
        self.runner = asyncio.Runner()
        folder = tempfile.TemporaryDirectory()
        self.folder = Path(folder.name)
        atexit.register(folder.cleanup)
        atexit.register(self.runner.close)
        self.library = self.runner.run(self._open())

    async def _open(self) -> Library:
        book = self.folder / "book"
        for name, text in small_book().items():
            (book / name).parent.mkdir(parents=True, exist_ok=True)
            (book / name).write_text(text, encoding="utf-8")
        library = await Library.open(Settings(home=self.folder / "home"))
        await library.ingest(book)
        await Keys(library.engine).create("website", ["chat"])
        await export_book(library, "small", self.folder / "small.btb")
        await back_up(library, self.folder / "all.backup")
        return library

    async def imported(self, file: Path) -> None:
        """A book that was taken can be searched; one that was refused has left nothing."""
        try:
            manifest = await import_book(self.library, file, replace=True)
            await self.library.search(asked(manifest.book.book_id))
        finally:
            for book in await self.library.books():
                await self.library.remove_book(book.book_id)

    async def restored(self, file: Path) -> None:
        with tempfile.TemporaryDirectory() as folder:
            settings = Settings(home=Path(folder) / "below" / "home")
            await restore(settings, file)
            assert [each.name for each in Path(folder).iterdir()] == ["below"]
            async with await Library.open(settings) as library:
                await Keys(library.engine).list()
                for book in await library.books():
                    await library.search(asked(book.book_id))


def asked(book_id: str) -> SearchQuery:
    return SearchQuery(text="What is a node?", book_id=book_id)


@cache
def home() -> Home:
    return Home()


def sample(name: str) -> list[bytes]:
    return [(home().folder / name).read_bytes()]


def with_digests(data: bytes) -> bytes:
    """The same file with digests of what it holds now; a broken one as it is."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
        about = BOOK if BOOK in parts else ABOUT
        manifest: dict[str, Any] = json.loads(parts[about])
        manifest["sha256"] = {
            name: hashlib.sha256(parts[name]).hexdigest() for name in manifest["sha256"]
        }
        parts[about] = json.dumps(manifest).encode()
    except Exception:  # noqa: BLE001 (whatever is wrong with it is for the reader to find)
        return data
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return made.getvalue()


def taken(name: str) -> Callable[[bytes], object]:
    def run(data: bytes) -> None:
        file = home().folder / f"changed-{name}"
        file.write_bytes(with_digests(data))
        take = home().imported if name == "small.btb" else home().restored
        home().runner.run(take(file))

    return run
