"""Running a command as a person would, in this process."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import pytest

from bythebook.cli.commands import main


class Cli:
    """Runs a command in this process and keeps what it printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.capsys = capsys
        self.monkeypatch = monkeypatch

    def __call__(self, *arguments: str, typed: str = "") -> tuple[int, str, str]:
        self.monkeypatch.setattr(sys, "argv", ["bythebook", *arguments])
        self.monkeypatch.setenv("COLUMNS", "120")
        self.monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        with pytest.raises(SystemExit) as ended:
            main()
        printed = self.capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    def json(self, *arguments: str) -> Any:
        status, out, _ = self(*arguments, "--json")
        assert status == 0, out
        return json.loads(out)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(capsys, monkeypatch)
