"""Trying out keys is slow, and costs those who have one nothing."""

from __future__ import annotations

from bythebook.errors import KeyRefused, TooManyRequests
from bythebook.keys import Keys
from bythebook.models.key import ApiKey
from bythebook.server.rate import RateLimits


class Guesses:
    """An address may present so many wrong keys in a minute; further ones are told to wait. A right
    key is never slowed: readers behind the address of an attacker, or behind a proxy, read on. That
    tells an attacker nothing, since a key is too long to be found by trying."""

    def __init__(self, keys: Keys, rate: RateLimits) -> None:
        self.keys = keys
        self.rate = rate

    async def verify(self, presented: str, address: str) -> ApiKey:
        try:
            # Found by its hash: how long that takes tells nothing of a key.
            return await self.keys.verify(presented)
        except KeyRefused:
            await self._count_guess(address)
            raise

    async def _count_guess(self, address: str) -> None:
        rate = await self.rate.hit_guess(address)
        if not rate.allowed:
            raise TooManyRequests(
                "Too many keys that are not known came from this address.",
                action=f"Try again in {rate.retry_after} s, with the right one.",
                details={"retry_after": rate.retry_after},
            )
