"""S0's check of the whole workflow on a book: query, tool call, context, cited answer, refusal."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bythebook.errors import BookError, StoreError

if TYPE_CHECKING:
    from bythebook.agent.assistant import Assistant
    from bythebook.agent.events import Event
    from bythebook.cli.report import Report
    from bythebook.library import Library

# Words that no book has, so that every book must refuse.
UNCOVERED = "How does the quuxwidget zorblify its frumious plimth?"
# A heading may say little; one of a few must lead to an answer.
ATTEMPTS = 5


async def examine_workflow(report: Report, library: Library, book_id: str) -> str | None:
    """With the built-in answerer, which costs nothing; returns a question that the book answers."""
    from bythebook.agent.assistant import Assistant

    quoting = library.settings.model_copy(update={"answerer": "built-in"})
    steps: dict[str, str] = {}

    async def seen(name: str) -> str:
        if name not in steps:
            raise StoreError(
                f"No question made from a heading of {book_id} led to this step.",
                action="Ask it something with `bythebook ask … -v` to see what is found.",
            )
        return steps[name]

    async with Assistant(library, quoting) as assistant:

        async def ask() -> str:
            return await _ask_headings(assistant, library, book_id, steps)

        async def refuse() -> str:
            answer = await assistant.ask(UNCOVERED, book_id=book_id)
            if not answer.refused:
                raise BookError(
                    "A question that no book covers was answered.",
                    action="Please report this with the output of `bythebook ask -v`.",
                )
            return f"{UNCOVERED!r} is refused"

        if await report.check("workflow: query", ask):
            for name in ("tool call", "context", "cited answer"):
                await report.check(f"workflow: {name}", partial(seen, name))
            await report.check("workflow: refusal", refuse)
    return steps.get("answered")


async def _ask_headings(
    assistant: Assistant, library: Library, book_id: str, steps: dict[str, str]
) -> str:
    """Ask for what a section says until an answer comes; what was seen on the way is kept."""
    from bythebook.models.search import SearchQuery

    book = await library.book(book_id)
    query = SearchQuery(
        text=f"the {book.title}", book_id=book_id, hardware_tier_filter=4, limit=ATTEMPTS
    )
    asked = ""
    for passage in (await library.search(query)).passages:
        asked = f"What does the book say about {' › '.join(passage.metadata.heading_path[-2:])}?"
        async for event in assistant.stream(asked, book_id=book_id):
            _note(event, steps)
        if "cited answer" in steps:
            steps["answered"] = asked
            break
    return repr(asked)


def _note(event: Event, steps: dict[str, str]) -> None:
    from bythebook.agent.events import Done, Failed, Retrieved, ToolCalled

    if isinstance(event, ToolCalled):
        steps["tool call"] = f"{event.name}({event.arguments['query']!r})"
    elif isinstance(event, Retrieved) and event.passages:
        level = event.confidence.confidence_level
        steps["context"] = f"{len(event.passages)} passages, confidence {level}"
    elif isinstance(event, Failed):
        raise event.error
    elif isinstance(event, Done) and not event.answer.refused:
        cited = event.answer.citations
        steps["cited answer"] = (
            f"{len(event.answer.sentences)} sentences, [1] is {cited[0].passage.metadata.url}"
        )
