"""`bythebook gaps`, as a person and a script use it."""

from __future__ import annotations

import asyncio
import csv
import io
from datetime import timedelta
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any

import pytest

from booktext import WriteBook, small_book
from bythebook.library import Library
from bythebook.models.asked_question import GapReport
from bythebook.models.chunk import now
from bythebook.questions import Questions
from cli.conftest import Cli
from gaps.test_gaps_found import LOW, SECTION, note

BREAD = ("How do I bake bread?", "baking a loaf of bread", "Is there a recipe for bread?")


def asked(*questions: str, **fields: Any) -> None:
    async def write() -> None:
        async with await Library.open() as library:
            kept = Questions(library.engine, 90)
            for question in questions:
                answer_id = await note(kept, question, **{"book_id": "small", **fields})
                await kept.rate(answer_id, None, "down", "[bold]=1+1")

    asyncio.run(write())


def test_a_table_for_people(cli: Cli) -> None:
    assert "Nothing was refused" in cli("gaps")[1]
    asked(*BREAD, BREAD[0], nearest=[SECTION])
    asked("Who wrote [this] book?", **LOW)
    status, out, _ = cli("gaps")
    assert status == 0
    for words in (
        *("4×", "4 sessions", *BREAD, "4 refused", SECTION["title"], SECTION["url"], "4 down"),
        *("“[bold]=1+1”", "Who wrote [this] book?", "1 with low confidence"),
        "5 questions in 30 days, 2 gaps.",
    ):
        assert words in " ".join(out.split()), words
    assert "2 gaps; shown are 1, see --limit" in cli("gaps", "--limit", "1")[1]


def test_one_kind_alone(cli: Cli) -> None:
    asked(BREAD[0])
    asked("Who wrote this book?", **LOW)
    sure = {"outcome": "answered", "confidence": 0.9, "confidence_level": "high"}
    asked("How high is a tide?", **sure)
    for outcome, questions in (
        ("refused", [BREAD[0]]),
        ("low", ["Who wrote this book?"]),
        ("down", [BREAD[0], "How high is a tide?", "Who wrote this book?"]),
    ):
        found = GapReport.model_validate(cli.json("gaps", "--outcome", outcome))
        assert sorted(gap.question for gap in found.gaps) == questions
    (tide,) = (gap for gap in found.gaps if "tide" in gap.question)
    assert (tide.refused, tide.low, tide.down) == (0, 0, 1)
    assert cli("gaps", "--outcome", "answered")[0] == 2


def test_for_scripts(cli: Cli, write_book: WriteBook, tmp_path: Path) -> None:
    cli.json("ingest", str(write_book(small_book())))
    asked(*BREAD)
    asked("=1+1?", book_id="another")
    found = GapReport.model_validate(cli.json("gaps", "--book", "small", "--days", "7"))
    assert [gap.asked for gap in found.gaps] == [3] and found.days == 7
    status, out, _ = cli("gaps", "--csv", "-")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert status == 0 and [row["asked"] for row in rows] == ["3", "1"]
    assert rows[1]["question"] == "'=1+1?" and rows[0]["reasons"].startswith("[bold]=1+1 | ")
    file = tmp_path / "gaps.csv"
    status, out, err = cli("gaps", "--csv", str(file))
    assert status == 0 and out == "" and "2 gaps" in err
    with file.open(encoding="utf-8-sig", newline="") as written:
        assert list(csv.DictReader(written)) == rows


def test_what_can_not_be_done(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked(BREAD[0])
    for arguments, field in (
        (("--csv", "-", "--json"), "--csv"),
        (("--csv", str(tmp_path)), "--csv"),
        (("--book", "no-such-book"), "no-such-book"),
    ):
        status, out, err = cli("gaps", *arguments)
        assert status != 0 and field in out + err
    monkeypatch.setenv("BYTHEBOOK_KEEP_QUESTIONS_DAYS", "0")
    assert "not kept: BYTHEBOOK_KEEP_QUESTIONS_DAYS is 0" in " ".join(cli("gaps")[1].split())
    assert cli.json("gaps")["gaps"] == []


def test_a_week_in_summary(cli: Cli, tmp_path: Path) -> None:
    asked(*BREAD, "What\x1b[2J is this?", nearest=[SECTION])
    asked("Who wrote this book?", **LOW, nearest=[SECTION])
    page, other = SECTION["url"].partition("#")[0], {"title": "Tides", "url": "https://b.example/t"}
    sections = [SECTION, {"title": "Ovens › Doors", "url": f"{page}#doors"}, other]
    sure = {"outcome": "answered", "confidence": 0.9, "confidence_level": "high"}
    asked("How high is a tide?", **sure, nearest=sections)
    asked("Long ago?", asked_at=now() - timedelta(days=8))
    found = cli.json("gaps", "--summary")
    counts = ("questions", "answered", "refused", "uncertain", "failed", "up", "down")
    assert [found[name] for name in counts] == [6, 2, 4, 1, 0, 0, 6]
    assert found["gaps"][0]["asked"] == 3
    assert found["cited"] == [
        {"title": "Ovens", "url": page, "answers": 2},
        {"title": "Tides", "url": other["url"], "answers": 1},
    ]
    assert cli.json("gaps", "--summary", "--days", "30")["questions"] == 7
    status, out, _ = cli("gaps", "--summary")
    assert status == 0 and "Long ago" not in out and "\x1b" not in out
    for words in (
        "questions 6",
        "uncertain 1",
        "thumbs down 6",
        f"1. {found['gaps'][0]['question']}",
        "2x Ovens",
    ):
        assert words in " ".join(out.split()), words

    file = tmp_path / "week.eml"
    status, printed, err = cli("gaps", "--mail", str(file))
    assert (status, printed) == (0, "") and str(file.name) in err
    mail = message_from_bytes(file.read_bytes(), policy=policy.default)
    assert "6 questions" in mail["Subject"] and mail["Date"] and not mail.defects
    assert mail.get_content() == out
    for arguments in (("--summary", "--csv", "-"), ("--mail", str(tmp_path))):
        assert cli("gaps", *arguments)[0] == 1
