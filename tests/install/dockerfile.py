"""The Dockerfile, read as data, so that its steps can be taken without Docker."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass
class Stage:
    image: str
    environment: dict[str, str] = field(default_factory=dict)
    copies: list[tuple[list[str], str]] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)
    user: str = "root"
    volumes: list[str] = field(default_factory=list)
    probe: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)


def stages() -> list[Stage]:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    found: list[Stage] = []
    entry: list[str] = []
    for line in filter(None, text.splitlines()):
        name, rest = line.split(maxsplit=1)
        match name:
            case "FROM":
                found.append(Stage(rest.split()[0]))
            case "ENV":
                found[-1].environment |= dict(
                    pair.partition("=")[::2] for pair in shlex.split(rest)
                )
            case "COPY":
                *sources, target = rest.split()
                if not rest.startswith("--from"):
                    found[-1].copies.append((sources, target))
            case "RUN":
                found[-1].runs.append(rest)
            case "USER":
                found[-1].user = rest
            case "VOLUME":
                found[-1].volumes.append(rest)
            case "HEALTHCHECK":
                found[-1].probe = json.loads(rest.split("CMD", 1)[1])
            case "ENTRYPOINT":
                entry = json.loads(rest)
            case "CMD":
                found[-1].command = entry + json.loads(rest)
            case "WORKDIR" | "EXPOSE":
                pass
            case _:
                raise AssertionError(f"The tests don't know {name}.")
    return found


def copy_context(stage: Stage, source: Path) -> None:
    """What Docker would copy: nothing that .dockerignore leaves out."""
    allowed = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert allowed[0] == "*"
    for copied, target in stage.copies:
        for name in copied:
            assert f"!{name}" in allowed
            here, there = ROOT / name, source / target
            if here.is_dir():
                shutil.copytree(here, there, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                there.mkdir(parents=True, exist_ok=True)
                shutil.copy(here, there / name)


def moved(text: str, places: Mapping[str, Path]) -> str:
    """The same step, with these folders elsewhere."""
    for folder, here in places.items():
        text = text.replace(folder, str(here))
    return text
