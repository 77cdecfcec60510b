"""Jupyter notebooks: their Markdown, their code, and what the code printed."""

from __future__ import annotations

import json
from typing import Any

from bythebook.errors import InputError
from bythebook.reading.readers import Converted
from bythebook.reading.readers.markdown_writer import MarkdownWriter
from bythebook.reading.readers.markup_tokens import decoded

MAX_CELLS = 20_000
MAX_OUTPUT_LINES = 20
MAX_OUTPUT = 2_000
# Tags that keep a part of a cell off the built page.
NO_CELL, NO_CODE, NO_OUTPUT = "remove-cell", "remove-input", "remove-output"


def read(data: bytes, path: str) -> Converted:
    cells, language = _cells(data, path)
    writer = MarkdownWriter(path)
    cut = 0
    for cell in cells[:MAX_CELLS]:
        text, tags = _text(cell.get("source")), _tags(cell)
        if NO_CELL in tags:
            continue
        if cell.get("cell_type") == "markdown":
            writer.block(text)
        elif cell.get("cell_type") == "code":
            if NO_CODE not in tags:
                writer.code(text, language)
            for output in _outputs(cell) if NO_OUTPUT not in tags else ():
                shown = _shortened(output)
                cut += shown != output
                writer.code(shown, "text")
    problems = [f"only its first {MAX_CELLS} cells are read"] if len(cells) > MAX_CELLS else []
    if cut:
        problems.append(f"{cut} long outputs are shortened to {MAX_OUTPUT_LINES} lines")
    return writer.finish(problems=problems, clean=False)


def _cells(data: bytes, path: str) -> tuple[list[dict[str, Any]], str]:
    """The cells and the language of their code; of notebooks before version 4 too."""
    try:
        book = json.loads(decoded(data))
    except (ValueError, RecursionError) as problem:
        raise InputError(
            f"{path} is not a notebook: it is no valid JSON.",
            action="Save it again in Jupyter, or remove it from the book.",
        ) from problem
    sheets = book.get("worksheets") if isinstance(book, dict) else None
    cells = book.get("cells") if isinstance(book, dict) else None
    if isinstance(sheets, list) and sheets and isinstance(sheets[0], dict):
        cells = sheets[0].get("cells")
    if not isinstance(cells, list):
        raise InputError(
            f"{path} is not a notebook: it has no cells.",
            action="Save it again in Jupyter, or remove it from the book.",
        )
    information = _table(_table(book.get("metadata")).get("language_info"))
    kernel = _table(_table(book.get("metadata")).get("kernelspec"))
    language = _text(information.get("name")) or _text(kernel.get("language")) or "python"
    return [_with_source(cell) for cell in cells if isinstance(cell, dict)], language


def _with_source(cell: dict[str, Any]) -> dict[str, Any]:
    if cell.get("cell_type") == "heading":  # version 3
        level = cell.get("level")
        sharps = "#" * (level if isinstance(level, int) and 1 <= level <= 6 else 1)
        return {"cell_type": "markdown", "source": f"{sharps} {_text(cell.get('source'))}"}
    return cell if "source" in cell else {**cell, "source": cell.get("input")}


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    """Text is kept as one string or as its lines."""
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _tags(cell: dict[str, Any]) -> set[str]:
    """Generators write `remove-cell` or `remove_cell`."""
    tags = _table(cell.get("metadata")).get("tags")
    known = tags if isinstance(tags, list) else []
    return {tag.replace("_", "-") for tag in known if isinstance(tag, str)}


def _outputs(cell: dict[str, Any]) -> list[str]:
    """What was printed or is the value; no pictures, no HTML, no traces of errors."""
    outputs = cell.get("outputs")
    found: list[str] = []
    for output in outputs if isinstance(outputs, list) else []:
        if not isinstance(output, dict) or output.get("name") == "stderr":
            continue
        data = _table(output.get("data"))
        text = _text(output.get("text")) or _text(data.get("text/plain"))
        if text.strip() and not text.lstrip().startswith("<"):  # `<Figure size …>`
            found.append(text)
    return found


def _shortened(text: str) -> str:
    lines = text.splitlines()
    shown = "\n".join(lines[:MAX_OUTPUT_LINES])[:MAX_OUTPUT]
    return text if len(lines) <= MAX_OUTPUT_LINES and len(text) <= MAX_OUTPUT else f"{shown}\n…"
