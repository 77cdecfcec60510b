"""What is not documented does not exist: every setting, option and error code is in the docs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
import typer.main
from scripts.make_reference import PAGES

from bythebook import errors
from bythebook.agent import events
from bythebook.agent.events import AgentState
from bythebook.cli.commands import app
from bythebook.models.chat_messages import ChatResponse
from bythebook.server.prometheus import Metrics
from bythebook.server.sse import EVENTS
from bythebook.settings import Settings
from bythebook.tracing import Attributes, sent_name

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# Pages that are read in the repository, and link to the docs.
PLAIN_PAGES = [
    ROOT / "README.md",
    ROOT / "SECURITY.md",
    *(ROOT / "examples").rglob("README.md"),
    *(ROOT / "integrations").glob("*/README.md"),
]


def text_of(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", list(Settings.model_fields))
def test_every_setting_is_documented(name: str) -> None:
    field = Settings.model_fields[name]
    variable = str(field.validation_alias)
    documented = text_of("reference/settings.md")
    assert f"`{variable}`" in documented
    assert field.description and field.description in documented


def test_every_command_and_option_is_documented() -> None:
    documented = text_of("reference/command-line.md")
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
    documented = text_of("reference/errors.md")
    codes = {
        kind.code
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.BookError)
    } - {"E000"}
    assert codes == set(re.findall(r"\bE\d{3}\b", documented))


def test_every_event_and_state_is_documented() -> None:
    documented = text_of("reference/responses.md")
    for event in get_args(events.Event):
        assert f"`{event.__name__}`" in documented
    for state in get_args(AgentState):
        assert state in documented


def test_every_streamed_event_and_metric_is_documented() -> None:
    documented = text_of("reference/responses.md")
    for event in EVENTS:
        assert f"| `{event}` |" in documented
    documented = text_of("reference/monitoring.md")
    figures = Metrics().render()[0].decode()
    for name in set(re.findall(r"^# HELP (bythebook_\w+)", figures, re.MULTILINE)):
        assert f"`{name}`" in documented


def test_every_attribute_of_a_span_is_documented() -> None:
    documented = text_of("reference/monitoring.md")
    for name in Attributes.__annotations__:
        assert f"`{sent_name(name)}`" in documented


def test_every_field_of_a_response_is_documented() -> None:
    documented = text_of("reference/responses.md")
    for name in set(ChatResponse.model_fields) - {"session_id", "timestamp"}:
        assert f"`{name}`" in documented


@pytest.mark.parametrize("name", sorted(PAGES))
def test_the_written_pages_are_what_the_code_says(name: str) -> None:
    assert text_of(f"reference/{name}") == PAGES[name](), "run `python scripts/make_reference.py`"


def test_links_between_documents_lead_somewhere() -> None:
    for page in [*PLAIN_PAGES, *DOCS.rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_no_page_for_users_is_long() -> None:
    for page in DOCS.rglob("*.md"):
        if page.parent.name not in ("reference", "engineering"):
            assert len(page.read_text(encoding="utf-8").split()) <= 1500, page.name


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    """No dead link or anchor, no page that the navigation lacks, and the widget on each page."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    assert "WARNING" not in built.stderr
    for page in DOCS.rglob("*.md"):
        address = page.relative_to(DOCS).with_suffix("")
        folder = address.parent if address.name == "index" else address
        html = (tmp_path / folder / "index.html").read_text(encoding="utf-8")
        assert "/widget.js" in html and 'data-book="bythebook-docs"' in html, page.name


def test_a_dead_link_would_stop_the_build(tmp_path: Path) -> None:
    shutil.copytree(DOCS, tmp_path / "docs")
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    page = tmp_path / "docs" / "faq.md"
    page.write_text(page.read_text("utf-8") + "\n[gone](guides/gone.md)\n", encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(tmp_path / "site")]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert built.returncode != 0 and "guides/gone.md" in built.stdout + built.stderr
