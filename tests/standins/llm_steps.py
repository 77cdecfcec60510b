"""What a scripted language model does with one request, and what it can read in that request."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Json = dict[str, Any]
Ending = Literal["done", "silent", "cut"]


@dataclass(frozen=True)
class Call:
    """A tool call; `arguments` is sent as it is, JSON or not."""

    arguments: str
    name: str | None = None
    """None: the first tool the request offers."""


@dataclass(frozen=True)
class Step:
    """One answer. `body` replaces all of it; `wire` cuts what is written to the socket into pieces
    of so many bytes, also through a character."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    split: int = 4
    finish: str | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None
    choices: bool = True
    wait: float = 0.0
    pause: float = 0.0
    stall: float = 0.0
    ending: Ending = "done"
    after: int | None = None
    wire: int | None = None

    @property
    def finish_reason(self) -> str:
        return self.finish or ("tool_calls" if self.calls else "stop")

    def pause_after(self, delta: Json) -> float:
        return self.pause + (self.stall if delta.get("content") else 0.0)

    @property
    def told(self) -> str:
        return self.text if self.after is None else self.text[: self.after]


# A step, or whatever reads the request and decides.
Script = Step | Callable[[Json], "Script"]


def says(text: str, *, split: int = 4, finish: str | None = None, wire: int | None = None) -> Step:
    """A text answer in pieces of `split` characters; finish="length" is one that was too long."""
    return Step(text, split=split, finish=finish, wire=wire)


def calls_tool(
    query: str | None = None,
    *,
    name: str | None = None,
    arguments: Json | None = None,
    text: str = "",
    split: int = 4,
    wire: int | None = None,
) -> Step:
    """A tool call in `split` pieces: 1 sends it whole, 2 the name apart from the arguments, more
    cuts the arguments too, through words and escapes."""
    values = ({} if query is None else {"query": query}) | (arguments or {})
    return Step(text, (Call(json.dumps(values), name),), split=split, wire=wire)


def calls_tools(*queries: str, name: str | None = None, split: int = 4) -> Step:
    """Several calls in one message."""
    calls = tuple(Call(json.dumps({"query": query}), name) for query in queries)
    return Step(calls=calls, split=split)


def bad_arguments(raw: str = '{"query": "gaz', *, name: str | None = None, split: int = 4) -> Step:
    return Step(calls=(Call(raw, name),), split=split)


def fails(
    status: int,
    *,
    retry_after: float | str | None = None,
    body: str | None = None,
    headers: dict[str, str] | None = None,
) -> Step:
    if body is None:
        error = {"message": f"scripted {status}", "type": "scripted", "code": str(status)}
        body = json.dumps({"error": error})
    extra = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return Step(status=status, body=body, headers=extra | (headers or {}))


def hangs(seconds: float, then: Step | None = None) -> Step:
    """Nothing is sent, not even the headers, before the time is over."""
    return replace(then or says("Late."), wait=seconds)


def trickles(text: str, delay: float, *, split: int = 4) -> Step:
    """Waits before each piece."""
    return Step(text, split=split, pause=delay)


def stalls(text: str, seconds: float) -> Step:
    """Says all of it at once, and then nothing more for so long."""
    return Step(text, split=len(text), stall=seconds)


def cuts(text: str = "", *, after: int | None = None, split: int = 4) -> Step:
    """Closes the connection after so many characters (half of them), with no end of the stream."""
    return Step(text, split=split, ending="cut", after=len(text) // 2 if after is None else after)


def ends_early(text: str = "", *, after: int | None = None, split: int = 4) -> Step:
    """A well-formed HTTP answer that stops with neither finish_reason nor [DONE]."""
    return Step(text, split=split, ending="silent", after=after)


def malformed(raw: str = '{"choices": [{', *, before: str = "") -> Step:
    """Not JSON: the whole body, or in a stream an event after the text `before`."""
    return Step(before, body=raw)


def empty(*, choices: bool = True) -> Step:
    """An answer of no text, or one without any choice."""
    return Step(choices=choices)


def deltas(step: Step, request: Json) -> list[Json]:
    """What a stream tells, one delta a chunk."""
    found: list[Json] = [{"role": "assistant", "content": ""}]
    found += [{"content": piece} for piece in _pieces(step.told, step.split)]
    for index, call in enumerate(step.calls):
        head = {"index": index, "id": f"call_{len(request['messages'])}_{index}"}
        name = tool_name(call, request)
        if step.split < 2:
            function = {"name": name, "arguments": call.arguments}
            found.append({"tool_calls": [head | {"type": "function", "function": function}]})
            continue
        function = {"name": name, "arguments": ""}
        found.append({"tool_calls": [head | {"type": "function", "function": function}]})
        size = -(-len(call.arguments) // (step.split - 1))
        for piece in _pieces(call.arguments, size):
            found.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    return found


def message(step: Step, request: Json) -> Json:
    """The same answer whole."""
    told: Json = {"role": "assistant", "content": step.told or (None if step.calls else "")}
    if step.calls:
        told["tool_calls"] = [
            {
                "id": f"call_{len(request['messages'])}_{index}",
                "type": "function",
                "function": {"name": tool_name(call, request), "arguments": call.arguments},
            }
            for index, call in enumerate(step.calls)
        ]
    return told


def tool_name(call: Call, request: Json) -> str:
    if call.name is not None:
        return call.name
    names = tool_names(request)
    if not names:
        raise ValueError("the step calls a tool and the request offers none")
    return names[0]


def _pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), max(size, 1))]


def tool_names(request: Json) -> list[str]:
    return [tool["function"]["name"] for tool in request.get("tools") or []]


def last_question(request: Json) -> str:
    asked = [m["content"] for m in request["messages"] if m["role"] == "user"]
    return text_of(asked[-1]) if asked else ""


def text_of(content: str | list[Json] | None) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def tool_results(request: Json) -> list[Any]:
    """What the tools gave back since the last question; parsed where it is JSON."""
    found: list[Any] = []
    for told in request["messages"]:
        if told["role"] == "user":
            found.clear()
        elif told["role"] == "tool":
            found.append(_parsed(text_of(told["content"])))
    return found


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def passages(request: Json) -> list[Json]:
    """The retrieved passages since the last question, in the order they were given."""
    results = [result for result in tool_results(request) if isinstance(result, dict)]
    return [passage for result in results for passage in result.get("results") or []]


def searches_then(
    write: Callable[[list[Json]], str | Step], *, split: int = 4
) -> Callable[[Json], Step]:
    """Depends on the request alone: asks the tool for the question, then writes from the passages.

    For any number of conversations at once."""

    def choose(request: Json) -> Step:
        if not tool_results(request):
            return calls_tool(last_question(request), split=split)
        written = write(passages(request))
        return written if isinstance(written, Step) else says(written, split=split)

    return choose
