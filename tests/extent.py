"""How much is tried: a part in `make test`, all of it in `make test-full`."""

from __future__ import annotations

import os

FULL = bool(os.environ.get("BYTHEBOOK_TEST_FULL"))
EXAMPLES = 100 if FULL else 25
EXAMPLES_OF_A_ROUTE = 10 if FULL else 3
FAULT_ROUNDS = 50 if FULL else 1
