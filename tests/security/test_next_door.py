"""A service reads a book only from where an operator said that it is."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine

from booktext import lesson, section
from bythebook.database.engine import MIGRATIONS
from bythebook.errors import NotAllowed
from bythebook.library import Library
from bythebook.moving.archive import export_book, import_book
from bythebook.moving.backup import back_up
from bythebook.moving.restore import restore
from bythebook.settings import Settings
from fetching.site import page, serving
from server.following import end_of, follow
from server.running import Running, running, until

TRIGGER = "/ingestion/trigger"
CHANGES = "/ingestion/changes"


def write(folder: Path, topic: str, name: str = "01-page.md") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(lesson("Page", section("Part", topic)), encoding="utf-8")
    return folder


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """Two books; a chapter of the second is called as the first is, and as a third one is."""
    write(tmp_path / "shelf/one", "nodes")
    write(tmp_path / "shelf/two", "cooking")
    write(tmp_path / "shelf/two/one", "cooking")
    write(tmp_path / "shelf/two/three", "cooking")
    return tmp_path / "shelf"


@pytest.fixture
async def up(shelf: Path, tmp_path: Path) -> AsyncIterator[Running]:
    async with await Library.open(Settings(home=tmp_path / "home")) as library:
        await library.ingest(shelf / "one")
        await library.ingest(shelf / "two")
    async with running(
        tmp_path / "home", books_folder=shelf, fetch_private="127.0.0.0/8"
    ) as service:
        yield service


async def bound(up: Running, *books: str) -> dict[str, str]:
    _, text = await up.service.keys.create("someone", ["admin"], list(books))
    return {"X-API-Key": text}


async def ending(up: Running, job_id: int) -> str:
    """Without requests, which a key has only so many of."""
    library = up.service.library

    async def has_ended() -> bool:
        return (await library.job(job_id)).completed_at is not None

    await until(has_ended)
    return (await library.job(job_id)).status


@pytest.mark.parametrize(
    "request_body",
    [
        {"path": "two", "book_id": "one"},
        {"path": "two/one"},
        {"path": "two/one", "book_id": "one"},
        {"path": "two/01-page.md", "book_id": "one"},
        {"path": "two/three", "book_id": "three"},
        {"path": "two/three"},
        {"path": "linked", "book_id": "one"},
        {"path": "claims"},
        {"path": "claims", "book_id": "one"},
        {"path": "nowhere", "book_id": "one"},
    ],
)
async def test_a_key_for_one_book_does_not_read_the_folder_of_another(
    up: Running, shelf: Path, request_body: dict[str, str]
) -> None:
    (shelf / "linked").symlink_to(shelf / "two")
    (write(shelf / "claims", "cooking") / "bythebook.toml").write_text('[book]\nid = "one"\n')
    key = await bound(up, "one", "three")
    before = await up.service.library.jobs()
    answers = [
        await up.http.post(TRIGGER, json=request_body, headers=key),
        await up.http.get(CHANGES, params=request_body, headers=key),
    ]
    for answer in answers:
        assert answer.status_code == 403, answer.text
        # Whether there is such a folder is not told either.
        assert "not a place of" in answer.json()["message"]
    assert await up.service.library.jobs() == before


async def test_nor_an_address_that_nobody_allowed(up: Running) -> None:
    with serving({"/docs/": page("Secret")}) as site:
        key = await bound(up, "one", "three")
        for book_id in ("one", "three"):
            body = {"path": f"{site.url}/docs/", "book_id": book_id}
            assert (await up.http.post(TRIGGER, json=body, headers=key)).status_code == 403
            looked = await up.http.get(CHANGES, params=body, headers=key)
            assert looked.status_code == 403
        assert not site.asked


async def test_its_own_folder_and_one_that_is_called_as_the_book_are_read(
    up: Running, shelf: Path
) -> None:
    write(shelf / "three", "wheels")
    key = await bound(up, "one", "three")
    for body in ({"path": "one"}, {"path": "one", "book_id": "one"}, {"path": "three"}):
        looked = await up.http.get(CHANGES, params=body, headers=key)
        assert looked.status_code == 200, looked.text
        response = await up.http.post(TRIGGER, json=body, headers=key)
        assert response.status_code == 202, response.text
        assert await ending(up, response.json()["job_id"]) == "completed"


async def test_a_folder_that_became_a_link_is_not_followed(up: Running, shelf: Path) -> None:
    """Checked when it is used: it was a folder when it was stored."""
    (shelf / "one").rename(shelf / "was-one")
    (shelf / "one").symlink_to(shelf / "two")
    for body in ({"book_id": "one"}, {"path": "one", "book_id": "one"}):
        key = await bound(up, "one")
        assert (await up.http.post(TRIGGER, json=body, headers=key)).status_code == 403
    library = up.service.library
    job = await library.job_table.queue("one", "full", str(shelf / "one"))
    with pytest.raises(NotAllowed, match="leads to another place"):
        await library.run_job(job.job_id)


def with_source(file: Path, source: str) -> Path:
    """The exported book, saying that it was read from somewhere else."""
    new = file.with_suffix(".hostile")
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(new, "w") as archive:
        for name in old.namelist():
            data = old.read(name)
            if name == "book.json":
                manifest = json.loads(data)
                manifest["book"]["source"] = source
                data = json.dumps(manifest).encode()
            archive.writestr(name, data)
    return new


@pytest.fixture
async def exported(shelf: Path, tmp_path: Path) -> Path:
    async with await Library.open(Settings(home=tmp_path / "author")) as library:
        await library.ingest(shelf / "one")
        await export_book(library, "one", tmp_path / "one.btb")
    return tmp_path / "one.btb"


async def refused(up: Running, book_id: str, **options: Any) -> None:
    """Neither a trigger reads the book again, nor a job that was queued otherwise."""
    for answer in (
        await up.http.post(TRIGGER, json={"book_id": book_id}, **options),
        await up.http.get(CHANGES, params={"book_id": book_id}, **options),
    ):
        assert answer.status_code == 403, answer.text
        assert f"bythebook ingest PATH --book {book_id}" in answer.json()["suggested_action"]
    library = up.service.library
    source = (await library.book(book_id)).source
    job = await library.job_table.queue(book_id, "incremental", source)
    done = await end_of(up, job.job_id, **options)
    assert done["status"] == "failed" and "import or a backup" in done["error_message"]


async def test_an_imported_book_names_no_folder_to_publish(
    exported: Path, shelf: Path, tmp_path: Path
) -> None:
    private = write(tmp_path / "private", "cooking")
    for source in (str(private), str(shelf / "two")):
        home = tmp_path / f"home-{Path(source).name}"
        async with await Library.open(Settings(home=home)) as library:
            await import_book(library, with_source(exported, source))
        async with running(home, books_folder=shelf) as up:
            await refused(up, "one")
            # The operator says where it is.
            done = await follow(up, await up.http.post(TRIGGER, json={"path": "one"}))
            assert done["status"] == "completed"
            done = await follow(up, await up.http.post(TRIGGER, json={"book_id": "one"}))
            assert done["status"] == "completed"


async def test_an_imported_book_names_no_address_to_fetch(exported: Path, tmp_path: Path) -> None:
    with serving({"/docs/": page("Secret")}) as site:
        file = with_source(exported, f"{site.url}/docs/")
        async with await Library.open(Settings(home=tmp_path / "home")) as library:
            await import_book(library, file)
        async with running(tmp_path / "home", fetch_private="127.0.0.0/8") as up:
            await refused(up, "one")
        assert not site.asked


async def test_an_import_in_place_of_a_book_moves_it_nowhere(
    exported: Path, shelf: Path, tmp_path: Path
) -> None:
    private = write(tmp_path / "private", "cooking")
    async with await Library.open(Settings(home=tmp_path / "home")) as library:
        await library.ingest(shelf / "one")
        await import_book(library, with_source(exported, str(private)), replace=True)
        with pytest.raises(NotAllowed, match="import or a backup"):
            await library.sources.check("one", str(private))
        await library.sources.check("one", str(shelf / "one"))


def cli(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bythebook", *arguments]
    env = {"BYTHEBOOK_HOME": str(home), "PYTHONPATH": ":".join(sys.path)}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


async def test_the_command_line_reads_an_import_again_only_from_a_named_place(
    exported: Path, shelf: Path, tmp_path: Path
) -> None:
    private, home = write(tmp_path / "private", "cooking"), tmp_path / "home"
    assert cli(home, "import", str(with_source(exported, str(private)))).returncode == 0
    refused = cli(home, "ingest", "--book", "one")
    assert refused.returncode != 0 and "E009" in refused.stderr
    assert "bythebook ingest PATH --book one" in refused.stderr
    assert cli(home, "ingest", str(shelf / "one"), "--book", "one").returncode == 0
    assert cli(home, "ingest", "--book", "one").returncode == 0


async def test_a_backup_names_no_folder_and_no_job(shelf: Path, tmp_path: Path) -> None:
    """What is allowed stays with the machine: a backup neither brings nor takes it."""
    private = write(tmp_path / "private", "cooking")
    async with await Library.open(Settings(home=tmp_path / "author")) as library:
        await library.ingest(shelf / "one")
        await library.ingest(private, book_id="two")
        await library.job_table.queue("three", "incremental", str(private))
        await back_up(library, tmp_path / "all.backup")
    home = tmp_path / "home"
    async with await Library.open(Settings(home=home)) as library:
        await library.ingest(shelf / "one")
    await restore(Settings(home=home), tmp_path / "all.backup", force=True)
    async with running(home) as up:
        jobs = await up.service.library.jobs("three")
        done = await end_of(up, jobs[0].job_id)
        assert done["status"] == "failed" and "import or a backup" in done["error_message"]
        await refused(up, "two")
        done = await follow(up, await up.http.post(TRIGGER, json={"book_id": "one"}))
        assert done["status"] == "completed"


async def test_a_removed_book_leaves_no_leave(up: Running, shelf: Path) -> None:
    library = up.service.library
    await library.remove_book("one")
    with pytest.raises(NotAllowed):
        await library.sources.check("one", str(shelf / "one"))


async def test_books_from_before_are_read_on(shelf: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with await Library.open(Settings(home=home)) as library:
        await library.ingest(shelf / "one")
        await library.job_table.queue("two", "incremental", str(shelf / "two"))
    engine = create_engine(f"sqlite:///{home / 'bythebook.db'}")
    with engine.begin() as connection:
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.attributes["connection"] = connection
        command.downgrade(config, "0007")
    engine.dispose()
    async with await Library.open(Settings(home=home)) as library:
        await library.sources.check("one", str(shelf / "one"))
        await library.sources.check("two", str(shelf / "two"))
