"""Our examples are what training/README.md says they are."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from training.books import ASKED_BOOKS, BOOKS, CHECK_BOOKS, DEV_BOOKS, JUDGING_BOOKS
from training.found import SETS
from training.rows import own

from bythebook_reader import WEIGHTS
from training import packets

EVERY_BOOK = {**BOOKS, **ASKED_BOOKS}
DATA = Path(__file__).parents[2] / "training" / "data"


def rows(name: str) -> list[dict[str, Any]]:
    with gzip.open(DATA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_nothing_is_trained_on_what_judges_the_product() -> None:
    judges = {"anthropic_docs", "docusaurus-docs", "sample_book"}
    assert not {*judges, *JUDGING_BOOKS} & {*SETS, *EVERY_BOOK}
    trained_on = json.loads((WEIGHTS / "trained_on.json").read_text())
    assert not judges & {row["set"] for row in trained_on}


@pytest.mark.parametrize("kind", ["questions", "sentences"])
def test_no_training_row_comes_from_a_check_book(kind: str) -> None:
    trained, checked = rows(f"{kind}-train"), rows(f"{kind}-check")
    assert {row["book"] for row in trained} == set(EVERY_BOOK) - set(CHECK_BOOKS)
    assert {row["book"] for row in checked} == set(CHECK_BOOKS)
    asked = "question" if kind == "questions" else "sentence"
    assert not {row[asked] for row in trained} & {row[asked] for row in checked}


def test_books_to_choose_by_are_not_trained_on() -> None:
    assert set(DEV_BOOKS) <= set(ASKED_BOOKS)
    of_dev = [row for row in own("questions", "train", 1.0) if row.part == "dev"]
    assert {row.group.split("/")[0] for row in of_dev} == set(DEV_BOOKS)
    assert {row.label for row in of_dev} == {0, 1}


def test_there_are_enough_of_each_kind() -> None:
    questions, sentences = rows("questions-train"), rows("sentences-train")
    assert len(questions) >= 3000
    assert sum(row["label"] == 0 for row in questions) >= 0.4 * len(questions)
    assert {row["kind"] for row in questions} >= set(packets.QUESTION_KINDS)
    assert len(sentences) >= 2500
    false = {row["kind"] for row in sentences if row["label"] == 0}
    assert false >= set(packets.FALSE_KINDS)
    assert len(rows("questions-check")) >= 400
    assert len(rows("sentences-check")) >= 400
    assert any(len(row["passages"]) > 1 for row in sentences)


@pytest.mark.parametrize("part", ["train", "check"])
def test_evidence_is_a_stretch_of_the_passage(part: str) -> None:
    for row in rows(f"questions-{part}"):
        text = row["passages"][0]["text"]
        marked = [*row.get("evidence", []), *row.get("evidence_judged", [])]
        assert bool(marked) == bool(row["label"])
        assert all(
            0 <= start < end <= len(text) and text[start:end].strip() for start, end in marked
        )
        assert row["licence"] == EVERY_BOOK[row["book"]][1]
        assert row["passages"][0]["path"]


def test_rows_on_which_the_two_readers_differ_are_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The judge says that another passage answers too, and that one of two sentences is false."""
    monkeypatch.setattr(packets, "DATA", tmp_path / "data")
    passage = {"path": "a.md", "headings": ["A"], "text": "First sentence here. Second one there."}
    group = {"book": "vue", "passages": [passage] * 4}
    question = {"q": "What?", "kind": "what", "yes": {"A": [1]}, "partly": ["D"]}
    question["no"] = {"B": "other-topic", "C": "other-topic"}
    said = [{"s": text, "kind": "short", "true": True, "p": ["A"]} for text in ("One.", "Two.")]
    own = {"group": "vue-000", "questions": [question], "sentences": said}
    order = packets.sentence_order("vue-000", 2)
    verdicts = ["yes" if place == 0 else "no" for place in order]
    judged = {"A": [1, 2], "B": [1], "C": "no", "D": "no"}
    (tmp_path / "groups.json").write_text(json.dumps({"vue-000": group}))
    for folder, row in (
        ("written", own),
        ("judged", {"group": "vue-000", "answers": [judged], "supports": verdicts}),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "p.jsonl").write_text(json.dumps(row) + "\n")
    packets.merge(tmp_path)
    with gzip.open(tmp_path / "data" / "questions-train.jsonl.gz", "rt") as lines:
        kept = [json.loads(line) for line in lines]
    assert [row["label"] for row in kept] == [1, 0]
    assert kept[0]["evidence"] == [[0, 20]]
    with gzip.open(tmp_path / "data" / "sentences-train.jsonl.gz", "rt") as lines:
        assert [json.loads(line)["sentence"] for line in lines] == ["One."]
    assert "question rows on which the two differ 1" in capsys.readouterr().out
