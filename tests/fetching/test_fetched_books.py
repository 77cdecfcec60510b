"""Sites and repositories in the index: from the first ingest to the citation's link."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bythebook.errors import SourceError
from bythebook.library import Library
from bythebook.models.search_messages import SearchQuery
from cli.conftest import Cli
from cli.conftest import cli as cli
from fetching.crawling import crawl_settings
from fetching.site import Reply, Site, page, serving
from fetching.test_repository import TEXT, commit, git, push
from fetching.test_repository import work as work
from server.following import follow
from server.running import running
from server.test_webhook import PUSH, SECRET, deliver

PAGES = {
    "/docs/": page("Start", links="valves/ pumps"),
    "/docs/valves/": page("Valves", "A valve opens when the pressure rises above two bar."),
    "/docs/pumps": page("Pumps", "A pump moves water uphill with an electric motor."),
}


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with serving(PAGES) as up:
        monkeypatch.setenv("BYTHEBOOK_FETCH_PRIVATE", up.private)
        monkeypatch.setenv("BYTHEBOOK_FETCH_DELAY", "0")
        yield up


async def test_a_site_is_ingested_and_kept_in_step(site: Site, home: Path) -> None:
    async with await Library.open(crawl_settings(site, home)) as library:
        job = await library.ingest(f"{site.url}/docs/", book_id="manual")
        assert (job.files_processed, job.source) == (3, f"{site.url}/docs/")
        found = await library.search(
            SearchQuery(text="When does a valve open?", book_id="manual", limit=1)
        )
        best = found.passages[0]
        assert best.chunk.metadata.url.startswith(f"{site.url}/docs/valves/")
        assert best.chunk.metadata.title == "Valves"
        assert "Banner" not in best.chunk.text

        job = await library.ingest(f"{site.url}/docs/", book_id="manual")
        assert (job.files_processed, job.files_deleted, job.chunks_embedded) == (0, 0, 0)
        site.pages["/docs/pumps"] = page("Pumps", "A pump now moves oil instead of water.")
        site.pages["/docs/valves/"] = Reply(status=503)
        job = await library.ingest(f"{site.url}/docs/", book_id="manual")
        assert (job.files_processed, job.files_deleted, job.total_files) == (1, 0, 3)
        assert any("answered 503; what was read before stays" in text for text in job.warnings)
        site.down = True
        with pytest.raises(SourceError):
            await library.ingest(f"{site.url}/docs/", book_id="manual")
        assert (await library.book("manual")).total_files == 3
        site.down = False
        del site.pages["/docs/valves/"]
        job = await library.ingest(f"{site.url}/docs/", book_id="manual")
        assert (job.files_deleted, job.total_files) == (1, 2)

        # The copy is lost, and half of the site with it: what is indexed stays.
        for file in home.glob("sources/*/site.json"):
            file.unlink()
        site.pages["/docs/pumps"] = Reply(status=500)
        job = await library.ingest(f"{site.url}/docs/", book_id="manual")
        assert (job.files_deleted, (await library.book("manual")).total_files) == (0, 2)

        await library.remove_book("manual")
        assert not list((home / "sources").iterdir())


def test_the_command_takes_addresses_and_remembers_them(
    cli: Cli, site: Site, work: Path, tmp_path: Path
) -> None:
    first = cli.json("ingest", f"{site.url}/docs/")
    assert (first["book_id"], first["files_processed"]) == ("127.0.0.1-docs", 3)
    repository = str(tmp_path / "valves.git")
    job = cli.json("ingest", repository, "--path", "docs", "--ref", "main")
    assert (job["book_id"], job["source"]) == ("valves", f"{repository}#ref=main&path=docs")
    commit(work, {"docs/b.md": TEXT.format("B", "b"), "bythebook.toml": "wrong"})
    push(work, "main")
    job = cli.json("ingest", "--book", "valves")
    assert (job["files_processed"], job["total_files"]) == (1, 2)
    assert cli.json("ingest", "--book", "127.0.0.1-docs")["files_skipped"] == 3
    for words, says in (
        (("ingest", f"{site.url}/docs/", "--ref", "main"), "can't be fetched"),
        (("ingest", "--book", "valves", "--path", "x"), "need a git address"),
        (("ingest", "https://user:secret@a.example/"), "name or password"),
        (("ingest", f"{site.url}/nowhere/"), "answered 404"),
    ):
        status, _, err = cli(*words)
        assert status == 1 and says in err and "secret" not in err


async def test_the_service_fetches_what_it_may(site: Site, work: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    settings = {"fetch_private": site.private, "fetch_delay": 0.0}
    trigger = "/ingestion/trigger"
    async with running(home, fetch_over_http=False, **settings) as up:
        refused = await up.http.post(trigger, json={"path": f"{site.url}/docs/"})
        assert refused.status_code == 400
        assert "BYTHEBOOK_FETCH_OVER_HTTP" in refused.json()["suggested_action"]
        await up.service.library.ingest(f"{site.url}/docs/", book_id="manual")
        await up.service.library.ingest(str(tmp_path / "valves.git"))
        # A book that is known is fetched again from where it is.
        site.pages["/docs/pumps"] = page("Pumps", "A pump now moves oil instead of water.")
        done = await follow(up, await up.http.post(trigger, json={"book_id": "manual"}))
        assert (done["status"], done["files_processed"]) == ("completed", 1)
        commit(work, {"new.md": TEXT.format("New", "n")})
        push(work, "main")
        done = await follow(up, await up.http.post(trigger, json={"book_id": "valves"}))
        assert (done["status"], done["files_processed"]) == ("completed", 1)
        looked = await up.http.get("/ingestion/changes", params={"book_id": "manual"})
        assert looked.json()["up_to_date"]
        site.down = True
        done = await follow(up, await up.http.post(trigger, json={"book_id": "manual"}))
        assert (done["status"], "503" in done["error_message"]) == ("failed", True)
        site.down = False
    async with running(home, **settings) as up:
        done = await follow(up, await up.http.post(trigger, json={"path": f"{site.url}/docs/"}))
        assert (done["status"], done["book_id"]) == ("completed", "127.0.0.1-docs")
        for path in (
            "http://169.254.169.254/latest/",
            "ssh://git@127.0.0.1/x.git",
            "file:///etc",
            f"git@127.0.0.1:{tmp_path}/valves.git",
            str(tmp_path / "valves.git"),
            "https://user:secret@a.example/",
        ):
            reply = await up.http.post(trigger, json={"path": path})
            if reply.status_code == 202:
                done = await follow(up, reply)
                assert done["status"] == "failed" and "not a public" in done["error_message"]
            else:
                assert reply.status_code == 400 and "secret" not in reply.text


async def test_a_push_to_the_books_branch_fetches_it(work: Path, tmp_path: Path) -> None:
    def pushed(branch: str) -> dict[str, object]:
        return {**PUSH, "ref": f"refs/heads/{branch}"}

    git(work, "checkout", "--quiet", "-b", "next")
    push(work, "next")
    async with running(tmp_path / "home", webhook_secret=SECRET) as up:
        await up.service.library.ingest(f"{tmp_path / 'valves.git'}#ref=next", book_id="one")
        commit(work, {"new.md": TEXT.format("New", "n")})
        push(work, "next")
        ignored = await deliver(up, pushed("main"))
        assert ignored.json() == {"status": "ignored", "reason": "It is not a push to next."}
        done = await follow(up, await deliver(up, pushed("next")))
        assert (done["status"], done["files_processed"]) == ("completed", 1)
