"""Documents embedded in processes of their own, out of the way of whoever is asking.

Threads of the same process would hold Python's lock between them and the questions; threads with a
low priority even more so, since one that the system lets wait may be holding it.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# The last place in the system's scheduling.
LAST = 19

_model: Any = None


def background_pool(processes: int, weights: Path) -> Executor:
    return ProcessPoolExecutor(
        processes,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_begin,
        initargs=(weights,),
    )


def embed(text: str) -> NDArray[np.float32]:
    """Called in such a process."""
    vector: NDArray[np.float32] = _model.vector(text)
    return vector


def _begin(weights: Path) -> None:
    from bythebook.embedding.minilm import Model

    global _model
    _model = Model(weights)
    with suppress(OSError, AttributeError):  # a system that has no priorities is no reason to fail
        os.nice(LAST)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that is killed can't tell its children."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
