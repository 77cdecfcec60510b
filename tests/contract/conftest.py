"""What the tests of commands and of the service have is here as well."""

from __future__ import annotations

from cli.conftest import cli
from server.conftest import own_database, serve, up

__all__ = ["cli", "own_database", "serve", "up"]
