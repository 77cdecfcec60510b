"""Web sites and repositories that a service reads again by itself, and what it says changed."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from booktext import WriteBook, small_book
from bythebook.library import Library
from bythebook.models.chunk import now
from bythebook.workers import rereading
from bythebook.workers.rereading import queue_next
from cli.conftest import Cli
from cli.conftest import cli as cli
from faults.process import service_process
from faults.test_clock_jumps import set_clock, with_clock
from fetching.crawling import crawl_settings
from fetching.site import page, serving
from fetching.test_repository import TEXT, commit, push
from fetching.test_repository import work as work
from server.running import until

DAY = 24 * 3600.0
PAGES = {
    "/docs/": page("Start", links="valves/ pumps"),
    "/docs/valves/": page("Valves", "A valve opens when the pressure rises above two bar."),
    "/docs/pumps": page("Pumps", "A pump moves water uphill with an electric motor."),
}


async def ended(http: httpx.AsyncClient, book_id: str, count: int) -> dict[str, Any]:
    """The newest job of a book, once it has so many and the newest has ended."""

    async def look() -> dict[str, Any] | None:
        jobs = (await http.get("/ingestion/status", params={"book_id": book_id})).json()
        return jobs[0] if len(jobs) == count and jobs[0]["completed_at"] else None

    found: dict[str, Any] = await until(look)
    return found


@pytest.mark.slow
async def test_what_changed_is_read_again_in_its_time_and_shown(
    cli: Cli, home: Path, tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = tmp_path / "clock"
    with serving(PAGES) as site:
        environment = {"BYTHEBOOK_FETCH_PRIVATE": site.private, "BYTHEBOOK_FETCH_DELAY": "0"}
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        first = await asyncio.to_thread(cli.json, "ingest", f"{site.url}/docs/", "--book", "site")
        assert (first["changes"]["added"], first["changes"]["changed"]) == (3, 0)
        await asyncio.to_thread(cli, "ingest", str(tmp_path / "valves.git"))

        site.pages["/docs/pumps"] = page("Pumps", "A pump now moves oil instead of water.")
        site.pages["/docs/"] = page("Start", links="pumps pipes")
        site.pages["/docs/pipes"] = page("Pipes", "A pipe of steel carries the oil to the tank.")
        del site.pages["/docs/valves/"]
        commit(work, {"new.md": TEXT.format("New", "n")})
        push(work, "main")
        environment["BYTHEBOOK_REREAD_HOURS"] = "24"
        async with service_process(home, environment, command=with_clock(clock)) as (_, http):
            set_clock(clock, DAY + 60)
            job = await ended(http, "site", 2)
            assert (job["status"], job["mode"]) == ("completed", "incremental")
            changes = job["changes"]
            assert [changes[kind] for kind in ("added", "changed", "removed")] == [1, 2, 1]
            assert ["pipes" in file for file in changes["added_files"]] == [True]
            assert ["valves" in file for file in changes["removed_files"]] == [True]
            of_git = await ended(http, "valves", 2)
            assert of_git["changes"]["added_files"] == ["new.md"]
            # One after the other.
            starts, ends = [
                sorted(datetime.fromisoformat(one[when]) for one in (job, of_git))
                for when in ("started_at", "completed_at")
            ]
            assert ends[0] <= starts[1]
            books = (await http.get("/admin/books")).json()["books"]
            assert {book["book_id"]: book["changes"] for book in books} == {
                "site": changes,
                "valves": of_git["changes"],
            }
            status, out, _ = await asyncio.to_thread(cli, "jobs", "--book", "site")
            assert status == 0 and "1 added, 2" in out and "removed: valves.htm" in out
            assert f"removed: {changes['removed_files'][0]}" in out

            site.down = True
            set_clock(clock, 2 * DAY + 600)
            failed = await ended(http, "site", 3)
            assert failed["status"] == "failed" and "503" in failed["error_message"]
            books = (await http.get("/admin/books")).json()["books"]
            assert books[0]["changes"] == changes
            site.down = False
            set_clock(clock, 3 * DAY + 1200)
            again = await ended(http, "site", 4)
            assert (again["status"], again["changes"]["changed"]) == ("completed", 0)


async def test_each_book_waits_for_its_turn(
    home: Path, write_book: WriteBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(PAGES) as site:
        settings = crawl_settings(site, home, reread_hours=2)
        async with await Library.open(settings) as library:
            await library.ingest(f"{site.url}/docs/valves/", book_id="z-first")
            await library.ingest(f"{site.url}/docs/pumps", book_id="a-second")
            await library.ingest(write_book(small_book()))
            assert await queue_next(library) is None
            later = now() + timedelta(hours=2, minutes=1)
            monkeypatch.setattr(rereading, "now", lambda: later)
            job = await queue_next(library)
            assert job is not None and (job.book_id, job.status) == ("z-first", "queued")
            assert await queue_next(library) is None  # the first has not been read yet
            await library.run_job(job.job_id)
            # Two hours after the second was read, the first has been read since.
            second = (await library.jobs("a-second"))[0].completed_at
            assert second is not None
            monkeypatch.setattr(rereading, "now", lambda: second + timedelta(hours=2))
            job = await queue_next(library)
            assert job is not None and job.book_id == "a-second"
            await library.run_job(job.job_id)
            assert await queue_next(library) is None
