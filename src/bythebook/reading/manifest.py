"""`bythebook.toml` at the root of a book: what its author says about it."""

from __future__ import annotations

import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bythebook.errors import InputError
from bythebook.models.vocabulary import (
    DEFAULT_HARDWARE_TIER,
    DEFAULT_LAYER,
    DEFAULT_PROFICIENCY,
    HardwareTier,
    ProficiencyLevel,
    TeachingLayer,
)
from bythebook.reading.anchors import Flavor

MANIFEST = "bythebook.toml"
BOOK_ID = r"^[a-z0-9][a-z0-9._-]{0,99}$"


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class BookTable(_Table):
    id: str | None = Field(default=None, pattern=BOOK_ID)
    title: str | None = Field(default=None, min_length=1)
    base_url: str | None = None
    language: str = Field(default="en", pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]+)*$")
    flavor: Flavor | None = None
    docs: str | None = Field(default=None, description="Folder of the pages, if not the root.")


class Defaults(_Table):
    hardware_tier: HardwareTier = DEFAULT_HARDWARE_TIER
    proficiency_level: ProficiencyLevel = DEFAULT_PROFICIENCY
    layer: TeachingLayer = DEFAULT_LAYER


class Manifest(_Table):
    book: BookTable = BookTable()
    modules: dict[str, str] = Field(default_factory=dict)
    defaults: Defaults = Defaults()


def read_manifest(root: Path) -> Manifest:
    """The manifest, or an empty one; a wrong one is refused, because ids depend on it."""
    file = root / MANIFEST
    if not file.is_file():
        return Manifest()
    try:
        return Manifest.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        reason = str(problem)
    except ValidationError as problem:
        first = problem.errors()[0]
        reason = f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
    raise InputError(f"{MANIFEST} can't be used: {reason}.", action=f"Correct {file}.")
