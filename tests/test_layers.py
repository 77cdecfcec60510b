"""Imports point down only."""

from __future__ import annotations

import ast
from pathlib import Path

import bythebook

PACKAGE = Path(bythebook.__file__).parent
# A part may import those of its own height or lower ones, and of its own height only itself.
HEIGHTS = {
    "__version__": 0,
    "durable": 0,
    "errors": 0,
    "interpreter": 0,
    "memory": 0,
    "processes": 1,
    "models": 1,
    "settings": 1,
    "sites": 1,
    "switch": 1,
    "tracing": 1,
    "reading": 2,
    "embedding": 2,
    "index": 2,
    "database": 2,
    "language": 3,
    "fetching": 3,
    "ingestion": 3,
    "keys": 3,
    "questions": 3,
    "gaps": 4,
    "sources": 4,
    "threads": 3,
    "grounding": 4,
    "quoting": 4,
    "retrieval": 4,
    "library": 5,
    "moving": 6,
    "suggestions": 6,
    "agent": 6,
    "workers": 6,
    "evaluation": 7,
    "mcp": 7,
    "server": 8,
    "cli": 9,
    "__init__": 10,
    "__main__": 10,
}


def part(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def test_imports_point_down_only() -> None:
    wrong: list[str] = []
    for file in PACKAGE.rglob("*.py"):
        own = part(file)
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bythebook"):
                names = (node.module or "").split(".")[1:] or [alias.name for alias in node.names]
                other = names[0]
                if other != own and HEIGHTS[other] >= HEIGHTS[own]:
                    wrong.append(f"{file.relative_to(PACKAGE)} imports {other}")
    assert not wrong


def test_every_file_is_short() -> None:
    long = [
        f"{file.relative_to(PACKAGE)} has {count} lines"
        for file in PACKAGE.rglob("*.py")
        if (count := len(file.read_text(encoding="utf-8").splitlines())) > 400
    ]
    assert not long
