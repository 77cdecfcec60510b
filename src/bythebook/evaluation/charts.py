"""The headline figures and plots of an evaluation, as cards and SVG."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from bythebook.evaluation.metrics import Bin

WIDTH, HEIGHT = 380, 300
LEFT, RIGHT, TOP, BOTTOM = 46, 14, 16, 42
TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
STEPS = 20


def _x(value: float) -> float:
    return LEFT + value * (WIDTH - LEFT - RIGHT)


def _y(value: float) -> float:
    return HEIGHT - BOTTOM - value * (HEIGHT - TOP - BOTTOM)


def _svg(title: str, parts: Iterable[str]) -> str:
    body = "\n".join(parts)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">\n'
        f"{body}\n</svg>"
    )


def _text(x: float, y: float, text: str, kind: str = "tick", anchor: str = "middle") -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _bar(x: float, y: float, width: float, height: float, kind: str, title: str) -> str:
    return (
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'rx="1.5"><title>{escape(title)}</title></rect>'
    )


def _frame(across: str, up: str) -> list[str]:
    """Axes from 0 to 1 with their names."""
    parts: list[str] = []
    for tick in TICKS:
        parts.append(_line(_x(0), _y(tick), _x(1), _y(tick), "grid"))
        parts.append(_text(_x(0) - 6, _y(tick) + 3.5, _share(tick), anchor="end"))
        parts.append(_text(_x(tick), _y(0) + 15, f"{tick:g}"))
    parts.append(_text(_x(0.5), HEIGHT - 6, across, "axis"))
    middle = _y(0.5)
    parts.append(
        f'<text class="axis" text-anchor="middle" '
        f'transform="translate(11 {middle:.1f}) rotate(-90)">{escape(up)}</text>'
    )
    return parts


def _share(value: float) -> str:
    return f"{100 * value:.0f} %"


def reliability_diagram(bins: Sequence[Bin]) -> str:
    """How often answers of each confidence were right; on the diagonal is honest."""
    parts = _frame("confidence that was shown", "best citation was right")
    parts.append(_line(_x(0), _y(0), _x(1), _y(1), "ideal"))
    for one in bins:
        left, width = _x(one.low) + 1, _x(one.high) - _x(one.low) - 2
        title = f"{one.count} answers at {one.said:.2f}: {_share(one.right)} right"
        kind = "bar" if one.right >= one.said else "bar short"
        parts.append(_bar(left, _y(one.right), width, _y(0) - _y(one.right), kind, title))
        parts.append(_line(left, _y(one.said), left + width, _y(one.said), "said"))
        # Above the bar, but never over its edge or off the plot.
        height = max(_y(max(one.right, one.said)) - 4, TOP - 4)
        parts.append(_text(left + width / 2, height, str(one.count), "count"))
    return _svg("Reliability: how often answers of each confidence were right", parts)


def distributions(
    above: Sequence[float], below: Sequence[float], names: tuple[str, str], score: str,
    threshold: float,
) -> str:  # fmt: skip
    """Two histograms back to back: the less they face each other, the better."""
    ups, downs = _histogram(above), _histogram(below)
    most = max((*ups, *downs), default=0.0) or 1.0
    middle, reach = (_y(0) + _y(1)) / 2, (_y(0) - _y(1)) / 2 - 14
    width = (_x(1) - _x(0)) / STEPS
    parts = [_line(_x(0), middle, _x(1), middle, "base")]
    for tick in TICKS:
        parts.append(_line(_x(tick), _y(0), _x(tick), _y(1), "grid"))
        parts.append(_text(_x(tick), _y(0) + 15, f"{tick:g}"))
    for shares, values, kind, name in (
        (ups, above, "covered", names[0]),
        (downs, below, "uncovered", names[1]),
    ):
        for step, share in enumerate(shares):
            if share:
                height = reach * share / most
                top = middle - height if kind == "covered" else middle
                low, high = step / STEPS, (step + 1) / STEPS
                title = f"{name}: {round(share * len(values))} from {low:.2f} to {high:.2f}"
                left = _x(0) + step * width + 0.7
                parts.append(_bar(left, top, width - 1.4, height, kind, title))
    parts.append(_line(_x(threshold), _y(0), _x(threshold), _y(1), "threshold"))
    parts.append(_text(_x(0) + 4, _y(1) + 8, f"{names[0]} ({len(above)})", "covered-name", "start"))
    parts.append(
        _text(_x(0) + 4, _y(0) - 4, f"{names[1]} ({len(below)})", "uncovered-name", "start")
    )
    parts.append(_text(_x(0.5), HEIGHT - 6, score, "axis"))
    return _svg(f"Distribution of the {score}: {names[0]} and {names[1]}", parts)


def _histogram(values: Sequence[float]) -> list[float]:
    """The share of the values in each step."""
    counts = [0] * STEPS
    for value in values:
        counts[min(max(int(value * STEPS), 0), STEPS - 1)] += 1
    return [count / len(values) if values else 0.0 for count in counts]


def roc_plot(curve: Sequence[tuple[float, float]], area: float, names: tuple[str, str]) -> str:
    """What every threshold would let through."""
    parts = _frame(f"{names[1]} let through", f"{names[0]} let through")
    parts.append(_line(_x(0), _y(0), _x(1), _y(1), "ideal"))
    points = " ".join(f"{_x(across):.1f},{_y(up):.1f}" for across, up in curve)
    parts.append(f'<polygon class="under" points="{points} {_x(1):.1f},{_y(0):.1f}"/>')
    parts.append(f'<polyline class="curve" points="{points}"/>')
    parts.append(_text(_x(0.62), _y(0.22), f"AUROC {area:.3f}", "area"))
    return _svg(f"ROC curve, area {area:.3f}", parts)


@dataclass(frozen=True)
class Card:
    """`kind` says how the state is shown: good, poor or none."""

    name: str
    value: str
    wish: str = ""
    state: str = ""
    kind: str = "none"


# The bounds are those of section 8 of bythebook's requirements.
def cards_of(document: dict[str, Any]) -> list[Card]:
    refusal, answers = document["refusal"], document["answers"]
    retrieval, calibration = document["retrieval"], document["calibration"]
    cards = [
        _at_least(0.95, "covered questions answered", refusal["answered_of_covered"]),
        _at_least(0.95, "of those cite the right place", answers["cited_right"]),
        _at_least(0.95, "uncovered questions refused", refusal["refused_of_uncovered"]),
        _at_least(1.0, "off-topic questions refused", document.get("off_topic_refused")),
        _at_least(0.98, "sentences shown are supported", document["supported_sentences"]),
        _at_most(0.05, "calibration error of confidence", calibration["ece"]),
        Card("AUROC, covered against not covered", _plain(refusal["auroc"])),
        Card("balanced accuracy of answering", _plain(refusal["balanced_accuracy"])),
        Card("nDCG@10 of the search", _plain(retrieval["ndcg@10"])),
        Card("recall@5 of the search", _plain(retrieval["recall@5"])),
        Card("F1 of gold sentences", _plain(answers["gold_sentence_f1"])),
        Card("F1 of words, against gold answers", _plain(answers["token_f1"])),
        Card("milliseconds for half of the answers", _plain(document["latency_ms"]["p50"], 0)),
        Card("milliseconds for 95 % of them", _plain(document["latency_ms"]["p95"], 0)),
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
        Card("of the faithful pass", _percentage(document["faithful_that_pass"])),
        Card("of the others fail", _percentage(document["others_that_fail"])),
    ]


def lead(document: dict[str, Any]) -> str:
    """The whole in two or three sentences."""
    counts, refusal, answers = document["counts"], document["refusal"], document["answers"]
    sentences: list[str] = []
    if counts["covered"]:
        answered = round(refusal["answered_of_covered"] * counts["covered"])
        sentences.append(f"Of {counts['covered']:,} covered questions {answered:,} were answered")
        if answers["cited_right"] is not None:
            sentences[-1] += f", {_percentage(answers['cited_right'])} of them citing a right place"
        sentences[-1] += "."
    if uncovered := counts["uncovered"]:
        refused = round(refusal["refused_of_uncovered"] * uncovered)
        sentences.append(f"Of {uncovered:,} that are not covered {refused:,} were refused.")
    if off_topic := counts["off_topic"]:
        refused = round(document["off_topic_refused"] * off_topic)
        sentences.append(f"Of {off_topic:,} off-topic ones {refused:,} were refused.")
    if document["supported_sentences"] is not None:
        sentences.append(
            f"{_percentage(document['supported_sentences'])} of the sentences are supported."
        )
    return " ".join(sentences)


def _at_least(least: float, name: str, value: float | None) -> Card:
    wish = "all required" if least == 1 else f"at least {_percentage(least)} required"
    return _required(name, _percentage(value), wish, None if value is None else value >= least)


def _at_most(most: float, name: str, value: float | None) -> Card:
    wish = f"at most {most:g} required"
    return _required(name, _plain(value), wish, None if value is None else value <= most)


def _required(name: str, shown: str, wish: str, is_met: bool | None) -> Card:
    if is_met is None:
        return Card(name, shown, wish, "not asked")
    return Card(name, shown, wish, "met" if is_met else "not met", "good" if is_met else "poor")


def _percentage(value: float | None) -> str:
    """Per cent; 100 only where nothing is missing."""
    if value is None:
        return "–"
    shown = f"{100 * value:.1f}".removesuffix(".0")
    return "99.9 %" if shown == "100" and value < 1 else f"{shown} %"


def _plain(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
