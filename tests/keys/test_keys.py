"""Keys: made once, checked at every request, useless when expired or revoked."""

from __future__ import annotations

import asyncio
import hmac
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from bythebook.database.engine import open_database
from bythebook.database.tables import keys as table
from bythebook.errors import BookNotFound, InputError, KeyRefused, StoreError
from bythebook.keys import SCOPES, ApiKey, Keys, Scope
from extent import examples
from statements import each_statement

READ_AND_CHAT: tuple[Scope, ...] = ("read", "chat")
UNKNOWN_ID = "btb_000000000000_"


async def set_times(engine: AsyncEngine, key: ApiKey, **times: datetime) -> None:
    async with engine.begin() as connection:
        await connection.execute(update(table).where(table.c.key_id == key.key_id).values(**times))


async def refused(keys: Keys, presented: str) -> KeyRefused:
    with pytest.raises(KeyRefused) as caught:
        await keys.verify(presented)
    return caught.value


def ago(**span: float) -> datetime:
    return datetime.now(UTC) - timedelta(**span)


async def test_a_key_opens_what_it_was_made_for(keys: Keys) -> None:
    expires_at = ago(days=-30)
    key, text = await keys.create(
        " website ", ["chat", "read", "chat"], ["b", "a", "b"], expires_at
    )
    assert key.name == "website" and key.scopes == READ_AND_CHAT and key.books == ("b", "a")
    assert key.expires_at == expires_at and key.revoked_at is None and key.state == "active"
    assert text.startswith(f"btb_{key.key_id}_") and text.isascii() and len(text) == 60
    assert await keys.verify(text) == key
    assert key.allows("read") and key.allows("chat") and not key.allows("admin")
    assert key.may_read("a") and key.may_read("b") and not key.may_read("c")


async def test_an_admin_may_do_everything_and_no_books_means_all(keys: Keys) -> None:
    _, text = await keys.create("boss", ["admin"])
    key = await keys.verify(text)
    assert key.books is None and key.may_read("any")
    assert all(key.allows(scope) for scope in SCOPES)
    for scope in ("read", "chat"):
        alone = await keys.verify((await keys.create("one", [scope]))[1])
        assert [each for each in SCOPES if alone.allows(each)] == [scope]


async def test_the_secret_is_stored_nowhere(keys: Keys, engine: AsyncEngine) -> None:
    key, text = await keys.create("website", READ_AND_CHAT)
    secret = text.removeprefix(f"btb_{key.key_id}_")
    async with engine.connect() as connection:
        (row,) = (await connection.execute(select(table))).mappings()
    assert len(row["secret_hash"]) == 64
    stored = repr(dict(row))
    (listed,) = await keys.list()
    for shown in (stored, repr(listed), listed.model_dump_json()):
        assert secret not in shown
    assert row["secret_hash"] not in repr(listed)


async def test_keys_are_listed_newest_first_and_outlive_the_process(
    keys: Keys, database_url: str
) -> None:
    made = [await keys.create(name, READ_AND_CHAT) for name in ("one", "two", "three")]
    assert [key.name for key in await keys.list()] == ["three", "two", "one"]
    assert len({text for _, text in made}) == 3
    again = await open_database(database_url)
    for key, text in made:
        assert await Keys(again).verify(text) == key
    await again.dispose()


async def test_unknown_and_wrong_look_alike(
    keys: Keys, engine: AsyncEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, text = await keys.create("website", READ_AND_CHAT)
    wrong_secret = text[:-4] + ("AAAA" if text[-4:] != "AAAA" else "BBBB")
    unknown_id = UNKNOWN_ID + text[-43:]
    compared: list[tuple[int, int]] = []
    statements: list[str] = []
    compare = hmac.compare_digest

    def recording(one: Any, other: Any) -> bool:
        compared.append((len(one), len(other)))
        return compare(one, other)

    monkeypatch.setattr(hmac, "compare_digest", recording)
    seen = []
    with each_statement(engine, statements.append):
        for presented in (wrong_secret, unknown_id):
            compared.clear()
            statements.clear()
            error = await refused(keys, presented)
            seen.append((str(error), error.details, list(compared), list(statements)))
    # The same words after the same work: one look into the table, one comparison of two hashes.
    assert seen[0] == seen[1]
    assert seen[0][2] == [(64, 64)] and len(seen[0][3]) == 1
    assert str(await refused(keys, "no key at all")) == seen[0][0]


async def test_a_hash_is_no_key(keys: Keys, engine: AsyncEngine) -> None:
    """Who has read the database can't get in with what it holds."""
    key, _ = await keys.create("website", READ_AND_CHAT)
    async with engine.connect() as connection:
        stored = (await connection.execute(select(table.c.secret_hash))).scalar_one()
    await refused(keys, f"btb_{key.key_id}_{stored}")
    await refused(keys, f"btb_{key.key_id}_{stored[:43]}")
    await refused(keys, UNKNOWN_ID + "0" * 43)


async def test_an_expired_key_says_so(keys: Keys, engine: AsyncEngine) -> None:
    key, text = await keys.create("website", READ_AND_CHAT, expires_at=ago(hours=-1))
    assert (await keys.verify(text)).state == "active"
    await set_times(engine, key, expires_at=ago(seconds=1))
    error = await refused(keys, text)
    assert "'website' has expired" in error.message and error.details == {"state": "expired"}
    assert [key.state for key in await keys.list()] == ["expired"]
    # Who does not know the secret is not told.
    assert "expired" not in str(await refused(keys, text[:-4] + "...."))
    assert "expired" not in str(await refused(keys, text[:-4] + "____"))


async def test_a_revoked_key_stops_at_once(keys: Keys, database_url: str) -> None:
    key, text = await keys.create("website", READ_AND_CHAT)
    assert await keys.verify(text) == key
    elsewhere = await open_database(database_url)
    revoked = await Keys(elsewhere).revoke(key.key_id)
    await elsewhere.dispose()
    assert revoked.state == "revoked" and revoked.revoked_at
    assert "'website' has been revoked" in (await refused(keys, text)).message
    assert await keys.list() == [revoked]
    assert await keys.revoke(key.key_id) == revoked, "the first time counts"


async def test_a_key_is_revoked_by_its_name_where_that_is_clear(keys: Keys) -> None:
    first, _ = await keys.create("website", READ_AND_CHAT)
    second, text = await keys.create("website", READ_AND_CHAT)
    with pytest.raises(InputError, match="2 keys with the name 'website'") as caught:
        await keys.revoke("website")
    assert first.key_id in str(caught.value) and second.key_id in str(caught.value)
    await keys.revoke(first.key_id)
    assert await keys.verify(text)
    assert (await keys.revoke("website")).key_id == second.key_id
    assert (await keys.revoke("website")).state == "revoked"
    # An id goes before a name that looks the same.
    namesake, _ = await keys.create(first.key_id, READ_AND_CHAT)
    assert (await keys.revoke(first.key_id)).key_id == first.key_id
    assert next(key for key in await keys.list() if key == namesake).state == "active"
    for unknown in ("nobody", "", "\0", "é" * 1000):
        with pytest.raises(BookNotFound, match="no key"):
            await keys.revoke(unknown)


async def test_once_there_was_a_key_there_always_is_one(keys: Keys, engine: AsyncEngine) -> None:
    assert not await keys.exist() and not await keys.usable()
    key, _ = await keys.create("website", READ_AND_CHAT)
    assert await keys.exist() and await keys.usable()
    await set_times(engine, key, expires_at=ago(days=-1))
    assert await keys.usable()
    await set_times(engine, key, expires_at=ago(days=1))
    assert await keys.exist() and not await keys.usable()
    other, _ = await keys.create("other", READ_AND_CHAT)
    assert await keys.usable()
    await keys.revoke(other.key_id)
    assert await keys.exist() and not await keys.usable()


async def test_many_keys_at_once(keys: Keys) -> None:
    made = await asyncio.gather(*(keys.create(f"key {n}", READ_AND_CHAT) for n in range(20)))
    found = await asyncio.gather(*(keys.verify(text) for _, text in made))
    assert found == [key for key, _ in made]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"name": ""}, "1 to 100"),
        ({"name": "  "}, "1 to 100"),
        ({"name": "x" * 101}, "1 to 100"),
        ({"name": "two\nlines"}, "1 to 100"),
        ({"name": "nul\0"}, "1 to 100"),
        ({"name": "\ud800"}, "1 to 100"),
        ({"scopes": []}, "at least one scope"),
        ({"scopes": ["read", "write"]}, "no scope 'write'"),
        ({"books": []}, "no book"),
        ({"books": ["../x"]}, "can't be a book's id"),
        ({"expires_at": ago(seconds=1)}, "in the past"),
    ],
)
async def test_what_makes_no_sense_is_refused(
    keys: Keys, change: dict[str, Any], says: str
) -> None:
    with pytest.raises(InputError, match=says):
        await keys.create(**{"name": "website", "scopes": READ_AND_CHAT, **change})
    assert not await keys.exist()


@pytest.mark.parametrize("name", ["x" * 100, "Zoë's 🤖", "[red]", "'; DROP TABLE api_keys; --"])
async def test_any_name_that_can_be_printed_will_do(keys: Keys, name: str) -> None:
    key, text = await keys.create(name, READ_AND_CHAT)
    assert key.name == name and await keys.verify(text) == key
    assert (await keys.revoke(name)).key_id == key.key_id


ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
well_formed = st.builds(
    "btb_{}_{}".format,
    st.text("0123456789abcdef", min_size=12, max_size=12),
    st.text(ALPHABET, min_size=43, max_size=43),
)


@given(st.text() | well_formed | st.text().map("btb_{}".format))
@example("")
@example("\0")
@example("btb_" + "\0" * 12 + "_" + "\0" * 43)
@example(UNKNOWN_ID + "é" * 43)
@example("btb_٠٠٠٠٠٠٠٠٠٠٠٠_" + "A" * 43)
@example("\ud800" * 60)
@example("btb_" * 1_000_000)
@example(UNKNOWN_ID + "A" * 43 + "\n")
@settings(
    max_examples=examples(50),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
async def test_anything_may_be_presented(keys: Keys, presented: str) -> None:
    await refused(keys, presented)


@given(position=st.integers(0, 60), put=st.text(max_size=2), cut=st.integers(0, 2))
@settings(
    max_examples=examples(50),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
async def test_a_key_must_be_whole(keys: Keys, position: int, put: str, cut: int) -> None:
    key, text = await keys.create("website", READ_AND_CHAT)
    changed = text[:position] + put + text[position + cut :]
    if changed == text:
        assert await keys.verify(changed) == key
    else:
        await refused(keys, changed)


async def test_a_database_that_fails_is_no_refusal(keys: Keys, engine: AsyncEngine) -> None:
    """A caller with a good key must not be told that it is bad."""
    _, text = await keys.create("website", READ_AND_CHAT)

    def fail(_statement: str) -> None:
        raise OSError("the disk is gone")

    with each_statement(engine, fail):
        for attempt in (keys.verify(text), keys.exist(), keys.usable(), keys.list()):
            with pytest.raises(StoreError, match="the disk is gone"):
                await attempt
