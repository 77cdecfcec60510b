"""The command line: all commands and their errors. Heavy parts load when used."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from bythebook import __version__
from bythebook.cli import (
    ask_commands,
    book_commands,
    calibrate_command,
    chat_command,
    doctor,
    eval_command,
    gaps_command,
    keys_command,
    service_commands,
    transfer_commands,
)
from bythebook.cli.terminal import print_error
from bythebook.errors import BookError
from bythebook.files import disk_full, is_full

app = typer.Typer(
    name="bythebook",
    help="Ask a book; get only what the book says.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(show: bool) -> None:
    if show:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Ask a book; get only what the book says."""


COMMANDS: dict[str, Callable[..., None]] = {
    "ingest": book_commands.ingest_command,
    "search": ask_commands.search_command,
    "ask": ask_commands.ask_command,
    "chat": chat_command.chat_command,
    "serve": service_commands.serve_command,
    "worker": service_commands.worker_command,
    "mcp": service_commands.mcp_command,
    "books": book_commands.books_command,
    "jobs": book_commands.jobs_command,
    "gaps": gaps_command.gaps_command,
    "migrate": transfer_commands.migrate_command,
    "calibrate": calibrate_command.calibrate_command,
    "doctor": doctor.doctor_command,
    "demo": ask_commands.demo_command,
    "eval": eval_command.eval_command,
    "export": transfer_commands.export_command,
    "import": transfer_commands.import_command,
    "backup": transfer_commands.backup_command,
    "restore": transfer_commands.restore_command,
}
for name, command in COMMANDS.items():
    app.command(name=name)(command)
app.add_typer(keys_command.app, name="keys")


def main() -> None:
    """Run a command; an error a person can act on is one sentence and an exit status."""
    try:
        app()
    except BookError as problem:
        print_error(problem, as_json="--json" in sys.argv)
        sys.exit(problem.exit_status)
    except KeyboardInterrupt:
        sys.stderr.write("Stopped.\n")
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except OSError as problem:
        if not is_full(problem):
            raise
        full = disk_full(problem.filename or "the data folder")
        print_error(full, as_json="--json" in sys.argv)
        sys.exit(full.exit_status)
