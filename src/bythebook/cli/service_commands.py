"""`bythebook serve`, `worker` and `mcp`: commands that run until they are stopped."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli.terminal import async_command, open_library
from bythebook.settings import load_settings
from bythebook.tracing import sending_traces

if TYPE_CHECKING:
    from bythebook.models.job import IngestionJob
    from bythebook.server.run import Server
    from bythebook.settings import Settings


def serve_command(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")
    ] = None,
    sample: Annotated[
        bool, typer.Option("--sample", help="Add the sample book if there is no book.")
    ] = False,
    make_key: Annotated[
        bool,
        typer.Option(
            "--make-key", help="If no key can be used, make one for an admin and print it."
        ),
    ] = False,
) -> None:
    """Run the service: the chat page and the HTTP API. Stop it with Ctrl-C."""
    settings = load_settings()
    given = {"host": host, "port": port}
    changes = {name: value for name, value in given.items() if value is not None}
    from bythebook.server.run import new_event_loop

    with asyncio.Runner(loop_factory=new_event_loop()) as runner:
        runner.run(_serve(settings.model_copy(update=changes), sample, make_key))


async def _serve(settings: Settings, sample: bool, make_key: bool) -> None:
    from bythebook.server.run import serve

    if sample:
        await _ingest_sample(settings)
    if make_key:
        await _make_first_key(settings)
    await serve(settings, _say_ready)


async def _ingest_sample(settings: Settings) -> None:
    from bythebook.library import sample_book

    async with open_library(settings) as library:
        if not await library.books():
            sys.stderr.write("Reading the sample book …\n")
            await library.ingest(sample_book())


async def _make_first_key(settings: Settings) -> None:
    from bythebook.keys import Keys

    async with open_library(settings) as library:
        keys = Keys(library.engine)
        if await keys.usable():
            return
        key, text = await keys.create("first", ("read", "chat", "admin"))
    sys.stderr.write(
        f"Made the key {key.name} (id {key.key_id}), which may do everything. The page asks for "
        "it. Keep it safe: it can't be shown again.\n"
    )
    # The key alone on stdout, as `bythebook keys create` prints it.
    typer.echo(text)


def _say_ready(server: Server) -> None:
    address = server.address
    sys.stderr.write(
        f"bythebook listens on {address} (open it to chat; {address}/docs documents the API).\n"
    )


@async_command
async def worker_command(
    concurrency: Annotated[
        int, typer.Option(min=1, max=32, help="Shares of books to work on at once, 1 to 32.")
    ] = 2,
) -> None:
    """Read the books that services queue, until stopped. Needs PostgreSQL and a Qdrant server."""
    from bythebook.server.logs import configure_logging
    from bythebook.server.webhook import bring_up_to_date
    from bythebook.workers.rereading import rereading
    from bythebook.workers.shared_worker import check_shared, work

    settings = load_settings()
    check_shared(settings)
    configure_logging(settings)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):  # loop.add_signal_handler fails on Windows
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop.set))

    async def before(job: IngestionJob) -> None:
        if settings.webhook_secret is not None:
            await bring_up_to_date(job.source or "", settings)

    async with (
        sending_traces(settings.tracing, settings.otlp_endpoint, settings.service_name),
        open_library(settings) as library,
        rereading(library),
    ):
        sys.stderr.write("bythebook worker waits for jobs.\n")
        await work(library, concurrency, stop, before)


@async_command
async def mcp_command(
    book: Annotated[
        str | None, typer.Option("--book", help="Id of the book to use when none is named.")
    ] = None,
) -> None:
    """Offer the books over MCP on standard input and output. Other programs start this command."""
    settings = load_settings()
    from bythebook.mcp.mcp_server import serve_stdio
    from bythebook.server.logs import configure_logging

    configure_logging(settings)
    # The thread that waits for input can't be woken, and nothing here can be left half written.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    await serve_stdio(settings, book)
