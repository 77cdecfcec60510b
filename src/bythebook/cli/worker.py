"""`bythebook worker`: takes ingestion jobs from the queue."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.errors import ConfigurationError
from bythebook.settings import load_settings

if TYPE_CHECKING:
    from bythebook.models.job import IngestionJob
    from bythebook.settings import Settings


def command(
    concurrency: Annotated[
        int, typer.Option(min=1, max=32, help="Shares of books to work on at once.")
    ] = 2,
) -> None:
    """Ingest what services queue, beside any number of other workers, until stopped."""
    asyncio.run(_work(load_settings(), concurrency))


async def _work(settings: Settings, concurrency: int) -> None:
    from bythebook.library import Library
    from bythebook.server.checkout import bring_up_to_date
    from bythebook.server.logs import configure_logging
    from bythebook.tracing.sending import sending_traces
    from bythebook.workers.shared import check_shared

    check_shared(settings)
    try:
        from bythebook.workers.worker import work
    except ModuleNotFoundError as problem:
        raise ConfigurationError(
            f"The worker needs the package {problem.name}, which is not installed.",
            action="Run `pip install 'bythebook[worker]'`.",
        ) from problem
    configure_logging(settings)
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)

    async def before(job: IngestionJob) -> None:
        if settings.webhook_secret is not None:
            await bring_up_to_date(job.source or "", settings)

    async with (
        sending_traces(settings.tracing, settings.otlp_endpoint, settings.service_name),
        await Library.open(settings) as library,
    ):
        sys.stderr.write("bythebook worker waits for jobs.\n")
        await work(library, concurrency, stop, before)
