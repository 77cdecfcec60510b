"""What an author says about a book or page: front matter, and `bythebook.toml`."""

from __future__ import annotations

import posixpath
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)

from bythebook.errors import InputError
from bythebook.models.values import (
    BOOK_ID,
    DEFAULT_HARDWARE_TIER,
    DEFAULT_LAYER,
    DEFAULT_PROFICIENCY,
    HARDWARE_TIERS,
    LAYERS,
    PROFICIENCY_LEVELS,
    HardwareTier,
    ProficiencyLevel,
    TeachingLayer,
)
from bythebook.reading.slugs import Flavor
from bythebook.reading.source import BREAK, LINE_START

FAST = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MAX_DEPTH = 100
# A merge (`<<`) copies what it names, and may name merges.
MAX_MERGED = 20
# tomllib looks at a dotted key once for each of its parts.
MAX_DOTS = 200


def load_yaml(text: str, loader: Any = FAST) -> Any:
    """The C parser makes nodes of nested ones by calling itself, and dies of deep ones; the events
    before that are read without nesting."""
    depth = aliases = 0
    merges = False
    for event in yaml.parse(text, Loader=FAST):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        aliases += isinstance(event, yaml.AliasEvent)
        merges |= isinstance(event, yaml.ScalarEvent) and event.value == "<<"
        if depth > MAX_DEPTH:
            raise ValueError(f"it is nested more than {MAX_DEPTH} deep")
        if merges and aliases > MAX_MERGED:
            raise ValueError(f"it merges more than {MAX_MERGED} times")
    return yaml.load(text, Loader=loader)


def load_toml(text: str) -> dict[str, Any]:
    if any(line.count(".") > MAX_DOTS for line in text.split("\n")):
        raise ValueError(f"a line of it has more than {MAX_DOTS} dots")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


FENCE = re.compile(
    rf"\A\ufeff?(?P<fence>---|\+\+\+)[ \t]*{BREAK}"
    rf"(?P<body>.*?){LINE_START}(?P=fence)[ \t]*(?:{BREAK}|\Z)",
    re.DOTALL,
)
# What the two parsers raise; PyYAML lets its own slips through on values such as `!!bool maybe`.
UNREADABLE = (
    yaml.YAMLError,
    ValueError,
    RecursionError,
    AttributeError,
    LookupError,
    TypeError,
    ArithmeticError,
)


@dataclass(frozen=True)
class FrontMatter:
    """What the head of a file says, where it ends, and what was wrong with it."""

    values: dict[str, Any] = field(default_factory=dict)
    end: int = 0
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Teaching:
    """For whom a lesson is: hardware tier, proficiency level, teaching layer."""

    hardware_tier: int = DEFAULT_HARDWARE_TIER
    proficiency_level: str = DEFAULT_PROFICIENCY
    layer: str = DEFAULT_LAYER


def read_front_matter(text: str) -> FrontMatter:
    """Parse the head; a malformed one is skipped with a problem, never an exception."""
    found = FENCE.match(text)
    if not found:
        return FrontMatter()
    body, end = found["body"], found.end()
    try:
        values = load_yaml(body) if found["fence"] == "---" else load_toml(body)
        _refuse_endless_numbers(values)
    except UNREADABLE as problem:
        reason = f"the front matter can't be read ({first_line(problem)})"
        return FrontMatter(end=end, problems=(reason,))
    if values is None:
        return FrontMatter(end=end)
    if not isinstance(values, dict):  # a page that opens with text between two rules
        return FrontMatter(problems=("its front matter has no fields and is read as text",))
    return FrontMatter(values={str(key): value for key, value in values.items()}, end=end)


def _refuse_endless_numbers(values: Any) -> None:
    """Python reads a hexadecimal number of any length, and refuses to write it (ValueError)."""
    for part in (*values, *values.values()) if isinstance(values, dict) else ():
        if isinstance(part, int):
            str(part)


def read_teaching(values: dict[str, Any], defaults: Teaching) -> tuple[Teaching, list[str]]:
    """The three personalisation fields; a bad one falls back to the default with a problem."""
    problems: list[str] = []

    def choose(name: str, allowed: tuple[Any, ...], default: Any, normalise: Any) -> Any:
        if values.get(name) is None:
            return default
        value = normalise(values[name])
        if value in allowed:
            return value
        problems.append(
            f"{name} is {shorten(values[name])}, not one of {allowed}; {default!r} is used"
        )
        return default

    return (
        Teaching(
            hardware_tier=choose(
                "hardware_tier", HARDWARE_TIERS, defaults.hardware_tier, _whole_number
            ),
            proficiency_level=choose(
                "proficiency_level", PROFICIENCY_LEVELS, defaults.proficiency_level, _lower_bound
            ),
            layer=choose("layer", LAYERS, defaults.layer, _upper),
        ),
        problems,
    )


def _whole_number(value: Any) -> int | None:
    """2, "2" and "tier 2" are 2; true and 2.5 are nothing."""
    if not isinstance(value, int | str) or isinstance(value, bool):
        return None
    found = re.fullmatch(r"(?:tier\s*)?(\d{1,3})", _upper(value), re.IGNORECASE)
    return int(found[1]) if found else None


def _lower_bound(value: Any) -> str:
    """A range such as "A2-B1" takes its lower bound."""
    return re.split(r"-|–|TO|,|/", _upper(value), maxsplit=1)[0].rstrip()


def _upper(value: Any) -> str:
    """The value as text; a nested one is none, and could be endless."""
    return "" if isinstance(value, list | dict) else str(value).strip().upper()


def first_line(problem: BaseException) -> str:
    return next(iter(str(problem).splitlines()), type(problem).__name__)


def shorten(value: Any) -> str:
    """How a message shows a value."""
    if isinstance(value, list | dict):
        return f"a {type(value).__name__}"
    text = repr(value) if not isinstance(value, int) or abs(value) < 10**9 else "a huge number"
    return text if len(text) <= 80 else f"{text[:77]}..."


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
