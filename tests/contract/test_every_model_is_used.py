"""No shape is there for its own sake: what `models` defines, the running program uses."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import bythebook

PACKAGE = Path(bythebook.__file__).parent
Function = ast.FunctionDef | ast.AsyncFunctionDef
# By itself, whatever calls it: checks of pydantic's, and what Python calls.
CALLED_BY_PYDANTIC = ("field_validator", "model_validator", "computed_field")


def mentioned(tree: ast.AST) -> set[str]:
    """Names that are used, not only imported."""
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    found |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    # Types are texts where they are only needed for checking.
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return found | {text for text in texts if isinstance(text, str) and text.isidentifier()}


def unused(package: Path) -> list[str]:
    """What nothing outside of `models` leads to, in however many steps."""
    uses: dict[str, set[str]] = {}
    reached: set[str] = set()
    methods: dict[str, str] = {}
    for file in package.rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        if file.parent.name != "models":
            if file != package / "__init__.py":  # what is public is not used by that
                reached |= mentioned(tree)
            continue
        for node in tree.body:
            if isinstance(node, ast.ClassDef | Function):
                uses.setdefault(node.name, set()).update(mentioned(node))
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    if isinstance(target, ast.Name):
                        uses.setdefault(target.id, set()).update(mentioned(node))
            if isinstance(node, ast.ClassDef):
                methods |= {f"{node.name}.{one}": one for one in public_methods(node)}
    waiting = [name for name in uses if name in reached]
    while waiting:
        for name in uses[waiting.pop()] & uses.keys() - reached:
            reached.add(name)
            waiting.append(name)
    within = set().union(*(uses[name] for name in uses if name in reached))
    idle = [method for method, name in methods.items() if name not in reached | within]
    return sorted(uses.keys() - reached) + sorted(idle)


def public_methods(owner: ast.ClassDef) -> list[str]:
    return [
        node.name
        for node in owner.body
        if isinstance(node, Function)
        and not node.name.startswith("_")
        and not any(
            name in ast.unparse(one) for one in node.decorator_list for name in CALLED_BY_PYDANTIC
        )
    ]


def test_every_model_is_used_by_some_path() -> None:
    assert unused(PACKAGE) == []


@pytest.mark.parametrize("name", sorted(bythebook.__all__))
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(bythebook, name).__name__ == name


def test_what_only_models_use_is_found(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "__init__.py").write_text("from x.models.a import Lonely\n_P = {'Lonely': 'a'}\n")
    (tmp_path / "run.py").write_text("from x.models.a import Used\nUsed().go()\n")
    (tmp_path / "models" / "a.py").write_text(
        "class Part: ...\n"
        "class Used:\n    part: Part\n    def go(self): ...\n    def rest(self): ...\n"
        "class Lonely:\n    friend: 'Friend'\nclass Friend:\n    back: Lonely\n"
    )
    assert unused(tmp_path) == ["Friend", "Lonely", "Used.rest"]
