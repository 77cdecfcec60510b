"""What the service writes about itself: one line for each thing that happened, and never a key."""

from __future__ import annotations

import json
import logging
import math
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, TextIO
from urllib.parse import unquote

from pydantic import SecretStr

from bythebook.models.values import iso
from bythebook.settings import Settings
from bythebook.tracing import trace_id

HIDDEN = "***"
# A shorter secret would be found in ordinary words; it is hidden by its place only.
SHORTEST_SECRET = 8

_context: ContextVar[dict[str, object] | None] = ContextVar("log_context", default=None)


@contextmanager
def log_context(**known: object) -> Iterator[None]:
    """What is logged inside carries these: request_id, session_id, key_id, job_id."""
    before = _context.get()
    _context.set({**(before or {}), **_given(known)})
    try:
        yield
    finally:
        # Not `reset`: a generator that is closed early may end in another task's context.
        _context.set(before)


def add_to_log_context(**known: object) -> None:
    """Add what became known later; those who opened the context see it, too."""
    current = _context.get()
    if current is None:
        _context.set(_given(known))
    else:
        current.update(_given(known))


def _given(known: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in known.items() if value is not None}


def shown_question(text: str, settings: Settings) -> str:
    """A question as the log may hold it: itself where the operator wants that, else its length."""
    return text if settings.log_questions else f"({len(text)} characters)"


def configure_logging(settings: Settings, stream: TextIO | None = None) -> None:
    """Send all that this process logs through one handler; calling it again replaces that.

    Run uvicorn with `log_config=None` and `access_log=False`, or it sets up its own again.
    """
    masks = Masks(secrets_of(settings))
    handler = _Handler(stream)
    as_text = settings.log_format == "text" or (
        settings.log_format == "auto" and (stream or sys.stderr).isatty()
    )
    handler.setFormatter(TextFormatter(masks) if as_text else JsonFormatter(masks))
    root = logging.getLogger()
    for old in [known for known in root.handlers if isinstance(known, _Handler)]:
        root.removeHandler(old)
    root.addHandler(handler)

    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    logging.getLogger("bythebook").setLevel(level)
    # Libraries log whole requests at debug, and with them what was asked.
    libraries = max(level, logging.WARNING)
    if level == logging.DEBUG:
        libraries = logging.DEBUG if settings.log_questions else logging.INFO
    root.setLevel(libraries)

    for name in ("uvicorn", "uvicorn.error", "uvicorn.asgi"):
        server = logging.getLogger(name)
        server.handlers.clear()
        server.propagate = True
        server.setLevel(logging.NOTSET)
    logging.getLogger("uvicorn").setLevel(max(level, logging.INFO))
    # The service writes its own line for each request.
    access = logging.getLogger("uvicorn.access")
    access.handlers.clear()
    access.propagate = False
    logging.captureWarnings(True)


def hide_secrets(settings: Settings) -> None:
    """From now on the log hides the secrets of these settings, which may be other than before."""
    for handler in logging.getLogger().handlers:
        formatter = handler.formatter
        if isinstance(formatter, MaskingFormatter):
            handler.setFormatter(type(formatter)(Masks(secrets_of(settings))))


class _Handler(logging.StreamHandler[TextIO]):
    """Ours; without a stream it writes to whatever standard error is at the time."""

    def __init__(self, stream: TextIO | None) -> None:
        super().__init__(stream)
        self._given = stream

    def emit(self, record: logging.LogRecord) -> None:
        if self._given is None:
            self.stream = sys.stderr
        super().emit(record)


class MaskingFormatter(logging.Formatter):
    def __init__(self, masks: Masks) -> None:
        super().__init__()
        self._masks = masks


class JsonFormatter(MaskingFormatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": _moment(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for name, value in _fields(record).items():
            line.setdefault(name, value)
        if trace := _trace(record):
            line["exception"] = trace
        return json.dumps(self._masks.cleaned(line))


class TextFormatter(MaskingFormatter):
    """One line for a person to read, and the trace below it where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {name: self._masks.cleaned(value, name) for name, value in _fields(record).items()}
        parts = [
            _moment(record),
            f"{record.levelname.lower():7}",
            f"{record.name}:",
            _one_line(self._masks.masked(record.getMessage())),
            *(f"{name}={_one_line(_plain(value))}" for name, value in fields.items()),
        ]
        trace = "".join(
            f"\n    {_one_line(line)}" for line in self._masks.masked(_trace(record)).splitlines()
        )
        return " ".join(parts) + trace


def _moment(record: logging.LogRecord) -> str:
    return iso(datetime.fromtimestamp(record.created, UTC))


_OWN_FIELDS = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}
# uvicorn gives its messages a second time, in colour.
_NOT_SHOWN = _OWN_FIELDS | {"color_message"}


def _fields(record: logging.LogRecord) -> dict[str, object]:
    """What is known from the context, then what was given with `extra=`, which is closer."""
    extra = {name: value for name, value in vars(record).items() if name not in _NOT_SHOWN}
    return {**(_context.get() or {}), **_given({"trace_id": trace_id()}), **_given(extra)}


def _trace(record: logging.LogRecord) -> str:
    trace = record.exc_text
    if record.exc_info and record.exc_info[0] is not None:
        trace = logging.Formatter().formatException(record.exc_info)
    return "\n".join(filter(None, (trace, record.stack_info)))


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _one_line(text: str) -> str:
    """Without what would start a new line or colour the terminal: a caller can't forge a line."""
    if text.isprintable():
        return text
    return "".join(
        character
        if character.isprintable()
        else character.encode("unicode_escape", "backslashreplace").decode()
        for character in text
    )


def secrets_of(settings: Settings) -> set[str]:
    """Every secret of the settings: keys, and passwords within addresses."""
    found: set[str] = set()
    for name in Settings.model_fields:
        value = getattr(settings, name)
        text = value.get_secret_value() if isinstance(value, SecretStr) else value
        if not isinstance(text, str):
            continue
        if password := _password_in(text):
            found |= {password, unquote(password)}
        if isinstance(value, SecretStr):
            found.add(text)
    return {secret for secret in found if len(secret) >= SHORTEST_SECRET}


def _password_in(address: str) -> str:
    """Of `name://user:password@host`. A password may have an @ of its own."""
    before, at, _ = address.partition("://")[2].rpartition("@")
    user, _, password = before.partition(":")
    return "" if not at or "/" in user or "@" in user or len(before.split()) > 1 else password


_PATTERNS = (
    # Our own keys, those of OpenAI and its likes, and those of GitHub.
    (re.compile(r"(btbp?_)[\w-]+"), rf"\1{HIDDEN}"),
    (re.compile(r"(?<![A-Za-z])sk-[\w-]{8,}"), f"sk-{HIDDEN}"),
    (re.compile(r"(?<![A-Za-z])(gh[a-z]|github_pat)_\w{16,}"), rf"\1_{HIDDEN}"),
    (
        re.compile(r"(?i)\b(authorization|x-api-key)(\W{1,6})((?:bearer|basic)\s+)?[^\s,;'\"]+"),
        rf"\1\2\3{HIDDEN}",
    ),
    (re.compile(r"(?i)\b(bearer\s+)[\w.~+/=-]{8,}"), rf"\1{HIDDEN}"),
    # user:password@ in an address, or a token before its host. Only a page has an @ in its path.
    (re.compile(r"(?i)(\bhttps?://)[^\s/]+@"), rf"\1{HIDDEN}@"),
    (
        re.compile(r"(?i)(?<![^\W_])((?:password|passwd|secret|token|api_?key)=)[^\s&,;'\"]+"),
        rf"\1{HIDDEN}",
    ),
)
# Of any other address, in a stretch without blanks up to its last @.
_RUN = re.compile(r"\S+")
_USER = re.compile(r"(?i)(\b(?!https?:)[a-z][a-z0-9+.-]{0,30}://[^\s/:@]*):\S+")
_SECRET_NAME = re.compile(
    r"(?i)(^|[_-])(password|passwd|secret|token|api[_-]?key|authorization)$|^cookie$"
)


def _without_password(run: re.Match[str]) -> str:
    before, at, host = run[0].rpartition("@")
    return _USER.sub(rf"\1:{HIDDEN}", before) + at + host


class Masks:
    """Hides what looks like a key, and the secrets of the settings whatever they look like."""

    def __init__(self, secrets: set[str]) -> None:
        self._secrets = sorted(secrets, key=len, reverse=True)

    def masked(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        for pattern, shown in _PATTERNS:
            text = pattern.sub(shown, text)
        return _RUN.sub(_without_password, text) if "@" in text else text

    def cleaned(self, value: object, name: str = "") -> Any:
        """The value as JSON can carry it, with nothing in it that must stay hidden."""
        if name and value is not None and _SECRET_NAME.search(name):
            return HIDDEN
        if value is None or isinstance(value, bool | int):
            return value
        if isinstance(value, float) and math.isfinite(value):
            return value
        if isinstance(value, Mapping):
            return {
                self.masked(str(key)): self.cleaned(item, str(key)) for key, item in value.items()
            }
        if isinstance(value, list | tuple | set | frozenset):
            return [self.cleaned(item) for item in value]
        return self.masked(str(value))
