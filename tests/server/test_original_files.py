"""The PDF that a passage is from: for whom, which file, and how it is sent."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bythebook.library import Library
from bythebook.settings import Settings
from reading.made_files import Printed
from server.running import Running, running

QUESTION = "Where is the main valve?"


PUMPS = """A pump lifts water from the deep well into the tank of the house. It stands beside the
well, runs for about an hour each morning, and is switched on by a float that hangs in the tank.
When the float sinks below the red line, the pump starts; when it reaches the white line, the pump
stops. A gauge on the wall shows the pressure behind the pump, which is two bar on most days. If the
gauge shows less than one bar, the filter of the pump is full of sand and wants to be rinsed with
clean water until nothing comes out of it any more."""
VALVES = """A valve controls the flow of water through a copper pipe. Every room of the house has
one
valve for cold water and one for warm water, and both are painted: blue for the cold one, red for
the warm one. Turn the wheel of a valve to the right to close it, and to the left to open it. A
valve that was not moved for a year may be stuck; then put one drop of oil on its stem, wait for ten
minutes, and try again with a little patience. The main valve is in the cellar, to the left of the
stairs, and closes all pipes of the house at once."""


def valves(last: str = VALVES) -> bytes:
    made = Printed(title="Water")
    for heading, text in (("Pumps", PUMPS), ("Valves", last)):
        made.add_page()
        made.heading(heading, outline=0)
        made.text_block(" ".join(text.split()))
    return made.data()


@pytest.fixture
async def home(tmp_path: Path) -> Path:
    book = tmp_path / "shelf"
    book.mkdir()
    (book / "water.pdf").write_bytes(valves())
    (book / "notes.md").write_text("# Notes\n\nThe taps of the old kitchen are made of brass.\n")
    async with await Library.open(Settings(home=tmp_path / "home")) as library:
        await library.ingest(book, book_id="water")
    return tmp_path / "home"


@pytest.fixture
async def up(home: Path) -> AsyncIterator[Running]:
    async with running(home) as service:
        yield service


async def passage_of(up: Running, file: str, text: str = QUESTION, **how: Any) -> dict[str, Any]:
    answer = await up.http.post("/search", json={"text": text, "limit": 10}, **how)
    (first, *_) = [one for one in answer.json()["results"] if one["source_file"] == file]
    shown = await up.http.get(f"/context/{first['id']}?before=0&after=0", **how)
    found: dict[str, Any] = shown.json()["passages"][0]
    return found


async def test_the_file_as_it_was_read(up: Running) -> None:
    passage = await passage_of(up, "water.pdf")
    assert passage["has_file"]
    answer = await up.http.get(f"/source/{passage['id']}")
    assert answer.content == valves()
    assert answer.headers["content-type"] == "application/pdf"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]
    notes = await passage_of(up, "notes.md", "What are the taps of the kitchen made of?")
    assert not notes["has_file"]
    assert (await up.http.get(f"/source/{notes['id']}")).status_code == 404


async def test_readers_get_it_only_if_the_book_is_open(home: Path) -> None:
    for open_files, status in (("", 403), ("air, water", 200), ("all", 200), ("air", 403)):
        async with running(home, open_files=open_files) as up:
            keys = up.service.keys
            reader = {"X-API-Key": (await keys.create("reader", ("read",)))[1]}
            admin = {"X-API-Key": (await keys.create("admin", ("admin",)))[1]}
            other = {"X-API-Key": (await keys.create("other", ("admin",), ["air"]))[1]}
            passage = await passage_of(up, "water.pdf", headers=reader)
            assert passage["has_file"] == (status == 200)
            path = f"/source/{passage['id']}?book_id=water"
            refused = await up.http.get(path, headers=reader)
            assert refused.status_code == status
            if status == 403:
                assert "BYTHEBOOK_OPEN_FILES" in refused.json()["suggested_action"]
            assert (await up.http.get(path, headers=admin)).status_code == 200
            assert (await up.http.get(path, headers=other)).status_code == 404
            assert (await up.http.get(path)).status_code == 401
            for key in await keys.list():
                await keys.revoke(key.key_id)


async def test_only_what_was_read_is_sent(up: Running, tmp_path: Path) -> None:
    passage = await passage_of(up, "water.pdf")
    file = tmp_path / "shelf" / "water.pdf"
    kept = file.read_bytes()
    secret = tmp_path / "secret.pdf"
    secret.write_bytes(valves("The code of the safe is four times the number seven."))

    async def refused(code: int = 404) -> str:
        answer = await up.http.get(f"/source/{passage['id']}")
        assert answer.status_code == code
        said: str = answer.json()["message"]
        return said

    shutil.copyfile(secret, file)
    assert "has changed since it was read" in await refused()
    file.unlink()
    file.symlink_to(secret)
    await refused()
    file.unlink()
    await refused()
    file.write_bytes(kept)
    assert (await up.http.get(f"/source/{passage['id']}")).status_code == 200
    # A page that an operator removed is not sent either.
    removed = await up.http.delete("/admin/books/water/pages/water.pdf")
    assert removed.status_code == 200
    await refused()


async def test_a_source_that_nobody_allowed(home: Path, up: Running) -> None:
    passage = await passage_of(up, "water.pdf")
    await up.service.library.sources.forget("water")
    answer = await up.http.get(f"/source/{passage['id']}")
    assert answer.status_code == 403 and "allowed" in answer.json()["message"]
