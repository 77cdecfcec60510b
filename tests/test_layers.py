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
    "gaps": 5,
    "sources": 5,
    "threads": 3,
    "reader": 4,
    "grounding": 5,
    "retrieval": 5,
    "extractive": 6,
    "library": 6,
    "moving": 7,
    "suggestions": 7,
    "agent": 7,
    "workers": 7,
    "evaluation": 8,
    "mcp": 8,
    "server": 9,
    "cli": 10,
    "__init__": 11,
    "__main__": 11,
}


def part(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def test_imports_point_down_only() -> None:
    wrong: list[str] = []
    for file in PACKAGE.rglob("*.py"):
        own = part(file)
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            module = (node.module or "").split(".") if isinstance(node, ast.ImportFrom) else []
            if isinstance(node, ast.ImportFrom) and module[0] == "bythebook":
                names = module[1:] or [alias.name for alias in node.names]
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
