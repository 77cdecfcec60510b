"""How much is tried: a part in `make test`, all of it in `make test-full`."""

from __future__ import annotations

import os

FULL = bool(os.environ.get("BYTHEBOOK_TEST_FULL"))
EXAMPLES = 100 if FULL else 25
EXAMPLES_OF_A_ROUTE = 10 if FULL else 2
FAULT_ROUNDS = 50 if FULL else 1

# Seconds in which anything happens, however busy the machine is. Whoever waits, waits for the
# event, and so long at most.
PATIENCE = 600


def examples(all_of_them: int) -> int:
    """How many of so many random examples are tried."""
    return all_of_them if FULL else max(all_of_them // 4, 5)
