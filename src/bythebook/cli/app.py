"""The command line. Each command is a file beside this one; heavy parts load when used."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from bythebook import __version__
from bythebook.cli import (
    ask,
    backup,
    books,
    calibrate,
    chat,
    demo,
    doctor,
    evaluate,
    exporting,
    gaps,
    ingest,
    jobs,
    keys,
    mcp,
    migrate,
    search,
    serve,
    worker,
)
from bythebook.cli.output import print_error
from bythebook.errors import BookError

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


for command in (
    ingest,
    search,
    ask,
    chat,
    serve,
    worker,
    mcp,
    books,
    jobs,
    gaps,
    migrate,
    calibrate,
    doctor,
    demo,
):
    app.command(name=command.__name__.rpartition(".")[2])(command.command)
app.command(name="eval")(evaluate.command)
app.command(name="export")(exporting.export_command)
app.command(name="import")(exporting.import_command)
app.command(name="backup")(backup.backup_command)
app.command(name="restore")(backup.restore_command)
app.add_typer(keys.app, name="keys")


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
