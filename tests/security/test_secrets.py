"""With every secret set to something that can be found again, and everything logged: none of them
is in a log, an error, a figure, a page or a trace."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from bythebook.cli.commands import app
from bythebook.errors import BookError
from bythebook.index.qdrant_server import ServerStore
from bythebook.models.values import shown_address
from bythebook.settings import Settings
from server.running import running
from standins.llm_server import LlmServer, fails

CANARY = "canary7f3a9c"
KEYS: dict[str, Any] = {
    "openai_api_key": SecretStr(f"sk-proj-{CANARY}-openai-{'0' * 20}"),
    "cohere_api_key": SecretStr(f"{CANARY}-cohere"),
    "qdrant_api_key": SecretStr(f"{CANARY}-qdrant"),
    "webhook_secret": SecretStr(f"{CANARY}-webhook"),
}
ECHO = f"Incorrect API key provided: sk-proj-{CANARY}-openai. Authorization: Bearer {CANARY}"
# Addresses with a password, of what is not there.
GONE = {
    "DATABASE_URL": f"postgresql://me:{CANARY}@127.0.0.1:9/none",
    "BYTHEBOOK_REDIS_URL": f"redis://me:{CANARY}@127.0.0.1:9/0",
    "QDRANT_URL": f"http://me:{CANARY}@127.0.0.1:9",
    "OPENAI_BASE_URL": f"http://me:{CANARY}@127.0.0.1:9/v1",
}


@pytest.mark.parametrize("questions", [True, False])
async def test_a_service_that_logs_everything(
    home: Path, llm: LlmServer, capfd: pytest.CaptureFixture[str], questions: bool
) -> None:
    """`log_questions` lets the libraries log whole requests, with their headers."""
    llm.always(fails(401, body=f'{{"error": {{"message": "{ECHO}"}}}}'))
    chosen: dict[str, Any] = {**KEYS, "openai_base_url": llm.base_url, "retries": 0}
    chosen |= {"log_level": "debug", "log_questions": questions, "log_format": "json"}
    seen: list[httpx.Response] = []
    levels = {name: logging.getLogger(name).level for name in ("", "bythebook", "uvicorn")}
    try:
        async with running(home, **chosen) as up:
            folder = home / "book"
            folder.mkdir()
            (folder / "a.md").write_text("# Nodes\n\nA node is a process. " * 20)
            await up.service.library.ingest(folder, book_id="small")
            _, secret = await up.service.keys.create("admin", ("admin",))
            for key in (secret, f"btb_{'0' * 12}_{CANARY}{'x' * 31}", CANARY, f"sk-{CANARY}"):
                for headers in ({"X-API-Key": key}, {"Authorization": f"Bearer {key}"}):
                    for method, path, body in REQUESTS:
                        request = up.http.request(method, path, json=body, headers=headers)
                        seen.append(await request)
            seen.append(await up.http.get(f"/books?api_key={CANARY}"))
            seen.append(await up.http.get("/health"))
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
    out, err = capfd.readouterr()
    assert '"route": "/chat/run"' in err, "the log was looked at"
    for text in (out, err, *(f"{response.headers} {response.text}" for response in seen)):
        assert CANARY not in text.replace(f"api_key={CANARY}", "")
        assert secret not in text and secret.split("_", 2)[2] not in text


REQUESTS: list[tuple[str, str, Any]] = [
    ("POST", "/chat/run", {"message": "What is a node?"}),
    ("POST", "/chat/stream", {"message": "What is a node?"}),
    ("POST", "/v1/chat/completions", {"model": "small", "messages": [{"role": "user"}]}),
    ("POST", "/search", {"text": "node", "book_id": "small"}),
    ("GET", "/info", None),
    ("GET", "/metrics", None),
    ("GET", "/no/such/page", None),
    ("POST", "/ingestion/webhook/github", {"ref": "x"}),
]


@pytest.mark.parametrize("name", GONE)
@pytest.mark.parametrize("command", [["doctor"], ["ask", "What is a node?"], ["books"]])
def test_the_command_line(
    home: Path, monkeypatch: pytest.MonkeyPatch, name: str, command: list[str]
) -> None:
    monkeypatch.setenv(name, GONE[name])
    monkeypatch.setenv("MODEL_RETRIES", "0")
    monkeypatch.setenv("OPENAI_API_KEY", f"sk-{CANARY * 4}")
    ended = CliRunner().invoke(app, command)
    assert CANARY not in ended.output
    trace = repr(ended.exception) if ended.exception else ""
    assert CANARY not in trace


def test_settings_do_not_show_their_secrets() -> None:
    settings = Settings(**KEYS, redis_url=SecretStr(GONE["BYTHEBOOK_REDIS_URL"]))
    assert CANARY not in f"{settings!r} {settings} {settings.model_dump()}"
    assert CANARY not in settings.model_dump_json()


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        (f"http://me:{CANARY}@host:6333", "http://host:6333"),
        (f"https://{CANARY}@host/v1", "https://host/v1"),
        (f"http://me:p@{CANARY}@host/a@b", "http://host/a@b"),
        ("http://host:6333/a", "http://host:6333/a"),
    ],
)
def test_an_address_is_shown_without_its_password(address: str, shown: str) -> None:
    assert shown_address(address) == shown


async def test_a_server_out_of_reach_is_told_without_its_password() -> None:
    async def at_once(_seconds: float) -> None:
        pass

    store = ServerStore(GONE["QDRANT_URL"], timeout=0.5, sleep=at_once)
    with pytest.raises(BookError) as told:
        await store.open(384)
    await store.close()
    assert CANARY not in str(told.value) and "127.0.0.1:9" in str(told.value)
