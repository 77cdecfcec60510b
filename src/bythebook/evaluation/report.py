"""An evaluation as one page that a person enjoys reading: all of it in a single file."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from bythebook.evaluation.charts import (
    Card,
    cards_of,
    check_cards,
    distributions,
    lead,
    reliability_diagram,
    roc_plot,
)
from bythebook.evaluation.measuring import Measured, coverages, judged
from bythebook.evaluation.metrics import auroc, bins_of, roc_curve
from bythebook.evaluation.outcomes import Outcome
from bythebook.evaluation.sentence_check import Judged, scores
from bythebook.files import write_named
from bythebook.grounding.verifier import SUPPORTED
from bythebook.retrieval.calibration import THRESHOLD

FILE = "report.html"
# A page with more rows takes long to show, and the worst stand first.
MOST_ROWS = 400
EXCERPT = 170
MOST_PLACES = 3
COVERAGE = "how sure the search was"
# Worst first; within each, the surer the worse.
ORDER = (
    "failed",
    "answered, though not covered",
    "answered from another place",
    "refused, though covered",
    "right place cited second",
    "answered",
    "refused",
    "answered from the right place",
    "rightly refused",
)
GOOD = frozenset({"answered from the right place", "rightly refused"})
NEUTRAL = frozenset({"answered", "refused", "right place cited second"})
COUNTED = (
    ("Answered, refused", "Questions known to be covered or not. Partial and underspecified ones "
     "are listed by group only; one that failed was neither answered nor refused."),
    ("Right citation", "Of the answered covered questions whose place is known, those that cite at "
     "least one such place."),
    ("Supported", "Of all sentences shown, those that pass the check of sentences again, against a "
     "passage they cite."),
    ("Calibration", "Every answer whose right place is known, or that should not have been given. "
     "It was right if its citation of the greatest confidence is a right place; an answer to an "
     "uncovered question is always wrong. The error is the mean distance, over ten bins, between "
     "the confidence shown and the share that was right."),
    ("Sure", "The confidence of an answer; for a refusal, how sure the search was that the book "
     "answers."),
    ("Retrieval", "Questions whose right place is known, among the first results of a search for "
     "what the assistant searched for."),
)  # fmt: skip


def write_report(folder: Path, measured: Measured) -> Path:
    document = measured.document()
    asked = (*measured.outcomes, *measured.off_topic)
    about = (
        f"{measured.name} · {document['passages']:,} passages · {len(asked):,} questions · "
        f"answered by: {measured.model}"
    )
    parts = [
        _cards(cards_of(document)),
        _plots(measured),
        _groups(document["groups"]),
        _questions(asked, measured.titles),
        _counted(),
    ]
    return _write(folder, "How far can you trust it?", about, lead(document), parts)


def write_check_report(folder: Path, document: dict[str, Any], answers: Sequence[Judged]) -> Path:
    right, wrong = scores(answers, True), scores(answers, False)
    names = ("faithful", "not faithful")
    area = auroc(right, wrong)
    figures = [
        _figure(
            "Scores of the check",
            "What people call faithful above, the rest below; the line is where a sentence passes.",
            distributions(right, wrong, names, "least score of a sentence", SUPPORTED),
        )
    ]
    if area is not None:
        caption = "What every other threshold would let through."
        curve = roc_plot(roc_curve(right, wrong), area, names)
        figures.append(_figure("Faithful or not", caption, curve))
    about = f"{document['file']} · {len(answers):,} answers that people judged"
    says = (
        f"Of {len(right):,} answers that people call faithful "
        f"{sum(one.passes for one in answers if one.faithful):,} pass the check; of {len(wrong):,} "
        f"others {sum(one.passes for one in answers if not one.faithful):,} do."
    )
    parts = [
        _cards(check_cards(document)),
        f'<h2>In pictures</h2><div class="plots">{"".join(figures)}</div>',
        _judgements(answers),
    ]
    return _write(folder, "How far can you trust the check?", about, says, parts)


def _write(folder: Path, title: str, about: str, says: str, parts: Sequence[str]) -> Path:
    style = (resources.files("bythebook.evaluation") / "report.css").read_text("utf-8")
    page = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)} {escape(about)}</title>\n<style>\n{style}</style>\n</head>\n"
        f'<body>\n<main>\n<header><h1>{escape(title)}</h1><p class="about">{escape(about)}</p>'
        f'<p class="lead">{escape(says)}</p></header>\n'
        + "\n".join(parts)
        + "\n<footer>Made by <code>bythebook eval</code>.</footer>\n</main>\n</body>\n</html>\n"
    )
    file = folder / FILE
    with suppress(OSError):  # writing says what is wrong
        folder.mkdir(parents=True, exist_ok=True)
    write_named(file, page.encode("utf-8"), action="Name another folder.")
    return file


def _cards(cards: Sequence[Card]) -> str:
    shown = "".join(
        f'<div class="card"><div class="value">{escape(card.value)}</div>'
        f'<div class="name">{escape(card.name)}</div>'
        f'<div class="wish">{_badge(card.state, card.kind)} {escape(card.wish)}</div></div>'
        for card in cards
    )
    return f'<section class="cards" aria-label="Figures">{shown}</section>'


def _badge(text: str, kind: str) -> str:
    return f'<span class="mark {kind}">{escape(text)}</span>' if text else ""


def _figure(title: str, caption: str, plot: str) -> str:
    head = f"<figcaption><b>{escape(title)}</b>{escape(caption)}</figcaption>"
    return f"<figure>{head}{plot}</figure>"


def _plots(measured: Measured) -> str:
    covered, uncovered = coverages(measured.outcomes, True), coverages(measured.outcomes, False)
    off_topic = [one.coverage for one in measured.off_topic]
    figures: list[str] = []
    said, right = judged(measured.outcomes)
    if said:
        caption = (
            "Bars: how often the best citation was right. Black lines: what was promised. "
            "Numbers: answers."
        )
        diagram = reliability_diagram(bins_of(said, right))
        figures.append(_figure("Does confidence mean what it says?", caption, diagram))
    for others, name in ((uncovered, "not covered"), (off_topic, "off-topic")):
        if covered and others:
            names = ("covered", name)
            caption = "The less the two sides face each other, the better they are told apart."
            plot = distributions(covered, others, names, COVERAGE, THRESHOLD)
            figures.append(_figure(f"Covered and {name} questions", caption, plot))
    area = auroc(covered, uncovered)
    if area is not None:
        curve = roc_plot(roc_curve(covered, uncovered), area, ("covered", "not covered"))
        figures.append(_figure("To answer or to refuse", "What every threshold would do.", curve))
    if not figures:
        return ""
    return f'<h2>In pictures</h2><div class="plots">{"".join(figures)}</div>'


def _groups(groups: dict[str, dict[str, Any]]) -> str:
    rows = "".join(
        f"<tr><td>{escape(name)}</td>"
        + "".join(_number(row[field]) for field in ("questions", "answered", "refused"))
        + _number(row["cited_right"], share=True)
        + _number(row["ndcg@10"], share=True)
        + "</tr>"
        for name, row in groups.items()
    )
    heads = ("questions", "answered", "refused", "cited right", "nDCG@10")
    numbers = "".join(f'<th class="number">{head}</th>' for head in heads)
    return (
        '<h2>By kind of question</h2><div class="wide"><table><thead><tr><th>kind</th>'
        f"{numbers}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _number(value: float | None, share: bool = False) -> str:
    shown = "–" if value is None else f"{value:.3f}" if share else f"{value:,}"
    return f'<td class="number">{shown}</td>'


def worst_first(outcomes: Sequence[Outcome]) -> list[Outcome]:
    def badness(outcome: Outcome) -> tuple[int, int, float]:
        happened = outcome.what_happened
        unsupported = outcome.sentences - outcome.supported
        sure = outcome.confidence if outcome.answered else outcome.coverage
        return ORDER.index(happened), -unsupported, sure if happened in GOOD else -sure

    return sorted(outcomes, key=badness)


def _questions(outcomes: Sequence[Outcome], titles: dict[str, str]) -> str:
    shown = worst_first(outcomes)[:MOST_ROWS]
    note = ""
    if len(shown) < len(outcomes):
        note = (
            f'<p class="about">The worst {len(shown)} of {len(outcomes):,}; '
            "<code>--json --details</code> lists all.</p>"
        )
    rows = "".join(_row(outcome, titles) for outcome in shown)
    return (
        f'<h2>Every question, worst first</h2>{note}<div class="wide"><table><thead><tr>'
        '<th>Question</th><th>What happened</th><th class="number">Sure</th><th>Answer</th>'
        f"<th>Cited</th><th>Right place</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _row(outcome: Outcome, titles: dict[str, str]) -> str:
    happened = outcome.what_happened
    kind = "good" if happened in GOOD else "none" if happened in NEUTRAL else "poor"
    cited = [
        f"<li{' class=gold' if one.gold else ''}>{escape(one.label)}"
        f'<span class="page">{escape(one.page)}</span></li>'
        for one in outcome.cited
    ]
    gold = [
        f"<li>{escape(gold.section or titles.get(gold.page, ''))}"
        f'<span class="page">{escape(gold.page)}</span></li>'
        for gold in outcome.question.answered_at
    ]
    right = _list(gold)
    if outcome.question.covered is False:
        right = '<span class="page">not in the book</span>'
    group = f'<span class="group">{escape(outcome.question.group)}</span>'
    if outcome.query and outcome.query != outcome.question.text:
        group += f'<span class="group">searched for: {escape(outcome.query)}</span>'
    sure = outcome.confidence if outcome.answered else outcome.coverage
    meter = f'<span class="meter"><i style="width:{100 * sure:.0f}%"></i></span>'
    return (
        f'<tr><td class="question">{escape(outcome.question.text)}{group}</td>'
        f'<td class="happened">{_badge(happened, kind)}{_unsupported(outcome)}</td>'
        f'<td class="number">{sure:.2f}{meter}</td><td class="answer">{_answer(outcome)}</td>'
        f'<td class="place">{_list(cited)}</td><td class="place">{right}</td></tr>'
    )


def _list(items: Sequence[str]) -> str:
    more = len(items) - MOST_PLACES
    last = f'<li class="page">and {more} more</li>' if more > 0 else ""
    return f"<ul>{''.join(items[:MOST_PLACES])}{last}</ul>" if items else ""


def _unsupported(outcome: Outcome) -> str:
    missing = outcome.sentences - outcome.supported
    return f"<br>{_badge(f'{missing} not supported', 'poor')}" if missing else ""


def _answer(outcome: Outcome) -> str:
    text = outcome.problem if outcome.ending == "failed" else outcome.text.replace("**", "")
    if len(text) <= EXCERPT:
        return escape(text)
    short = text[:EXCERPT].rsplit(" ", 1)[0]
    return f"<details><summary>{escape(short)} …</summary><p>{escape(text)}</p></details>"


def _judgements(answers: Sequence[Judged]) -> str:
    wrong = [one for one in answers if one.passes is not one.faithful]
    shown = sorted(wrong, key=lambda one: (one.faithful, abs(0.5 - one.score) * -1))[:MOST_ROWS]
    rows = "".join(
        f'<tr><td class="answer">{escape(one.text)}</td>'
        f"<td>{_badge('passes, though not faithful', 'poor') if one.passes else ''}"
        f"{_badge('fails, though faithful', 'none') if one.faithful else ''}"
        f'<span class="group">{escape(one.label)}</span></td>'
        f'<td class="place">{escape(one.reason)}</td>{_number(one.score, share=True)}</tr>'
        for one in shown
    )
    return (
        '<h2>Where the check and people differ, worst first</h2><div class="wide"><table><thead>'
        '<tr><th>Answer</th><th>Judged</th><th>Why it fails</th><th class="number">Score</th></tr>'
        f"</thead><tbody>{rows}</tbody></table></div>"
    )


def _counted() -> str:
    listed = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in COUNTED)
    return f"<h2>What is counted</h2><dl>{listed}</dl>"
