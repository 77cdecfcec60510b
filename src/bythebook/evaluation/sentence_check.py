"""How well the check of sentences tells faithful answers from others, judged by people.

begin: a response and the knowledge it should rest on. Fully attributable ones count as faithful,
    the others and generic ones do not; the whole response is checked.
mtrag_human_eval: an answer and its contexts. A mean rating of at least 3.5 of 4 is faithful; every
    sentence is checked against the context that bears it best, and the mean score counts.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from bythebook.errors import InputError
from bythebook.evaluation.dataset import json_lines
from bythebook.evaluation.metrics import (
    auroc,
    balanced_accuracy,
    best_split,
    mean,
    rounded,
    rounded_mean,
)
from bythebook.grounding.verifier import SUPPORTED, Verdict, Verifier, is_connective
from bythebook.language.segmentation import split_units
from bythebook.reader.reader import Reader

FAITHFUL = 3.5
ATTRIBUTABLE = "Fully attributable"
LANGUAGE = "en"
OnRow = Callable[[int, int], None]
Row = dict[str, Any]


@dataclass(frozen=True)
class Judged:
    """What was said, whether people call it faithful, and what the check makes of it."""

    text: str
    faithful: bool
    score: float
    passes: bool
    label: str
    reason: str = ""
    sentences: int = 1
    supported: int = 1


async def judge_file(
    file: Path,
    reader: Reader | None,
    limit: int | None = None,
    on_row: OnRow = lambda _done, _all: None,
) -> list[Judged]:
    """Every row that can be judged; one without contexts or claims can't."""
    rows = json_lines(_only_file(file), ("response",))
    judge = _judge_for(file, rows)
    if limit is not None and limit < len(rows):
        rows = [rows[index * len(rows) // limit] for index in range(limit)]
    judged: list[Judged] = []
    for number, row in enumerate(rows, 1):
        try:
            found = await judge(row, reader)
        except (KeyError, TypeError, ValueError, IndexError) as problem:
            raise InputError(f"Row {number} of {file} has no usable {problem}.") from problem
        if found is not None:
            judged.append(found)
        on_row(number, len(rows))
    return judged


def _only_file(path: Path) -> Path:
    """A folder stands for the file in it."""
    if not path.is_dir():
        return path
    files = sorted([*path.glob("*.jsonl"), *path.glob("*.jsonl.gz")])
    if len(files) != 1:
        raise InputError(f"{path} holds {len(files)} files of answers.", action="Name one of them.")
    return files[0]


def _judge_for(
    file: Path, rows: Sequence[Row]
) -> Callable[[Row, Reader | None], Awaitable[Judged | None]]:
    first = rows[0] if rows else {}
    if {"knowledge", "begin_label"} <= first.keys():
        return _begin
    if {"contexts", "human", "input"} <= first.keys():
        return _rated
    raise InputError(
        f"{file} holds no answers that people judged.",
        action="Give a file of begin (knowledge, response, begin_label) or mtrag_human_eval "
        "(contexts, response, human).",
    )


async def _begin(row: Row, reader: Reader | None) -> Judged | None:
    verifier = Verifier(reader, LANGUAGE, row.get("message", ""))
    found = await _whole(row["response"], row["knowledge"], verifier)
    label = str(row["begin_label"])
    return _judged(row["response"], label == ATTRIBUTABLE, [found], label)


async def _whole(response: str, knowledge: str, verifier: Verifier) -> Verdict:
    """A response of several sentences, as far as its weakest one is borne."""
    said = [unit for unit in split_units(response) if not is_connective(unit)]
    verdicts = [await verifier.check(unit, knowledge) for unit in said or [response]]
    return min(verdicts, key=lambda one: (one.supported, one.score))


async def _rated(row: Row, reader: Reader | None) -> Judged | None:
    texts = [context["text"] for context in row["contexts"]]
    said = [unit for unit in split_units(row["response"]) if not is_connective(unit)]
    if not texts or not said:
        return None
    verifier = Verifier(reader, LANGUAGE, row["input"][-1]["text"])
    rating = fmean(float(grade) for grade in row["human"]["faithfulness"].values())
    checked = [await _best(unit, texts, verifier) for unit in said]
    return _judged(row["response"], rating >= FAITHFUL, checked, f"rated {rating:.1f}")


async def _best(claim: str, texts: Sequence[str], verifier: Verifier) -> Verdict:
    verdicts = [await verifier.check(claim, text) for text in texts]
    return max(verdicts, key=lambda verdict: (verdict.supported, verdict.score))


def _judged(text: str, faithful: bool, checked: Sequence[Verdict], label: str) -> Judged:
    weakest = min(checked, key=lambda one: (one.supported, one.score))
    return Judged(
        text=text,
        faithful=faithful,
        score=fmean(one.score for one in checked),
        passes=all(one.supported for one in checked),
        label=label,
        reason=weakest.reasons[0] if weakest.reasons else "",
        sentences=len(checked),
        supported=sum(one.supported for one in checked),
    )


def scores(judged: Sequence[Judged], faithful: bool) -> list[float]:
    return [one.score for one in judged if one.faithful is faithful]


def check_figures(judged: Sequence[Judged]) -> dict[str, Any]:
    """One document of plain numbers; None where there is only one kind."""
    right, wrong = scores(judged, True), scores(judged, False)
    passing = [one.passes for one in judged if one.faithful]
    failing = [not one.passes for one in judged if not one.faithful]
    accepted, rejected = mean(passing), mean(failing)
    best_balance, best_threshold = best_split(right, wrong) or (None, None)
    by_label: dict[str, list[bool]] = {}
    for one in judged:
        by_label.setdefault(one.label, []).append(one.passes)
    return {
        "counts": {"answers": len(judged), "faithful": len(right), "other": len(wrong)},
        "auroc": rounded(auroc(right, wrong)),
        "balanced_accuracy": rounded(balanced_accuracy(accepted, rejected)),
        "threshold": SUPPORTED,
        "faithful_that_pass": rounded(accepted),
        "others_that_fail": rounded(rejected),
        "best_balanced_accuracy": rounded(best_balance),
        "best_threshold": rounded(best_threshold),
        "passing_by_label": {label: rounded_mean(by_label[label]) for label in sorted(by_label)},
    }
