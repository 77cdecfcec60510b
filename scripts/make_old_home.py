"""Makes a small home as the running version of bythebook makes it, packed into one file.

For each released version: `python scripts/make_old_home.py tests/data/homes/VERSION.tar.xz`, with
that version installed. tests/moving/test_upgrade.py opens all of them for ever after.
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import tarfile
import tempfile
from pathlib import Path

from bythebook.keys import Keys
from bythebook.library import Library
from bythebook.models.conversation import Turn
from bythebook.settings import Settings
from bythebook.threads import Threads

SESSION = "00000000-0000-4000-8000-000000000001"
PAGES = {
    "bythebook.toml": '[book]\nid = "small"\ntitle = "A small book"\n',
    "chapter-1/01-nodes.md": "# Nodes\n\nA node is a process that computes for a robot.\n",
    "chapter-1/02-topics.md": "# Topics\n\nA topic is a named channel between two nodes.\n",
}
# Locks mean nothing elsewhere, and the book is written again where it is needed.
LEFT_OUT = ("locks", ".lock")


async def fill(home: Path, book: Path) -> None:
    async with await Library.open(Settings(home=home)) as library:
        await library.ingest(book)
        await Keys(library.engine).create("website", ["chat"])
        turn = Turn("What is a node?", "A process that computes for a robot.")
        threads = Threads(library.engine)
        await threads.append(SESSION, turn, metadata={"book_id": "small"}, is_new=True)


def forget_places(database: Path) -> None:
    """Where the book was is nobody's business."""
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE books SET source = 'book'")
        connection.execute("UPDATE jobs SET source = 'book'")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.execute("VACUUM")
    connection.close()


def write_pages(book: Path) -> None:
    for name, text in PAGES.items():
        (book / name).parent.mkdir(parents=True, exist_ok=True)
        (book / name).write_text(text, encoding="utf-8")


def pack(home: Path, target: Path) -> None:
    def kept(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        if entry.name.endswith(LEFT_OUT):
            return None
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        return entry

    target.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(target, "w:xz") as archive:
        archive.add(home, "home", filter=kept)


def main() -> None:
    target = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        home, book = Path(folder) / "home", Path(folder) / "book"
        write_pages(book)
        asyncio.run(fill(home, book))
        forget_places(home / "bythebook.db")
        pack(home, target)
    print(f"{target}: {target.stat().st_size / 1000:.0f} KB")


if __name__ == "__main__":
    main()
