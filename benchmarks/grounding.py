"""Measures the check of sentences against passages, and fits its weights.

python benchmarks/grounding.py [--data ../shared/data] [--fit] [--only begin,mtrag,sample,speed]

begin: fully attributable against the rest, 5-fold cross-validation by knowledge text.
mtrag: mean and least score of an answer's units (each against its best context) against people's
mean faithfulness rating; an answer counts as faithful from 3.5.
sample: sentences of the sample book, true, changed, of another lesson, and paraphrased by hand.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import sys
import time
from collections import Counter
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from bythebook.grounding.check import (  # noqa: E402
    BROKEN,
    SUPPORTED,
    Support,
    check,
    features,
    find_stretch,
    is_connective,
)
from bythebook.grounding.claim import parse_claim  # noqa: E402
from bythebook.grounding.evidence import parse_evidence  # noqa: E402
from bythebook.grounding.facts import broken_facts  # noqa: E402
from bythebook.grounding.weights import FITTED, WEIGHTS  # noqa: E402
from bythebook.language.units import split_units  # noqa: E402
from grounding_samples import CHANGES, false_sentences, passages, true_sentences  # noqa: E402

FAITHFUL = 3.5
FOLDS = 5
BANDS = (("4", 4.0, 4.0), ("3.5-3.9", 3.5, 3.99), ("2.5-3.4", 2.5, 3.49), ("below 2.5", 0, 2.49))


def lines(file: Path) -> list[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as opened:
        return [json.loads(line) for line in opened]


def ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from 1, ties shared."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    found: np.ndarray = ((ends - counts + 1 + ends) / 2)[inverse]
    return found


def auroc(scores: np.ndarray, right: np.ndarray) -> float:
    n = right.sum()
    return float((ranks(scores)[right == 1].sum() - n * (n + 1) / 2) / (n * (len(right) - n)))


def balanced_accuracy(scores: np.ndarray, right: np.ndarray) -> float:
    passed = scores >= SUPPORTED
    return float((passed[right == 1].mean() + (~passed)[right == 0].mean()) / 2)


def spearman(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.corrcoef(ranks(one), ranks(other))[0, 1])


def logistic_fit(x: np.ndarray, y: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Weights and bias by Newton's method, both classes counting alike, lightly regularized."""
    weight = np.where(y == 1, 0.5 / y.mean(), 0.5 / (1 - y.mean()))
    design = np.hstack([x, np.ones((len(x), 1))])
    theta = np.zeros(design.shape[1])
    penalty = np.diag([1.0] * x.shape[1] + [1e-6])
    for _ in range(40):
        p = 1 / (1 + np.exp(-(design @ theta) - offset))
        gradient = design.T @ (weight * (y - p)) - penalty @ theta
        hessian = (design * (weight * p * (1 - p))[:, None]).T @ design + penalty
        theta += np.linalg.solve(hessian, gradient)
    return theta


def begin(data: Path, fit: bool) -> None:
    rows = lines(data / "qa" / "begin" / "begin.jsonl.gz")
    found, broken = [], []
    for row in rows:
        evidence = parse_evidence(row["knowledge"], "en")
        claim = parse_claim(row["response"], "en", row["message"])
        stretch = find_stretch(claim, evidence)
        found.append(features(claim, evidence, stretch))
        broken.append(any(True for _ in broken_facts(claim, evidence, stretch)))
    x = np.array([[values[name] for name in FITTED] for values in found])
    offset = np.array([WEIGHTS["spliced"] * values["spliced"] for values in found])
    labels = np.array([row["begin_label"] for row in rows])
    right = (labels == "Fully attributable").astype(float)
    texts = sorted({row["knowledge"] for row in rows})
    random.Random(0).shuffle(texts)
    fold_of = {text: number % FOLDS for number, text in enumerate(texts)}
    folds = np.array([fold_of[row["knowledge"]] for row in rows])
    scores = np.zeros(len(rows))
    for fold in range(FOLDS):
        theta = logistic_fit(x[folds != fold], right[folds != fold], offset[folds != fold])
        p = 1 / (1 + np.exp(-(x @ theta[:-1]) - theta[-1] - offset))
        scores[folds == fold] = p[folds == fold]
    scores = np.where(broken, scores * BROKEN, scores)
    plain = labels != "Generic"
    for name, some in (("all", plain | True), ("without generic", plain)):
        print(
            f"begin, {name}: {some.sum()} pairs, AUROC {auroc(scores[some], right[some]):.4f}, "
            f"balanced accuracy {balanced_accuracy(scores[some], right[some]):.4f}"
        )
    passed = scores >= SUPPORTED
    print(
        f"  attributable that pass {passed[right == 1].mean():.3f}, "
        f"others {passed[right == 0].mean():.3f}; "
        f"broken facts: {np.array(broken)[right == 1].mean():.3f} "
        f"and {np.array(broken)[right == 0].mean():.3f}"
    )
    if fit:
        theta = logistic_fit(x, right, offset)
        print(
            json.dumps({name: round(float(w), 2) for name, w in zip(FITTED, theta, strict=False)})
        )
        print(f"BIAS = {theta[-1]:.2f}")


def best(claim: str, texts: list[str], question: str = "") -> Support:
    verdicts = (check(claim, text, question=question) for text in texts)
    return max(verdicts, key=lambda verdict: (verdict.supported, verdict.score))


def mtrag(data: Path) -> None:
    ratings, least, average = [], [], []
    units: list[tuple[float, bool]] = []
    for row in lines(data / "qa" / "mtrag_human_eval" / "evaluations.jsonl.gz"):
        texts = [context["text"] for context in row["contexts"]]
        said = [unit for unit in split_units(row["response"]) if not is_connective(unit)]
        if not texts or not said:
            continue
        question = row["input"][-1]["text"]
        verdicts = [best(unit, texts, question) for unit in said]
        rating = mean(float(grade) for grade in row["human"]["faithfulness"].values())
        ratings.append(rating)
        least.append(min(verdict.score for verdict in verdicts))
        average.append(mean(verdict.score for verdict in verdicts))
        units += [(rating, verdict.supported) for verdict in verdicts]
    human = np.array(ratings)
    right = (human >= FAITHFUL).astype(int)
    print(f"mtrag_human_eval: {len(human)} answers, {right.mean():.3f} rated {FAITHFUL} or more")
    for name, values in (("mean", np.array(average)), ("least", np.array(least))):
        print(
            f"  {name} of units: AUROC {auroc(values, right):.3f}, "
            f"Spearman {spearman(values, human):.3f}"
        )
    for name, low, high in BANDS:
        passed = [supported for rating, supported in units if low <= rating <= high]
        print(f"  units of answers rated {name}: {mean(passed):.3f} of {len(passed)} pass")


def sample() -> None:
    sentences = true_sentences()
    passed = mean(check(f"{one.text} [1]", one.passage).supported for one in sentences)
    print(f"sample book: {len(sentences)} true sentences, {passed:.4f} pass")
    for kind in CHANGES:
        changed = list(false_sentences(kind))
        failed = mean(not check(f"{new} [1]", one.passage).supported for new, one in changed)
        print(f"  {kind}: {len(changed)}, {failed:.4f} fail")
    pick = random.Random(3)
    pairs = [
        (one.text, text)
        for one in sentences
        for lesson, text in pick.sample(passages(), 3)
        if lesson != one.lesson
    ]
    failed = mean(not check(claim, text).supported for claim, text in pairs)
    print(f"  of another lesson: {len(pairs)}, {failed:.4f} fail")
    counts: Counter[tuple[str, bool, bool]] = Counter()
    for line in (ROOT / "tests/data/paraphrases.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        heading = re.compile(rf"^#+ {re.escape(row['section'])}", re.MULTILINE)
        texts = [
            text for lesson, text in passages() if lesson == row["file"] and heading.search(text)
        ]
        counts[row["set"], row["supported"], best(row["claim"], texts).supported] += 1
    for (name, supported), total in Counter((a, b) for a, b, _ in counts.elements()).items():
        right = counts[name, supported, supported]
        kind = "faithful" if supported else "false"
        print(f"  paraphrases ({name}), {kind}: {right} of {total} right")


def speed() -> None:
    """A new claim against a passage already seen, as for the sentences of one answer."""
    sentences = true_sentences()[::5]
    for name, prefix in (("verbatim", ""), ("not verbatim", "Note that ")):
        spent = []
        for one in sentences:
            check("The arm has joints.", one.passage)
            started = time.process_time()
            check(prefix + one.text, one.passage)
            spent.append(1000 * (time.process_time() - started))
        print(
            f"speed, {name}: median {median(spent):.2f} ms, "
            f"95 % below {np.quantile(spent, 0.95):.2f} ms"
        )
    parse_evidence.cache_clear()
    started = time.process_time()
    for _, text in passages():
        parse_evidence(text, "en")
    spent_reading = 1000 * (time.process_time() - started) / len(passages())
    print(f"speed, reading a passage: {spent_reading:.2f} ms")


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    options.add_argument("--fit", action="store_true")
    options.add_argument("--only", default="begin,mtrag,sample,speed")
    chosen = options.parse_args()
    wanted = chosen.only.split(",")
    if "begin" in wanted:
        begin(chosen.data, chosen.fit)
    if "mtrag" in wanted:
        mtrag(chosen.data)
    if "sample" in wanted:
        sample()
    if "speed" in wanted:
        speed()


if __name__ == "__main__":
    main()
