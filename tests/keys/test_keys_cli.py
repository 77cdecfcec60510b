"""`bythebook keys` as a person and a script use it."""

from __future__ import annotations

import asyncio
import json
import shlex
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from booktext import WriteBook, small_book
from bythebook.keys import ApiKey, Keys
from bythebook.library import Library
from cli.conftest import Cli


def verify(text: str) -> ApiKey:
    async def check() -> ApiKey:
        async with await Library.open() as library:
            return await Keys(library.engine).verify(text)

    return asyncio.run(check())


def test_a_key_from_its_making_to_its_end(cli: Cli) -> None:
    status, out, err = cli("keys", "list")
    assert status == 0 and "There are no keys" in out

    status, out, err = cli("keys", "create", "website")
    text = out.strip()
    assert status == 0 and out == f"{text}\n", "a script can take the key from stdout"
    key = verify(text)
    assert key.name == "website" and key.scopes == ("read", "chat") and key.expires_at is None
    assert key.key_id in err and "read, chat; all books; does not expire" in err
    trial = shlex.split(err.strip().splitlines()[-1])
    assert trial[:2] == ["curl", "http://127.0.0.1:8000/chat/run"]
    assert "Authorization: Bearer KEY" in trial and text not in err
    assert json.loads(trial[-1]) == {"message": "What is this book about?"}

    status, out, _ = cli("keys", "list")
    assert status == 0 and key.key_id in out and "website" in out and "active" in out
    assert text[-43:] not in out
    (listed,) = cli.json("keys", "list")
    assert ApiKey.model_validate(listed) == key and listed["state"] == "active"
    assert text[-43:] not in json.dumps(listed) and "secret_hash" not in listed

    status, out, _ = cli("keys", "revoke", key.key_id)
    assert status == 0 and out == f"The key website (id {key.key_id}) is revoked.\n"
    assert cli.json("keys", "revoke", "website")["state"] == "revoked"
    assert "revoked" in cli("keys", "list")[1]


def test_what_a_key_is_for(cli: Cli, write_book: WriteBook) -> None:
    cli.json("ingest", str(write_book(small_book())))
    made = cli.json(
        "keys", "create", "[bold]robot[/]", "--scope", "chat", "--scope", "admin",
        "--book", "small", "--expires", "30d",
    )  # fmt: skip
    key = verify(made["key"])
    assert key.scopes == ("chat", "admin") and key.books == ("small",)
    assert key.expires_at and key.expires_at - key.created_at <= timedelta(days=30)
    assert key.expires_at - key.created_at > timedelta(days=29)
    status, out, _ = cli("keys", "list")
    assert status == 0 and "[bold]robot[/]" in out and "small" in out


@pytest.mark.parametrize(
    ("given", "least", "most"),
    [("12h", 11, 12), ("2d", 47, 48), ("8w", 8 * 7 * 24 - 1, 8 * 7 * 24)],
)
def test_how_long_a_key_is_good(cli: Cli, given: str, least: int, most: int) -> None:
    made = ApiKey.model_validate(cli.json("keys", "create", "x", "--expires", given))
    assert made.expires_at
    assert timedelta(hours=least) < made.expires_at - made.created_at <= timedelta(hours=most)


def test_a_key_is_good_through_its_last_day(cli: Cli) -> None:
    made = ApiKey.model_validate(cli.json("keys", "create", "x", "--expires", "2999-12-31"))
    assert made.expires_at == datetime(2999, 12, 31, 23, 59, 59, tzinfo=UTC)
    status, out, _ = cli("keys", "list")
    assert status == 0 and "2999-12-31 23:59" in out


def test_the_trial_fits_the_key_and_the_settings(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BYTHEBOOK_HOST", "0.0.0.0")
    monkeypatch.setenv("BYTHEBOOK_PORT", "9000")
    _, _, err = cli("keys", "create", "reader", "--scope", "read")
    trial = shlex.split(err.strip().splitlines()[-1])
    assert trial == [
        "curl", "http://localhost:9000/info", "-H", "Authorization: Bearer KEY",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["create", " "], "E005", "1 to 100"),
        (["create", "x", "--scope", "write"], "E005", "no scope 'write'"),
        (["create", "x", "--book", "nothing"], "E002", "nothing"),
        (["create", "x", "--book", "../x"], "E005", "can't be a book's id"),
        (["create", "x", "--expires", "soon"], "E005", "'soon'"),
        (["create", "x", "--expires", ""], "E005", "''"),
        (["create", "x", "--expires", "٣d"], "E005", "not a valid time"),
        (["create", "x", "--expires", "9999999999w"], "E005", "not a valid time"),
        (["create", "x", "--expires", "2026-02-30"], "E005", "not a valid time"),
        (["create", "x", "--expires", "0d"], "E005", "in the past"),
        (["create", "x", "--expires", "2020-01-01"], "E005", "in the past"),
        (["revoke", "nobody"], "E002", "no key 'nobody'"),
    ],
)
def test_bad_input_gets_a_sentence_and_makes_no_key(
    cli: Cli, arguments: list[str], code: str, says: str
) -> None:
    status, out, err = cli("keys", *arguments)
    assert status == 1 and out == ""
    assert err.startswith(f"Error {code}: ") and err.count("\n") == 1 and says in err
    status, out, _ = cli("keys", *arguments, "--json")
    assert status == 1 and json.loads(out)["error"] == code
    assert cli.json("keys", "list") == []


def test_what_is_kept_is_for_its_owner_alone(cli: Cli, tmp_path: Path) -> None:
    home = tmp_path / "home"
    cli("keys", "create", "website")
    backup = tmp_path / "all.zip"
    status, _, err = cli("backup", str(backup))
    assert status == 0, err
    for place, mode in ((home, 0o700), (home / "bythebook.db", 0o600), (backup, 0o600)):
        assert place.stat().st_mode & 0o777 == mode, place
