"""An answer in a terminal: sentence by sentence as it is verified, then its sources."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import AsyncIterator
from itertools import count

from rich.markup import escape

from bythebook.agent.events import Done, Event, Failed, Retrieved, StateChanged, Token, ToolCalled
from bythebook.cli.terminal import out
from bythebook.models.answer import PLACE_INDENT, Answer

WIDTH = 100


class StatusLine(logging.Handler):
    """A line that says what is being done, and for how many seconds; only on a terminal. It is
    removed at the end, and before a warning."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._shown = ""
        self._counting: asyncio.Task[None] | None = None

    def show(self, what: str) -> None:
        self.end()
        if sys.stderr.isatty():
            self._counting = asyncio.create_task(self._count(what))

    def emit(self, record: logging.LogRecord) -> None:
        self.end()
        sys.stderr.write(f"{record.getMessage()}\n")

    def end(self) -> None:
        if self._counting is not None:
            self._counting.cancel()
            self._counting = None
            self._show("")

    async def _count(self, what: str) -> None:
        for seconds in count():
            self._show(f"{what} {seconds} s" if seconds else what)
            await asyncio.sleep(1)

    def _show(self, line: str) -> None:
        sys.stderr.write("\r" + " " * len(self._shown) + "\r" + line)
        sys.stderr.flush()
        self._shown = line


class LineWrapper:
    """Writes text as it comes, broken between words; code stays as it is."""

    def __init__(self, width: int, column: int = 0) -> None:
        self._width = width
        self._column = column
        self._in_code = False

    def write(self, text: str) -> None:
        for line in text.splitlines(keepends=True):
            if line.lstrip().startswith("```"):
                self._in_code = not self._in_code
            if self._in_code or line.lstrip().startswith(("|", "```")):
                self._put(line)
            else:
                self._wrap(line)
        sys.stdout.flush()

    def _wrap(self, line: str) -> None:
        word = ""
        for character in line:
            if character not in " \n":
                word += character
                continue
            self._put_word(word)
            word = ""
            self._put(character)
        self._put_word(word)

    def _put_word(self, word: str) -> None:
        if word and self._column and self._column + len(word) > self._width:
            self._put("\n")
        self._put(word)

    def end_line(self) -> None:
        """Make what comes next begin on a line of its own."""
        if self._column:
            self._put("\n")

    def _put(self, text: str) -> None:
        sys.stdout.write(text)
        _, newline, last = text.rpartition("\n")
        self._column = len(last) if newline else self._column + len(last)


async def show(events: AsyncIterator[Event], verbose: bool, opening: str = "") -> Answer:
    """Print an answer as it arrives; what went wrong is raised."""
    # One column fewer: a terminal breaks a line that fills the last one by itself.
    width = min(out().width - 1, WIDTH) if sys.stdout.isatty() else sys.maxsize
    writer = LineWrapper(width)
    status = StatusLine()
    started = time.monotonic()
    answer: Answer | None = None
    logging.getLogger("bythebook").addHandler(status)
    try:
        async for event in events:
            if verbose:
                _print_debug(event, time.monotonic() - started)
            elif activity := _activity(event):
                status.show(activity)
            if isinstance(event, Token | Failed):
                status.end()
                writer.write(opening)
                opening = ""
            if isinstance(event, Token):
                writer.write(event.text)
            elif isinstance(event, Failed):
                writer.end_line()
                raise event.error
            elif isinstance(event, Done):
                answer = event.answer
    finally:
        status.end()
        logging.getLogger("bythebook").removeHandler(status)
    assert answer is not None
    sys.stdout.write("\n")
    print_footer(answer)
    return answer


def _activity(event: Event) -> str:
    """What is being done after this event, if it may take long."""
    match event:
        case StateChanged("processing"):
            return "Reading the question …"
        case Retrieved(passages=passages) if passages:
            return f"Reading {len(passages)} passage{'s' * (len(passages) > 1)} …"
    return ""


def print_footer(answer: Answer) -> None:
    """The list of sources below the text that was shown already; then what bythebook adds."""
    console = out()
    below = answer.format_with_sources().removeprefix(answer.text).lstrip("\n")
    for line in f"\n{below}".splitlines() if below else ():
        if line.startswith(PLACE_INDENT):
            console.print(f"[dim]{escape(line)}[/dim]", soft_wrap=True)
        else:
            sys.stdout.write(f"{line}\n")
    confidence = answer.confidence
    lines = [*answer.notes]
    if answer.citations:  # a refusal or a greeting has none
        level, mean = confidence.confidence_level, confidence.average_similarity
        lines.insert(0, f"Confidence: {level} ({mean:.2f})")
    console.print()
    for line in lines:
        console.print(f"[dim]{escape(line)}[/dim]", soft_wrap=True)


def _print_debug(event: Event, seconds: float) -> None:
    """Debug lines go to stderr."""
    lines: list[str] = []
    if isinstance(event, StateChanged):
        lines = [f"state {event.state}"]
    elif isinstance(event, ToolCalled):
        lines = [f"tool {event.name} {event.arguments}"]
    elif isinstance(event, Retrieved):
        metrics = event.confidence
        lines = [
            f"retrieved {len(event.passages)} passages for {event.query!r}: "
            f"{metrics.confidence_level}, mean {metrics.average_similarity:.3f}, "
            f"diversity {metrics.chunk_diversity:.2f}"
        ]
        lines += [
            f"  {passage.score:.3f} cosine {passage.cosine:.3f} bm25 {passage.bm25:.2f} "
            f"{passage.metadata.url}"
            for passage in event.passages
        ]
    elif isinstance(event, Done):
        answer = event.answer
        lines = [
            f"done: {answer.status}, {len(answer.sentences)} sentences shown, "
            f"{answer.removed} removed, {answer.tokens_used} tokens, model {answer.model}"
        ]
    elif isinstance(event, Failed):
        lines = [f"failed: {event.error.code}"]
    for line in lines:
        sys.stderr.write(f"[DEBUG] {seconds:6.2f} s  {line}\n")
    sys.stderr.flush()
