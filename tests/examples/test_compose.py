"""The Compose example names settings, routes, volumes and variables that exist, and no secret."""

from __future__ import annotations

import re
from typing import Any

from bythebook import __version__
from bythebook.server.body import MAX_BYTES
from bythebook.server.run import KEEP_ALIVE_SECONDS
from bythebook.settings import Settings
from examples.example_files import EXAMPLES, PINNED, SETTINGS, documents

FOLDER = EXAMPLES / "compose"
(COMPOSE,) = documents("compose/compose.yaml")
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
TEXT = (FOLDER / "compose.yaml").read_text(encoding="utf-8")
# Ours; the others have settings of their own.
OURS = ("bythebook", "tool")


def test_every_setting_exists() -> None:
    for name in OURS:
        assert set(SERVICES[name]["environment"]) <= SETTINGS
    assert {"QDRANT_URL", "DATABASE_URL", "BYTHEBOOK_REDIS_URL"} <= set(
        SERVICES["bythebook"]["environment"]
    )


def test_every_image_is_pinned() -> None:
    images = [service["image"] for service in SERVICES.values()]
    assert len(images) == len(SERVICES)
    assert [image for image in images if not PINNED.fullmatch(image)] == []


def test_our_image_is_of_this_version() -> None:
    assert SERVICES["bythebook"]["image"] == f"bythebook:{__version__}"


def test_every_service_is_watched() -> None:
    for name, service in SERVICES.items():
        # Ours is probed as its image says.
        assert name in OURS or service["healthcheck"]["test"][0] in ("CMD", "CMD-SHELL")
    assert "healthcheck" not in SERVICES["bythebook"]
    assert SERVICES["bythebook"]["environment"]["BYTHEBOOK_PORT"] == "8000"


def test_all_that_is_named_is_there() -> None:
    for service in SERVICES.values():
        assert set(service.get("depends_on", {})) <= set(SERVICES)
        for mount in service.get("volumes", []):
            source = mount.split(":")[0] if not mount.startswith("$") else ""
            if source.startswith("./"):
                assert (FOLDER / source).is_file()
            elif source:
                assert source in COMPOSE["volumes"]
    build = SERVICES["bythebook"]["build"]
    assert (FOLDER / build["context"] / "Dockerfile").is_file()


def test_the_replicas_share_their_locks_and_outlive_their_answers() -> None:
    homes = {SERVICES[name]["environment"]["BYTHEBOOK_HOME"] for name in OURS}
    assert homes == {"/data"}
    assert all("home:/data" in SERVICES[name]["volumes"] for name in OURS)
    assert int(SERVICES["bythebook"]["stop_grace_period"].removesuffix("s")) >= 25


def test_no_secret_is_written_down_and_every_variable_is_explained() -> None:
    sample = (FOLDER / ".env.example").read_text(encoding="utf-8")
    offered = dict(re.findall(r"^(\w+)=(.*)$", sample, re.MULTILINE))
    asked = set(re.findall(r"(?<!\$)\$\{(\w+)", TEXT))
    assert asked == set(offered)
    hidden = re.compile("PASSWORD|KEY|SECRET")
    assert [name for name, value in offered.items() if hidden.search(name) and value] == []
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            if hidden.search(name):
                assert str(value).startswith("${"), name
    for user, password in re.findall(r"://(\w*):([^@\s]+)@", TEXT):
        assert password.startswith("${"), user


def test_the_proxy_keeps_the_limits_of_the_service() -> None:
    proxy = (FOLDER / "Caddyfile").read_text(encoding="utf-8")
    limits = dict(re.findall(r"^\s*(\w+) (\d+)(?:s|KiB|MB)$", proxy, re.MULTILINE))
    default = {name: field.default for name, field in Settings.model_fields.items()}
    assert int(limits["read_header"]) == default["header_seconds"]
    assert int(limits["read_body"]) == default["body_seconds"]
    assert int(limits["max_header_size"]) == default["max_header_kb"]
    assert int(limits["max_size"]) * 1_000_000 == max(MAX_BYTES.values())
    assert int(limits["keepalive"]) < KEEP_ALIVE_SECONDS
    # A limit of the whole answer would cut streams.
    assert "write" not in limits
