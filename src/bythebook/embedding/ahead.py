"""The model in a child process, which loads it while its parent is still importing everything else:
who asks one question from the command line waits for the longer of the two and not for both."""

from __future__ import annotations

import atexit
import json
import os
import signal
import struct
import threading
from array import array
from collections.abc import Sequence
from contextlib import suppress

LENGTH = struct.Struct("<I")
NUMBER_BYTES = 4


class Ahead:
    """The parent's side. A child that is not there any more is no misfortune: who is told nothing
    loads the model itself."""

    def __init__(self, child: int, asks: int, answers: int) -> None:
        self._child: int | None = child
        self._asks = os.fdopen(asks, "wb", buffering=0)
        self._answers = os.fdopen(answers, "rb")
        self._turn = threading.Lock()

    def vectors(self, texts: Sequence[str], dimension: int) -> list[array[float]] | None:
        asked = json.dumps(list(texts)).encode()
        size = dimension * NUMBER_BYTES
        wanted = len(texts) * size
        with self._turn:
            try:
                self._asks.write(LENGTH.pack(len(asked)) + asked)
                answer = self._answers.read(wanted)
            except (OSError, ValueError):  # the child is gone, or this side was closed
                return None
        if len(answer) != wanted:
            return None
        return [array("f", answer[start : start + size]) for start in range(0, wanted, size)]

    def close(self) -> None:
        """End the child now, and leave nothing of it: not every container clears up after a parent
        that has gone."""
        child, self._child = self._child, None
        self._asks.close()
        self._answers.close()
        if child is not None:
            with suppress(OSError):  # it may have ended, and be cleared up, already
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)


_begun: Ahead | None = None


def begin() -> None:
    """To be called before anything heavy is imported. On a system that can't fork, or with one core
    only, it does nothing."""
    global _begun
    if _begun or not hasattr(os, "fork") or (os.cpu_count() or 1) < 2:
        return
    asks_read, asks = os.pipe()
    answers, answers_write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(asks)
            os.close(answers)
            _serve(asks_read, answers_write)
        finally:
            os._exit(0)
    os.close(asks_read)
    os.close(answers_write)
    _begun = Ahead(child, asks, answers)
    atexit.register(_begun.close)


def begun() -> Ahead | None:
    return _begun


def _serve(asks: int, answers: int) -> None:
    """Until the parent is gone, however it went."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is the parent's to end
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):  # who waits for the end of the parent's output must not wait for us
        os.dup2(nowhere, standard)
    from bythebook.embedding.model import Model

    model = Model()
    model.load()
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor()
    with os.fdopen(asks, "rb") as asked, os.fdopen(answers, "wb") as told:
        while head := asked.read(LENGTH.size):
            texts = json.loads(asked.read(*LENGTH.unpack(head)))
            told.writelines(vector.tobytes() for vector in pool.map(model.vector, texts))
            told.flush()
