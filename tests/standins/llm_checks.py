"""What a strict chat-completions service refuses in a request."""

from __future__ import annotations

import json
import re
from typing import Any

Json = dict[str, Any]

_ROLES = ("system", "developer", "user", "assistant", "tool")
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class Refused(Exception):
    """Its message is what the service answers."""


def check_request(body: Any, *, parses_arguments: bool = False) -> None:
    """`parses_arguments`: some services read the arguments of earlier calls as JSON again."""
    if not isinstance(body, dict):
        raise Refused("the body is not a JSON object")
    if not isinstance(body.get("model"), str) or not body["model"]:
        raise Refused("'model' is required")
    if body.get("stream_options") is not None and not body.get("stream"):
        raise Refused("'stream_options' is allowed only with 'stream': true")
    if not 0 <= body.get("temperature", 0) <= 2:
        raise Refused("'temperature' is not between 0 and 2")
    if body.get("max_tokens", 1) < 1:
        raise Refused("'max_tokens' is less than 1")
    _check_messages(body.get("messages"), parses_arguments)
    _check_tools(body)


def _check_messages(messages: Any, parses_arguments: bool) -> None:
    if not isinstance(messages, list) or not messages:
        raise Refused("'messages' is empty")
    waiting: list[str] = []
    for number, message in enumerate(messages):
        where = f"messages[{number}]"
        role = message.get("role")
        if role not in _ROLES:
            raise Refused(f"{where}: {role!r} is no role")
        if role in ("system", "developer") and number:
            raise Refused(f"{where}: a {role} message may only be the first")
        if role == "tool":
            answered = message.get("tool_call_id")
            if answered not in waiting:
                raise Refused(
                    f"{where}: messages with role 'tool' must be a response to a preceding message "
                    f"with 'tool_calls'; {answered!r} is none of {waiting}"
                )
            waiting.remove(answered)
        elif waiting:
            raise Refused(f"{where}: tool_call_ids without an answer: {', '.join(waiting)}")
        _check_content(message, where)
        if role == "assistant":
            waiting = _call_ids(message, where, parses_arguments)
    if waiting:
        raise Refused(f"tool_call_ids without an answer: {', '.join(waiting)}")


def _check_content(message: Json, where: str) -> None:
    content = message.get("content")
    if content is None:
        if message["role"] == "assistant" and message.get("tool_calls"):
            return
        raise Refused(f"{where}: 'content' is missing")
    if isinstance(content, str):
        return
    if not isinstance(content, list) or not content:
        raise Refused(f"{where}: 'content' is neither a text nor a list of parts")
    for part in content:
        if part.get("type") != "text" or not isinstance(part.get("text"), str):
            raise Refused(f"{where}: a part of 'content' is no text")


def _call_ids(message: Json, where: str, parses_arguments: bool) -> list[str]:
    calls = message.get("tool_calls")
    if calls is None:
        return []
    if not isinstance(calls, list) or not calls:
        raise Refused(f"{where}: 'tool_calls' is empty")
    ids: list[str] = []
    for call in calls:
        function = call.get("function") or {}
        texts = (call.get("id"), function.get("name"), function.get("arguments"))
        if call.get("type") != "function" or not all(isinstance(text, str) for text in texts):
            raise Refused(f"{where}: a tool call needs type, id, name and arguments")
        if call["id"] in ids:
            raise Refused(f"{where}: two tool calls have the id {call['id']!r}")
        if parses_arguments:
            _check_arguments(function["arguments"], where)
        ids.append(call["id"])
    return ids


def _check_arguments(arguments: str, where: str) -> None:
    try:
        values = json.loads(arguments)
    except ValueError as error:
        raise Refused(f"{where}: the arguments of a tool call are not JSON: {error}") from error
    if not isinstance(values, dict):
        raise Refused(f"{where}: the arguments of a tool call are not a JSON object")


def _check_tools(body: Json) -> None:
    tools = body.get("tools")
    if tools is None:
        for option in ("tool_choice", "parallel_tool_calls"):
            if body.get(option) is not None and body[option] != "none":
                raise Refused(f"'{option}' is allowed only with 'tools'")
        return
    if not isinstance(tools, list) or not tools:
        raise Refused("'tools' is empty")
    names: list[str] = []
    for tool in tools:
        function = tool.get("function") or {}
        name = function.get("name")
        if tool.get("type") != "function" or not isinstance(name, str):
            raise Refused("a tool needs the type 'function' and a name")
        if not _TOOL_NAME.fullmatch(name):
            raise Refused(f"{name!r} can't be a tool's name")
        if name in names:
            raise Refused(f"two tools have the name {name!r}")
        if not isinstance(function.get("parameters", {}), dict):
            raise Refused(f"the parameters of {name!r} are not a JSON schema")
        names.append(name)
    _check_choice(body.get("tool_choice"), names)


def _check_choice(choice: Any, names: list[str]) -> None:
    if choice in (None, "none", "auto", "required"):
        return
    named = (choice.get("function") or {}).get("name") if isinstance(choice, dict) else None
    if named not in names:
        raise Refused(f"'tool_choice' names {named or choice!r}, which is no tool of the request")
