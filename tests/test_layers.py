"""Imports point down only."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import bythebook

PACKAGE = Path(bythebook.__file__).parent
# A part may import those of its own height or lower ones, and of its own height only itself.
HEIGHTS = {
    "__version__": 0,
    "errors": 0,
    "files": 1,
    "runtime": 1,
    "models": 1,
    "settings": 2,
    "sites": 1,
    "tracing": 1,
    "reading": 3,
    "embedding": 3,
    "index": 3,
    "database": 3,
    "language": 4,
    "fetching": 4,
    "ingestion": 4,
    "keys": 4,
    "questions": 4,
    "gaps": 6,
    "sources": 6,
    "threads": 4,
    "reader": 5,
    "grounding": 6,
    "retrieval": 6,
    "extractive": 7,
    "library": 7,
    "moving": 8,
    "suggestions": 8,
    "agent": 8,
    "workers": 8,
    "evaluation": 9,
    "mcp": 9,
    "server": 10,
    "cli": 11,
    "__init__": 12,
    "__main__": 12,
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


def test_no_two_modules_have_one_name() -> None:
    names = Counter(file.stem for file in PACKAGE.rglob("*.py") if not file.stem.startswith("__"))
    assert [name for name, count in names.items() if count > 1] == []


# Modules below database/ may use SQL, and those that own a table or copy whole ones.
SQL_OWNERS = {
    "database",
    "ingestion/catalog",
    "ingestion/jobs",
    "ingestion/locks",
    "keys",
    "moving/backup",
    "moving/migration",
    "moving/restore",
    "questions",
    "server/webhook",
    "sources",
    "threads",
    "workers/job_store",
}
STATEMENTS = {"delete", "insert", "select", "text", "union_all", "update"}
SQL = re.compile(r"\s*(?:SELECT\s.+\sFROM|INSERT INTO|UPDATE \w+ SET|DELETE FROM)\s", re.S)


def uses_sql(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom) and node.module == "sqlalchemy":
        return bool(STATEMENTS & {alias.name for alias in node.names})
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return SQL.match(node.value) is not None
    return False


def test_only_the_owner_of_a_table_uses_sql() -> None:
    found = {
        str(file.relative_to(PACKAGE).with_suffix(""))
        for file in PACKAGE.rglob("*.py")
        if any(map(uses_sql, ast.walk(ast.parse(file.read_text(encoding="utf-8")))))
    }
    owners = {name for name in found if name in SQL_OWNERS or name.split("/")[0] in SQL_OWNERS}
    assert found == owners


def test_nobody_reads_what_is_private_to_another() -> None:
    wrong: list[str] = []
    for file in PACKAGE.rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        own = {
            node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        for node in ast.walk(tree):
            if not isinstance(node, ast.Attribute) or not re.match("_[^_]", node.attr):
                continue
            owner = ast.unparse(node.value)
            is_public = f"{owner}.{node.attr}" == "os._exit" or node.attr == "_fields"
            if owner not in ("self", "cls", "super()") and node.attr not in own and not is_public:
                wrong.append(f"{file.relative_to(PACKAGE)}:{node.lineno} reads {owner}.{node.attr}")
    assert not wrong
