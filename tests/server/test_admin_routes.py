"""What an admin learns of what was asked."""

from __future__ import annotations

from typing import Any

from bythebook.keys import Scope
from bythebook.models.chunk import now
from server.running import Running

QUESTION = "What is a URDF?"
OFF_TOPIC = "Which bread goes with goat cheese?"
BOOK = "physical-ai-robotics"


async def get(up: Running, path: str, headers: dict[str, str] | None = None, **how: Any) -> Any:
    response = await up.http.get(f"/admin/{path}", params=how, headers=headers)
    assert response.status_code == 200, response.text
    return response.json()


async def test_usage_and_questions(up: Running) -> None:
    nothing = await get(up, "usage")
    assert len(nothing["days"]) == 30 and nothing["totals"]["questions"] == 0
    assert nothing["p50_ms"] is None
    answer = (await up.ask(QUESTION)).json()
    await up.ask(OFF_TOPIC)
    await up.http.post(
        "/feedback", json={"answer_id": answer["answer_id"], "rating": "down", "reason": "no"}
    )
    usage = await get(up, "usage", days=2, book_id=BOOK)
    assert len(usage["days"]) == 2
    assert usage["totals"] == {"questions": 2, "answered": 1, "refused": 1, "failed": 0}
    assert sum(day["questions"] for day in usage["days"]) == 2
    assert usage["feedback"] == {"up": 0, "down": 1}
    assert 0 < usage["p50_ms"] <= usage["p95_ms"]
    assert (await get(up, "usage", book_id="another"))["totals"]["questions"] == 0

    listed = await get(up, "questions")
    assert [one["question"] for one in listed["items"]] == [OFF_TOPIC, QUESTION]
    assert listed["next"] is None
    (refused,) = (await get(up, "questions", outcome="refused"))["items"]
    assert refused["question"] == OFF_TOPIC and refused["nearest"]
    assert refused["asked_at"].startswith(f"{now():%Y-%m}") and refused["book_id"] == BOOK
    (bad,) = (await get(up, "questions", outcome="down"))["items"]
    assert bad["answer_id"] == answer["answer_id"] and bad["reason"] == "no"
    assert "key_id" not in bad and "session_id" not in bad
    first = await get(up, "questions", limit=1)
    second = await get(up, "questions", limit=1, before=first["next"])
    assert [first["items"][0]["question"], second["items"][0]["question"]] == [OFF_TOPIC, QUESTION]
    assert second["next"] is None


async def test_parameters_that_make_no_sense(up: Running) -> None:
    for path, field in (
        ("usage?days=0", "days"),
        ("usage?days=367", "days"),
        ("questions?outcome=great", "outcome"),
        ("questions?limit=201", "limit"),
        ("questions?before=yesterday", "before"),
    ):
        response = await up.http.get(f"/admin/{path}")
        assert response.status_code == 400 and response.json()["details"] == {"field": field}, path


async def test_an_admin_of_some_books_learns_of_those_only(up: Running) -> None:
    async def key(books: list[str] | None, *scopes: Scope) -> dict[str, str]:
        _, text = await up.service.keys.create("someone", scopes or ("admin",), books)
        return {"X-API-Key": text}

    every, ours, others = await key(None), await key([BOOK]), await key(["another"])
    chatter = await key(None, "read", "chat")
    await up.http.post("/chat/run", json={"message": QUESTION}, headers=chatter)
    for headers, count in ((every, 1), (ours, 1), (others, 0)):
        assert len((await get(up, "questions", headers))["items"]) == count
        assert (await get(up, "usage", headers))["totals"]["questions"] == count
    for path in ("usage", "questions"):
        hidden = await up.http.get(f"/admin/{path}?book_id={BOOK}", headers=others)
        assert hidden.status_code == 404
        assert (await up.http.get(f"/admin/{path}", headers=chatter)).status_code == 403
