"""Whether a request is really from the platform, and was made just now."""

from __future__ import annotations

import time

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
