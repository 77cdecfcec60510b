"""YAML and TOML of somebody else. What would cost a parser its stack, or time out of proportion, is
refused before it is parsed."""

from __future__ import annotations

import tomllib
from typing import Any

import yaml

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
