"""`bythebook serve`: the HTTP service."""

from __future__ import annotations

import asyncio
import gc
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.interpreter import TURN_SECONDS
from bythebook.settings import load_settings

if TYPE_CHECKING:
    from bythebook.server.run import Server
    from bythebook.settings import Settings

# Python's own, but for the last: looking through everything stops all answers for a tenth of a
# second, and beside many readers was done every eleven.
COLLECT_AFTER = (700, 10, 20)


def command(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")
    ] = None,
    sample: Annotated[
        bool, typer.Option("--sample", help="Ingest the sample book first if there is no book.")
    ] = False,
) -> None:
    """Serve the books over HTTP until stopped."""
    settings = load_settings()
    given = {"host": host, "port": port}
    changes = {name: value for name, value in given.items() if value is not None}
    from bythebook.server.run import new_event_loop

    with asyncio.Runner(loop_factory=new_event_loop()) as runner:
        runner.run(_serve(settings.model_copy(update=changes), sample))


async def _serve(settings: Settings, sample: bool) -> None:
    from bythebook.server.run import serve

    if sample:
        await _ingest_sample(settings)
    await serve(settings, _say_ready)


async def _ingest_sample(settings: Settings) -> None:
    from bythebook.library import Library, sample_book

    async with await Library.open(settings) as library:
        if not await library.books():
            sys.stderr.write("Reading the sample book …\n")
            await library.ingest(sample_book())


def _say_ready(server: Server) -> None:
    # What is there now stays; looking through it again and again would only stop the answers.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
    sys.setswitchinterval(TURN_SECONDS)  # the index has a thread of its own
    address = server.address
    sys.stderr.write(
        f"bythebook listens on {address} (open it to chat; {address}/docs tells programs how).\n"
    )
