"""GitHub's webhooks over HTTP, signed as GitHub signs them, and the pull that follows."""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import subprocess
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from booktext import lesson, section
from bythebook.errors import ConfigurationError
from bythebook.library import Library
from bythebook.server.webhook import is_checkout, pull
from bythebook.settings import Settings
from server.following import follow
from server.running import Running, running, until

SECRET = "it's a secret"
PUSH: dict[str, Any] = {
    "ref": "refs/heads/main",
    "deleted": False,
    "repository": {"default_branch": "main"},
}
PAGE = "01-page.md"


def signature(body: bytes, secret: str = SECRET) -> str:
    return "sha256=" + hmac.digest(secret.encode(), body, "sha256").hex()


async def deliver(
    up: Running, payload: Any, event: str = "push", book_id: str | None = "one", **headers: str
) -> httpx.Response:
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    given = {
        "X-Hub-Signature-256": signature(body),
        "X-GitHub-Event": event,
        "X-GitHub-Delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
        "Content-Type": "application/json",
        **headers,
    }
    where = {"book_id": book_id} if book_id else {}
    return await up.http.post(
        "/ingestion/webhook/github", content=body, headers=given, params=where
    )


def write(folder: Path, topic: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / PAGE).write_text(lesson("Page", section("Part", topic)), encoding="utf-8")


@pytest.fixture
async def up(tmp_path: Path) -> AsyncIterator[Running]:
    """A service with the books `one` and `two`."""
    shelf = tmp_path / "shelf"
    for name in ("one", "two"):
        write(shelf / name, "nodes")
    # Before it starts: a service would begin a process for it.
    async with await Library.open(Settings(home=tmp_path / "home")) as library:
        for name in ("one", "two"):
            await library.ingest(shelf / name)
    async with running(tmp_path / "home", webhook_secret=SECRET, books_folder=shelf) as service:
        yield service


async def test_a_push_brings_the_book_up_to_date(up: Running, tmp_path: Path) -> None:
    write(tmp_path / "shelf/one", "wheels")
    response = await deliver(up, PUSH)
    assert response.status_code == 202, response.text
    done = await follow(up, response)
    assert (done["status"], done["book_id"], done["files_processed"]) == ("completed", "one", 1)


async def test_a_webhook_counts_once(up: Running) -> None:
    responses = await asyncio.gather(*(deliver(up, PUSH) for _ in range(5)))
    assert sorted(response.status_code for response in responses) == [202, 409, 409, 409, 409]
    again = await deliver(up, PUSH, **{"X-GitHub-Delivery": "another"})
    assert again.status_code == 409 and "acted on before" in again.json()["message"]
    assert (await deliver(up, {**PUSH, "after": "1a2b"})).status_code == 202
    other = await deliver(up, PUSH, book_id="two")
    assert other.status_code == 409, "what was captured is not good for another book"


async def test_what_could_not_be_acted_on_may_come_again(up: Running) -> None:
    assert (await deliver(up, PUSH, book_id="three")).status_code == 404
    assert (await deliver(up, PUSH, book_id=None)).status_code == 404, "there are two books"
    await up.service.library.remove_book("two")
    assert (await deliver(up, PUSH, book_id="two")).status_code == 404
    assert (await deliver(up, PUSH, book_id=None)).status_code == 202


async def test_a_push_during_an_ingest_is_not_lost(up: Running) -> None:
    async with up.service.library.locks.writing("one"):
        first = await deliver(up, {**PUSH, "after": "1"})
        second = await deliver(up, {**PUSH, "after": "2"})
        assert first.status_code == second.status_code == 202
        assert first.json()["job_id"] == second.json()["job_id"]
        assert first.json()["status"] == "queued"
    assert (await follow(up, second))["status"] == "completed"


@pytest.mark.parametrize(
    "given",
    [
        None,
        "",
        "sha256=",
        "sha256=" + "0" * 64,
        signature(b"another body"),
        signature(json.dumps(PUSH).encode(), "another secret"),
        signature(json.dumps(PUSH).encode()).removeprefix("sha256="),
        signature(json.dumps(PUSH).encode()).upper(),
        "sha256=ÄÖÜ",
    ],
)
async def test_a_wrong_signature_is_refused(up: Running, given: str | None) -> None:
    body = json.dumps(PUSH).encode()
    headers = [(b"X-GitHub-Event", b"push")]
    if given is not None:
        headers.append((b"X-Hub-Signature-256", given.encode("latin-1")))
    response = await up.http.post("/ingestion/webhook/github", content=body, headers=headers)
    assert response.status_code == 401 and response.json()["error"] == "E008"
    assert len(await up.service.library.jobs()) == 2


async def test_without_a_secret_there_are_no_webhooks(tmp_path: Path) -> None:
    async with running(tmp_path / "home") as service:
        for given in (signature(b"{}", ""), "", signature(b"{}")):
            response = await deliver(service, b"{}", **{"X-Hub-Signature-256": given})
            assert response.status_code == 403
            assert "GITHUB_WEBHOOK_SECRET" in response.json()["suggested_action"]


@pytest.mark.parametrize(
    ("event", "payload"),
    [
        ("push", {**PUSH, "ref": "refs/heads/draft"}),
        ("push", {**PUSH, "ref": "refs/tags/main"}),
        ("push", {**PUSH, "deleted": True}),
        ("pull_request", PUSH),
        ("", PUSH),
    ],
)
async def test_what_changes_nothing_is_ignored(up: Running, event: str, payload: Any) -> None:
    for _ in range(2):  # and is no replay the second time
        response = await deliver(up, payload, event)
        assert response.status_code == 200
        assert response.json()["status"] == "ignored" and response.json()["reason"]
    pong = await deliver(up, {"zen": "Keep it simple.", "hook_id": 1}, "ping")
    assert (pong.status_code, pong.json()["status"]) == (200, "pong")
    assert len(await up.service.library.jobs()) == 2


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"{}",
        b'{"ref": 1, "repository": {"default_branch": "main"}}',
        b'{"ref": "refs/heads/main"}',
        b'{"ref": "refs/heads/main", "repository": null}',
        b'{"ref": "refs/heads/main", "repository": {}}',
        b"\xff\xfe",
        b"payload=%7B%7D",
        b'{"a":' * 2000 + b"1" + b"}" * 2000,
        b"[" * 100_000,
    ],
)
async def test_a_body_that_says_nothing_is_refused(up: Running, body: bytes) -> None:
    response = await deliver(up, body)
    assert response.status_code == 400 and response.json()["details"]["field"]
    assert len(await up.service.library.jobs()) == 2


async def test_the_signature_takes_the_place_of_a_key(up: Running) -> None:
    await up.service.keys.create("someone", ["admin"])
    assert (await up.http.get("/ingestion/status")).status_code == 401
    response = await deliver(up, PUSH)
    assert response.status_code == 202


def git(folder: Path, *arguments: str) -> str:
    nobody = {"NAME": "Nobody", "EMAIL": "nobody@example.org"}
    people = {
        f"GIT_{who}_{what}": nobody[what] for who in ("AUTHOR", "COMMITTER") for what in nobody
    }
    alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", "-c", "init.defaultBranch=main", "-C", str(folder), *arguments],
        env={**os.environ, **people, **alone},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A clone of a repository whose author works in `author`."""
    author = tmp_path / "author"
    write(author / "book", "nodes")
    git(tmp_path, "init", "--quiet", "author")
    git(author, "add", ".")
    git(author, "commit", "--quiet", "-m", "First")
    git(tmp_path, "clone", "--quiet", "author", "checkout")
    return tmp_path / "checkout"


def push(tmp_path: Path, topic: str) -> None:
    write(tmp_path / "author/book", topic)
    git(tmp_path / "author", "commit", "--quiet", "-a", "-m", topic)


def content(folder: Path) -> str:
    return (folder / "book" / PAGE).read_text(encoding="utf-8")


async def test_a_pull_moves_forward_and_runs_no_hook(checkout: Path, tmp_path: Path) -> None:
    assert is_checkout(checkout / "book") and not is_checkout(tmp_path)
    for name in ("post-merge", "reference-transaction"):
        hook = checkout / ".git/hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch '{tmp_path}/hooked'\n")
        hook.chmod(0o755)
    push(tmp_path, "wheels")
    await pull(checkout / "book")
    assert "wheels" in content(checkout)
    await pull(checkout / "book")
    assert not (tmp_path / "hooked").exists()
    git(checkout, "-c", "user.name=N", "commit", "--quiet", "--allow-empty", "-m", "Own")
    assert (tmp_path / "hooked").exists(), "the hook would not have run anyway"


async def test_a_pull_that_fails_says_what_git_said(checkout: Path, tmp_path: Path) -> None:
    git(checkout, "commit", "--quiet", "--allow-empty", "-m", "Mine")
    push(tmp_path, "wheels")
    with pytest.raises(ConfigurationError, match="Not possible to fast-forward"):
        await pull(checkout / "book")
    git(checkout, "remote", "set-url", "origin", str(tmp_path / "gone"))
    with pytest.raises(ConfigurationError, match=r"git pull"):
        await pull(checkout / "book")
    with pytest.raises(ConfigurationError, match="git pull"):
        await pull(tmp_path / "nowhere")


async def test_a_pull_that_hangs_is_ended(checkout: Path, tmp_path: Path) -> None:
    line = tmp_path / "slow"
    line.write_text("#!/bin/sh\nexec sleep 600\n")
    line.chmod(0o755)
    git(checkout, "config", "core.sshCommand", str(line))
    git(checkout, "remote", "set-url", "origin", "user:secret@127.0.0.1:book")
    with pytest.raises(ConfigurationError, match="longer than 0 s"):
        await pull(checkout, seconds=0.1)
    # Only now the pipe: the first line, killed while opening it, would have been read as its end.
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    line.write_text(f"#!/bin/sh\necho $$ > '{pipe}'\nexec sleep 600\n")
    pulling = asyncio.create_task(pull(checkout))
    process = int(await asyncio.to_thread(pipe.read_text))
    pulling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await pulling
    await until(lambda: asyncio.to_thread(has_ended, process))


async def test_a_pull_that_is_stopped_while_it_starts_leaves_nothing(
    checkout: Path, tmp_path: Path
) -> None:
    """At whichever of the first steps: git is there before we have heard of it."""
    line, begun = tmp_path / "slow", tmp_path / "begun"
    line.write_text(f"#!/bin/sh\necho $$ >> '{begun}'\nexec sleep 600\n")
    line.chmod(0o755)
    git(checkout, "config", "core.sshCommand", str(line))
    git(checkout, "remote", "set-url", "origin", "user:secret@127.0.0.1:book")
    for steps in range(12):
        pulling = asyncio.create_task(pull(checkout))
        for _ in range(steps):
            await asyncio.sleep(0)
        time.sleep(0.2)  # noqa: ASYNC251 - so that git goes on and nothing else does
        pulling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await pulling
    processes = [int(process) for process in begun.read_text().split()]
    assert processes
    await until(lambda: asyncio.to_thread(lambda: all(map(has_ended, processes))))


def has_ended(process: int) -> bool:
    """Gone, or waiting only for somebody to take note."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


@pytest.mark.parametrize("pulls", [True, False])
async def test_a_push_pulls_the_checkout(checkout: Path, tmp_path: Path, pulls: bool) -> None:
    settings = {"webhook_secret": SECRET, "webhook_pull": pulls}
    async with running(tmp_path / "home", **settings) as service:
        await service.service.library.ingest(checkout / "book", book_id="one")
        push(tmp_path, "wheels")
        elsewhere = {**PUSH["repository"], "clone_url": "https://127.0.0.1:9/evil.git"}
        done = await follow(service, await deliver(service, {**PUSH, "repository": elsewhere}))
        assert done["status"] == "completed"
        assert done["files_processed"] == int(pulls)
        assert ("wheels" in content(checkout)) is pulls


@pytest.mark.parametrize("url", ["https://github.com/a/b.git", "git@github.com:a/b.git"])
async def test_each_book_of_a_repository_takes_its_push(
    checkout: Path, tmp_path: Path, url: str
) -> None:
    """Two webhooks of a repository send the same body; a book from elsewhere has no part in it."""
    write(checkout / "second", "wheels")
    write(tmp_path / "other", "cooking")
    git(checkout, "remote", "set-url", "origin", url)
    known = {"clone_url": "https://github.com/A/b.git", "ssh_url": "git@github.com:A/b.git"}
    body = {**PUSH, "repository": {**PUSH["repository"], **known}}
    async with await Library.open(Settings(home=tmp_path / "home")) as library:
        await library.ingest(checkout / "book", book_id="one")
        await library.ingest(checkout / "second", book_id="two")
        await library.ingest(tmp_path / "other", book_id="three")
    settings: dict[str, Any] = {"webhook_secret": SECRET, "webhook_pull": False}
    async with running(tmp_path / "home", **settings) as service:
        statuses = [
            (await deliver(service, body, book_id=book_id)).status_code
            for book_id in ("one", "two", "three", "one", "two")
        ]
    assert statuses == [202, 202, 409, 409, 409]


async def test_a_pull_that_fails_fails_the_job(checkout: Path, tmp_path: Path) -> None:
    async with running(tmp_path / "home", webhook_secret=SECRET) as service:
        await service.service.library.ingest(checkout / "book", book_id="one")
        git(checkout, "commit", "--quiet", "--allow-empty", "-m", "Mine")
        push(tmp_path, "wheels")
        done = await follow(service, await deliver(service, PUSH))
        assert done["status"] == "failed" and "fast-forward" in done["error_message"]


async def test_a_push_that_waited_through_a_restart_is_pulled_too(
    checkout: Path, tmp_path: Path
) -> None:
    async with running(tmp_path / "home", webhook_secret=SECRET) as service:
        await service.service.library.ingest(checkout / "book", book_id="one")
        push(tmp_path, "wheels")
        async with service.service.library.locks.writing("one"):
            response = await deliver(service, PUSH)
            await service.service.worker.stop()
    async with running(tmp_path / "home", webhook_secret=SECRET) as service:
        done = await follow(service, response)
        assert (done["status"], done["files_processed"]) == ("completed", 1)
