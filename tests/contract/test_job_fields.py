"""Ingesting as clients see it: jobs, what they went through, and what changed since."""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from booktext import WriteBook, small_book
from bythebook.database.engine import Database
from bythebook.ingestion.jobs import Jobs
from cli.conftest import Cli
from contract.shapes import misfits
from server.following import follow
from server.running import Running, running

JOB = {
    "job_id": "positive",
    "book_id": "text",
    "mode": "text",
    "status": "text",
    "files_processed": "whole",
    "files_skipped": "whole",
    "chunks_created": "whole",
    "chunks_deleted": "whole",
    "started_at": "moment",
    "completed_at": "none|moment",
    "duration_seconds": "none|whole",
    "error_message": "none|text",
}
PAGE = "module-1-ros/chapter-1/01-nodes.md"


async def trigger(up: Running, **body: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The job as it was queued, and as it ended."""
    response = await up.http.post("/ingestion/trigger", json=body)
    assert response.status_code == 202, response.text
    return response.json(), await follow(up, response)


async def test_a_job_from_the_queue_to_its_end(
    tmp_path: Path, write_book: WriteBook, database_url: str
) -> None:
    """On SQLite and on PostgreSQL; the book changes in between."""
    files = small_book()
    folder = write_book(files)
    how: dict[str, Any] = {"books_folder": tmp_path, "database_url": database_url}
    async with running(tmp_path / "home", **how) as up:
        queued, first = await trigger(up, path="book")
        assert misfits(queued, JOB) == [] and misfits(first, JOB) == []
        assert (queued["status"], queued["completed_at"]) == ("queued", None)
        assert (first["status"], first["mode"]) == ("completed", "incremental")
        begun, ended = (
            datetime.fromisoformat(first[f"{end}_at"]) for end in ("started", "completed")
        )
        assert ended >= begun and first["error_message"] is None
        assert first["duration_seconds"] == int((ended - begun).total_seconds())
        assert (first["files_processed"], first["files_skipped"]) == (4, 0)
        assert (first["chunks_created"], first["chunks_deleted"]) == (8, 0)
        again = (await trigger(up, book_id="small"))[1]
        assert (again["files_processed"], again["files_skipped"]) == (0, 4)
        files[PAGE] = files[PAGE].replace("remark 3 on topics", "another remark on topics")
        write_book({**files, "module-2-sim/chapter-1/02-new.md": files[PAGE]})
        (folder / "module-1-ros/chapter-2/01-actions.md").unlink()
        seen = (await up.http.get("/ingestion/changes")).json()
        assert seen["new"] == ["module-2-sim/chapter-1/02-new.md"]
        assert seen["modified"] == [PAGE]
        assert seen["deleted"] == ["module-1-ros/chapter-2/01-actions.md"]
        # All three passages of the changed page, and the two of the one that is gone.
        assert seen["chunks_to_delete"] == 5
        changed = (await trigger(up, book_id="small"))[1]
        assert (changed["files_processed"], changed["files_skipped"]) == (2, 2)
        assert (changed["chunks_created"], changed["chunks_deleted"]) == (4, 3)
        for mode in ("full", "recreate"):
            assert (await trigger(up, book_id="small", mode=mode))[1]["mode"] == mode
        listed = (await up.http.get("/ingestion/status")).json()
        assert [job["job_id"] for job in listed] == sorted({j["job_id"] for j in listed})[::-1]
        assert len(listed) == 5
        one = (await up.http.get(f"/ingestion/status/{first['job_id']}")).json()
        assert one == first
    # It is still known after a restart.
    async with running(tmp_path / "home", **how) as up:
        assert (await up.http.get("/ingestion/status")).json() == listed


async def test_a_job_that_runs_and_fails(
    tmp_path: Path, write_book: WriteBook, database_url: str
) -> None:
    folder = write_book(small_book())
    how: dict[str, Any] = {"books_folder": tmp_path, "database_url": database_url}
    async with running(tmp_path / "home", **how) as up:
        await trigger(up, path="book")
        shutil.rmtree(folder)
        failed = (await trigger(up, book_id="small"))[1]
    assert misfits(failed, JOB) == []
    assert failed["status"] == "failed" and failed["error_message"] and failed["completed_at"]


async def test_a_running_job_has_no_end(database_url: str) -> None:
    database = await Database.open(database_url)
    jobs = Jobs(database)
    queued = await jobs.queue("small", "incremental", "somewhere")
    assert await jobs.claim(queued.job_id)
    told = (await jobs.get(queued.job_id)).model_dump(mode="json")
    await database.close()
    assert misfits(told, JOB) == []
    assert (told["status"], told["completed_at"], told["duration_seconds"]) == (
        "running",
        None,
        None,
    )


@pytest.mark.parametrize("mode", ["incremental", "full", "recreate"])
def test_modes_on_the_command_line(cli: Cli, write_book: WriteBook, mode: str) -> None:
    book = str(write_book(small_book()))
    assert misfits(cli.json("ingest", book), JOB) == []
    again = cli.json("ingest", book, "--mode", mode)
    assert (again["mode"], again["status"]) == (mode, "completed")
    status, _, err = cli("ingest", book, "--mode", "sometimes")
    assert status != 0 and "sometimes" in err
