"""Every regular expression of the package, found by loading it and by reading its source."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import bythebook
from bythebook.grounding.instructions import STEERING
from bythebook.retrieval.query import defining

PACKAGE = Path(bythebook.__file__).parent
FUNCTIONS = {"compile", "match", "search", "fullmatch", "sub", "subn", "split", "findall"}
FUNCTIONS |= {"finditer"}
ANCHORED = {"match", "fullmatch", "pattern"}
# Expressions that a function makes of what it is given, with something it may be given.
MADE_LATER: dict[tuple[str, str], list[str]] = {
    ("evaluation.outcomes", "number"): [r"(?<!\s)\s*+\[1\]"],
    ("grounding.instructions", "pattern"): [f"(?im){pattern}" for _, pattern in STEERING],
    ("language.segmentation", "fence"): [r"(?m)^[ \t]*```[`~]*[ \t]*\n"],
    ("reading.directives", "mark"): [r"(?<![^\r\n])[ \t>]*`{3,}[ \t]*(?=\r|\n|\Z)"],
    ("reading.readers.markup_tokens", "token"): [r"(?i)</script(?=[\s/>])"],
    ("retrieval.query", "name"): [f"(?im){defining('node b').pattern}"],
    ("server.reference", "pattern"): [],
    ("server.rendering", "form"): [],
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
    trees = {_module(file): ast.parse(file.read_text(encoding="utf-8")) for file in files}
    uses = _uses(trees)
    for name, tree in trees.items():
        module = importlib.import_module(f"bythebook.{name}".rstrip("."))
        imported = _imported(tree)
        for known, value in vars(module).items():
            if known in imported:
                continue
            for pattern in _patterns_in(value):
                is_named = isinstance(value, re.Pattern)
                used = uses.get((name, known), set()) if is_named else set()
                anchored = bool(used) and used <= ANCHORED
                key = pattern.pattern, pattern.flags
                if key not in found or found[key].anchored:
                    found[key] = Expression(f"{name}.{known}", pattern, anchored)
        for line, pattern, anchored in _inside(tree, name, vars(module)):
            key = pattern.pattern, pattern.flags
            found.setdefault(key, Expression(f"{name}:{line}", pattern, anchored))
    return list(found.values())


def _module(file: Path) -> str:
    parts = file.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def _imported(tree: ast.Module) -> dict[str, tuple[str, str]]:
    """Names from other modules of the package: where they come from."""
    return {
        alias.asname or alias.name: (node.module.removeprefix("bythebook."), alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bythebook.")
        for alias in node.names
        if node.module
    }


def _uses(trees: dict[str, ast.Module]) -> dict[tuple[str, str], set[str]]:
    """What is done with each name of each module: NAME.search and the like."""
    found: dict[tuple[str, str], set[str]] = {}
    for module, tree in trees.items():
        imported = _imported(tree)
        plain = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                name = node.value.id
                found.setdefault(imported.get(name, (module, name)), set()).add(node.attr)
            is_read = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
            if isinstance(node, ast.Name) and is_read and id(node) not in plain:
                # Handed on to who knows whom.
                found.setdefault(imported.get(node.id, (module, node.id)), set()).add("*")
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
