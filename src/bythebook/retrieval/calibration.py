"""From raw evidence to scores that mean the same with every embedder, and to levels."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, lru_cache
from importlib import resources
from itertools import accumulate
from math import exp, hypot, log
from pathlib import Path

from bythebook.errors import ConfigurationError
from bythebook.models.chunk import Background, BookInfo
from bythebook.models.passage import ConfidenceMetrics, Passage, level_of
from bythebook.retrieval.answerability import FEATURES, LOOKED_AT, SIGNS, Features

# The embedder whose calibration serves those that were never fitted.
BUILT_IN = "all-MiniLM-L6-v2"
# Where a person's own calibrations are kept, below the data folder.
FILE = "calibrations.json"
# How fast a passage's share in what the best one says falls with its evidence: .1 less leaves
# about half of it.
SPREAD = 6.0
# By so much the mean of a question that seems just answered lies above the threshold, so that the
# order of its passages can be seen.
LEAST_ABOVE = 0.04
SUREST = 0.999
# The default: from this score on a passage counts.
THRESHOLD = 0.7
# As covered as a question may seem whose best passage has nothing to do with it.
FAR = 0.1


@dataclass(frozen=True)
class Calibration:
    """A logistic model of coverage; `dense` is the cosine's share in a passage's evidence.

    The threshold lies where answering pays, so what is just above it is right less often than the
    model says: above the threshold log-odds count by `slope` only. A best passage of a cosine
    below `least_cosine` has nothing to do with the question, whatever words they share.
    """

    model: str
    dense: float
    bias: float
    weights: Mapping[str, float] = field(hash=False)
    fitted_on: str
    slope: float = 1.0
    least_cosine: float = -1.0

    def __post_init__(self) -> None:
        if set(self.weights) != set(FEATURES):
            raise ValueError(f"weights are for {sorted(self.weights)}, not {sorted(FEATURES)}")
        for name, weight in self.weights.items():
            if weight * SIGNS[name] < 0:
                raise ValueError(f"the weight of {name} has the wrong sign")
        if not 0 <= self.dense <= 1:
            raise ValueError("dense is not between 0 and 1")
        if not 0 < self.slope <= 1:
            raise ValueError("slope is not between 0 and 1")

    def evidence(self, cosine: float, words: float) -> float:
        return self.dense * cosine + (1 - self.dense) * min(words, 1.0)

    def log_odds(self, features: Features) -> float:
        values: dict[str, float] = asdict(features)
        sure = self.bias + sum(self.weights[name] * values[name] for name in FEATURES)
        return min(sure, log_odds(FAR)) if features.cosine < self.least_cosine else sure

    def coverage(self, features: Features, raised_threshold: float = 0.0) -> float:
        """How much speaks for the book's answering the question, as a probability of the model;
        `raised_threshold` is what this book asks for beyond the usual, in log-odds."""
        sure = logistic(self.log_odds(features) - raised_threshold)
        return min(max(sure, 1 - SUREST), SUREST)

    def shown(self, coverage: float) -> float:
        """How probable it is that the answer comes from the right place."""
        threshold, sure = log_odds(THRESHOLD), log_odds(coverage)
        return (
            coverage if sure <= threshold else logistic(threshold + self.slope * (sure - threshold))
        )

    def scores(self, coverage: float, strengths: Sequence[float]) -> list[float]:
        """Scores of passages in their order, from the question's coverage and what speaks for each.
        Where the book seems to answer, all pass the threshold and the mean of the first ones is
        what is shown of the coverage; where not, none passes and the first has the coverage."""
        shares = [exp(SPREAD * (each - strengths[0])) for each in accumulate(strengths, min)]
        if coverage < THRESHOLD:
            return [coverage * share for share in shares]
        best = shares[:LOOKED_AT]
        mean = max(self.shown(coverage) - THRESHOLD, LEAST_ABOVE)
        above = mean * len(best) / sum(best) if best else 0.0
        return [THRESHOLD + min(above, 1 - THRESHOLD) * share for share in shares]


def logistic(value: float) -> float:
    return 1.0 / (1.0 + exp(min(-value, 700.0)))


def log_odds(probability: float) -> float:
    return log(probability / (1 - probability))


@cache
def calibration_for(model: str, home: Path | None = None) -> Calibration:
    """The calibration of this embedder: the person's own in `home`, else the one that ships. An
    embedder that was never fitted gets that of the built-in one, less what it says of a cosine
    alone: the reader decides, whatever the vectors."""
    own = read_calibrations(home / FILE) if home is not None and (home / FILE).exists() else {}
    shipped = _shipped()
    unfitted = replace(shipped[BUILT_IN], model=model, least_cosine=-1.0)
    return own.get(model) or shipped.get(model) or unfitted


def read_calibrations(file: Path) -> dict[str, Calibration]:
    """Calibrations of a file by the name of their embedder."""
    try:
        return _parse(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, ValueError, TypeError, KeyError) as problem:
        raise ConfigurationError(
            f"The calibration {file} can't be used: {problem}.",
            action="Run `bythebook calibrate` again, or remove the file.",
        ) from problem


def write_calibration(file: Path, calibration: Calibration) -> None:
    """Add it to the file, in place of the one for the same embedder."""
    known = read_calibrations(file) if file.exists() else {}
    known[calibration.model] = calibration
    entries = [asdict(entry) for entry in known.values()]
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new")
    new.write_text(json.dumps(entries, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    new.replace(file)
    calibration_for.cache_clear()


@cache
def _shipped() -> dict[str, Calibration]:
    return _parse((resources.files("bythebook.retrieval") / FILE).read_text("utf-8"))


def _parse(text: str) -> dict[str, Calibration]:
    return {entry["model"]: Calibration(**entry) for entry in json.loads(text)}


QUESTIONS = "background_questions.txt"
# A book of fewer passages can't be about everything.
LEAST_PASSAGES = 30
# It is measured again once the number of passages has changed by this share.
CHANGED = 0.1
# The everyday question, as a share of all, that must not seem covered.
QUANTILE = 0.9
# The most that may be demanded above the threshold, in log-odds: an encyclopaedia does answer.
MOST = 1.0


@cache
def everyday_questions() -> tuple[str, ...]:
    text = (resources.files("bythebook.retrieval") / QUESTIONS).read_text("utf-8")
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def is_due(book: BookInfo) -> bool:
    """Whether the book has to be measured, or measured again."""
    if book.total_chunks < LEAST_PASSAGES:
        return False
    known = book.background
    return known is None or abs(book.total_chunks - known.passages) > CHANGED * known.passages


def background_of(passages: int, seen: Sequence[Features]) -> Background:
    rows = tuple((one.cosine, one.evidence, one.missing) for one in seen)
    return Background(passages=passages, evidence=rows)


@lru_cache(maxsize=100)  # of each book, for every question
def raised_threshold(calibration: Calibration, background: Background | None) -> float:
    """How much more than usual the evidence must say in this book, in log-odds."""
    if background is None:
        return 0.0
    seen = sorted(calibration.log_odds(Features(*row)) for row in background.evidence)
    nearly_highest = seen[min(int(QUANTILE * len(seen)), len(seen) - 1)]
    return min(max(nearly_highest - log_odds(THRESHOLD), 0.0), MOST)


def assess(passages: Sequence[Passage]) -> ConfidenceMetrics:
    """How sure the book can answer from these passages."""
    scores = [passage.score for passage in passages]
    average = sum(scores) / len(scores) if scores else 0.0
    level = level_of(average, len(scores))
    return ConfidenceMetrics(
        average_similarity=average,
        min_similarity=min(scores, default=0.0),
        max_similarity=max(scores, default=0.0),
        num_chunks=len(scores),
        chunk_diversity=diversity([p.vector for p in passages if p.vector is not None]),
        confidence_level=level,
        should_answer=level != "insufficient",
    )


def diversity(vectors: Sequence[Sequence[float]]) -> float:
    """1 − the mean cosine of every pair; 0 where there is no pair."""
    count = len(vectors)
    if count < 2:
        return 0.0
    units = [_unit(vector) for vector in vectors]
    # The square of their sum holds every pair twice, and each of them with itself once.
    length = hypot(*map(sum, zip(*units, strict=True)))
    mean = (length * length - count) / (count * (count - 1))
    return min(max(1.0 - mean, 0.0), 1.0)


def _unit(vector: Sequence[float]) -> list[float]:
    length = hypot(*vector)
    return [number / length for number in vector]
