"""The services of tests/server, attacked."""

from __future__ import annotations

from server.conftest import own_database, serve, up

__all__ = ["own_database", "serve", "up"]
