"""`GET /admin/gaps`: from however it was asked to the table of what a book lacks."""

from __future__ import annotations

import asyncio
import csv
import io
from pathlib import Path
from typing import Any

import httpx
import pytest

from bythebook import gaps
from bythebook.models.asked_question import GapReport
from gaps.test_gaps_found import note
from server.conftest import Serve
from server.running import Running, running
from server.test_feedback_routes import rows
from server.test_mcp_routes import connected
from standins.embedding_server import EmbeddingServer

BOOK = "physical-ai-robotics"
BREAD = ("How do I bake sourdough bread?", "baking a sourdough bread", "sourdough bread recipe")
LIDAR = ("What does a lidar cost?", "price of a lidar sensor")


async def get(up: Running, **how: Any) -> GapReport:
    response = await up.http.get("/admin/gaps", params=how)
    assert response.status_code == 200, response.text
    return GapReport.model_validate(response.json())


async def ask_in_every_way(up: Running, question: str) -> None:
    message = {"role": "user", "content": question}
    requests: list[tuple[str, dict[str, Any]]] = [
        ("/chat/run", {"message": question}),
        ("/chat/stream", {"message": question}),
        ("/api/v1/agent/chat", {"message": question}),
        ("/v1/chat/completions", {"model": BOOK, "messages": [message]}),
        ("/v1/chat/completions", {"model": BOOK, "messages": [message], "stream": True}),
    ]
    for path, body in requests:
        assert (await up.http.post(path, json=body)).status_code == 200, path
    async with connected(up) as client:
        assert not (await client.call_tool("ask", {"question": question})).is_error


async def test_every_way_of_asking_is_noted_alike(up: Running) -> None:
    await ask_in_every_way(up, BREAD[0])
    noted = await rows(up)
    assert len(noted) == 6
    for field in ("question", "outcome", "book_id", "confidence_level", "nearest", "model"):
        assert len({str(row[field]) for row in noted}) == 1, field
    assert noted[0]["outcome"] == "refused"
    (gap,) = (await get(up)).gaps
    assert gap.asked == gap.sessions == gap.refused == 6 and gap.different == 1
    assert gap.nearest is not None and (gap.nearest.url or "").startswith("https://")


async def test_with_no_days_no_way_of_asking_leaves_a_trace(serve: Serve) -> None:
    async with serve(keep_questions_days=0) as up:
        await ask_in_every_way(up, BREAD[0])
        assert await rows(up) == []
        found = await get(up)
        assert (found.questions, found.days, found.gaps) == (0, 0, [])


async def test_the_agents_answers_can_be_rated(up: Running) -> None:
    long = f"{BREAD[0]} {'I am hungry. ' * 110}"
    assert 1000 < len(long) < 2000
    answer = (await up.http.post("/api/v1/agent/chat", json={"message": long})).json()
    said = {"answer_id": answer["id"], "rating": "down", "reason": "=HYPERLINK()"}
    assert (await up.http.post("/feedback", json=said)).status_code == 204
    (gap,) = (await get(up)).gaps
    assert gap.question == long.strip() and gap.down == 1 and gap.reasons == ["=HYPERLINK()"]


async def test_as_csv(up: Running) -> None:
    questions = up.service.questions
    for text in (*BREAD, *LIDAR, "=cmd|'/C calc'!A0"):
        await note(questions, text, book_id=BOOK)

    def read(response: httpx.Response) -> list[dict[str, str]]:
        assert response.status_code == 200
        assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
        assert 'filename="gaps.csv"' in response.headers["Content-Disposition"]
        text = response.content.decode("utf-8-sig")
        assert response.content.startswith(b"\xef\xbb\xbf")
        return list(csv.DictReader(io.StringIO(text, newline="")))

    by_name = read(await up.http.get("/admin/gaps?format=csv"))
    assert [row["asked"] for row in by_name] == ["3", "2", "1"]
    assert by_name[2]["question"] == "'=cmd|'/C calc'!A0"
    header = {"Accept": "text/csv; charset=utf-8, */*"}
    assert read(await up.http.get("/admin/gaps", headers=header)) == by_name
    plain = await up.http.get("/admin/gaps?format=json&limit=1", headers=header)
    found = GapReport.model_validate(plain.json())
    assert [gap.asked for gap in found.gaps] == [3] and found.groups == 3


@pytest.mark.parametrize("field", ["days=0", "days=367", "limit=0", "limit=1001", "format=xml"])
async def test_parameters_that_make_no_sense(up: Running, field: str) -> None:
    response = await up.http.get(f"/admin/gaps?{field}")
    assert response.status_code == 400
    assert response.json()["details"] == {"field": field.partition("=")[0]}


async def test_an_admin_of_some_books_learns_of_those_only(up: Running) -> None:
    await note(up.service.questions, BREAD[0], book_id=BOOK)
    for books, count in ((None, 1), ([BOOK], 1), (["another"], 0)):
        _, text = await up.service.keys.create("someone", ["admin"], books)
        headers = {"X-API-Key": text}
        listed = await up.http.get("/admin/gaps", headers=headers)
        assert len(listed.json()["gaps"]) == count
    hidden = await up.http.get(f"/admin/gaps?book_id={BOOK}", headers=headers)
    assert hidden.status_code == 404


@pytest.mark.parametrize("few", [0, 200])
async def test_no_question_leaves_the_machine(
    tmp_path: Path, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The book's embedder is elsewhere; its vectors mean nothing, so that it would not group."""
    monkeypatch.setattr(gaps, "FEW", few)
    elsewhere = EmbeddingServer()
    elsewhere.start()
    try:
        async with running(
            tmp_path / "home",
            answerer="built-in",
            embedder="openai",
            openai_api_key="right-key",
            openai_base_url=f"{elsewhere.url}/v1",
        ) as up:
            await up.service.library.embedder.embed_query("It is really asked otherwise.")
            assert len(elsewhere.requests) == 1
            for text in (*BREAD, *LIDAR):
                await note(up.service.questions, text)
            reports = await asyncio.gather(get(up), get(up, days=7))
            for found in reports:
                assert [gap.asked for gap in found.gaps] == [3, 2]
        assert len(elsewhere.requests) == 1
    finally:
        elsewhere.stop()


async def test_one_kind_alone(up: Running) -> None:
    questions = up.service.questions
    answered = {"outcome": "answered", "book_id": BOOK}
    await note(questions, LIDAR[0], **answered, confidence=0.6, confidence_level="low")
    rated = await note(
        questions, "What is ROS?", **answered, confidence=0.9, confidence_level="high"
    )
    await questions.rate(rated, None, "down", None)
    await note(questions, BREAD[0], book_id=BOOK)
    for outcome, question in (("low", LIDAR[0]), ("down", "What is ROS?"), ("refused", BREAD[0])):
        assert [gap.question for gap in (await get(up, outcome=outcome)).gaps] == [question]
    assert (await get(up)).questions == 2
    wrong = await up.http.get("/admin/gaps", params={"outcome": "answered"})
    assert wrong.status_code == 400
