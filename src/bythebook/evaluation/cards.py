"""The headline figures, each with what is required of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# What bythebook must reach (section 8 of its requirements).
REQUIRED = {
    "off_topic_refused": 1.0,
    "refused_of_uncovered": 0.95,
    "answered_of_covered": 0.95,
    "cited_right": 0.95,
    "supported_sentences": 0.98,
}
MOST_ECE = 0.05


@dataclass(frozen=True)
class Card:
    """`kind` says how the state is shown: good, poor or none."""

    name: str
    value: str
    wish: str = ""
    state: str = ""
    kind: str = "none"


def cards_of(document: dict[str, Any]) -> list[Card]:
    refusal, answers = document["refusal"], document["answers"]
    retrieval, calibration = document["retrieval"], document["calibration"]
    cards = [
        _at_least("covered questions answered", refusal, "answered_of_covered"),
        _at_least("of those cite the right place", answers, "cited_right"),
        _at_least("uncovered questions refused", refusal, "refused_of_uncovered"),
        _at_least("off-topic questions refused", document, "off_topic_refused"),
        _at_least("sentences shown are supported", document, "supported_sentences"),
        _calibration(calibration["ece"]),
        Card("AUROC, covered against not covered", _plain(refusal["auroc"])),
        Card("balanced accuracy of answering", _plain(refusal["balanced_accuracy"])),
        Card("nDCG@10 of the search", _plain(retrieval["ndcg@10"])),
        Card("recall@5 of the search", _plain(retrieval["recall@5"])),
        Card("F1 of gold sentences", _plain(answers["gold_sentence_f1"])),
        Card("F1 of words, against gold answers", _plain(answers["token_f1"])),
        Card("milliseconds for half of the answers", _whole(document["latency_ms"]["p50"])),
        Card("milliseconds for 95 % of them", _whole(document["latency_ms"]["p95"])),
    ]
    return [card for card in cards if card.value != "–" or card.wish]


def check_cards(document: dict[str, Any]) -> list[Card]:
    return [
        Card("AUROC, faithful against not", _plain(document["auroc"])),
        Card(
            "balanced accuracy where sentences pass today",
            _plain(document["balanced_accuracy"]),
            f"threshold {document['threshold']:g}",
        ),
        Card(
            "the best that any threshold reaches",
            _plain(document["best_balanced_accuracy"]),
            f"threshold {_plain(document['best_threshold'])}",
        ),
        Card("of the faithful pass", _share(document["faithful_that_pass"])),
        Card("of the others fail", _share(document["others_that_fail"])),
    ]


def lead(document: dict[str, Any]) -> str:
    """The whole in two or three sentences."""
    counts, refusal, answers = document["counts"], document["refusal"], document["answers"]
    told: list[str] = []
    if counts["covered"]:
        answered = round(refusal["answered_of_covered"] * counts["covered"])
        told.append(f"Of {counts['covered']:,} covered questions {answered:,} were answered")
        if answers["cited_right"] is not None:
            told[-1] += f", {_share(answers['cited_right'])} of them citing a right place"
        told[-1] += "."
    if counts["uncovered"]:
        refused = round(refusal["refused_of_uncovered"] * counts["uncovered"])
        told.append(f"Of {counts['uncovered']:,} that are not covered {refused:,} were refused.")
    if counts["off_topic"]:
        refused = round(document["off_topic_refused"] * counts["off_topic"])
        told.append(f"Of {counts['off_topic']:,} off-topic ones {refused:,} were refused.")
    if document["supported_sentences"] is not None:
        told.append(f"{_share(document['supported_sentences'])} of the sentences are supported.")
    return " ".join(told)


def _at_least(name: str, figures: dict[str, Any], field: str) -> Card:
    value, least = figures.get(field), REQUIRED[field]
    wish = f"{'all' if least == 1 else 'at least ' + _share(least)} required"
    if value is None:
        return Card(name, "–", wish, "not asked")
    met = value >= least
    return Card(name, _share(value), wish, "met" if met else "not met", "good" if met else "poor")


def _calibration(error: float | None) -> Card:
    name, wish = "calibration error of confidence", f"at most {MOST_ECE:g} required"
    if error is None:
        return Card(name, "–", wish, "not asked")
    met = error <= MOST_ECE
    return Card(name, _plain(error), wish, "met" if met else "not met", "good" if met else "poor")


def _share(value: float | None) -> str:
    """Per cent; 100 only where nothing is missing."""
    if value is None:
        return "–"
    shown = f"{100 * value:.1f}".removesuffix(".0")
    return "99.9 %" if shown == "100" and value < 1 else f"{shown} %"


def _plain(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _whole(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f}"
