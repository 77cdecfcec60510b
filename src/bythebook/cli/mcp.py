"""`bythebook mcp`: the books for programs that speak the Model Context Protocol."""

from __future__ import annotations

import asyncio
import signal
from typing import Annotated

import typer

from bythebook.settings import load_settings


def command(
    book: Annotated[
        str | None, typer.Option("--book", help="Id of the book that is meant when none is named.")
    ] = None,
) -> None:
    """Serve the books over MCP on standard input and output."""
    settings = load_settings()
    from bythebook.mcp.stdio import serve_stdio
    from bythebook.server.logs import configure_logging

    configure_logging(settings)
    # The thread that waits for input can't be woken; nothing is written that could be left half.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(serve_stdio(settings, book))
