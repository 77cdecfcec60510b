"""The command line with a wrong clock: `shifted_clock.py FILE ARGUMENTS…`.

The file tells how many seconds to add, and may change at any moment, as the clock of a machine does
when it is set.
"""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from pathlib import Path

right_time = time.time


def main() -> None:
    file = Path(sys.argv.pop(1))

    def shifted_time() -> float:
        return right_time() + float(file.read_text())

    time.time = shifted_time
    # Before anything else takes it from there.
    from bythebook.models import chunk

    chunk.now = lambda: datetime.fromtimestamp(shifted_time(), UTC)
    from bythebook.cli.commands import main as command_line

    command_line()


if __name__ == "__main__":
    main()
