"""A folder of passages and questions, from the files to the figures."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from bythebook.errors import InputError
from bythebook.evaluation.dataset import read_folder, turns_of
from evaluation.conftest import Eval
from question_folder import write_folder


def without_times(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != "latency_ms"}


def test_a_folder_is_measured_and_the_same_each_time(
    evaluate: Eval, kitchen: Path, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    first = evaluate.json(kitchen, "--work", work, "--details")
    assert first["book_id"] == "kitchen" and first["passages"] == 7
    counts = first["counts"]
    assert (counts["questions"], counts["covered"], counts["uncovered"], counts["unclear"]) == (
        (8, 5, 2, 1)
    )
    assert counts["answered"] + counts["refused"] == 8 and counts["failed"] == 0
    assert first["retrieval"]["questions"] == 5  # a place named for an uncovered one is none
    assert first["retrieval"]["ndcg@10"] > 0.9
    assert first["refusal"]["refused_of_uncovered"] == 1
    assert first["refusal"]["auroc"] == 1
    assert first["supported_sentences"] == 1
    assert 0 <= first["calibration"]["ece"] <= 1
    by_id = {row["id"]: row for row in first["questions"]}
    assert by_id["q1"]["best_citation_gold"] is True
    assert by_id["q1"]["gold_sentence_f1"] > 0
    assert by_id["q2"]["token_f1"] > 0 and by_id["q5"]["token_f1"] is None
    assert "rice" in by_id["q4"]["query"]  # the history says what "it" is
    assert by_id["q4"]["found"][0] == by_id["q4"]["gold"][0]
    assert first["groups"]["unanswerable"] == {
        "questions": 2, "answered": 0, "refused": 2, "ndcg@10": None, "cited_right": None,
    }  # fmt: skip
    again = evaluate.json(kitchen, "--work", work, "--details")
    assert without_times(again) == without_times(first)


def test_shares_follow_from_the_questions(evaluate: Eval, kitchen: Path, tmp_path: Path) -> None:
    document = evaluate.json(kitchen, "--work", tmp_path / "work", "--details")
    rows = document["questions"]
    covered = [row for row in rows if row["id"] in ("q1", "q2", "q3", "q4", "q5")]
    answered = [row for row in covered if "refused" not in row["what_happened"]]
    assert document["refusal"]["answered_of_covered"] == len(answered) / 5
    right = [row for row in answered if set(row["cited"]) & set(row["gold"])]
    assert document["answers"]["cited_right"] == round(len(right) / len(answered), 4)
    judged = [row for row in rows if row["best_citation_gold"] is not None]
    assert document["calibration"]["answers"] == len(judged)


def test_a_changed_corpus_is_indexed_again(evaluate: Eval, kitchen: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    evaluate.json(kitchen, "--work", work, "--limit", "1")
    pages = work / "kitchen" / "book"
    assert len(list(pages.iterdir())) == 7
    new = write_folder(
        tmp_path / "changed" / "kitchen",
        {"tea": "Green tea draws for two minutes in water of seventy degrees."},
        [{"_id": "t", "text": "How long does green tea draw?"}],
        {"t": "tea"},
    )
    document = evaluate.json(new, "--work", work)
    assert document["passages"] == 1
    assert document["retrieval"]["ndcg@10"] == 1


def test_off_topic_questions_are_asked_of_this_book(
    evaluate: Eval, kitchen: Path, tmp_path: Path
) -> None:
    other = write_folder(
        tmp_path / "space",
        {"mars": "Mars has two moons, Phobos and Deimos."},
        [
            {"_id": "a", "text": "Which moons does the planet Mars have?"},
            {"_id": "b", "text": "Who discovered Uranus?", "answerable": False},
        ],
        {"a": "mars"},
    )
    document = evaluate.json(
        kitchen, "--off-topic", other, "--work", tmp_path / "work", "--limit=2"
    )
    assert document["counts"]["off_topic"] == 1  # only what the other set covers
    assert document["off_topic_refused"] == 1
    assert document["counts"]["questions"] == 2


def test_a_table_is_shown_without_json(evaluate: Eval, kitchen: Path, tmp_path: Path) -> None:
    out, err = evaluate(kitchen, "--work", tmp_path / "work")
    assert "covered questions answered" in out and "at least 95 % required" in out
    assert err == ""


def test_a_sample_is_the_same_each_time_and_in_order(kitchen: Path) -> None:
    from bythebook.evaluation.dataset import sample

    questions = read_folder(kitchen).questions
    some = sample(questions, 3)
    assert len(some) == 3 and some == sample(questions, 3)
    assert [one for one in questions if one in some] == some
    assert sample(questions, 100) == sample(questions, None) == questions
    assert {one.id for one in sample(questions, 2)} < {one.id for one in some}


def test_a_history_becomes_turns() -> None:
    turns = turns_of(
        [
            {"role": "agent", "text": "Hello!"},
            {"role": "user", "text": "What is rice?"},
            {"role": "agent", "text": "A grain."},
            {"role": "user", "text": "Who grew it first?"},
            {"role": "agent", "text": "Farmers at the Yangtze."},
            {"role": "user", "text": "Is anybody there?"},
        ]
    )
    assert [(turn.question, turn.answer) for turn in turns] == [
        ("What is rice?", "A grain."),
        ("Who grew it first?", "Farmers at the Yangtze."),
    ]
    assert not any(turn.refused for turn in turns)


def test_what_is_missing_is_named(evaluate: Eval, kitchen: Path) -> None:
    (kitchen / "qrels.tsv").unlink()
    with pytest.raises(InputError, match=r"no qrels\.tsv"):
        evaluate(kitchen)


def rewrite(file: Path, lines: list[str]) -> None:
    with gzip.open(file, "wt", encoding="utf-8") as opened:
        opened.writelines(f"{line}\n" for line in lines)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", r"corpus\.jsonl\.gz:2 is not JSON"),
        ('["a"]', r"corpus\.jsonl\.gz:2 is not an object"),
        ('{"_id": "b"}', r"corpus\.jsonl\.gz:2 is not an object with '_id' and 'text'"),
    ],
)
def test_a_bad_line_is_named_by_its_number(
    evaluate: Eval, kitchen: Path, line: str, told: str
) -> None:
    rewrite(kitchen / "corpus.jsonl.gz", [json.dumps({"_id": "a", "text": "A text."}), line])
    with pytest.raises(InputError, match=told):
        evaluate(kitchen)


def test_judgements_must_be_about_the_passages(evaluate: Eval, kitchen: Path) -> None:
    with (kitchen / "qrels.tsv").open("a", encoding="utf-8") as file:
        file.write("q7\tnowhere\t1\n")
    with pytest.raises(InputError, match=r"qrels\.tsv:8"):
        evaluate(kitchen)


def test_a_file_that_is_no_archive_can_not_be_read(evaluate: Eval, kitchen: Path) -> None:
    (kitchen / "queries.jsonl.gz").write_text("plain text", encoding="utf-8")
    with pytest.raises(InputError, match="can't be read"):
        evaluate(kitchen)


def test_there_must_be_something_to_measure(evaluate: Eval, kitchen: Path) -> None:
    with pytest.raises(InputError, match="nothing to measure"):
        evaluate()
    with pytest.raises(InputError, match="can't be combined"):
        evaluate(kitchen, "--grounding", kitchen)
    rewrite(kitchen / "queries.jsonl.gz", [])
    with pytest.raises(InputError, match="no question"):
        evaluate(kitchen)
