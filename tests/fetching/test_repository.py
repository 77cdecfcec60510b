"""A git repository becomes a checkout below the home, and nothing else happens."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bythebook.errors import InputError, SourceError
from bythebook.fetching.address import Repository, Site, find_address
from bythebook.fetching.fetch import fetch, kept_book
from bythebook.reading.layout import Book
from bythebook.settings import Settings
from fetching.git_server import serving_git

TEXT = "# {}\n\nThe chapter on {} explains how it is built, tested and repaired.\n"


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=A", "-c", "user.email=a@a.example", "-c", "init.defaultBranch=main")
    done = subprocess.run(
        ["git", *who, "-C", str(folder), *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def commit(folder: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "change")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A repository with a few pages; `valves.git` beside it is what is fetched."""
    folder = tmp_path / "work" / "valves"
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet")
    commit(folder, {"README.md": TEXT.format("Readme", "it"), "docs/a.md": TEXT.format("A", "a")})
    git(folder, "clone", "--quiet", "--bare", ".", str(tmp_path / "valves.git"))
    return folder


def push(work: Path, *arguments: str) -> None:
    git(work, "push", "--quiet", str(work.parents[1] / "valves.git"), *arguments)


async def fetched(
    home: Path, text: str, ref: str | None = None, path: str | None = None, *, private: str = ""
) -> Book:
    address = find_address(text, ref, path)
    assert isinstance(address, Repository)
    result = await fetch(address, Settings(home=home, fetch_private=private))
    return kept_book(address, home, None, result)


async def test_a_repository_is_a_book(work: Path, tmp_path: Path, home: Path) -> None:
    book = await fetched(home, str(tmp_path / "valves.git"))
    assert book.book_id == "valves"
    assert book.files == ("README.md", "docs/a.md")
    assert book.root.is_relative_to(home / "sources")


async def test_a_branch_a_tag_a_commit_and_a_folder_can_be_chosen(
    work: Path, tmp_path: Path, home: Path
) -> None:
    url = str(tmp_path / "valves.git")
    git(work, "tag", "v1")
    first = git(work, "rev-parse", "HEAD")
    git(work, "checkout", "--quiet", "-b", "next")
    commit(work, {"docs/b.md": TEXT.format("B", "b")})
    push(work, "next", "v1")
    git(tmp_path / "valves.git", "config", "uploadpack.allowAnySHA1InWant", "true")
    assert (await fetched(home, url, "next", "docs")).files == ("a.md", "b.md")
    assert (await fetched(home, url, "v1", "docs")).files == ("a.md",)
    assert (await fetched(home, url, first, "docs")).files == ("a.md",)
    assert (await fetched(home, f"{url}#ref=next&path=docs/b.md")).files == ("b.md",)
    with pytest.raises(InputError, match="There is no nowhere in the repository"):
        await fetched(home, url, None, "nowhere")
    with pytest.raises(SourceError, match=r"can't be fetched: .*nobranch"):
        await fetched(home, url, "nobranch")


async def test_the_next_fetch_brings_only_what_is_new(
    work: Path, tmp_path: Path, home: Path
) -> None:
    url = str(tmp_path / "valves.git")
    big = "".join(f"Line {number} of a long page.\n" for number in range(20_000))
    commit(work, {"docs/big.md": f"# Big\n\n{big}"})
    push(work, "main")
    book = await fetched(home, url)
    before = _objects(book.root)
    commit(work, {"docs/c.md": TEXT.format("C", "c")})
    git(work, "rm", "--quiet", "docs/a.md")
    commit(work, {})
    push(work, "main")
    (book.root / "stray.md").write_text("left behind")
    (book.root / "README.md").write_text("changed by hand")
    book = await fetched(home, url)
    assert book.files == ("README.md", "docs/big.md", "docs/c.md")
    assert (book.root / "README.md").read_text().startswith("# Readme")
    # A commit, two folders and a page: the long page did not travel again.
    assert _objects(book.root) - before == 4
    assert git(book.root, "rev-list", "--count", "HEAD") == "1"
    again = _objects(book.root)
    await fetched(home, url)
    assert _objects(book.root) == again


def _objects(folder: Path) -> int:
    lines = dict(line.split(": ") for line in git(folder, "count-objects", "-v").splitlines())
    return int(lines["count"]) + int(lines["in-pack"])


async def test_a_failure_leaves_what_was_there(work: Path, tmp_path: Path, home: Path) -> None:
    url = str(tmp_path / "valves.git")
    address = find_address(url)
    assert address
    book = await fetched(home, url)
    (tmp_path / "valves.git").rename(tmp_path / "moved.git")
    with pytest.raises(SourceError, match="can't be fetched"):
        await fetch(address, Settings(home=home))
    assert kept_book(address, home, None).files == book.files


async def test_links_submodules_and_hooks_do_nothing(
    work: Path, tmp_path: Path, home: Path
) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("# Secret\n\nNobody may read this.\n")
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "--quiet")
    commit(other, {"page.md": TEXT.format("Other", "x")})
    (work / "out.md").symlink_to(secret)
    (work / "bythebook.toml").symlink_to(secret)
    (work / "away").symlink_to(tmp_path)
    (work / "inner.md").symlink_to("README.md")
    (work / "config.md").symlink_to(".git/config")
    git(work, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "module")
    commit(work, {})
    push(work, "main")
    book = await fetched(home, str(tmp_path / "valves.git"))
    assert book.files == ("README.md", "inner.md", "docs/a.md")
    hook = book.root / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hooked\n")
    hook.chmod(0o755)
    commit(work, {"b.md": TEXT.format("B", "b")})
    push(work, "main")
    assert "b.md" in (await fetched(home, str(tmp_path / "valves.git"))).files
    assert hook.exists() and not (tmp_path / "hooked").exists()
    with pytest.raises(InputError, match="There is no away"):
        await fetched(home, str(tmp_path / "valves.git"), None, "away")


async def test_without_git_there_is_a_clear_message(
    work: Path, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = str(tmp_path / "valves.git")
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(SourceError, match="git is not installed") as missing:
        await fetched(home, url)
    assert "Install git" in missing.value.action


async def test_git_over_http_is_guarded_too(work: Path, tmp_path: Path, home: Path) -> None:
    with serving_git(tmp_path) as server:
        url = f"http://127.0.0.1:{server.port}/valves.git"
        with pytest.raises(SourceError, match=r"127\.0\.0\.1 is not a public address"):
            await fetched(home, url)
        assert not server.asked
        private = f"127.0.0.1:{server.port}"
        book = await fetched(home, url, None, "docs", private=private)
        assert (book.book_id, book.files) == ("valves", ("a.md",))
        # By a name that only this machine knows: git is told the address that was looked at.
        named = f"http://localhost:{server.port}/valves.git"
        assert (await fetched(home, named, "main", private=private)).book_id == "valves"
        server.redirect = "http://169.254.169.254/valves.git"
        with pytest.raises(SourceError, match="can't be fetched"):
            await fetched(home, url, private=private)


@pytest.mark.parametrize(
    "text",
    [
        "ext::sh -c touch% /tmp/x.git",
        "fd::17/foo.git",
        "file:///etc/valves.git",
        "git://git.example/valves.git",
        "ftp://git.example/valves.git",
        "ssh://-oProxyCommand=x/valves.git",
        "ssh://user:secret@git.example/valves.git",
        "https://user:secret@git.example/valves.git",
        "https://token@git.example/valves.git",
        "https://git.example/valves.git\nx",
        "https://user:secret@site.example/",
    ],
)
def test_addresses_that_could_do_more_are_refused(text: str) -> None:
    with pytest.raises(InputError) as refused:
        find_address(text)
    assert "secret" not in str(refused.value) and "token" not in str(refused.value)


@pytest.mark.parametrize(
    ("ref", "path"),
    [
        ("--upload-pack=x", None),
        ("-x", None),
        ("a..b", None),
        ("a:b", None),
        ("a b", None),
        ("HEAD@{1}", None),
        (None, "../etc"),
        (None, "a/../../b"),
        (None, ".git/config"),
        (None, "a\nb"),
    ],
)
def test_refs_and_paths_that_could_do_more_are_refused(ref: str | None, path: str | None) -> None:
    with pytest.raises(InputError):
        find_address("https://git.example/valves.git", ref, path)


@pytest.mark.parametrize(
    ("text", "expected", "name"),
    [
        (
            "https://git.example/o/valves.git",
            Repository("https://git.example/o/valves.git"),
            "valves",
        ),
        ("git@git.example:o/valves.git", Repository("git@git.example:o/valves.git"), "valves"),
        ("ssh://git@git.example/o/v.git", Repository("ssh://git@git.example/o/v.git"), "v"),
        ("https://github.com/o/docs", Repository("https://github.com/o/docs"), "o-docs"),
        ("git+https://git.example/v", Repository("https://git.example/v"), "v"),
        (
            "https://git.example/v.git#ref=a/b&path=x%20y",
            Repository("https://git.example/v.git", "a/b", "x y"),
            "v",
        ),
        ("https://site.example/docs/", Site("https://site.example/docs/"), "site.example-docs"),
        ("https://site.example", Site("https://site.example/"), "site.example"),
        (
            "https://site.example/sitemap.xml",
            Site("https://site.example/sitemap.xml"),
            "site.example",
        ),
        ("https://github.com/o/r/wiki", Site("https://github.com/o/r/wiki"), "github.com-o-r-wiki"),
    ],
)
def test_addresses_are_told_apart(text: str, expected: Repository | Site, name: str) -> None:
    found = find_address(text)
    assert found == expected
    assert found.book_id == name
    assert find_address(found.text) == found


def test_a_ref_makes_an_address_a_repository_and_folders_stay_folders(tmp_path: Path) -> None:
    found = find_address("https://git.example/o/r", "main", "docs")
    assert found == Repository("https://git.example/o/r", "main", "docs")
    (tmp_path / "pages.git").mkdir()
    odd = ("--upload-pack=x.git", "a@b:-x", "book.pdf", "a#b", "no@place", "-x", "C:\\b")
    for text in (str(tmp_path), str(tmp_path / "pages.git"), *odd):
        assert find_address(text) is None
    with pytest.raises(InputError, match="no git repository"):
        find_address(str(tmp_path), "main")
