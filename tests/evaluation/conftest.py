"""`bythebook eval` as a person would run it, and a small set of questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
import typer.main

from bythebook.cli.eval_command import eval_command
from question_folder import write_folder

DATA = Path(__file__).parents[1] / "data" / "eval"


class Eval:
    """Runs the command in this process; what a person must act on is raised."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys
        app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
        app.command(name="eval")(eval_command)
        self._command = typer.main.get_command(app)

    def __call__(self, *arguments: str | Path) -> tuple[str, str]:
        self._command.main([str(each) for each in arguments], standalone_mode=False)
        printed = self.capsys.readouterr()
        return printed.out, printed.err

    def json(self, *arguments: str | Path) -> Any:
        out, _ = self(*arguments, "--json")
        return json.loads(out)


@pytest.fixture
def evaluate(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Eval:
    monkeypatch.setenv("COLUMNS", "120")
    return Eval(capsys)


@pytest.fixture
def kitchen(tmp_path: Path) -> Path:
    """A folder of seven passages and eight questions."""
    given = json.loads((DATA / "kitchen.json").read_text(encoding="utf-8"))
    return write_folder(
        tmp_path / "sets" / "Kitchen", given["passages"], given["queries"], given["right"]
    )
