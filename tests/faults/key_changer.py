"""Makes and revokes keys until it is killed; each line it writes was acknowledged."""

from __future__ import annotations

import asyncio
import sys

from bythebook.keys import Keys
from bythebook.library import Library


def tell(*words: str) -> None:
    sys.stdout.write(" ".join(words) + "\n")
    sys.stdout.flush()


async def main() -> None:
    async with await Library.open() as library:
        keys = Keys(library.engine)
        number = 0
        while True:
            number += 1
            made, text = await keys.create(f"key {number}", ["read", "chat"])
            tell("made", made.key_id, text)
            if number % 2:
                await keys.revoke(made.key_id)
                tell("revoked", made.key_id, text)
            await asyncio.sleep(0.02)


if __name__ == "__main__":
    asyncio.run(main())
