"""The rows by which the comparison is judged: bythebook against the best peer in each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import mean, median, stdev
from typing import Any

from peers.peer import PEERS
from peers.steps import SETS, SIZES

OURS = "bythebook"
BOOKS = ("docs", "mdn")
HOW = {True: "peers embed as they can", False: "peers get our embedder"}
# What has a way of its own to leave out what did not change.
INCREMENTAL = (
    "langchain",
    "langchain-faiss",
    "langchain-faiss-own",
    "llamaindex",
    "llamaindex-chroma",
    "raglite",
)
Results = dict[str, dict[str, Any]]
# A peer that embeds less of its chunks than this is not doing the same work.
WHOLE = 0.85


@dataclass(frozen=True)
class Row:
    what: str
    wanted: str
    ratio: float | None
    told: str
    reached: bool | None


def at(results: Results, peer: str, *path: str) -> Any:
    """A figure, or None where it was not measured."""
    value: Any = results.get(peer, {})
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return None
        value = value[name]
    return value


def share_embedded(results: Results, peer: str, book: str) -> float | None:
    full = at(results, peer, book, "full")
    if full is None:
        return None
    return full["embedded_pieces"] / full["pieces"] if "pieces" in full else 1.0


def p50_ms(times: list[float] | None) -> float | None:
    return None if times is None else median(times) * 1000


def best(figures: dict[str, float]) -> tuple[float, str] | None:
    """The least figure of any peer and whose it is."""
    return min(((value, peer) for peer, value in figures.items() if peer != OURS), default=None)


def figures_of(
    results: Results, figure: Callable[[str], float | None], itself: bool
) -> dict[str, float]:
    """Ours and those of the peers that embed by themselves, or of those that get our embedder."""
    known = {
        peer: figure(peer)
        for peer in results
        if peer == OURS or PEERS[peer].embeds_itself == itself
    }
    return {peer: value for peer, value in known.items() if value is not None}


def compared(
    results: Results, what: str, least: float, unit: str, figure: Callable[[str], float | None]
) -> Iterable[Row]:
    """How many times less than the best peer's ours is, for both kinds of peers."""
    for told, own, other, whose in _pairs(results, what, figure):
        ratio = other / own if own and other else None
        shown = f"{_short(own)} {unit} against {_short(other)} {unit} ({whose})"
        yield _row(told, f"≥ {least:g}", ratio, shown, ratio is not None and ratio >= least)


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _pairs(
    results: Results, what: str, figure: Callable[[str], float | None]
) -> Iterable[tuple[str, float, float, str]]:
    """Our figure and the best peer's, among each kind of peers; 0 where one is not known."""
    for itself, how in HOW.items():
        figures = figures_of(results, figure, itself)
        other, whose = best(figures) or (0.0, "")
        yield f"{what}, {how}", figures.get(OURS, 0.0), other, whose


def _row(what: str, wanted: str, ratio: float | None, told: str, reached: bool) -> Row:
    if ratio is None:
        return Row(what, wanted, None, "not measured", None)
    return Row(what, wanted, ratio, told, reached)


def rows(results: Results) -> list[Row]:
    return [
        *(_against_raw(results, book) for book in BOOKS),
        *(row for book in BOOKS for row in _ingest_rows(results, book)),
        *_filtered(results),
        *_starts(results),
        *_memory(results, "peak_mb", "peak with mapped files"),
        *_memory(results, "held_mb", "what can't be given back"),
        *_quality(results),
    ]


def _filtered(results: Results) -> Iterable[Row]:
    def p50(peer: str, size: int) -> float | None:
        return p50_ms(at(results, peer, f"search-{size}", "filtered"))

    what = "filtered hybrid search, {:,} chunks, {}"
    for size in SIZES:
        told = what.format(size, "p50")
        yield from compared(results, told, 3, "ms", partial(p50, size=size))
    yield from compared(
        results, what.format(50_000, "processor time"), 3, "ms",
        lambda peer: at(results, peer, "search-50000", "filtered_cpu_ms"),
    )  # fmt: skip


def _against_raw(results: Results, book: str) -> Row:
    what, wanted = f"ingest rate ÷ raw embedder on the same chunks, {book}", "≥ .95"
    measured = at(results, OURS, "raw", book)
    if measured is None:
        return Row(what, wanted, None, "not measured", None)
    alone, whole = mean(measured["embedding_s"]), measured["ingest_s"]
    return Row(
        what, wanted, alone / whole, f"{alone:.1f} s of {whole:.1f} s", alone / whole >= 0.95
    )


def _ingest_rows(results: Results, book: str) -> Iterable[Row]:
    def whole(peer: str, what: str) -> float | None:
        share = share_embedded(results, peer, book)
        if share is None or share < WHOLE:
            return None
        figure: float | None = at(results, peer, book, "full", what)
        return figure

    def again(peer: str, what: str) -> float | None:
        figure: float | None = at(results, peer, book, "unchanged", what)
        return figure if peer == OURS or peer in INCREMENTAL else None

    for unit, what in (("seconds", "time"), ("cpu_seconds", "processor time")):
        told = f"full ingest, {book}, {what}"
        yield from compared(results, told, 1.5, "s", partial(whole, what=unit))
    for unit, what in (("process_s", "whole process"), ("with_open_s", "without starting Python")):
        told = f"no-change re-ingest, {book}, {what}"
        yield from compared(results, told, 20, "s", partial(again, what=unit))


def _starts(results: Results) -> Iterable[Row]:
    def first(peer: str, book: str, kind: str, unit: str) -> float | None:
        ours = (kind, unit) if peer == OURS else ("first_result", "seconds")
        figure: float | None = at(results, peer, book, *ours)
        return figure

    for book in BOOKS:
        for unit, how in (("ahead_s", "as the command line starts"), ("seconds", "one process")):
            for kind, what in (
                ("first_answer", "answer (peers: search result)"),
                ("first_result", "search result"),
            ):
                told = f"process start to first {what}, {book}, {how}"
                figure = partial(first, book=book, kind=kind, unit=unit)
                yield from compared(results, told, 3, "s", figure)


def _memory(results: Results, kind: str, what: str) -> Iterable[Row]:
    def figure(peer: str) -> float | None:
        megabytes: float | None = at(results, peer, "search-50000", kind)
        return megabytes

    named = f"memory serving 50,000 chunks ÷ best peer, {what}"
    for told, own, other, whose in _pairs(results, named, figure):
        share = own / other if own and other else None
        shown = f"{own:.0f} MB against {other:.0f} MB ({whose})"
        yield _row(told, "≤ .5", share, shown, share is not None and share <= 0.5)


def _quality(results: Results) -> list[Row]:
    found = []
    for told, names in (*((name, (name,)) for name in SETS), ("all three", SETS)):
        for measure in ("ndcg@10", "recall@5"):
            means = {
                peer: figure
                for peer in results
                if (figure := _mean_quality(results, peer, names, measure)) is not None
            }
            own = means.pop(OURS, None)
            if own is None or not means:
                continue
            best = max(means, key=lambda peer: means[peer])
            figures = f"{own:.3f} against {means[best]:.3f} ({best})"
            figures += _chance(results, best, names, measure)
            row = Row(f"{measure}, {told}", "≥ 1", own / means[best], figures, own >= means[best])
            found.append(row)
    return found


def _mean_quality(results: Results, peer: str, names: Sequence[str], measure: str) -> float | None:
    """Over all questions of these sets."""
    steps = [results[peer].get(f"quality-{name}", {}) for name in names]
    if not all(measure in step for step in steps):
        return None
    total = sum(step[measure] * step["questions"] for step in steps)
    return float(total / sum(step["questions"] for step in steps))


def _chance(results: Results, peer: str, names: Sequence[str], measure: str) -> str:
    """How far the mean difference may be off for no more than these questions, 95 times in 100."""
    differences: list[float] = []
    for name in names:
        own, other = (at(results, one, f"quality-{name}", "each", measure) for one in (OURS, peer))
        if own is None or other is None:
            return ""
        differences += [ours - theirs for ours, theirs in zip(own, other, strict=True)]
    error = 1.96 * stdev(differences) / len(differences) ** 0.5
    return f", {mean(differences):+.3f} ± {error:.3f}"
