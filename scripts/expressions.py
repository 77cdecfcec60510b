"""Every regular expression of the package, found by loading it and by reading its source."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import bythebook
from bythebook.grounding.instructions import STEERING

PACKAGE = Path(bythebook.__file__).parent
FUNCTIONS = {"compile", "match", "search", "fullmatch", "sub", "subn", "split", "findall"}
FUNCTIONS |= {"finditer"}
ANCHORED = {"match", "fullmatch", "pattern"}
# Expressions that a function makes of what it is given, with something it may be given.
MADE_LATER: dict[tuple[str, str], list[str]] = {
    ("evaluation.outcome", "number"): [r"\s*\[1\]"],
    ("grounding.instructions", "pattern"): [f"(?im){pattern}" for _, pattern in STEERING],
    ("language.units", "fence"): [r"(?m)^[ \t]*```[`~]*[ \t]*\n"],
    ("reading.markup", "mark"): [r"(?<![^\r\n])[ \t>]*`{3,}[ \t]*(?=\r|\n|\Z)"],
    ("reading.readers.tokens", "token"): [r"(?i)</script(?=[\s/>])"],
    ("retrieval.asking", "name"): [
        r"(?im)(?:\*\*|\b(?:an?|the)\s+\**)node\ b\s*\(?s?\**(?:\s*\([^)]*\))?\s+(?:is|are)\b"
    ],
    ("server.rendering.sanitising", "form"): [],
    ("server.schemas", "pattern"): [],
}


@dataclass(frozen=True)
class Expression:
    place: str
    pattern: re.Pattern[Any]
    # Whether it is only ever tried at one place, by `match` and `fullmatch`.
    anchored: bool


def expressions() -> list[Expression]:
    """All of them: those compiled when the modules are imported, and those inside functions."""
    found: dict[tuple[Any, int], Expression] = {}
    files = [
        file
        for file in sorted(PACKAGE.rglob("*.py"))
        if "migrations" not in file.parts and file.name != "__main__.py"
    ]
    trees = {file: ast.parse(file.read_text(encoding="utf-8")) for file in files}
    uses = _uses(trees.values())
    for file, tree in trees.items():
        parts = file.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        module = importlib.import_module(f"bythebook.{name}".rstrip("."))
        for known, value in vars(module).items():
            for pattern in _patterns_in(value):
                used = uses.get(known, set()) if isinstance(value, re.Pattern) else set()
                anchored = bool(used) and used <= ANCHORED
                key = pattern.pattern, pattern.flags
                if key not in found or found[key].anchored:
                    found[key] = Expression(f"{name}.{known}", pattern, anchored)
        for line, pattern, anchored in _inside(tree, name, vars(module)):
            key = pattern.pattern, pattern.flags
            found.setdefault(key, Expression(f"{name}:{line}", pattern, anchored))
    return list(found.values())


def _uses(trees: Iterable[ast.Module]) -> dict[str, set[str]]:
    """What is done with each name: NAME.search and the like."""
    found: dict[str, set[str]] = {}
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                found.setdefault(node.value.id, set()).add(node.attr)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found.setdefault(node.id, set())
            if isinstance(node, ast.Call):
                for given in (*node.args, *(keyword.value for keyword in node.keywords)):
                    if isinstance(given, ast.Name):  # handed on to who knows whom
                        found.setdefault(given.id, set()).add("*")
    return found


def _patterns_in(value: Any, depth: int = 0) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict) and depth < 3:
        for part in (*value, *value.values()):
            yield from _patterns_in(part, depth + 1)
    elif isinstance(value, list | tuple | set | frozenset) and depth < 3:
        for part in value:
            yield from _patterns_in(part, depth + 1)
    elif is_dataclass(value) and not isinstance(value, type) and depth < 3:
        yield from _patterns_in([getattr(value, one.name) for one in fields(value)], depth + 1)


def _inside(
    tree: ast.Module, name: str, known: dict[str, Any]
) -> Iterator[tuple[int, re.Pattern[Any], bool]]:
    at_import = {id(node) for top in tree.body for node in _run_at_import(top)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        for keyword in node.keywords:
            if keyword.arg == "pattern":
                yield node.lineno, re.compile(_value(keyword.value, known)), False
        if not _is_of_re(node):
            continue
        try:
            pattern = _value(node.args[0], known)
        except NameError as problem:
            if id(node) not in at_import:  # else it was found compiled
                for made in MADE_LATER[name, str(problem.name)]:
                    yield node.lineno, re.compile(made), False
            continue
        flags = [each.value for each in node.keywords if each.arg == "flags"] + [
            each
            for each in node.args[1:]
            if re.fullmatch(r"re\.[A-Z]+( \| re\.[A-Z]+)*", ast.unparse(each))
        ]
        if not isinstance(pattern, re.Pattern):
            pattern = re.compile(pattern, _value(flags[0], known) if flags else 0)
        assert isinstance(node.func, ast.Attribute)
        yield node.lineno, pattern, node.func.attr in ANCHORED


def _run_at_import(top: ast.stmt) -> Iterator[ast.AST]:
    if not isinstance(top, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield from ast.walk(top)


def _is_of_re(node: ast.Call) -> bool:
    called = node.func
    return (
        isinstance(called, ast.Attribute)
        and isinstance(called.value, ast.Name)
        and called.value.id == "re"
        and called.attr in FUNCTIONS
    )


def _value(node: ast.expr, known: dict[str, Any]) -> Any:
    return eval(compile(ast.Expression(node), "expression", "eval"), dict(known))
