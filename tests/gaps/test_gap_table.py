"""Gaps as CSV: whole, and nothing in it is a formula."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.gaps import COLUMNS, as_csv
from bythebook.models.asked_question import Gap
from bythebook.models.examples import PIECES

text = st.text(st.characters(codec="utf-8", exclude_characters="\0"))


def gap(**fields: Any) -> Gap:
    return Gap.model_validate({**PIECES["gaps"]["gaps"][0], **fields})


def read(written: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(written, newline="")))


def test_every_column() -> None:
    (row,) = read(as_csv([gap(question='Why "so"; and\nwhy, so?')]))
    assert list(row) == list(COLUMNS)
    assert row["question"] == 'Why "so"; and\nwhy, so?' and row["asked"] == "9"
    assert row["sessions"] == "7" and row["refused"] == "8" and row["low"] == "1"
    assert row["nearest"].startswith("Grasping") and row["link"].startswith("https://")
    assert row["up"] == "0" and row["down"] == "2" and row["reasons"] == "I am hungry."
    assert row["wordings"] == "baking a loaf of bread | Is there a recipe for bread?"
    assert row["last_asked"] == "2026-11-15 09:17" and row["different"] == "3"
    (bare,) = read(as_csv([gap(nearest=None, wordings=[], reasons=[])]))
    assert bare["nearest"] == bare["link"] == bare["wordings"] == bare["reasons"] == ""


@pytest.mark.parametrize(
    "risky", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "\u00a0=1", "＝1"]
)
def test_a_formula_becomes_text(risky: str) -> None:
    (row,) = read(as_csv([gap(question=risky, reasons=[risky], wordings=[risky], book_id=risky)]))
    for column in ("question", "reasons", "wordings", "book"):
        assert row[column] == f"'{risky}"


@given(text, text, text)
def test_no_cell_begins_a_formula_and_every_cell_comes_back(
    question: str, reason: str, title: str
) -> None:
    written = as_csv(
        [gap(question=question, reasons=[reason], nearest={"title": title, "url": "javascript:0"})]
    )
    (row,) = read(written)
    for column, value in (("question", question), ("reasons", reason), ("nearest", title)):
        assert row[column] in (value, f"'{value}")
        assert row[column].lstrip()[:1] not in tuple("=+-@＝＋－＠")
