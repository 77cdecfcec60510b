"""The process that reads strangers' files, and the messages between it and the program."""

from __future__ import annotations

import json
import os
import signal
import struct
import sys
import threading
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from math import ceil
from queue import SimpleQueue
from typing import IO, Any, Literal, cast

from pydantic import TypeAdapter

from bythebook.errors import BookError, InputError
from bythebook.reading.document import PLAIN, Glance, Page
from bythebook.reading.layout import Book
from bythebook.reading.placement import Placement

try:
    import resource
except ImportError:  # Windows: only the program's own clock limits the sandbox there
    resource = None  # type: ignore[assignment]


# How an answer begins: what follows is a result, an error for a person, a bug, or nothing since
# the memory did not suffice. The first of all says that the sandbox is ready.
Kind = Literal["done", "error", "crash", "full", "ready"]
KINDS: tuple[Kind, ...] = ("done", "error", "crash", "full", "ready")
FRAME = struct.Struct("!BI")
LONGEST_WORDS = 2_000


@dataclass(frozen=True)
class SandboxLimits:
    """Of one file: megabytes of memory, seconds of processor time (once, and for each megabyte that
    it has), bytes of its passages. `last` gives the sandbox the last place in the system's
    scheduling."""

    megabytes: int
    seconds: int
    answer_bytes: int
    last: bool = False


@dataclass(frozen=True)
class Request:
    """To read a file in so many seconds of processor time, or without a placement to glance at
    it."""

    book: Book
    file: str
    max_bytes: int
    seconds: int
    known_hash: str = ""
    placement: Placement | None = None


@dataclass(frozen=True)
class ErrorReport:
    """An error for a person."""

    code: str
    message: str
    action: str
    details: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, problem: BookError) -> ErrorReport:
        return cls(problem.code, problem.message, problem.action, problem.details)

    def as_error(self) -> BookError:
        kinds = {kind.code: kind for kind in BookError.__subclasses__()}
        kind = kinds.get(self.code, InputError)
        words = (self.message[:LONGEST_WORDS], self.action[:LONGEST_WORDS])
        return kind(words[0], action=words[1], details=self.details)


@cache
def adapter(kind: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def packed_request(request: Request) -> bytes:
    """Not pydantic's own JSON: a path may hold bytes that are no UTF-8."""
    return json.dumps(adapter(Request).dump_python(request, mode="json")).encode()


def unpacked_request(data: bytes) -> Request:
    return cast("Request", adapter(Request).validate_python(json.loads(data)))


def result_adapter(request: Request) -> TypeAdapter[Any]:
    return adapter(Glance) if request.placement is None else adapter(Page)


def write_frame(pipe: IO[bytes], kind: Kind, data: bytes) -> None:
    pipe.write(FRAME.pack(KINDS.index(kind), len(data)))
    pipe.write(data)
    pipe.flush()


def read_frame(pipe: IO[bytes], most: int) -> tuple[Kind, bytes]:
    """EOFError: there is nobody at the other end; ValueError: it is no frame, or too long."""
    head = pipe.read(FRAME.size)
    if len(head) < FRAME.size:
        raise EOFError
    kind, length = FRAME.unpack(head)
    if kind >= len(KINDS) or length > most:
        raise ValueError
    data = pipe.read(length)
    if len(data) < length:
        raise EOFError
    return KINDS[kind], data


LAST_PLACE = 19
LONGEST_REQUEST = 10_000_000
OPEN_FILES = 64


def main() -> None:
    megabytes, answer_bytes, last = map(int, sys.argv[1:])
    # What a library prints must not get among the answers.
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    import_module("bythebook.reading.document")  # while files may still be opened freely
    adapter(Request)
    asked: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(requests, asked), daemon=True).start()
    confine(megabytes, bool(last))
    write_frame(answers, "ready", b"")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    while True:
        kind, data = answer(asked.get(), answer_bytes)
        write_frame(answers, kind, data)
        if kind == "full":  # what is left of its memory is in pieces
            os._exit(0)


def _listen(requests: IO[bytes], asked: SimpleQueue[bytes]) -> None:
    """In a thread of its own: when the program is gone, so is this process, whatever it is at."""
    with suppress(EOFError, ValueError):
        while True:
            asked.put(read_frame(requests, LONGEST_REQUEST)[1])
    os._exit(0)


def confine(megabytes: int, last: bool) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program is asked to end, and ends this
    sys.dont_write_bytecode = True
    if last and hasattr(os, "nice"):
        os.nice(LAST_PLACE)
    if resource is None:
        return
    for what, most in (
        (resource.RLIMIT_AS, megabytes * 1_000_000),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
    ):
        with suppress(ValueError, OSError):  # a system may allow less already, or not know it
            resource.setrlimit(what, (most, most))


def allow(seconds: int) -> None:
    """So much processor time from now on; then the system ends this process."""
    if resource is not None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        until = ceil(used.ru_utime + used.ru_stime) + seconds
        resource.setrlimit(resource.RLIMIT_CPU, (until, resource.RLIM_INFINITY))


def answer(data: bytes, most: int) -> tuple[Kind, bytes]:
    try:
        request = unpacked_request(data)
        allow(request.seconds)
        result = result_adapter(request).dump_json(_done(request))
        if len(result) > most:
            raise InputError(
                f"{request.file} makes more than {most // 1_000_000} MB of passages.",
                action="Split it, or raise BYTHEBOOK_MAX_FILE_MB.",
            )
    except BookError as problem:
        return "error", adapter(ErrorReport).dump_json(ErrorReport.of(problem))
    except MemoryError:
        return "full", b""
    except Exception as problem:  # noqa: BLE001 - one file must not end the ingest of a whole book
        report = ErrorReport("E005", type(problem).__name__, traceback.format_exc(limit=-8))
        return "crash", adapter(ErrorReport).dump_json(report)
    return "done", result


def _done(request: Request) -> object:
    if request.placement is None:
        return PLAIN.glance(request.book, request.file, request.max_bytes, request.known_hash)
    return PLAIN.read(request.book, request.file, request.placement, request.max_bytes)


if __name__ == "__main__":
    main()
