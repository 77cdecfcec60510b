"""The MCP server on standard input and output, as programs start it."""

from __future__ import annotations

from mcp.server.stdio import stdio_server

from bythebook.mcp.own import OwnDesk
from bythebook.mcp.server import make_server
from bythebook.settings import Settings


async def serve_stdio(settings: Settings, book_id: str | None = None) -> None:
    """Serve until the client closes the input. `book_id` is the book that is meant when none is
    named; it has to be there."""
    if book_id is not None:
        settings = settings.model_copy(update={"book_id": book_id})
    desk = OwnDesk(settings)
    try:
        if book_id is not None:
            async with desk.library() as library:
                await library.book(book_id)
        server = make_server(lambda _context: desk)
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())
    finally:
        await desk.close()
