"""The page with plots: whole, by itself, and true to the figures."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bythebook.errors import InputError
from bythebook.evaluation.charts import cards_of, distributions, reliability_diagram, roc_plot
from bythebook.evaluation.dataset import Gold, Question
from bythebook.evaluation.metrics import bins_of
from bythebook.evaluation.outcomes import Cited, Ending, Outcome
from bythebook.evaluation.report import worst_first
from evaluation.conftest import Eval

VOID = {"meta", "br", "link", "img", "input", "hr"}


class Page(HTMLParser):
    """Checks that tags close in order, and keeps what refers to somewhere else."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.references: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.references += [
            f"{name}={value}" for name, value in attrs if name in ("src", "href", "srcset", "data")
        ]
        if tag not in VOID and not (self.get_starttag_text() or "").endswith("/>"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.open and self.open[-1] == tag:
            self.open.pop()
        elif not (self.get_starttag_text() or "").endswith("/>"):
            raise AssertionError(f"</{tag}> closes {self.open[-3:]}")

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_report_is_one_page_by_itself(evaluate: Eval, kitchen: Path, tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "report"
    out, err = evaluate(
        kitchen, "--work", tmp_path / "work", "--report", folder, "--off-topic", kitchen
    )
    assert [file.name for file in folder.iterdir()] == ["report.html"]
    assert "report.html" in err and "covered questions answered" in out
    text = (folder / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.open == []
    assert page.references == [] and "script" not in page.tags and "link" not in page.tags
    assert not re.search(r"https?://|url\(|@import", text)
    assert {"svg", "table", "style"} <= page.tags
    assert "prefers-color-scheme: dark" in text
    assert "How long does a hard-boiled egg take?" in page.text
    assert "at least 95 % required" in page.text
    assert text.count("<svg") == 4  # reliability, two distributions, ROC


def test_what_questions_say_is_never_markup(
    evaluate: Eval, sample_home: Path, tmp_path: Path
) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text('{"question": "What is <script>alert(1)</script> & co?"}', encoding="utf-8")
    evaluate("--book", "physical-ai-robotics", file, "--report", tmp_path)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "script" not in Page(text).tags
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; co" in text


def test_a_report_needs_a_folder(evaluate: Eval, kitchen: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(InputError, match="can't be written"):
        evaluate(kitchen, "--work", tmp_path / "work", "--report", tmp_path / "file", "--limit=1")


def outcome(
    name: str, covered: bool | None, ending: Ending, sure: float, gold: bool = False
) -> Outcome:
    question = Question(name, name, covered, "g", (Gold("a.md"),) if covered else ())
    cited = (Cited("a.md" if gold else "b.md", "B", gold),) if ending == "answered" else ()
    return Outcome(question, ending, coverage=sure, confidence=sure, cited=cited)


def test_the_worst_stand_first() -> None:
    given = [
        outcome("fine", True, "answered", 0.9, gold=True),
        outcome("unsure but fine", True, "answered", 0.7, gold=True),
        outcome("rightly silent", False, "refused", 0.1),
        outcome("silent", True, "refused", 0.5),
        outcome("elsewhere", True, "answered", 0.8),
        outcome("invented", False, "answered", 0.7),
        outcome("surely invented", False, "answered", 0.95),
        outcome("broken", True, "failed", 0.0),
        outcome("unclear", None, "answered", 0.9),
    ]
    assert [one.question.id for one in worst_first(given)] == [
        "broken",
        "surely invented",
        "invented",
        "elsewhere",
        "silent",
        "unclear",
        "unsure but fine",
        "fine",
        "rightly silent",
    ]


def test_plots_are_drawn_true_to_scale() -> None:
    svg = ElementTree.fromstring(
        reliability_diagram(bins_of([0.95, 0.95, 0.65], [True, False, True]))
    )
    bars = list(svg.iter("rect"))
    assert len(bars) == 2
    heights = [float(bar.attrib["height"]) for bar in bars]
    assert heights[0] == pytest.approx(2 * heights[1], abs=0.2)  # all right, half right
    assert "short" in bars[1].attrib["class"] and "short" not in bars[0].attrib["class"]
    told = distributions([0.9, 0.91, 0.1], [0.2], ("covered", "<other>"), "score", 0.7)
    sides = [bar.attrib["class"] for bar in ElementTree.fromstring(told).iter("rect")]
    assert sides == ["covered", "covered", "uncovered"]
    curve = ElementTree.fromstring(roc_plot([(0, 0), (0, 1), (1, 1)], 1.0, ("a", "b")))
    assert len(curve.find("polyline").attrib["points"].split()) == 3  # type: ignore[union-attr]


def test_empty_plots_can_be_drawn() -> None:
    ElementTree.fromstring(reliability_diagram([]))
    ElementTree.fromstring(distributions([], [], ("a", "b"), "score", 0.5))


def test_a_card_says_whether_what_is_required_is_met() -> None:
    document = {
        "refusal": {"answered_of_covered": 0.95, "refused_of_uncovered": 0.9499, "auroc": None,
                    "balanced_accuracy": 0.95},
        "answers": {"cited_right": None, "gold_sentence_f1": None, "token_f1": None},
        "retrieval": {"ndcg@10": 0.8, "recall@5": 0.9},
        "calibration": {"ece": 0.051},
        "supported_sentences": 0.99999,
        "latency_ms": {"p50": 10.0, "p95": 20.0},
    }  # fmt: skip
    cards = {card.name: card for card in cards_of(document)}
    assert cards["covered questions answered"].state == "met"
    assert cards["uncovered questions refused"].state == "not met"
    assert cards["of those cite the right place"].state == "not asked"
    assert cards["calibration error of confidence"].kind == "poor"
    assert cards["sentences shown are supported"].value == "99.9 %"
    assert "AUROC, covered against not covered" not in cards
