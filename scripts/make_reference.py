"""Writes the reference of the HTTP API from what the service says of itself."""

from __future__ import annotations

from pathlib import Path

from bythebook.server.app import make_app
from bythebook.server.reference import reference
from bythebook.settings import Settings

TARGET = Path(__file__).parents[1] / "docs" / "http-api.md"
REMARK = "<!-- Written by scripts/make_reference.py; change the routes and run it again. -->"


def written() -> str:
    return f"{REMARK}\n\n{reference(make_app(Settings()).openapi())}"


if __name__ == "__main__":
    TARGET.write_text(written(), encoding="utf-8")
    print(f"wrote {TARGET.name}")
