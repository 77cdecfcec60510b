"""The figures of an evaluation, from what became of each question.

What is counted:

retrieval: questions with a gold place that are not uncovered. A place is a passage's page, or its
    section where one is given; recall@5 is of as many gold places as five ranks have room for,
    hit@5 the share of questions with at least one among the first five.
refusal: questions said to be covered or uncovered; partial and underspecified ones are in `groups`
    only. A question that failed was neither answered nor refused. `auroc` is that of the search's
    coverage, covered against uncovered.
answers: `cited_right` is the share of the answered covered questions with a gold place that cite at
    least one; `gold_sentence_f1` and `token_f1` are means over the answered questions that are not
    uncovered and have such gold, against the annotator or answer that agrees most.
facts: of the covered questions that name facts, the share of their facts that stand in the answer,
    in the first passage found and in the first five. `telling` is the share of the shown text that
    stands in sentences with a fact.
supported_sentences: of all sentences shown, except those that only lead on, the share that passes
    `grounding.check` against a passage they cite.
calibration: every answered question with a gold place, or said to be uncovered. Its `confidence` is
    right if the citation of the greatest confidence is gold; an uncovered one is always wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from bythebook.evaluation.outcomes import Outcome
from bythebook.evaluation.ranking_metrics import (
    auroc,
    brier,
    expected_calibration_error,
    hit,
    mean,
    ndcg,
    percentile,
    recall,
    reciprocal_rank,
)

DIGITS = 4


def figures(outcomes: Sequence[Outcome], off_topic: Sequence[Outcome] = ()) -> dict[str, Any]:
    """One document of plain numbers; None where no question can tell."""
    # Refusals are quick: questions of another subject would flatter.
    times = [one.milliseconds for one in outcomes if one.ending != "failed"]
    sentences = sum(one.sentences for one in outcomes)
    document: dict[str, Any] = {
        "counts": _counts(outcomes, off_topic),
        "retrieval": _retrieval(outcomes),
        "refusal": _refusal(outcomes),
        "answers": _answers(outcomes),
        "facts": _facts(outcomes),
        "supported_sentences": _share(sum(one.supported for one in outcomes), sentences),
        "calibration": _calibration(outcomes),
        "latency_ms": {
            "p50": _rounded(percentile(times, 0.5), 1),
            "p95": _rounded(percentile(times, 0.95), 1),
        },
        "groups": _groups(outcomes),
    }
    if off_topic:
        refused = sum(one.ending == "refused" for one in off_topic)
        document["off_topic_refused"] = _share(refused, len(off_topic))
    return document


def _counts(outcomes: Sequence[Outcome], off_topic: Sequence[Outcome]) -> dict[str, int]:
    return {
        "questions": len(outcomes),
        "covered": sum(one.question.covered is True for one in outcomes),
        "uncovered": sum(one.question.covered is False for one in outcomes),
        "unclear": sum(one.question.covered is None for one in outcomes),
        "answered": sum(one.answered for one in outcomes),
        "refused": sum(one.ending == "refused" for one in outcomes),
        "failed": sum(one.ending == "failed" for one in outcomes),
        "sentences": sum(one.sentences for one in outcomes),
        "off_topic": len(off_topic),
    }


def _retrieval(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    rows = [
        (one.ranked, {gold.unit: gold.grade for gold in one.question.answered_at})
        for one in outcomes
        if one.question.answered_at
    ]
    return {
        "questions": len(rows),
        "ndcg@10": _rounded(mean([ndcg(ranked, gold) for ranked, gold in rows])),
        "recall@5": _rounded(mean([recall(ranked, gold) for ranked, gold in rows])),
        "hit@5": _rounded(mean([hit(ranked, gold) for ranked, gold in rows])),
        "mrr@10": _rounded(mean([reciprocal_rank(ranked, gold) for ranked, gold in rows])),
    }


def coverages(outcomes: Sequence[Outcome], covered: bool) -> list[float]:
    return [one.coverage for one in outcomes if one.question.covered is covered]


def _refusal(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    answered = mean([float(one.answered) for one in outcomes if one.question.covered is True])
    refused = mean(
        [float(one.ending == "refused") for one in outcomes if one.question.covered is False]
    )
    both = None if answered is None or refused is None else (answered + refused) / 2
    return {
        "answered_of_covered": _rounded(answered),
        "refused_of_uncovered": _rounded(refused),
        "balanced_accuracy": _rounded(both),
        "auroc": _rounded(auroc(coverages(outcomes, True), coverages(outcomes, False))),
    }


def _answers(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    right = [
        float(one.cited_right)
        for one in outcomes
        if one.answered and one.question.covered and one.question.gold
    ]
    by_sentence = [one.sentence_f1 for one in outcomes if one.sentence_f1 is not None]
    by_word = [one.token_f1 for one in outcomes if one.token_f1 is not None]
    return {
        "cited_right": _rounded(mean(right)),
        "gold_sentence_f1": _rounded(mean(by_sentence)),
        "token_f1": _rounded(mean(by_word)),
    }


def _facts(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    told = [one.facts for one in outcomes if one.facts is not None]
    facts = sum(each.facts for each in told)
    return {
        "questions": len(told),
        "facts": facts,
        "by_answer": _share(sum(each.by_answer for each in told), facts),
        "by_first_passage": _share(sum(each.by_first for each in told), facts),
        "by_five_passages": _share(sum(each.by_five for each in told), facts),
        "telling": _share(
            sum(each.telling for each in told), sum(each.characters for each in told)
        ),
    }


def judged(outcomes: Sequence[Outcome]) -> tuple[list[float], list[bool]]:
    """What each answer said of its confidence, and whether its best citation was gold."""
    given = [one for one in outcomes if one.judges_confidence]
    return [one.confidence for one in given], [one.best_is_gold for one in given]


def _calibration(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    said, right = judged(outcomes)
    return {
        "answers": len(said),
        "ece": _rounded(expected_calibration_error(said, right)),
        "brier": _rounded(brier(said, right)),
        "mean_confidence": _rounded(mean(said)),
        "best_citation_gold": _rounded(mean([float(truth) for truth in right])),
    }


def _groups(outcomes: Sequence[Outcome]) -> dict[str, dict[str, Any]]:
    names = sorted({one.question.group for one in outcomes})
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        own = [one for one in outcomes if one.question.group == name]
        placed = [one for one in own if one.answered and one.question.answered_at]
        found[name] = {
            "questions": len(own),
            "answered": sum(one.answered for one in own),
            "refused": sum(one.ending == "refused" for one in own),
            "ndcg@10": _retrieval(own)["ndcg@10"],
            "cited_right": _rounded(mean([float(one.cited_right) for one in placed])),
        }
    return found


def _share(some: int, all: int) -> float | None:
    return _rounded(some / all) if all else None


def _rounded(value: float | None, digits: int = DIGITS) -> float | None:
    return None if value is None else round(value, digits)


def told(outcome: Outcome) -> dict[str, Any]:
    """One question as `--details` lists it."""
    return {
        "id": outcome.question.id,
        "question": outcome.question.text,
        "group": outcome.question.group,
        "what_happened": outcome.what_happened,
        "query": outcome.query,
        "coverage": round(outcome.coverage, DIGITS),
        "confidence": round(outcome.confidence, DIGITS),
        "answer": outcome.text,
        "cited": [cited.page for cited in outcome.cited],
        "best_citation_gold": outcome.best_is_gold if outcome.judges_confidence else None,
        "gold": [gold.unit for gold in outcome.question.answered_at],
        "found": list(outcome.ranked[:10]),
        "sentences": outcome.sentences,
        "supported": outcome.supported,
        "token_f1": _rounded(outcome.token_f1),
        "gold_sentence_f1": _rounded(outcome.sentence_f1),
        "facts": asdict(outcome.facts) if outcome.facts else None,
        **({"problem": outcome.problem} if outcome.problem else {}),
    }
