"""What the examples say, as data, and what there is for them to name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from bythebook.server.app import make_app
from bythebook.server.prometheus import Metrics
from bythebook.settings import Settings

EXAMPLES = Path(__file__).parents[2] / "examples"
SETTINGS = {str(field.validation_alias) for field in Settings.model_fields.values()}
SECRETS = {
    "DATABASE_URL",
    *(
        str(field.validation_alias)
        for field in Settings.model_fields.values()
        if "SecretStr" in str(field.annotation)
    ),
}
# A name with a version, such as postgres:17.6-alpine; no `latest`, no bare major version.
PINNED = re.compile(r"[\w./-]+:v?\d+\.\d+(\.\d+)?(-[\w.-]+)?")


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((EXAMPLES / name).read_text(encoding="utf-8")))


def open_routes() -> set[str]:
    """What anybody may GET."""
    paths = make_app(Settings()).openapi()["paths"]
    return {path for path, ways in paths.items() if "security" not in ways.get("get", {"security"})}


def metrics() -> set[str]:
    return set(re.findall(r"^# HELP (\w+)", Metrics().render()[0].decode(), re.MULTILINE))
