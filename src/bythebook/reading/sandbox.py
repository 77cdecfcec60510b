"""Files of strangers are read in a process of its own, with limits of memory, time and output.

A parser that takes too much, or dies, costs one file. The process begins with the first file, reads
many, and is replaced when it ends; it has neither our open files nor our secrets.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from math import ceil
from operator import attrgetter
from typing import cast

from pydantic import ValidationError

from bythebook.errors import ConfigurationError, InputError, Overloaded
from bythebook.models.chunk import chunk_ids
from bythebook.reading.document import PLAIN, Glance, Page, PageReader
from bythebook.reading.layout import Book
from bythebook.reading.placement import Placement
from bythebook.reading.sandbox_process import (
    ErrorReport,
    Kind,
    Request,
    SandboxLimits,
    adapter,
    packed_request,
    read_frame,
    result_adapter,
    write_frame,
)
from bythebook.reading.source import hash_text
from bythebook.settings import Settings

logger = logging.getLogger(__name__)

# What it needs of our environment: where programs and libraries are, and the language.
ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "LC_CTYPE", "SYSTEMROOT")
# Of the clock, for each second of processor time: on a busy machine it has to wait.
CLOCK = 10
STARTING_SECONDS, ENDING_SECONDS = 120, 5
# Bytes that the passages of a file may have, with what is known of them, for each of its own.
PASSAGES_PER_BYTE = 4
# A process may die for other reasons than the file; its memory may be full of the files before.
ATTEMPTS = 2
LONGEST_ERROR = 100_000


def make_page_reader(settings: Settings, *, last: bool = False) -> PageReader:
    if not settings.sandbox:
        return PLAIN
    most = settings.max_file_mb * 1_000_000 * PASSAGES_PER_BYTE
    return Sandbox(SandboxLimits(settings.sandbox_mb, settings.sandbox_seconds, most, last))


class Sandbox:
    """A PageReader whose readers can't hurt this process. One file at a time."""

    def __init__(self, limits: SandboxLimits) -> None:
        self.limits = limits
        self._turn = threading.Lock()
        self._child: _Child | None = None
        self._closed = False

    def glance(self, book: Book, file: str, max_bytes: int, known_hash: str) -> Glance:
        seconds = self._seconds(book, file)
        request = Request(book.without_pages(), file, max_bytes, seconds, known_hash)
        return cast("Glance", self._ask(request))

    def read(self, book: Book, file: str, placement: Placement, max_bytes: int) -> Page:
        seconds = self._seconds(book, file)
        request = Request(book.without_pages(), file, max_bytes, seconds, placement=placement)
        page = cast("Page", self._ask(request))
        if not is_its_own(page, book, file, placement):
            self._drop()
            raise _crashed(file, "an answer that is none")
        return page

    def close(self) -> None:
        """Also while a file is being read; whoever waits for it is told."""
        self._closed = True
        if child := self._child:
            child.end()

    @property
    def pid(self) -> int | None:
        return self._child.process.pid if self._child else None

    def _seconds(self, book: Book, file: str) -> int:
        size = 0
        with suppress(OSError, ValueError):  # whoever reads it will say why
            size = (book.root / file).stat().st_size
        return ceil(self.limits.seconds * (1 + size / 1_000_000))

    def _ask(self, request: Request) -> Glance | Page:
        with self._turn:
            for attempt in range(ATTEMPTS):
                try:
                    return self._answer(request, *self._running().ask(request, self.limits))
                except _Ended as ended:
                    self._drop()
                    if self._closed:
                        break
                    if attempt == ATTEMPTS - 1 or ended.is_final:
                        raise self._limit_error(request, ended) from ended
        raise Overloaded("The program is ending.", action="Run the ingest again.")

    def _running(self) -> _Child:
        if self._child is None and not self._closed:
            self._child = _Child(self.limits)
            if self._closed:  # since it was begun
                self._child.end()
        if self._child is None:
            raise _Ended("closed")
        return self._child

    def _drop(self) -> None:
        if self._child:
            self._child.end()
            self._child = None

    def _answer(self, request: Request, kind: Kind, data: bytes) -> Glance | Page:
        """What it says is checked like anything that a stranger sends."""
        try:
            if kind == "done":
                return cast("Glance | Page", result_adapter(request).validate_json(data))
            if kind == "full":
                raise _Ended("memory")
            report = cast("ErrorReport", adapter(ErrorReport).validate_json(data[:LONGEST_ERROR]))
        except ValidationError as problem:
            raise _Ended("an answer that is none") from problem
        if kind == "error":
            raise report.as_error()
        logger.info("The reader of %s failed: %s", request.file, report.action)
        raise _crashed(request.file, report.message)

    def _limit_error(self, request: Request, ended: _Ended) -> InputError:
        file, seconds = request.file, request.seconds
        if ended.why == "memory":
            return _over(file, f"{self.limits.megabytes} MB of memory", "MB")
        if ended.why == "time":
            return _over(file, f"{seconds} s of processor time", "SECONDS")
        if ended.why == "clock":
            return _over(file, f"{seconds * CLOCK} s", "SECONDS")
        return _crashed(file, ended.why)


class _Ended(Exception):
    """The process can't go on; of a file that took all its time no more is tried."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why
        self.is_final = why in ("time", "clock")


class _Child:
    """The process, once it is ready."""

    def __init__(self, limits: SandboxLimits) -> None:
        given = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
        # Each thread's own store of memory would count at its full size.
        given |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "MALLOC_ARENA_MAX": "1"}
        numbers = (limits.megabytes, limits.answer_bytes, int(limits.last))
        command = [sys.executable, "-P", "-m", "bythebook.reading.sandbox_process"]
        try:
            self.process = subprocess.Popen(
                [*command, *map(str, numbers)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=given,
            )
        except OSError as problem:
            raise _not_started(str(problem)) from problem
        self.is_late = False
        try:
            self._next(STARTING_SECONDS, 0)
        except _Ended as ended:
            assert self.process.stderr
            words = self.process.stderr.read(LONGEST_ERROR).decode("utf-8", "replace")
            self.end()
            raise _not_started((words.strip().splitlines() or [ended.why])[-1]) from ended

    def ask(self, request: Request, limits: SandboxLimits) -> tuple[Kind, bytes]:
        try:
            assert self.process.stdin
            write_frame(self.process.stdin, "done", packed_request(request))
        except (OSError, ValueError):
            raise _Ended(self._last_words()) from None
        return self._next(request.seconds * CLOCK, limits.answer_bytes)

    def _next(self, seconds: int, most: int) -> tuple[Kind, bytes]:
        watch = threading.Timer(seconds, self._be_late)
        watch.daemon = True
        watch.start()
        try:
            assert self.process.stdout
            return read_frame(self.process.stdout, max(most, LONGEST_ERROR))
        except (EOFError, OSError):
            raise _Ended(self._last_words()) from None
        except ValueError:
            raise _Ended("an answer that is none") from None
        finally:
            watch.cancel()

    def _be_late(self) -> None:
        self.is_late = True
        self.process.kill()

    def _last_words(self) -> str:
        """Why it ended, which it is about to do if it has not."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(ENDING_SECONDS)
        status = self.process.returncode
        if self.is_late:
            return "clock"
        if status is None or status >= 0:
            return f"exit status {status}"
        name = signal.Signals(-status).name
        return "time" if name == "SIGXCPU" else name

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            with suppress(OSError, ValueError):
                if pipe:
                    pipe.close()


PLACE = attrgetter("book_id", "source_file", "module", "chapter", "lesson", "title")


def is_its_own(page: Page, book: Book, file: str, placement: Placement) -> bool:
    """Whether the passages are of this file: no reader can write over another's."""
    chunks = page.document.chunks
    hashes = [hash_text(chunk.text) for chunk in chunks]
    module, chapter, lesson = placement.module, placement.chapter, placement.lesson
    place = (book.book_id, file, module, chapter, lesson, placement.title)
    ids = chunk_ids(placement.chunk_key(book.book_id), hashes)
    return ids == [chunk.id for chunk in chunks] and all(
        PLACE(chunk.metadata) == place and chunk.metadata.url.startswith(placement.url)
        for chunk in chunks
    )


def _over(file: str, limit: str, setting: str) -> InputError:
    return InputError(
        f"{file} can't be read: it takes more than {limit}.",
        action=f"Remove it from the book, or raise BYTHEBOOK_SANDBOX_{setting}.",
    )


def _crashed(file: str, how: str) -> InputError:
    return InputError(
        f"{file} can't be read: its reader failed ({how}).",
        action="Save it again with another program, or remove it from the book. Where it is large, "
        "raise BYTHEBOOK_SANDBOX_MB.",
    )


def _not_started(why: str) -> ConfigurationError:
    return ConfigurationError(
        f"The process that reads files can't be started: {why}.",
        action="Check the installation, or set BYTHEBOOK_SANDBOX=false to read files without it.",
    )
