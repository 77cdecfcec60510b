"""The marks that a chat platform shows as bold, code and links."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

# Behind the sign it changes nothing to see, and a name that calls everybody calls nobody.
ZERO_WIDTH = "\u200b"
CALLS_EVERYBODY = re.compile(r"@(?=channel|everyone|here)", re.IGNORECASE)
# What would end the address, or begin something else, where an address stands.
NOT_IN_ADDRESS = re.compile(r"[\s<>|@\\()\[\]`*~\x00-\x1f]")
LONGEST_ADDRESS = 400


class Dialect(ABC):
    """How one platform writes it. What comes in is text; what goes out is written for it."""

    bullet: str

    @abstractmethod
    def text(self, text: str) -> str:
        """Text that is shown as it is."""

    @abstractmethod
    def strong(self, written: str) -> str: ...

    @abstractmethod
    def emphasis(self, written: str) -> str: ...

    @abstractmethod
    def struck(self, written: str) -> str: ...

    @abstractmethod
    def code(self, code: str) -> str: ...

    @abstractmethod
    def code_block(self, code: str) -> str: ...

    @abstractmethod
    def link(self, label: str, target: str) -> str:
        """`label` is text, and `target` an address that `web_address` gave."""

    def line_start(self, written: str) -> str:
        """A line whose first sign is nothing but itself."""
        return written

    def harmless(self, written: str) -> str:
        """The last step over a whole message: nobody is called by it."""
        return CALLS_EVERYBODY.sub(f"@{ZERO_WIDTH}", written)


def web_address(url: str) -> str | None:
    """The address as it may stand in a message; None if it leads nowhere from there."""
    if not url.startswith(("https://", "http://")) or len(url) > LONGEST_ADDRESS:
        return None
    return NOT_IN_ADDRESS.sub(lambda sign: "".join(f"%{b:02X}" for b in sign[0].encode()), url)
