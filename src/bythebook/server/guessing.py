"""Trying out keys is slow, and costs those who have one nothing."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from weakref import WeakValueDictionary

from bythebook.errors import TooManyRequests
from bythebook.keys import Keys
from bythebook.models.key import ApiKey
from bythebook.server.rate import RateLimits

# More keys in use than any service has; what was not used for longest is forgotten.
MOST_KNOWN = 10_000


class Guesses:
    """An address may try so many keys in a minute that were not good before; further ones are not
    even looked at, so that nothing can be learnt from the answer. Keys that were good before are
    always looked at: readers behind the address of an attacker, or behind a proxy, read on."""

    def __init__(self, keys: Keys, rate: RateLimits) -> None:
        self.keys = keys
        self.rate = rate
        self._known: OrderedDict[bytes, None] = OrderedDict()
        # A page that loads asks many things at once with a new key: that is one guess.
        self._first: WeakValueDictionary[bytes, asyncio.Lock] = WeakValueDictionary()

    async def verify(self, presented: str, address: str) -> ApiKey:
        # Found by its hash: how long that takes tells nothing of a key.
        digest = hashlib.sha256(presented.encode("utf-8", "surrogatepass")).digest()
        if digest not in self._known:
            async with self._first.setdefault(digest, asyncio.Lock()):
                if digest not in self._known:
                    await self._count_guess(address)
                    return await self._verify(presented, digest)
        return await self._verify(presented, digest)

    async def _verify(self, presented: str, digest: bytes) -> ApiKey:
        key = await self.keys.verify(presented)
        self._known[digest] = None
        self._known.move_to_end(digest)
        if len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)
        return key

    async def _count_guess(self, address: str) -> None:
        rate = await self.rate.hit_guess(address)
        if not rate.allowed:
            raise TooManyRequests(
                "Too many keys that are not known came from this address.",
                action=f"Try again in {rate.retry_after} s, with the right one.",
                details={"retry_after": rate.retry_after},
            )
