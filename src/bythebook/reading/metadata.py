"""What an author says about a book or page: front matter, and `bythebook.toml`."""

from __future__ import annotations

import posixpath
import re
import tomllib
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import (
    AfterValidator,
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
    FrozenModel,
    HardwareTier,
    ProficiencyLevel,
    TeachingLayer,
)
from bythebook.reading.readers import Titled
from bythebook.reading.slugs import MAX_HEADING, Flavor, plain_heading
from bythebook.reading.source import BREAK, LINE_END, LINE_START

MANIFEST = "bythebook.toml"
FAST = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MAX_DEPTH = 100
# A merge (`<<`) copies what it names, and may name merges.
MAX_MERGED = 20
# tomllib looks at a dotted key once for each of its parts.
MAX_DOTS = 200
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
TITLE = re.compile(
    rf"{LINE_START} {{0,3}}(?:#[ \t]++(?P<atx>\S[^\r\n]*+)|"
    rf"(?P<setext>\S[^\r\n\ufeff]*+){BREAK}=++[ \t]*+{LINE_END})"
)
CLOSING_SHARPS = re.compile(r"(?:^|(?<=[ \t]))#+$")
CODE_FENCE = re.compile(rf"{LINE_START}[ \t]*(?:```|~~~)(?!mdx-code-block)")
# Docusaurus includes a page's text from files whose name begins with an underscore.
PARTIAL_IMPORT = re.compile(
    rf"{LINE_START}import\s+\w+\s+from\s+"
    r"['\"](\.{1,2}/[^'\"\r\n]{0,500}_[^'\"/\r\n]{1,100}\.mdx?)['\"]"
)
CODE_OR_TAG = re.compile(
    r"(`{1,20})[^`]*+\1|</?[A-Za-z][^<>]*+>|<!--(?:(?!<!--).)*?-->"
    r"|\{/\*(?:(?!\{/\*).)*?\*/\}"
)
MAX_NUMBER = 9999
FURTHEST = 1e300


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


@dataclass(frozen=True)
class FrontMatter:
    """What the head of a file says, where it ends, and what was wrong with it."""

    values: dict[str, Any] = field(default_factory=dict)
    end: int = 0
    problems: tuple[str, ...] = ()


class Teaching(FrozenModel):
    """For whom a lesson is: hardware tier, proficiency level, teaching layer."""

    hardware_tier: HardwareTier = DEFAULT_HARDWARE_TIER
    proficiency_level: ProficiencyLevel = DEFAULT_PROFICIENCY
    layer: TeachingLayer = DEFAULT_LAYER


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
    chosen: dict[str, Any] = {}
    problems: list[str] = []
    for name, allowed, normalise in (
        ("hardware_tier", HARDWARE_TIERS, _whole_number),
        ("proficiency_level", PROFICIENCY_LEVELS, _lower_bound),
        ("layer", LAYERS, _upper),
    ):
        given = values.get(name)
        if given is None:
            continue
        if (value := normalise(given)) in allowed:
            chosen[name] = value
        else:
            problems.append(
                f"{name} is {shorten(given)}, not one of {allowed}; "
                f"{getattr(defaults, name)!r} is used"
            )
    return defaults.model_copy(update=chosen), problems


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


@dataclass(frozen=True)
class Head:
    """What the rest of the book must know of a page: fields of its front matter, None where it says
    nothing; its first heading, and what its toctree calls other pages. Heads are kept between runs,
    so that a book is laid out again without reading unchanged files."""

    title: str | None = None
    heading: str | None = None
    module: str | None = None
    chapter: int | None = None
    lesson: int | None = None
    position: float | None = None
    slug: str | None = None
    id: str | None = None
    mdn: bool = False
    imports: tuple[str, ...] = ()
    contents: tuple[Titled, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Every field, also an empty one: 0 says something, and a kept head can be seen whole."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Head:
        contents = tuple((title, target) for title, target in values.get("contents", ()))
        imports = tuple(values.get("imports", ()))
        return cls(**{**values, "imports": imports, "contents": contents})

    @classmethod
    def is_whole(cls, values: dict[str, Any]) -> bool:
        """Whether this version of the program kept it; another may have left something out."""
        return values.keys() == cls.__dataclass_fields__.keys()


def read_head(
    text: str, front: FrontMatter, contents: tuple[Titled, ...] = ()
) -> tuple[Head, list[str]]:
    """The head, and what was wrong with it."""
    values, problems = front.values, list(front.problems)

    def whole_number(name: str) -> int | None:
        value = values.get(name)
        if value is None:
            return None
        number = value
        if isinstance(value, str) and re.fullmatch(r"\s*\d{1,4}\s*", value):
            number = int(value)
        if isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= MAX_NUMBER:
            return number
        problems.append(
            f"{name} is {shorten(value)}, not a number from 0 to {MAX_NUMBER}; the path decides"
        )
        return None

    return (
        Head(
            title=_text(values.get("title")),
            heading=_first_heading(text, front.end),
            module=_text(values.get("module")),
            chapter=whole_number("chapter"),
            lesson=whole_number("lesson"),
            position=_position(values.get("sidebar_position")),
            slug=_text(values.get("slug")),
            id=_text(values.get("id")),
            mdn="page-type" in values,
            imports=tuple(PARTIAL_IMPORT.findall(text)),
            contents=contents,
        ),
        problems,
    )


def _position(value: Any) -> float | None:
    """Any number that has a place among others; `.nan` has none, and JSON has no infinity."""
    if not isinstance(value, int | float) or value != value:
        return None
    return max(-FURTHEST, min(value, FURTHEST))


def _text(value: Any) -> str | None:
    return str(value).strip() or None if isinstance(value, str | int | float) else None


def _first_heading(text: str, start: int) -> str | None:
    fence = CODE_FENCE.search(text, start)
    found = TITLE.search(text, start, fence.start() if fence else len(text))
    if not found:
        return None
    raw = (found["atx"] or found["setext"])[:MAX_HEADING].strip()
    raw = CODE_OR_TAG.sub(lambda part: part[0] if part[1] else "", raw)
    return plain_heading(CLOSING_SHARPS.sub("", raw)) or None


Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


def _folder(name: str) -> str:
    """`./part/` and `part` are the same folder."""
    return posixpath.normpath(name).strip("/")


class BookTable(FrozenModel):
    id: str | None = Field(default=None, pattern=BOOK_ID)
    title: Name | None = None
    base_url: str | None = None
    language: str = Field(default="en", pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]+)*$")
    flavor: Flavor | None = None
    docs: str | None = Field(default=None, description="Folder of the pages, if not the root.")


class Manifest(FrozenModel):
    book: BookTable = BookTable()
    modules: dict[Annotated[str, AfterValidator(_folder)], Name] = Field(default_factory=dict)
    defaults: Teaching = Teaching()


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
