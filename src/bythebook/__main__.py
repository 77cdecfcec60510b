"""`python -m bythebook` is the same as `bythebook`."""

from __future__ import annotations

import atexit
import gc
import os
import sys

# Those that ask once, and wait for little but what is loaded.
ASKING = ("ask", "chat", "search")
# Objects after which Python looks for garbage: next to nothing of what is imported is any.
COLLECT_AFTER = 100_000


def main() -> None:
    """The command line, behind what has to happen before it is imported."""
    if sys.argv[1:2] and sys.argv[1] in ASKING and "--help" not in sys.argv:
        begin_to_ask()
    atexit.register(gc.freeze)  # all of it goes: what is garbage need not be found
    from bythebook.cli.app import main as run

    run()


def begin_to_ask() -> None:
    """What makes the first answer come sooner, if nothing heavy was imported yet."""
    gc.set_threshold(COLLECT_AFTER)
    if os.environ.get("BYTHEBOOK_EMBEDDER", "built-in") == "built-in":
        from bythebook.embedding import ahead

        ahead.begin()


if __name__ == "__main__":
    main()
