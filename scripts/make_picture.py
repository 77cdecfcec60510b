"""Draws the README's picture: an answer and a refusal, as a terminal shows them."""

from __future__ import annotations

import asyncio
import io
import re
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

from rich.console import Console

from bythebook.agent.assistant import Assistant
from bythebook.cli import answer_view
from bythebook.cli.ask_commands import QUESTION, UNCOVERED
from bythebook.library import Library, sample_book
from bythebook.settings import Settings

TARGET = Path(__file__).parents[1] / "docs" / "images" / "ask.svg"
WIDTH = 118


async def main(home: Path) -> None:
    picture = Console(record=True, width=WIDTH, file=io.StringIO(), highlight=False)
    async with (
        await Library.open(Settings(home=home)) as library,
        Assistant(library) as assistant,
    ):
        await library.ingest(sample_book())
        for question in (QUESTION, UNCOVERED):
            printed = io.StringIO()
            plain = Console(file=printed, width=WIDTH, highlight=False)
            setattr(answer_view, "out", lambda plain=plain: plain)  # noqa: B010
            with redirect_stdout(printed):
                await answer_view.show(assistant.stream(question), verbose=False)
            picture.print(f'[bold]$ bythebook ask "{question}"[/bold]\n')
            picture.print(printed.getvalue(), markup=False)
    TARGET.parent.mkdir(exist_ok=True)
    drawn = picture.export_svg(title="bythebook")
    without_web_fonts = re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL)
    TARGET.write_text(without_web_fonts.replace("Fira Code", "monospace"), encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder)))
