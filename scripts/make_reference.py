"""Writes the pages of docs/reference that the code knows by itself: routes, commands, settings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main
from pydantic import SecretStr
from pydantic_core import PydanticUndefined

from bythebook.cli.commands import app
from bythebook.server.app import make_app
from bythebook.server.reference import reference
from bythebook.settings import Settings

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
REMARK = "<!-- Written by scripts/make_reference.py; change {} and run it again. -->"

# Where a command is explained beside its help.
SEE = {
    "ingest": "[Add books](../guides/books.md), [web sites and git](../guides/web-sites.md)",
    "search": "[What a score means](../explanation/answers.md#what-a-score-means)",
    "ask": "[How an answer is made](../explanation/answers.md)",
    "serve": "[Run the service](../guides/service.md)",
    "worker": "[Workers](../guides/scaling.md#workers)",
    "mcp": "[Chat clients and MCP](../guides/clients.md)",
    "keys": "[Keys](../guides/keys.md)",
    "books": "[Add books](../guides/books.md)",
    "gaps": "[Find what the book lacks](../guides/gaps.md)",
    "calibrate": "[Measure your book](../guides/measuring.md)",
    "eval": "[Measure your book](../guides/measuring.md)",
    "doctor": "[Try a language model](../models.md#try-it-bythebook-doctor)",
    "backup": "[Back up and restore](../guides/backups.md)",
    "restore": "[Back up and restore](../guides/backups.md)",
    "migrate": "[Operate the service](../guides/operating.md)",
}
COMMANDS = """# Command line

Results go to stdout; progress, warnings and errors to stderr. `--json` prints exactly one JSON
document to stdout. The exit status is 0 on success, 1 after an [error](errors.md) and 2 for an
unknown option. `bythebook COMMAND --help` prints the text of this page.

Without `--book`, commands use the book in `BYTHEBOOK_BOOK`, or the only book; in a terminal,
`ask`, `chat` and `search` let you choose.
"""
# The first that fits; all others are of the service.
GROUPS = (
    (
        "Language model and answers",
        r"OPENAI_(?!EMB)|MODEL_|AGENT_|COMPLETION|TURN_"
        r"|BYTHEBOOK_(ANSWERER|REFUSAL|REPAIR|JUDGE|MODEL_DOWN|READER)$",
    ),
    ("Web sites and git", r"BYTHEBOOK_(FETCH|REREAD)"),
    ("Embedder", r"OPENAI_EMB|COHERE|EMBEDDING|BYTHEBOOK_EMBEDD"),
    ("Index and database", r"QDRANT|DATABASE|SEARCH_"),
    ("Data and books", r"BYTHEBOOK_(HOME|BOOK|DISK\w*|MAX_FILE\w*|SANDBOX\w*)$"),
    ("Slack and Discord", r"BYTHEBOOK_(SLACK|DISCORD)"),
    ("Log and traces", r"BYTHEBOOK_(LOG|TRACING)|OTEL"),
    ("Service", r""),
)
# As they stand on the page.
ORDER = (
    "Data and books",
    "Language model and answers",
    "Embedder",
    "Index and database",
    "Service",
    "Web sites and git",
    "Slack and Discord",
    "Log and traces",
)
SETTINGS = """# Settings

Each setting is an environment variable, or a line of a file `.env` in the folder where you start
`bythebook`. An invalid value stops the command with a message that names the variable. `bythebook
doctor` shows the settings in use. A book has settings of its own in [its
manifest](book-formats.md#the-manifest).
"""


def http_api() -> str:
    return f"{REMARK.format('the routes')}\n\n{reference(make_app(Settings()).openapi())}"


def command_line() -> str:
    parts = [REMARK.format("the commands' help") + "\n", COMMANDS]
    for name, command in _commands(app).items():
        parts += _command(f"bythebook {name}", command, "##")
        if name in SEE:
            parts.append(f"See {SEE[name]}.\n")
    return "\n".join(parts)


def _commands(group: Any) -> dict[str, Any]:
    commands: dict[str, Any] = typer.main.get_command(group).commands  # type: ignore[attr-defined]
    return commands


def _command(name: str, command: Any, level: str) -> Iterator[str]:
    below = getattr(command, "commands", {})
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    words = [_word(each) for each in arguments]
    yield f"{level} `{name}`"
    yield _paragraphs(command.help or "") + "\n"
    if below:
        for sub, subcommand in below.items():
            yield from _command(f"{name} {sub}", subcommand, level + "#")
        return
    yield f"```console\n$ {' '.join([name, *words])}\n```\n"
    rows = [
        f"| {shown} | {_cell(each.help or '')} |"
        for shown, each in [
            *((f"`{word}`", each) for word, each in zip(words, arguments, strict=True)),
            *(
                (", ".join(f"`{opt}`" for opt in each.opts), each)
                for each in command.params
                if each.param_type_name == "option" and "--help" not in each.opts
            ),
        ]
    ]
    if rows:
        yield "\n".join(["| option | meaning |", "|---|---|", *rows]) + "\n"


def _word(argument: Any) -> str:
    word = argument.metavar or argument.name.upper() + ("..." if argument.nargs == -1 else "")
    return word if argument.required else f"[{word}]"


def _paragraphs(text: str) -> str:
    parts = re.split(r"\n\s*\n", text.strip())
    return "\n\n".join(" ".join(part.split()) for part in parts)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


def settings() -> str:
    rows: dict[str, list[str]] = {title: [] for title, _ in GROUPS}
    for field in Settings.model_fields.values():
        variable = str(field.validation_alias)
        title = next(title for title, names in GROUPS if re.match(names, variable))
        cells = (f"`{variable}`", _default(variable, field), _cell(field.description or ""))
        rows[title].append(f"| {' | '.join(cells)} |")
    parts = [REMARK.format("the settings' descriptions") + "\n", SETTINGS]
    for title in ORDER:
        head = [f"## {title}", "| variable | default | meaning |", "|---|---|---|"]
        parts += [*head, *rows[title], ""]
    return "\n".join(parts)


def _default(variable: str, field: Any) -> str:
    if variable == "BYTHEBOOK_HOME":
        return "a folder per user"
    value = field.default
    if value is PydanticUndefined or value is None or value == "" or isinstance(value, SecretStr):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


PAGES = {"http-api.md": http_api, "command-line.md": command_line, "settings.md": settings}

if __name__ == "__main__":
    for page, made in PAGES.items():
        (FOLDER / page).write_text(made(), encoding="utf-8")
        print(f"wrote {page}")
