"""No file of a book can hurt more than itself, whatever its parser does."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from booktext import lesson, section
from bythebook import Library, sample_book
from bythebook.errors import BookError, InputError, Overloaded
from bythebook.ingestion.plan import make_plan
from bythebook.models.job import IngestionJob, IngestionState
from bythebook.reading import sandbox as sandboxing
from bythebook.reading.document import PLAIN
from bythebook.reading.layout import Book, find_book
from bythebook.reading.placement import Placement
from bythebook.reading.sandbox import Sandbox, is_its_own
from bythebook.reading.sandbox_process import SandboxLimits
from bythebook.settings import Settings
from extent import FULL, PATIENCE
from reading.test_reading_fuzz import SUFFIXES, sample
from security import hostile
from server.following import follow
from server.running import running
from test_processes import is_running

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="needs the limits of POSIX"),
    pytest.mark.usefixtures("with_sandbox"),
]
MB = 1_000_000
# Lines of a page that takes its parser some seconds.
SLOW = 25_000
TIGHT = {"sandbox_mb": 512, "sandbox_seconds": 4}
HOSTILE: dict[str, Callable[[], bytes]] = {
    "nested.pdf": hostile.nested_forms,
    "packed.pdf": hostile.triple_flate,
    "bomb.docx": hostile.deflated_docx,
    "bomb.epub": hostile.deflated_epub,
}
# The command, which says at its end what memory it had. What `wait4` tells of it counts the memory
# of the process that started it, too.
MEASURED = """
import atexit, pathlib, runpy
atexit.register(lambda: print(pathlib.Path("/proc/self/status").read_text()))
runpy.run_module("bythebook", run_name="__main__", alter_sys=True)
"""
# Which limit a file meets first is the machine's business; PDFium ends itself without memory.
LIMIT = (
    r"it takes more than \d+ (MB of memory|s of processor time)\."
    r"|its reader failed \((SIG(ABRT|TRAP|ILL|SEGV)|exit status \d+)\)\."
)


def good_page(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "02-page.md").write_text(lesson("Page", section("Part", "nodes")), encoding="utf-8")
    return folder


def slow_page(folder: Path) -> Path:
    """A page that takes its parser some seconds."""
    text = "# Slow\n\n" + "*a* `b` [c](d) <i>e</i>\n\n- f\n  - g\n\n" * SLOW
    (folder / "03-slow.md").write_text(text)
    return folder


def run(folder: Path, home: Path, **settings: object) -> subprocess.Popen[str]:
    given = {f"BYTHEBOOK_{name.upper()}": str(value) for name, value in settings.items()}
    return subprocess.Popen(
        [sys.executable, "-c", MEASURED, "ingest", str(folder)],
        env={**os.environ, "BYTHEBOOK_HOME": str(home), **given},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    made = Sandbox(SandboxLimits(1024, 60, 40 * MB))
    yield made
    made.close()


@pytest.mark.parametrize("name", HOSTILE if FULL else ("packed.pdf", "bomb.epub"))
def test_it_is_skipped_and_the_rest_is_read(name: str, tmp_path: Path) -> None:
    """By the command, which itself may not have the memory that the file asks for."""
    folder = good_page(tmp_path / "book")
    (folder / name).write_bytes(HOSTILE[name]())
    with run(folder, tmp_path / "home", **TIGHT) as command:
        assert command.stdout
        said = command.stdout.read()
    assert command.returncode == 1, said  # one file failed
    assert "1 of 2 files read" in said
    assert re.search(rf"{name} can't be read: ({LIMIT}) It was skipped\. ", said), said
    peak = re.search(r"VmHWM:\s+(\d+) kB", said)
    assert peak and int(peak[1]) < 512 * 1024


async def test_a_service_answers_meanwhile(tmp_path: Path) -> None:
    folder = good_page(tmp_path / "shelf" / "book")
    names = ("nested.pdf", "packed.pdf") if FULL else ("nested.pdf",)
    for name in names:
        (folder / name).write_bytes(HOSTILE[name]())
    asked: list[int] = []
    settings: dict[str, Any] = {"books_folder": tmp_path / "shelf", **TIGHT}
    async with running(tmp_path / "home", **settings) as up:
        response = await up.http.post("/ingestion/trigger", json={"path": "book"})
        following = asyncio.create_task(follow(up, response))
        while not following.done():
            asked.append((await up.http.get("/health")).status_code)
            await asyncio.sleep(0.1)
        job = IngestionJob.model_validate(await following)
    assert (job.status, job.files_processed, job.files_failed) == ("completed", 1, len(names))
    assert asked and set(asked) == {200}


async def test_a_page_that_takes_too_long(tmp_path: Path) -> None:
    folder = slow_page(good_page(tmp_path / "book"))
    settings = Settings(home=tmp_path / "home", sandbox_seconds=1)
    async with await Library.open(settings) as library:
        job = await library.ingest(folder)
    assert (job.status, job.files_processed, job.files_failed) == ("completed", 1, 1)
    (told,) = job.warnings
    assert told.startswith("03-slow.md can't be read: it takes more than 2 s of processor time.")
    assert "BYTHEBOOK_SANDBOX_SECONDS" in told


def test_a_reader_that_only_waits_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the clock: it takes no processor time."""
    monkeypatch.setattr(sandboxing, "CLOCK", 1)
    book, placement = placed(slow_page(good_page(tmp_path / "book")), "03-slow.md")
    short = Sandbox(SandboxLimits(1024, 3, 40 * MB))
    thread = signalling(short, signal.SIGSTOP, 1)
    with pytest.raises(InputError, match=r"03-slow\.md can't be read: it takes more than \d+ s\."):
        short.read(book, "03-slow.md", placement, 5 * MB)
    thread.join(60)
    _, other = placed(tmp_path / "book", "02-page.md")
    assert short.read(book, "02-page.md", other, 5 * MB).document.chunks
    short.close()


def test_passages_without_end(tmp_path: Path) -> None:
    folder = slow_page(good_page(tmp_path / "book"))
    book, placement = placed(folder, "03-slow.md")
    small = Sandbox(SandboxLimits(1024, 60, MB))
    with pytest.raises(InputError, match=r"03-slow\.md makes more than 1 MB of passages"):
        small.read(book, "03-slow.md", placement, 5 * MB)
    small.close()


def placed(folder: Path, file: str) -> tuple[Book, Placement]:
    book = find_book(folder)
    state = IngestionState(book_id=book.book_id, collection_name="none")
    return book, make_plan(book, state, "full", 5 * MB).placements[file]


def test_it_reads_what_this_process_reads(sandbox: Sandbox, tmp_path: Path) -> None:
    for suffix in SUFFIXES:
        (tmp_path / f"page{suffix}").write_bytes(sample(suffix))
    for folder in (Path(sample_book()), tmp_path):
        book = find_book(folder)
        state = IngestionState(book_id=book.book_id, collection_name="none")
        plan = make_plan(book, state, "full", 5 * MB)
        planned = make_plan(book, state, "full", 5 * MB, sandbox)
        # What the folder says changes by itself once the files are two seconds old.
        assert replace(planned, seen={}) == replace(plan, seen={})
        for file in plan.process[:20]:
            here = PLAIN.read(book, file, plan.placements[file], 5 * MB)
            there = sandbox.read(book, file, plan.placements[file], 5 * MB)
            assert (here.file_hash, here.head) == (there.file_hash, there.head)
            assert len(here.document.chunks) == len(there.document.chunks) > 0
            for one, other in zip(here.document.chunks, there.document.chunks, strict=True):
                times = {"created_at", "updated_at"}
                assert one.text == other.text
                assert one.metadata.model_dump(exclude=times) == other.metadata.model_dump(
                    exclude=times
                )


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.pdf", b"%PDF-1.7\nnothing"),
        ("a.docx", b"PK nothing"),
        ("a.md", b"\xff\xfe"),
        ("a.md", b"a\0b"),
        ("a.ipynb", b"{"),
        ("a.md", b"a" * 2 * MB),
        ("gone.md", b""),
    ],
)
def test_errors_come_out_whole(sandbox: Sandbox, tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / "a.md").write_text("# A\n\nText.\n")
    if data:
        (tmp_path / name).write_bytes(data)
    book = find_book(tmp_path)
    told: list[BookError] = []
    for reader in (PLAIN, sandbox):
        with pytest.raises(BookError) as raised:
            reader.glance(book, name, MB, "")
        told.append(raised.value)
    here, there = told
    assert type(here) is type(there)
    assert (here.message, here.action, here.code) == (there.message, there.action, there.code)
    assert here.details == there.details


def signalling(sandbox: Sandbox, sent: signal.Signals, times: int) -> threading.Thread:
    """Sends it to the process as soon as that is at a file, so many times."""

    def send() -> None:
        last = 0
        for _ in range(times):
            while (pid := busy(sandbox.pid)) is None or pid == last:
                time.sleep(0.01)
            last = pid
            os.kill(pid, sent)

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    return thread


def busy(pid: int | None) -> int | None:
    """The process, if it has its limits and has worked for a moment since."""
    try:
        spent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        limits = Path(f"/proc/{pid}/limits").read_text()
    except OSError:
        return None
    confined = re.search(r"Max cpu time +\d", limits)
    return pid if confined and int(spent[11]) > 60 else None


def test_a_process_that_dies_once_is_no_fault_of_the_file(sandbox: Sandbox, tmp_path: Path) -> None:
    book, placement = placed(slow_page(good_page(tmp_path)), "03-slow.md")
    thread = signalling(sandbox, signal.SIGSEGV, 1)
    assert sandbox.read(book, "03-slow.md", placement, 5 * MB).document.chunks
    thread.join(PATIENCE)
    assert not thread.is_alive()


def test_a_file_whose_process_dies_again_is_told(sandbox: Sandbox, tmp_path: Path) -> None:
    book, placement = placed(slow_page(good_page(tmp_path)), "03-slow.md")
    signalling(sandbox, signal.SIGSEGV, 2)
    with pytest.raises(InputError, match=r"03-slow\.md can't be read: its reader failed \(SIGSEGV"):
        sandbox.read(book, "03-slow.md", placement, 5 * MB)
    _, other = placed(tmp_path, "02-page.md")
    assert sandbox.read(book, "02-page.md", other, 5 * MB).document.chunks


def test_it_is_reused_and_has_nothing_of_ours(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hidden")
    held = (tmp_path / "held").open("w")
    book = find_book(good_page(tmp_path / "book"))
    seen = set()
    for _ in range(3):
        sandbox.glance(book, "02-page.md", MB, "")
        seen.add(sandbox.pid)
    (pid,) = seen
    of = Path(f"/proc/{pid}")
    assert b"sk-hidden" not in (of / "environ").read_bytes()
    opened = {str(file.readlink()) for file in (of / "fd").iterdir()}
    assert all(name == os.devnull or name.startswith("pipe:") for name in opened), opened
    limits = (of / "limits").read_text()
    for line in (r"Max address space +1024000000", r"Max file size +0", r"Max core file size +0"):
        assert re.search(line, limits), limits
    held.close()


def test_to_close_it_ends_what_it_reads(sandbox: Sandbox, tmp_path: Path) -> None:
    book, placement = placed(slow_page(good_page(tmp_path)), "03-slow.md")
    pids: list[int] = []

    def close() -> None:
        while (pid := busy(sandbox.pid)) is None:
            time.sleep(0.01)
        pids.append(pid)
        sandbox.close()

    threading.Thread(target=close, daemon=True).start()
    with pytest.raises(Overloaded):
        sandbox.read(book, "03-slow.md", placement, 5 * MB)
    assert not is_running(pids[0])
    with pytest.raises(Overloaded):
        sandbox.glance(book, "02-page.md", MB, "")


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_is_left_behind(sent: signal.Signals, tmp_path: Path) -> None:
    folder = good_page(tmp_path / "book")
    (folder / "nested.pdf").write_bytes(hostile.nested_forms())
    # Whoever is killed tells nobody: what it left ends at its limit of processor time.
    seconds = 4 if sent == signal.SIGKILL else 60
    with run(folder, tmp_path / "home", sandbox_mb=4096, sandbox_seconds=seconds) as command:
        child = wait_for(lambda: next(filter(busy, children(command.pid)), None))
        command.send_signal(sent)
    wait_for(lambda: not is_running(child))


def children(pid: int) -> list[int]:
    try:
        tasks = Path(f"/proc/{pid}/task").iterdir()
        return [int(one) for task in tasks for one in (task / "children").read_text().split()]
    except OSError:
        return []


def wait_for(happened: Callable[[], Any]) -> Any:
    for _ in range(20 * PATIENCE):
        if found := happened():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not happen")


def test_passages_of_another_file_are_refused(sandbox: Sandbox, tmp_path: Path) -> None:
    """A hostile file may come to rule the process that reads it, and answer in its name."""
    book, placement = placed(good_page(tmp_path), "02-page.md")
    page = sandbox.read(book, "02-page.md", placement, MB)
    assert is_its_own(page, book, "02-page.md", placement)
    assert not is_its_own(page, book, "01-other.md", placement)
    assert not is_its_own(page, replace(book, book_id="other"), "02-page.md", placement)
    assert not is_its_own(page, book, "02-page.md", replace(placement, lesson=9))
    assert not is_its_own(page, book, "02-page.md", replace(placement, url="https://a.example/"))
    (chunk,) = page.document.chunks
    changed = chunk.model_copy(update={"text": chunk.text + " More."})
    forged = replace(page, document=replace(page.document, chunks=(changed,)))
    assert not is_its_own(forged, book, "02-page.md", placement)


async def test_it_can_be_switched_off(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home", sandbox=False)
    async with await Library.open(settings) as library:
        job = await library.ingest(good_page(tmp_path / "book"))
        assert library.page_reader is PLAIN
    assert (job.status, job.files_processed) == ("completed", 1)
