"""The reference of the HTTP API in Markdown, made from its OpenAPI document."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from bythebook.server.markdown_page import anchor

Schema = dict[str, Any]

MODELS = "#/components/schemas/"
UUID = "550e8400-e29b-41d4-a716-446655440000"
ADDRESS = "http://127.0.0.1:8000"
METHODS = ("get", "post", "put", "patch", "delete")


def reference(openapi: Schema) -> str:
    """The whole reference in Markdown; its links work wherever headings get GitHub's anchors."""
    return "\n\n".join(part for part in Reference(openapi).parts() if part) + "\n"


class Reference:
    """One document, read for its routes and models."""

    def __init__(self, openapi: Schema) -> None:
        self.info: Schema = openapi["info"]
        self.models: dict[str, Schema] = openapi.get("components", {}).get("schemas", {})
        self.title = f"{self.info['title']}: HTTP API"
        self.routes: dict[str, list[tuple[str, Schema]]] = {}
        for path, methods in openapi["paths"].items():
            for method in METHODS:
                if route := methods.get(method):
                    tag = route.get("tags", ["other"])[0]
                    self.routes.setdefault(tag, []).append((f"{method.upper()} {path}", route))
        # Where a body's fields are told: with the first route that takes it.
        self.bodies: dict[str, str] = {}
        for name, route in self._all_routes():
            if model := _model_name(_json_schema(route.get("requestBody", {}))):
                self.bodies.setdefault(model, name)
        self.sent = self._reachable(set(self.bodies))
        self.errors = self._shared_errors()

    def parts(self) -> Iterator[str]:
        yield f"# {self.title}"
        yield f"Version {self.info['version']}. {self._linked(self.info.get('description', ''))}"
        yield "## Contents"
        yield "\n".join(self._contents())
        for tag, routes in self.routes.items():
            yield f"## {tag.capitalize()}"
            for name, route in routes:
                yield f"### `{name}`"
                yield from self._route(name, route)
        yield "## Errors"
        yield _table(("Status", "Body", "About"), self.errors)
        yield "## Models"
        for name in sorted(self.models):
            yield f"### `{name}`"
            yield from self._model(name)

    def _all_routes(self) -> Iterator[tuple[str, Schema]]:
        for routes in self.routes.values():
            yield from routes

    def _reachable(self, names: set[str]) -> set[str]:
        """These models and all that are within them."""
        found: set[str] = set()
        while new := names - found:
            found |= new
            names = {inner for name in new for inner in _refs(self.models.get(name))}
        return found

    def _contents(self) -> Iterator[str]:
        for tag, routes in self.routes.items():
            yield f"- [{tag.capitalize()}](#{anchor(tag)})"
            for name, route in routes:
                yield f"  - [`{name}`](#{anchor(name)}) {route.get('summary', '')}".rstrip()
        yield "- [Errors](#errors)"
        yield "- [Models](#models)"

    def _route(self, name: str, route: Schema) -> Iterator[str]:
        if summary := route.get("summary"):
            yield f"**{summary.rstrip('.')}.**"
        yield self._linked(route.get("description", ""))
        yield _access(route)
        if parameters := route.get("parameters"):
            yield self._parameters(parameters)
        if body := route.get("requestBody"):
            yield from self._body(name, body)
        yield f"```sh\n{self._curl(name, route)}\n```"
        yield from self._responses(route["responses"])
        yield self._example_response(route["responses"])

    def _parameters(self, parameters: list[Schema]) -> str:
        rows = []
        for one in parameters:
            schema = one.get("schema", {})
            default = _default_of(schema, required=one.get("required", False))
            about = one.get("description") or schema.get("description", "")
            rows.append((f"`{one['name']}`", one["in"], self._type(schema), default, about))
        return _table(("Parameter", "In", "Type", "Default", "About"), rows)

    def _body(self, name: str, body: Schema) -> Iterator[str]:
        schema = _json_schema(body)
        about = body.get("description", "")
        yield f"Body: {self._type(schema)}. {self._linked(about)}".rstrip()
        model = _model_name(schema)
        if model and self.bodies[model] == name:
            yield self._fields(self.models[model], sent=True)

    def _model(self, name: str) -> Iterator[str]:
        model = self.models[name]
        yield self._linked(model.get("description", ""))
        if name in self.bodies:
            route = self.bodies[name]
            yield f"Its fields are told with [`{route}`](#{anchor(route)})."
        elif model.get("properties"):
            yield self._fields(model, sent=name in self.sent)
        else:
            yield f"Type: {self._type(model)}."

    def _fields(self, model: Schema, *, sent: bool) -> str:
        """What is only received has no defaults to know of."""
        needed = model.get("required", [])
        rows = []
        for name, schema in model.get("properties", {}).items():
            about = self._linked(schema.get("description", ""))
            default = (_default_of(schema, required=name in needed),) if sent else ()
            rows.append((f"`{name}`", self._type(schema), *default, about))
        return _table(("Field", "Type", *(("Default",) if sent else ()), "About"), rows)

    def _responses(self, responses: Schema) -> Iterator[str]:
        """What only this route answers in full, and what many do by its number."""
        own, shared = [], []
        for status, response in responses.items():
            row = self._response(status, response)
            if row in self.errors:
                shared.append(status)
            else:
                own.append(row)
        yield _table(("Status", "Body", "About"), own)
        if shared:
            yield f"[Errors](#errors): {', '.join(sorted(shared))}."

    def _response(self, status: str, response: Schema) -> tuple[str, str, str]:
        kinds = [
            self._type(content["schema"]) if kind == "application/json" else f"`{kind}`"
            for kind, content in _by_kind(response)
            if content.get("schema") or kind != "application/json"
        ]
        about = response.get("description", "").replace("Successful Response", "")
        for name, header in response.get("headers", {}).items():
            about += f" `{name}`: {header.get('description', '')}"
        return status, " or ".join(kinds), about

    def _shared_errors(self) -> list[tuple[str, str, str]]:
        """Errors that several routes answer in the same words."""
        counts = Counter(
            self._response(status, response)
            for _, route in self._all_routes()
            for status, response in route["responses"].items()
            if status >= "4"
        )
        return sorted(row for row, count in counts.items() if count > 1)

    def _example_response(self, responses: Schema) -> str:
        """Of a success; one that nobody has thought of says less than the table of fields."""
        for status, response in responses.items():
            contents = _by_kind(response) if status.startswith("2") else []
            for kind, content in contents[:1]:
                found = _given_example(content) or self._example_of(content.get("schema", {}))
                if found and kind == "application/json":
                    return f"```json\n{json.dumps(found[0], indent=2, ensure_ascii=False)}\n```"
                if found:
                    return f"```text\n{str(found[0]).rstrip()}\n```"
        return ""

    def _example_of(self, schema: Schema) -> list[Any]:
        """The example that a schema, its model or the model of its items gives."""
        if given := _given_example(schema):
            return given
        if model := _model_name(schema):
            return self._example_of(self.models[model])
        if items := schema.get("items"):
            return [[one] for one in self._example_of(items)]
        return []

    def _curl(self, name: str, route: Schema) -> str:
        method, path = name.split(" ", 1)
        query = []
        for one in route.get("parameters", []):
            value = _given_example(one) or _given_example(one.get("schema", {}))
            text = quote(str(value[0])) if value else f"${one['name'].upper()}"
            if one["in"] == "path":
                path = path.replace(f"{{{one['name']}}}", text)
            elif one["in"] == "query" and (one.get("required") or value):
                query.append(f"{one['name']}={text}")
        address = f"{ADDRESS}{path}{'?' if query else ''}{'&'.join(query)}"
        quoted = f'"{address}"' if re.search(r"[$&?]", address) else address
        lines = [f"curl {quoted}" if method == "GET" else f"curl -X {method} {quoted}"]
        if route.get("security"):
            lines.append('-H "Authorization: Bearer $BYTHEBOOK_KEY"')
        if kinds := _by_kind(route.get("requestBody", {})):
            kind, content = kinds[0]
            given = _given_example(content)
            example = given[0] if given else self._example_body(content.get("schema", {}))
            body = json.dumps(example, ensure_ascii=False)
            lines.append(f"-H 'Content-Type: {kind}'")
            lines.append("-d '" + body.replace("'", "'\\''") + "'")
        return " \\\n  ".join(lines)

    def _example_body(self, schema: Schema) -> Any:
        for one in [schema, *schema.get("anyOf", [])]:
            if found := self._example_of(one):
                return found[0]
        return "…"

    def _type(self, schema: Schema) -> str:
        """A type in words, with its bounds and links to models."""
        if model := _model_name(schema):
            return f"[`{model}`](#{anchor(model)})"
        if "const" in schema:
            return f"`{json.dumps(schema['const'])}`"
        if "enum" in schema:
            return " or ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
        if several := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
            types = list(dict.fromkeys(self._type(one) for one in several))
            return (", or " if ", " in "".join(types) else " or ").join(types)
        kind = schema.get("type", "anything")
        if kind == "array" and "prefixItems" in schema:
            return "[" + ", ".join(self._type(one) for one in schema["prefixItems"]) + "]"
        if kind == "array":
            items = self._type(schema.get("items", {}))
            kind = f"list of ({items})" if " or " in items else f"list of {items}"
        inner = schema.get("additionalProperties")
        if kind == "object" and isinstance(inner, dict) and inner:
            kind = f"object with values {self._type(inner)}"
        return ", ".join([kind, *_bounds(schema)])

    def _linked(self, text: str) -> str:
        """Models that a text names in code lead to where they are told."""

        def link(found: re.Match[str]) -> str:
            return f"[{found[0]}](#{anchor(found[1])})" if found[1] in self.models else found[0]

        return re.sub(r"`([^`\n]+)`", link, text.strip())


def _access(route: Schema) -> str:
    needed = route.get("security", [])
    if not needed:
        return "Needs no key."
    scopes = dict.fromkeys(scope for one in needed for names in one.values() for scope in names)
    named = " or ".join(f"`{scope}`" for scope in scopes)
    return f"Needs a key with the scope {named}." if named else "Needs a key."


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Without the columns that no row has anything in."""
    kept = [at for at in range(len(head)) if any(row[at] for row in rows)]
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(line[at]) for at in kept) + " |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _by_kind(holder: Schema) -> list[tuple[str, Schema]]:
    """The contents of a body or response, JSON first."""
    contents: dict[str, Schema] = holder.get("content", {})
    return sorted(contents.items(), key=lambda content: content[0] != "application/json")


def _json_schema(body: Schema) -> Schema:
    schema: Schema = body.get("content", {}).get("application/json", {}).get("schema", {})
    return schema


def _model_name(schema: Schema) -> str | None:
    ref: str = schema.get("$ref", "")
    return ref.removeprefix(MODELS) if ref.startswith(MODELS) else None


def _refs(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if name := _model_name(schema):
            yield name
        schema = list(schema.values())
    if isinstance(schema, list):
        for inner in schema:
            yield from _refs(inner)


def _given_example(holder: Schema) -> list[Any]:
    """The example that the document itself gives, if it does."""
    if "example" in holder:
        return [holder["example"]]
    return list(holder.get("examples", [])[:1])


def _default_of(schema: Schema, *, required: bool) -> str:
    if required:
        return "required"
    return f"`{json.dumps(schema['default'], ensure_ascii=False)}`" if "default" in schema else ""


def _bounds(schema: Schema) -> Iterator[str]:
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
    if _is_uuid(schema):
        yield "a UUID"
    elif pattern := schema.get("pattern"):
        yield f"like `{pattern}`"


def _counted(number: float, unit: str) -> str:
    return f"{_number(number)}{unit}{'s' if unit and number != 1 else ''}"


def _number(number: float) -> str:
    """Bounds of whole numbers come as 4.0."""
    return str(int(number) if number == int(number) else number)


def _is_uuid(schema: Schema) -> bool:
    pattern = schema.get("pattern", "")
    return "{12}" in pattern and re.search(pattern, UUID) is not None
