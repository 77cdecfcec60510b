"""The rows by which the comparison is judged: bythebook against the best peer in each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

from peers.peer import PEERS

OURS = "bythebook"
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


def best(results: Results, figure: Callable[[str], float | None]) -> tuple[float, str] | None:
    """The least figure of any peer and whose it is."""
    figures = [(figure(peer), peer) for peer in results if peer != OURS]
    known = [(value, peer) for value, peer in figures if value is not None]
    return min(known, default=None)


def compared(
    results: Results, what: str, least: float, unit: str, figure: Callable[[str], float | None]
) -> Row:
    """How many times less than the best peer's ours is."""
    own, other = figure(OURS), best(results, figure)
    if own is None or other is None:
        return Row(what, f"≥ {least:g}", None, "not measured", None)
    ratio = other[0] / own
    told = f"{own:.3g} {unit} against {other[0]:.3g} {unit} ({other[1]})"
    return Row(what, f"≥ {least:g}", ratio, told, ratio >= least)


def rows(results: Results) -> list[Row]:
    found = [_against_raw(results)]
    for book in ("docs", "mdn"):
        found += list(_ingest_rows(results, book))
    found += [_filtered(results, size) for size in (1_000, 10_000, 50_000)]
    found.append(
        compared(
            results, "filtered hybrid search, 50,000 chunks, processor time", 3, "ms",
            lambda peer: at(results, peer, "search-50000", "filtered_cpu_ms"),
        )
    )  # fmt: skip
    found.append(_first_answer(results))
    found += list(_first_results(results))
    found.append(_memory(results, "peak_mb", "peak with mapped files"))
    found.append(_memory(results, "held_mb", "what can't be given back"))
    found += _quality(results)
    return found


def _filtered(results: Results, size: int) -> Row:
    return compared(
        results, f"filtered hybrid search, {size:,} chunks, p50", 3, "ms",
        lambda peer: p50_ms(at(results, peer, f"search-{size}", "filtered")),
    )  # fmt: skip


def _against_raw(results: Results) -> Row:
    raw = at(results, OURS, "raw", "embedding_seconds")
    full = at(results, OURS, "docs", "full", "seconds")
    what, wanted = "ingest rate ÷ raw embedder on the same chunks, docs", "≥ .95"
    if raw is None or full is None:
        return Row(what, wanted, None, "not measured", None)
    return Row(what, wanted, raw / full, f"{raw:.1f} s of {full:.1f} s", raw / full >= 0.95)


def _ingest_rows(results: Results, book: str) -> Iterable[Row]:
    def whole(peer: str, what: str, itself: bool) -> float | None:
        share = share_embedded(results, peer, book)
        if share is None or share < WHOLE:
            return None
        if peer != OURS and PEERS[peer].embeds_itself != itself:
            return None
        figure: float | None = at(results, peer, book, "full", what)
        return figure

    def again(peer: str, what: str) -> float | None:
        figure: float | None = at(results, peer, book, "unchanged", what)
        return figure if peer == OURS or peer in INCREMENTAL else None

    for itself, how in ((True, "peers embed as they can"), (False, "peers get our embedder")):
        for unit, what in (("seconds", "time"), ("cpu_seconds", "processor time")):
            yield compared(
                results, f"full ingest, {book}, {how}, {what}", 1.5, "s",
                partial(whole, what=unit, itself=itself),
            )  # fmt: skip
    yield compared(
        results, f"no-change re-ingest, {book}, whole process", 20, "s",
        partial(again, what="process_s"),
    )  # fmt: skip
    yield compared(
        results, f"no-change re-ingest, {book}, without starting Python", 20, "s",
        partial(again, what="with_open_s"),
    )  # fmt: skip


def _first_answer(results: Results) -> Row:
    own = at(results, OURS, "mdn", "first_answer", "seconds")
    other = best(results, lambda peer: at(results, peer, "mdn", "first_result", "seconds"))
    what = "process start to first answer (peers: search result)"
    if own is None or other is None:
        return Row(what, "≥ 3", None, "not measured", None)
    told = f"{own:.3g} s against {other[0]:.3g} s ({other[1]})"
    return Row(what, "≥ 3", other[0] / own, told, other[0] / own >= 3)


def _first_results(results: Results) -> Iterable[Row]:
    def first(peer: str, book: str, only_own: bool) -> float | None:
        if only_own and peer != OURS and not PEERS[peer].embeds_itself:
            return None
        figure: float | None = at(results, peer, book, "first_result", "seconds")
        return figure

    what, how = "process start to first search result", "peers embed as they can"
    for told, book, only_own in (
        (what, "mdn", False),
        (f"{what}, {how}", "mdn", True),
        (f"{what}, docs, {how}", "docs", True),
    ):
        yield compared(results, told, 3, "s", partial(first, book=book, only_own=only_own))


def _memory(results: Results, kind: str, told: str) -> Row:
    step = "search-50000"
    own, other = (
        at(results, OURS, step, kind),
        best(results, lambda peer: at(results, peer, step, kind)),
    )
    what = f"memory serving 50,000 chunks ÷ best peer, {told}"
    if own is None or other is None:
        return Row(what, "≤ .5", None, "not measured", None)
    figures = f"{own:.0f} MB against {other[0]:.0f} MB ({other[1]})"
    return Row(what, "≤ .5", own / other[0], figures, own / other[0] <= 0.5)


def _quality(results: Results) -> list[Row]:
    found = []
    for name in ("anthropic_docs", "clapnq_dev", "mtrag_un"):
        for measure in ("ndcg@10", "recall@5"):
            step = f"quality-{name}"
            own = at(results, OURS, step, measure)
            others = [
                (at(results, peer, step, measure), peer)
                for peer in results
                if peer != OURS and at(results, peer, step, measure) is not None
            ]
            if own is None or not others:
                continue
            top, whose = max(others)
            told = f"{own:.3f} against {top:.3f} ({whose})"
            found.append(Row(f"{measure}, {name}", "≥ 1", own / top, told, own >= top))
    return found
