"""What is not documented does not exist: every setting, option and error code is in the docs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest
import typer.main

from bythebook import errors
from bythebook.agent import events
from bythebook.cli.app import app
from bythebook.models.chat import ChatResponse
from bythebook.models.state_machine import AGENT_STATES
from bythebook.server.events import EVENTS
from bythebook.server.metrics import Metrics
from bythebook.settings import Settings
from bythebook.tracing.spans import Attributes, sent_name

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def text_of(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", list(Settings.model_fields))
def test_every_setting_is_documented(name: str) -> None:
    field = Settings.model_fields[name]
    variable = str(field.validation_alias)
    documented = text_of("settings.md")
    assert f"`{variable}`" in documented
    assert field.description and field.description in documented


def test_every_command_and_option_is_documented() -> None:
    documented = text_of("command-line.md")
    commands: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for name, command in commands.items():
        assert f"## `bythebook {name}`" in documented
        part = documented.split(f"## `bythebook {name}`")[1].split("\n## ")[0]
        for below in getattr(command, "commands", {}):
            assert f"`bythebook {name} {below}" in part
        parts = [command, *getattr(command, "commands", {}).values()]
        for parameter in (parameter for each in parts for parameter in each.params):
            if parameter.param_type_name == "option" and "--help" not in parameter.opts:
                assert f"`{parameter.opts[0]}`" in part, f"{name} {parameter.opts[0]}"


def test_every_error_code_is_documented() -> None:
    documented = text_of("errors.md")
    codes = {
        kind.code
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.BookError)
    } - {"E000"}
    assert codes == set(re.findall(r"\bE\d{3}\b", documented))


def test_every_event_and_state_is_documented() -> None:
    documented = text_of("answers.md")
    for event in get_args(events.Event):
        assert f"`{event.__name__}`" in documented
    for state in AGENT_STATES:
        assert state in documented


def test_every_streamed_event_and_metric_is_documented() -> None:
    documented = text_of("service.md")
    for event in EVENTS:
        assert f"| `{event}` |" in documented
    figures = Metrics().render()[0].decode()
    for name in set(re.findall(r"^# HELP (bythebook_\w+)", figures, re.MULTILINE)):
        assert f"`{name}`" in documented


def test_every_attribute_of_a_span_is_documented() -> None:
    documented = text_of("service.md")
    for name in Attributes.__annotations__:
        assert f"`{sent_name(name)}`" in documented


def test_every_field_of_a_response_is_documented() -> None:
    documented = text_of("answers.md")
    for name in set(ChatResponse.model_fields) - {"session_id", "timestamp"}:
        assert f"`{name}`" in documented


def test_links_between_documents_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *DOCS.glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
