"""Draws the README's picture: a search in the sample book, as a terminal shows it."""

from __future__ import annotations

import asyncio
import io
import re
import tempfile
from pathlib import Path

from rich.console import Console

from bythebook.cli import search
from bythebook.cli.demo import QUESTION
from bythebook.library import Library, sample_book
from bythebook.settings import Settings

TARGET = Path(__file__).parents[1] / "docs" / "images" / "search.svg"


async def main(home: Path) -> None:
    console = Console(record=True, width=124, file=io.StringIO(), highlight=False)
    setattr(search, "out", lambda: console)  # noqa: B010
    settings = Settings(home=home)
    async with await Library.open(settings) as library:
        await library.ingest(sample_book())
    console.print(f'[bold]$ bythebook search "{QUESTION}" --limit 2[/bold]\n')
    fields = {"text": QUESTION, "limit": 2, "hardware_tier_filter": 4}
    await search.search(None, fields, settings=settings)
    TARGET.parent.mkdir(exist_ok=True)
    picture = console.export_svg(title="bythebook")
    without_web_fonts = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)
    TARGET.write_text(without_web_fonts.replace("Fira Code", "monospace"), encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder)))
