"""The check of sentences against what people said of answers."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from bythebook.errors import InputError
from evaluation.conftest import Eval

KNOWLEDGE = "The lighthouse was built in 1871 from grey stone. It stands on a cliff near Whitby."


def begin(response: str, label: str) -> dict[str, Any]:
    return {"knowledge": KNOWLEDGE, "message": "Tell me.", "response": response,
            "begin_label": label}  # fmt: skip


def rated(response: str, *ratings: str, contexts: int = 1) -> dict[str, Any]:
    return {
        "response": response,
        "contexts": [{"text": KNOWLEDGE}] * contexts,
        "input": [{"speaker": "user", "text": "Tell me."}],
        "human": {"faithfulness": {str(n): rating for n, rating in enumerate(ratings)}},
    }


def written(file: Path, rows: list[Any]) -> Path:
    with gzip.open(file, "wt", encoding="utf-8") as opened:
        opened.writelines((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
    return file


ROWS = [
    begin("The lighthouse was built in 1871 from grey stone.", "Fully attributable"),
    begin("It stands on a cliff near Whitby.", "Fully attributable"),
    begin("The lighthouse was built in 1931 from grey stone.", "Not fully attributable"),
    begin("I like bananas a lot.", "Generic"),
]


def test_pairs_of_begin_are_judged(evaluate: Eval, tmp_path: Path) -> None:
    file = written(tmp_path / "begin.jsonl.gz", ROWS)
    document = evaluate.json("--grounding", file)
    assert document["counts"] == {"answers": 4, "faithful": 2, "other": 2}
    assert document["auroc"] == document["balanced_accuracy"] == 1
    assert document["best_balanced_accuracy"] == 1
    assert document["passing_by_label"] == {
        "Fully attributable": 1,
        "Generic": 0,
        "Not fully attributable": 0,
    }
    assert evaluate.json("--grounding", file) == document


def test_rated_answers_are_judged_by_their_weakest_sentence(evaluate: Eval, tmp_path: Path) -> None:
    good = "The lighthouse was built in 1871 from grey stone."
    rows = [
        rated(good, "4", "4", "3"),
        rated(f"{good} It was blown up by pirates.", "2", "3"),
        rated(good, "4", contexts=0),
        rated("Here is a summary:", "4"),
    ]
    document = evaluate.json("--grounding", written(tmp_path / "rated.jsonl.gz", rows))
    assert document["counts"] == {"answers": 2, "faithful": 1, "other": 1}
    assert document["auroc"] == document["balanced_accuracy"] == 1


def test_a_folder_stands_for_its_file(evaluate: Eval, tmp_path: Path) -> None:
    written(tmp_path / "begin.jsonl.gz", ROWS)
    assert evaluate.json("--grounding", tmp_path, "--limit", "2")["counts"]["answers"] == 2
    written(tmp_path / "other.jsonl.gz", ROWS)
    with pytest.raises(InputError, match="2 files"):
        evaluate("--grounding", tmp_path)


def test_the_check_has_a_table_and_a_report(evaluate: Eval, tmp_path: Path) -> None:
    passes = begin("The lighthouse was built in 1871.", "Not fully attributable")
    file = written(tmp_path / "begin.jsonl.gz", [*ROWS, passes])
    out, _ = evaluate("--grounding", file, "--report", tmp_path / "report")
    assert "AUROC" in out and "2 faithful answers, 3 others" in out
    text = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "passes, though not faithful" in text and text.count("<svg") == 2


def test_only_judged_answers_will_do(evaluate: Eval, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no answers that people judged"):
        evaluate("--grounding", written(tmp_path / "a.jsonl.gz", [{"response": "Yes."}]))
    with pytest.raises(InputError, match=r"b\.jsonl\.gz:2 is not JSON"):
        evaluate("--grounding", written(tmp_path / "b.jsonl.gz", [ROWS[0], "{"]))
    with pytest.raises(InputError, match=r"Row 2 of .* has no usable"):
        evaluate("--grounding", written(tmp_path / "c.jsonl.gz", [ROWS[0], {"response": "Yes."}]))
    with pytest.raises(InputError, match="can't be read"):
        evaluate("--grounding", tmp_path / "none.jsonl")
