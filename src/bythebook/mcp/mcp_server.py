"""The MCP server: its tools and resources, and how it is served on standard input and output."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any, TypeVar

from mcp import types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from bythebook.errors import BookError, BookNotFound, InputError, NotAllowed
from bythebook.mcp.backend import Backend, LocalBackend, find_book
from bythebook.mcp.mcp_tools import TOOLS, Tool, lesson_page
from bythebook.models.chunk import BookInfo
from bythebook.settings import Settings

logger = logging.getLogger(__name__)

INSTRUCTIONS = (
    "These tools read the user's books and nothing else. Use `ask` for an answer of which every "
    "sentence was verified, with citations; use `search_knowledge_base` to find passages and "
    "`get_context` or `get_lesson` to read on. Name the url of what you use. When `ask` refuses, "
    "tell the user that the book does not say."
)
UNEXPECTED = "Something went wrong inside bythebook. See its log."

BOOKS = "bythebook://books"
BOOK = "book://{book_id}"
LESSON = "book://{book_id}/lesson/{parent_doc_id}"
MARKDOWN, JSON = "text/markdown", "application/json"
ADDRESS = re.compile(r"book://(?P<book>[^/]+)(?:/lesson/(?P<lesson>[^/]+))?/?")

Context = ServerRequestContext[Any, Any]
T = TypeVar("T")


def make_server(backend_of: Callable[[Context], Backend]) -> Server[Any]:
    """A server; `backend_of` gives the backend for the client of a message."""

    async def list_tools(
        context: Context, _: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        backend = backend_of(context)
        allowed = {name: tool for name, tool in TOOLS.items() if backend.may(*tool.scopes)}
        return types.ListToolsResult(tools=[_described(*each) for each in allowed.items()])

    async def call_tool(
        context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = TOOLS.get(params.name)
        if tool is None:
            known = ", ".join(TOOLS)
            raise MCPError(
                types.INVALID_PARAMS, f"There is no tool {params.name}; there are {known}."
            )
        try:
            return await _call(backend_of(context), params.name, tool, params.arguments or {})
        except BookError as problem:
            return _failed(str(problem))
        except Exception:
            logger.exception("The tool %s failed unexpectedly", params.name)
            return _failed(UNEXPECTED)

    async def list_resources(
        context: Context, _: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        books = await _with_protocol_errors(backend_of(context).books)
        listed = [
            types.Resource(
                uri=_address(book),
                name=book.book_id,
                title=book.title,
                description="The book's lessons.",
                mime_type=MARKDOWN,
            )
            for book in books
        ]
        every = types.Resource(
            uri=BOOKS,
            name="books",
            title="Books",
            description="The list of books.",
            mime_type=JSON,
        )
        return types.ListResourcesResult(resources=[every, *listed])

    async def list_templates(
        _context: Context, _: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        lesson = types.ResourceTemplate(
            uri_template=LESSON,
            name="lesson",
            title="A lesson",
            description="The whole text of a page; a book's resource lists its pages.",
            mime_type=MARKDOWN,
        )
        book = types.ResourceTemplate(
            uri_template=BOOK,
            name="book",
            title="A book",
            description="The book's lessons.",
            mime_type=MARKDOWN,
        )
        return types.ListResourceTemplatesResult(resource_templates=[book, lesson])

    async def read_resource(
        context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        text, kind = await _with_protocol_errors(lambda: _read(backend_of(context), uri))
        content = types.TextResourceContents(uri=uri, mime_type=kind, text=text)
        return types.ReadResourceResult(contents=[content])

    return Server(
        "bythebook",
        version=version("bythebook"),
        title="By the book",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


async def _call(
    backend: Backend, name: str, tool: Tool, arguments: dict[str, Any]
) -> types.CallToolResult:
    if not backend.may(*tool.scopes):
        named = " or ".join(repr(scope) for scope in tool.scopes)
        raise NotAllowed(
            f"The key may not use {name}: it has no scope {named}.",
            action=f"Use a key made with `bythebook keys create NAME --scope {tool.scopes[0]}`.",
        )
    try:
        wanted = tool.takes.model_validate(arguments)
    except ValidationError as problem:
        raise _unusable(problem) from problem
    result = await tool.run(backend, wanted)
    return types.CallToolResult(
        content=[types.TextContent(text=result.to_text())],
        structured_content=result.model_dump(mode="json"),
    )


def _described(name: str, tool: Tool) -> types.Tool:
    return types.Tool(
        name=name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.takes.model_json_schema(),
        output_schema=tool.gives.model_json_schema(mode="serialization"),
        annotations=types.ToolAnnotations(
            title=tool.title, read_only_hint=True, open_world_hint=False
        ),
    )


def _failed(why: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=why)], is_error=True)


def _unusable(problem: ValidationError) -> InputError:
    """The first argument that does not fit, under its name."""
    first = problem.errors()[0]
    name = ".".join(str(part) for part in first["loc"]) or "arguments"
    reason = first["msg"].removeprefix("Value error, ")
    wrong = f"invalid: {reason[:1].lower()}{reason[1:]}"
    return InputError(
        f"The argument {name} is {'missing' if first['type'] == 'missing' else wrong}.",
        action="Change it and call the tool again.",
        details={"field": name},
    )


async def _with_protocol_errors(work: Callable[[], Awaitable[T]]) -> T:
    """The result; errors in the form of the protocol, with what to do about them."""
    try:
        return await work()
    except BookError as problem:
        is_callers = isinstance(problem, BookNotFound | InputError | NotAllowed)
        code = types.INVALID_PARAMS if is_callers else types.INTERNAL_ERROR
        raise MCPError(code, str(problem), {"code": problem.code}) from problem
    except Exception as problem:
        logger.exception("A resource could not be read")
        raise MCPError(types.INTERNAL_ERROR, UNEXPECTED) from problem


async def _read(backend: Backend, uri: str) -> tuple[str, str]:
    """What stands at an address, and its media type."""
    if not backend.may("read", "chat"):
        raise NotAllowed("The key must not read.", action="Use one with the scope read or chat.")
    if uri.rstrip("/") == BOOKS:
        return json.dumps([_shown(book) for book in await backend.books()]), JSON
    found = ADDRESS.fullmatch(uri)
    if not found:
        raise BookNotFound(f"There is nothing at {uri}.", action=f"Addresses are like {LESSON}.")
    book = await find_book(backend, found["book"])
    if not found["lesson"]:
        return await _contents(backend, book), MARKDOWN
    async with backend.library() as library:
        passages = await library.lesson(book.book_id, found["lesson"])
    return lesson_page(passages), MARKDOWN


def _address(book: BookInfo) -> str:
    return BOOK.format(book_id=book.book_id)


async def _contents(backend: Backend, book: BookInfo) -> str:
    async with backend.library() as library:
        lessons = await library.known.lessons(book.book_id)
    lines = [
        f"- {lesson.title}: {_address(book)}/lesson/{lesson.parent_doc_id}" for lesson in lessons
    ]
    return "\n".join([f"# {book.title}", "", *lines])


def _shown(book: BookInfo) -> dict[str, object]:
    return {
        "book_id": book.book_id,
        "title": book.title,
        "language": book.language,
        "files": book.total_files,
        "chunks": book.total_chunks,
        "uri": _address(book),
    }


async def serve_stdio(settings: Settings, book_id: str | None = None) -> None:
    """Serve until the client closes the input. `book_id` is the book that is meant when none is
    named; it has to be there."""
    if book_id is not None:
        settings = settings.model_copy(update={"book_id": book_id})
    backend = LocalBackend(settings)
    try:
        if book_id is not None:
            async with backend.library() as library:
                await library.book(book_id)
        server = make_server(lambda _context: backend)
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())
    finally:
        await backend.close()
