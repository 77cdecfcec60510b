"""Keys for web pages: limited to chat, to books and to sites."""

from __future__ import annotations

import shlex
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncEngine

from booktext import WriteBook, small_book
from bythebook.database.tables import keys as table
from bythebook.errors import InputError, KeyRefused
from bythebook.keys import ApiKey, Keys, checked_origin
from bythebook.models.chunk import now
from cli.conftest import Cli

SITE = "https://book.example.org"
GOOD: dict[str, Any] = {"name": "site", "scopes": ["chat"], "books": ["b"], "origins": [SITE]}


async def test_it_is_kept_with_its_sites(keys: Keys) -> None:
    key, text = await keys.create(**{**GOOD, "origins": [f"{SITE}/", SITE, "http://[::1]:80"]})
    assert text.startswith(f"btbp_{key.key_id}_")
    assert key.is_publishable and key.origins == (SITE, "http://[::1]")
    assert await keys.verify(text) == key and await keys.list() == [key]
    secret, other = await keys.create("program", ["chat"])
    assert not secret.is_publishable and (await keys.verify(other)).origins is None


async def test_one_kind_is_not_taken_for_the_other(keys: Keys) -> None:
    _, text = await keys.create(**GOOD)
    _, secret = await keys.create("program", ["chat"])
    for changed in (text.replace("btbp_", "btb_"), secret.replace("btb_", "btbp_")):
        with pytest.raises(KeyRefused, match="not known"):
            await keys.verify(changed)


async def test_the_sites_of_keys_that_are_good_now(keys: Keys, engine: AsyncEngine) -> None:
    assert await keys.origins() == frozenset()
    await keys.create("program", ["chat"])
    first, _ = await keys.create(**GOOD)
    second, _ = await keys.create(**{**GOOD, "origins": ["https://a.example", SITE]})
    assert await keys.origins() == {SITE, "https://a.example"}
    await keys.revoke(first.key_id)
    assert await keys.origins() == {SITE, "https://a.example"}
    async with engine.begin() as connection:
        past = now() - timedelta(seconds=1)
        this = table.c.key_id == second.key_id
        await connection.execute(update(table).where(this).values(expires_at=past))
    assert await keys.origins() == frozenset()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"scopes": ["read", "chat"]}, "scope"),
        ({"scopes": ["admin"]}, "scope"),
        ({"scopes": []}, "scope"),
        ({"books": None}, "book"),
        ({"books": []}, "book"),
        ({"origins": []}, "origin"),
        ({"origins": [SITE, "*"]}, "origin"),
    ],
)
async def test_what_a_page_must_not_have(keys: Keys, change: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as refused:
        await keys.create(**{**GOOD, **change})
    assert refused.value.details == {"field": field}
    assert not await keys.exist()


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("https://Example.ORG/", "https://example.org"),
        ("https://example.org:443", "https://example.org"),
        ("http://localhost:3000", "http://localhost:3000"),
        ("http://127.0.0.1", "http://127.0.0.1"),
        ("https://xn--bcher-kva.example", "https://xn--bcher-kva.example"),
    ],
)
def test_an_origin_is_written_as_browsers_send_it(given: str, kept: str) -> None:
    assert checked_origin(given) == kept


@pytest.mark.parametrize(
    "given",
    [
        "", "*", "null", "example.org", "https://", "https://example.org/docs", "ftp://a.example",
        "https://*.example.org", "https://user@example.org", "https://example.org?x",
        "https://example.org#x", "https://example.org:99999", "https://bücher.example",
        "https://a.example, https://b.example", "http://[::1", "https://a b.example",
    ],
)  # fmt: skip
def test_what_is_no_origin(given: str) -> None:
    with pytest.raises(InputError, match="no site's origin"):
        checked_origin(given)


def test_a_key_for_a_site_from_the_command_line(cli: Cli, write_book: WriteBook) -> None:
    cli.json("ingest", str(write_book(small_book())))
    make = ("keys", "create", "site", "--publishable", "--book", "small", "--origin", SITE)
    status, out, err = cli(*make)
    assert status == 0 and out.startswith("btbp_") and "may put it into those pages" in err
    trial = shlex.split(err.strip().splitlines()[-1])
    assert f"Origin: {SITE}" in trial and trial[1].endswith("/chat/run")
    made = ApiKey.model_validate(cli.json(*make, "--origin", "http://localhost:3000"))
    assert made.scopes == ("chat",) and made.books == ("small",)
    assert made.origins == (SITE, "http://localhost:3000")
    assert cli.json("keys", "list")[0]["origins"] == [SITE, "http://localhost:3000"]
    assert "from" in cli("keys", "list")[1]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--publishable", "--origin", SITE], "none was named"),
        (["--publishable"], "none was named"),
        (["--origin", SITE], "Only a publishable key"),
        (["--publishable", "--scope", "admin", "--origin", SITE], "scope chat and no other"),
    ],
)
def test_a_key_for_no_site_or_book_is_not_made(cli: Cli, options: list[str], says: str) -> None:
    status, out, err = cli("keys", "create", "site", *options)
    assert status == 1 and out == "" and says in err
    assert cli.json("keys", "list") == []
