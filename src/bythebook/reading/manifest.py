"""`bythebook.toml` at the root of a book: what its author says about it."""

from __future__ import annotations

import posixpath
from pathlib import Path
from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)

from bythebook.errors import InputError
from bythebook.models.book_id import BOOK_ID
from bythebook.models.vocabulary import (
    DEFAULT_HARDWARE_TIER,
    DEFAULT_LAYER,
    DEFAULT_PROFICIENCY,
    HardwareTier,
    ProficiencyLevel,
    TeachingLayer,
)
from bythebook.reading.anchors import Flavor
from bythebook.reading.structured import load_toml

MANIFEST = "bythebook.toml"


Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


def _folder(name: str) -> str:
    """`./part/` and `part` are the same folder."""
    return posixpath.normpath(name).strip("/")


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class BookTable(_Table):
    id: str | None = Field(default=None, pattern=BOOK_ID)
    title: Name | None = None
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
    modules: dict[Annotated[str, AfterValidator(_folder)], Name] = Field(default_factory=dict)
    defaults: Defaults = Defaults()


def read_manifest(root: Path) -> Manifest:
    """The manifest, or an empty one; a wrong one is refused, because ids depend on it."""
    file = root / MANIFEST
    if not file.is_file():
        return Manifest()
    try:
        return Manifest.model_validate(load_toml(file.read_text(encoding="utf-8")))
    except ValidationError as problem:
        first = problem.errors()[0]
        reason = f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
    except (ValueError, OSError) as problem:
        reason = str(problem)
    raise InputError(f"{MANIFEST} can't be used: {reason}.", action=f"Correct {file}.")
