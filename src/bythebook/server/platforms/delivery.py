"""Messages from and to a chat platform: signatures, and handing over to one that may be down."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from bythebook.errors import KeyRefused

# An older request is somebody's copy.
LONGEST_AGO = 300
LONGEST_TIMESTAMP = 12


def wrong_signature(platform: str, setting: str, header: str) -> KeyRefused:
    """The same whatever is wrong."""
    return KeyRefused(
        f"The signature of {platform} is missing, too old or does not fit the body.",
        action=f"Give {setting} the value that {platform} shows for the app, and set the "
        "machine's clock.",
        details={"field": header},
    )


def is_recent(timestamp: str) -> bool:
    """Whether it is a moment, in seconds, of the last five minutes or the next."""
    if not (timestamp.isascii() and timestamp.isdigit()) or len(timestamp) > LONGEST_TIMESTAMP:
        return False
    return abs(time.time() - int(timestamp)) <= LONGEST_AGO


logger = logging.getLogger(__name__)

ATTEMPTS = 4
FIRST_WAIT = 1.0
# A platform that wants us to wait longer than this does not get the message.
LONGEST_WAIT = 60.0
SECONDS_TO_ANSWER = 10.0


class NotTaken(Exception):
    """The platform did not take a message. `reason` holds no address and no secret."""

    def __init__(self, reason: str, *, may_again: bool, wait: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.may_again = may_again
        self.wait = wait


def refused(status: int, retry_after: str | None, reason: str) -> NotTaken:
    """What an HTTP status says: too many and failing may be tried again, all else may not."""
    return NotTaken(
        f"{reason} (status {status})",
        may_again=status == 429 or status >= 500,
        wait=_seconds(retry_after),
    )


async def deliver(platform: str, send: Callable[[], Awaitable[None]]) -> bool:
    """Whether the message was taken, at last."""
    wait = FIRST_WAIT
    for attempt in range(1, ATTEMPTS + 1):
        try:
            await send()
            return True
        except NotTaken as problem:
            pause = wait if problem.wait is None else problem.wait
            if not problem.may_again or attempt == ATTEMPTS or pause > LONGEST_WAIT:
                logger.warning("An answer could not be sent to %s: %s", platform, problem.reason)
                return False
            await asyncio.sleep(pause)
            wait *= 2
    return False


def _seconds(retry_after: str | None) -> float | None:
    try:
        seconds = float(retry_after or "")
    except ValueError:
        return None
    return seconds if seconds >= 0 else None
