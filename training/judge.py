"""Judges a reader on rows that nothing was trained on, and fits its probabilities.

    python -m training.judge read --work WORK [--only check] # what the packaged reader says of them
    python -m training.judge table --work WORK --names large small packaged
    python -m training.judge calibrate --work WORK --name packaged

`read` runs the 8-bit graph of packages/reader over the rows that were kept aside and writes
WORK/read-packaged.npz, as `training.train read` does for a torch network. `table` prints Markdown.
`calibrate` writes calibration.json beside the weights: a slope and an offset for each judgement,
fitted on the two check books; what it reports of them is fitted on one and judged on the other.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from bythebook.evaluation.metrics import auroc
from bythebook.reader.network import unit_scores
from training.export import TOKENIZER, WEIGHTS, session, write_sums
from training.packets import FALSE_KINDS, QUESTION_KINDS
from training.rows import PARTS

Entry = dict[str, Any]
LOGITS = ("answers", "supports", "evidence")
BINS = 10
SAME_F1 = 0.01


@dataclass
class Judged:
    """What a reader says of each row kept aside: the logit of its best window, and its evidence
    by word piece."""

    rows: dict[int, Entry]
    logits: dict[int, float]
    pieces: dict[int, np.ndarray]

    def of(self, head: str, **wanted: str) -> list[tuple[Entry, float]]:
        return [
            (row, self.logits[number])
            for number, row in self.rows.items()
            if row["head"] == head and all(row[key] == value for key, value in wanted.items())
        ]


def judged(work: Path, name: str) -> Judged:
    # Each array is unpacked anew whenever it is asked for: once is enough.
    with np.load(work / "rows.npz") as file:
        stored = {key: file[key] for key in ("row", "lengths", "text", "start")}
    with np.load(work / f"read-{name}.npz") as file:
        said = dict(file)
    with (work / "rows.jsonl").open(encoding="utf-8") as lines:
        every = [json.loads(line) for line in lines]
    rows: dict[int, Entry] = {}
    logits: dict[int, float] = {}
    sums: dict[int, np.ndarray] = {}
    counts: dict[int, np.ndarray] = {}
    at = 0
    columns = (said["pair"], said["logits"], said["lengths"])
    for pair, logit, length in zip(*columns, strict=True):
        number = int(stored["row"][pair])
        rows[number] = every[number]
        logits[number] = max(float(logit), logits.get(number, -100.0))
        if length:
            total = int(stored["lengths"][stored["text"][pair]])
            start = int(stored["start"][pair])
            tokens = said["tokens"][at : at + length].astype(np.float64)
            sums.setdefault(number, np.zeros(total))[start : start + length] += tokens
            counts.setdefault(number, np.zeros(total))[start : start + length] += 1
            at += int(length)
    pieces = {number: sums[number] / counts[number].clip(min=1) for number in sums}
    return Judged(rows, logits, pieces)


def read_packaged(work: Path, only: str | None) -> None:
    """As `training.train read`, with the graph that is shipped."""
    from training.batches import Rows

    run = session((WEIGHTS / "model.onnx").read_bytes())
    rows = Rows(work / "rows.npz")
    wanted = rows.part == PARTS.index(only) if only else rows.part != 0
    chosen = np.flatnonzero(wanted)

    def one(number: int) -> tuple[float, np.ndarray]:
        ids, kinds, begin = rows.batch(np.array([number]))
        length = int(rows.length[number])
        found = run.run(
            None, {"input_ids": ids[:, :length].numpy(), "kinds": kinds[:, :length].numpy()}
        )
        first = int(begin[0])
        marked = first + int(rows.text_length[number]) if rows.marked[number] else first
        logit = float(found[int(rows.head[number])].reshape(-1)[0])
        return logit, found[2][0, first:marked, 0].astype(np.float16)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = list(pool.map(one, chosen.tolist()))
    logits = np.array([logit for logit, _ in said], np.float32)
    tokens = [piece for _, piece in said]
    np.savez_compressed(
        work / "read-packaged.npz", pair=chosen, logits=logits, tokens=np.concatenate(tokens),
        lengths=[len(each) for each in tokens],
    )  # fmt: skip


def area(pairs: Sequence[tuple[Entry, float]], right: Callable[[Entry], bool]) -> float:
    found = auroc([s for r, s in pairs if right(r)], [s for r, s in pairs if not right(r)])
    return float("nan") if found is None else found


def per_question(read: Judged, name: str) -> float:
    """Covered against uncovered questions of a set by the best of the passages found."""
    best: dict[str, tuple[Entry, float]] = {}
    for row, score in read.of("answers", set=name, part="judge"):
        if row["group"] not in best or score > best[row["group"]][1]:
            best[row["group"]] = (row, score)
    return area(list(best.values()), lambda row: row["kind"] == "covered")


def first_right(read: Judged, part: str) -> float:
    """Of our own questions with right and wrong passages, the share whose best one is right."""
    questions: dict[tuple[str, str], list[tuple[float, bool]]] = defaultdict(list)
    for row, score in read.of("answers", set="own", part=part):
        key = (row["group"].split("/")[0], row["asked"])
        questions[key].append((score, row["label"] == 1))
    mixed = [each for each in questions.values() if len({right for _, right in each}) == 2]
    return mean(max(each)[1] for each in mixed) if mixed else float("nan")


def per_answer(read: Judged) -> float:
    """Faithful answers against others: the mean of the sentences' best contexts."""
    sentences: dict[tuple[str, str], tuple[Entry, float]] = {}
    for row, score in read.of("supports", set="mtrag_human_eval"):
        key = (row["group"], row["kind"])
        if key not in sentences or score > sentences[key][1]:
            sentences[key] = (row, score)
    answers: dict[str, list[tuple[Entry, float]]] = defaultdict(list)
    for (group, _), found in sentences.items():
        answers[group].append(found)
    scored = [(each[0][0], mean(sigmoid(score) for _, score in each)) for each in answers.values()]
    return area(scored, lambda row: row["label"] * 4 >= 3.5)


def sigmoid(value: float) -> float:
    return float(1 / (1 + np.exp(-value)))


class Marking:
    """How well evidence is marked: F1 of characters, row by row."""

    def __init__(self) -> None:
        self.tokenizer = Tokenizer.from_file(str(TOKENIZER))
        self.tokenizer.encode_special_tokens = True

    def scored(self, read: Judged, number: int) -> list[tuple[int, int, float]]:
        text = read.rows[number]["text"]
        offsets = self.tokenizer.encode(text, add_special_tokens=False).offsets
        likely = [sigmoid(value) for value in read.pieces[number]]
        return list(unit_scores(text, offsets, likely))

    def f1(self, row: Entry, units: Sequence[tuple[int, int, float]], threshold: float) -> float:
        said = {c for a, b, s in units if s >= threshold for c in range(a, b)}
        right = {c for a, b, value in row["spans"] if value >= 0.5 for c in range(a, b)}
        return 2 * len(said & right) / max(1, len(said) + len(right))


def evidence_f1(
    read: Judged, marking: Marking, name: str, part: str, thresholds: Sequence[float]
) -> dict[str, list[float]]:
    """Mean F1 by book or set, for each threshold."""
    found: dict[str, list[list[float]]] = defaultdict(list)
    for number, row in read.rows.items():
        is_asked = (row["head"], row["set"], row["part"]) == ("answers", name, part)
        if is_asked and row["label"] == 1 and row["spans"]:
            units = marking.scored(read, number)
            group = row["group"].split("/")[0]
            found[group].append([marking.f1(row, units, each) for each in thresholds])
    return {
        group: [mean(column) for column in zip(*each, strict=True)] for group, each in found.items()
    }


def fit(pairs: Sequence[tuple[Entry, float]]) -> tuple[float, float]:
    """Slope and offset by Newton's method, lightly held to 1 and 0."""
    x = np.array([[score, 1.0] for _, score in pairs])
    y = np.array([float(row["label"]) for row, _ in pairs])
    theta = np.array([1.0, 0.0])
    for _ in range(50):
        p = 1 / (1 + np.exp(-(x @ theta)))
        gradient = x.T @ (y - p) - 0.1 * (theta - [1, 0])
        hessian = (x * (p * (1 - p))[:, None]).T @ x + 0.1 * np.eye(2)
        # Short steps: from far away a whole one overshoots and never comes back.
        step = np.linalg.solve(hessian, gradient)
        theta += step * min(1.0, 0.5 / max(1e-9, float(np.linalg.norm(step))))
    return float(theta[0]), float(theta[1])


def reliability(read: Judged, head: str) -> tuple[list[tuple[float, float, int]], float]:
    """Bins of (said, true, rows), each book by the fit to the other, and the expected error."""
    pairs = read.of(head, set="own", part="check")
    books = sorted({row["group"].split("/")[0] for row, _ in pairs})
    said: list[tuple[float, float]] = []
    for book in books:
        own = [pair for pair in pairs if pair[0]["group"].startswith(f"{book}/")]
        slope, offset = fit([pair for pair in pairs if pair not in own])
        said += [(sigmoid(slope * score + offset), row["label"]) for row, score in own]
    bins: list[list[tuple[float, float]]] = [[] for _ in range(BINS)]
    for probability, label in said:
        bins[min(BINS - 1, int(probability * BINS))].append((probability, label))
    table = [(mean(p for p, _ in b), mean(y for _, y in b), len(b)) for b in bins if b]
    return table, sum(abs(p - y) * n for p, y, n in table) / len(said)


def columns_of(read: Judged, marking: Marking) -> dict[str, float]:
    answers, supports = (read.of(head, set="own", part="check") for head in ("answers", "supports"))
    found = {"answers: check books, AUROC": area(answers, lambda row: row["label"] == 1)}
    for book in sorted({row["group"].split("/")[0] for row, _ in answers}):
        own = [pair for pair in answers if pair[0]["group"].startswith(f"{book}/")]
        found[f"answers: {book}, AUROC"] = area(own, lambda row: row["label"] == 1)
    for kind in QUESTION_KINDS:
        own = [pair for pair in answers if pair[0]["kind"] == kind]
        found[f"answers: {kind}, AUROC"] = area(own, lambda row: row["label"] == 1)
    for name in ("squad2", "clapnq_dev", "mtrag_un"):
        found[f"answers: {name}, best of five, AUROC"] = per_question(read, name)
    thresholds = [n / 20 for n in range(2, 19)]
    by_book = evidence_f1(read, marking, "own", "check", thresholds)
    for book, values in by_book.items():
        others = [v for other, v in by_book.items() if other != book]
        best = int(np.argmax(np.mean(others, axis=0)))
        found[f"evidence: {book}, F1 (threshold of the other)"] = values[best]
    best = int(np.argmax(np.mean(list(by_book.values()), axis=0)))
    if by_set := evidence_f1(read, marking, "clapnq_dev", "judge", thresholds):
        found["evidence: clapnq_dev gold passage, F1"] = by_set["clapnq_dev"][best]
    found["supports: check books, AUROC"] = area(supports, lambda row: row["label"] == 1)
    slope, offset = fit(supports)
    passed = {id(row): slope * score + offset >= 0 for row, score in supports}
    true = mean(passed[id(row)] for row, _ in supports if row["label"] == 1)
    false = mean(not passed[id(row)] for row, _ in supports if row["label"] == 0)
    found["supports: true sentences accepted"] = true
    found["supports: false sentences rejected"] = false
    found["supports: balanced accuracy"] = (true + false) / 2
    for kind in FALSE_KINDS:
        rejected = [
            not passed[id(row)] for row, _ in supports if row["label"] == 0 and row["kind"] == kind
        ]
        found[f"supports: {kind} rejected (of {len(rejected)})"] = mean(rejected)
    if swapped := read.of("supports", set="swapped words"):
        bar = float(np.quantile([score for row, score in swapped if row["label"] == 1], 0.02))
        found["supports: swapped words rejected at 98 % of true ones accepted"] = mean(
            score < bar for row, score in swapped if row["label"] == 0
        )
    found["supports: begin, AUROC"] = area(
        read.of("supports", set="begin", part="judge"), lambda row: row["label"] == 1
    )
    found["supports: mtrag_human_eval by answer, AUROC"] = per_answer(read)
    return found | to_choose_by(read)


def to_choose_by(read: Judged) -> dict[str, float]:
    """Of the check books the first passage too; of the books that networks are chosen by, all."""
    found = {"answers: check books, first passage right": first_right(read, "check")}
    found["answers: dev books, first passage right"] = first_right(read, "dev")
    for head in ("answers", "supports"):
        pairs = read.of(head, set="own", part="dev")
        found[f"{head}: dev books, AUROC"] = area(pairs, lambda row: row["label"] == 1)
    return found


def table(work: Path, names: Sequence[str]) -> None:
    marking = Marking()
    columns = {name: columns_of(judged(work, name), marking) for name in names}
    print(f"| judged | {' | '.join(names)} |\n|---{'|---' * len(names)}|")
    for what in columns[names[0]]:
        # What a reader was not asked is not told of it.
        cells = [columns[name].get(what, float("nan")) for name in names]
        print(f"| {what} | {' | '.join('–' if isnan(cell) else f'{cell:.3f}' for cell in cells)} |")


def calibrate(work: Path, name: str) -> None:
    read, marking = judged(work, name), Marking()
    fitted: dict[str, Any] = {"evidence": [1.0, 0.0]}
    for head in ("answers", "supports"):
        fitted[head] = [round(value, 4) for value in fit(read.of(head, set="own", part="check"))]
        bins, error = reliability(read, head)
        print(f"\n{head}: {fitted[head]}; expected calibration error by book {error:.3f}")
        print("| said | true | rows |\n|---|---|---|")
        for said, true, count in bins:
            print(f"| {said:.2f} | {true:.2f} | {count} |")
    thresholds = [n / 20 for n in range(2, 19)]
    by_book = evidence_f1(read, marking, "own", "check", thresholds)
    means = np.mean(list(by_book.values()), axis=0)
    # Of thresholds that mark about as well, the one that marks least.
    fitted["evidence_threshold"] = max(
        each for each, f1 in zip(thresholds, means, strict=True) if f1 >= max(means) - SAME_F1
    )
    (WEIGHTS / "calibration.json").write_text(json.dumps(fitted, indent=1) + "\n")
    write_sums(WEIGHTS)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("step", choices=("read", "table", "calibrate"))
    options.add_argument("--work", type=Path, required=True)
    options.add_argument("--only", choices=PARTS[1:], help="an hour becomes ten minutes")
    options.add_argument("--name", default="packaged")
    options.add_argument("--names", nargs="*", default=["packaged"])
    chosen = options.parse_args()
    if chosen.step == "read":
        read_packaged(chosen.work, chosen.only)
    elif chosen.step == "table":
        table(chosen.work, chosen.names)
    else:
        calibrate(chosen.work, chosen.name)


if __name__ == "__main__":
    main()
