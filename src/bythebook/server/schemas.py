"""Reading the schemas of an OpenAPI document."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]

MODELS = "#/components/schemas/"
UUID = "550e8400-e29b-41d4-a716-446655440000"


def by_kind(holder: Schema) -> list[tuple[str, Schema]]:
    """The contents of a body or response, JSON first."""
    contents: dict[str, Schema] = holder.get("content", {})
    return sorted(contents.items(), key=lambda content: content[0] != "application/json")


def json_schema(body: Schema) -> Schema:
    schema: Schema = body.get("content", {}).get("application/json", {}).get("schema", {})
    return schema


def model_name(schema: Schema) -> str | None:
    ref: str = schema.get("$ref", "")
    return ref.removeprefix(MODELS) if ref.startswith(MODELS) else None


def refs(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if name := model_name(schema):
            yield name
        schema = list(schema.values())
    if isinstance(schema, list):
        for inner in schema:
            yield from refs(inner)


def given_example(holder: Schema) -> list[Any]:
    """The example that the document itself gives, if it does."""
    if "example" in holder:
        return [holder["example"]]
    examples = holder.get("examples") or []
    if isinstance(examples, dict):
        return [one["value"] for one in examples.values() if "value" in one][:1]
    return list(examples[:1])


def default_of(schema: Schema, *, required: bool) -> str:
    if required:
        return "required"
    return f"`{json.dumps(schema['default'], ensure_ascii=False)}`" if "default" in schema else ""


def bounds(schema: Schema) -> Iterator[str]:
    if kind := schema.get("format"):
        yield kind
    for low, high, unit in (
        ("minimum", "maximum", ""),
        ("minLength", "maxLength", " character"),
        ("minItems", "maxItems", " item"),
    ):
        least, most = schema.get(low), schema.get(high)
        if least is not None and most is not None:
            yield f"{_number(least)} to {_counted(most, unit)}"
        elif least is not None:
            yield f"at least {_counted(least, unit)}"
        elif most is not None:
            yield f"at most {_counted(most, unit)}"
    if (above := schema.get("exclusiveMinimum")) is not None:
        yield f"above {_number(above)}"
    if (below := schema.get("exclusiveMaximum")) is not None:
        yield f"below {_number(below)}"
    if is_uuid(schema):
        yield "a UUID"
    elif pattern := schema.get("pattern"):
        yield f"like `{pattern}`"


def _counted(number: float, unit: str) -> str:
    return f"{_number(number)}{unit}{'s' if unit and number != 1 else ''}"


def _number(number: float) -> str:
    """Bounds of whole numbers come as 4.0."""
    return str(int(number) if number == int(number) else number)


def is_uuid(schema: Schema) -> bool:
    pattern = schema.get("pattern", "")
    return "{12}" in pattern and re.search(pattern, UUID) is not None
