"""RESULTS.md and the plots, from all that was measured."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from peers.peer import PEERS
from peers.plots import bars, curves
from peers.ratios import Results, at, p50_ms, rows, share_embedded
from peers.steps import SETS, SIZES

BOOKS = {"docs": "Docusaurus docs", "mdn": "MDN, 300 files"}
MISSING = "–"
NOTES = """\
- A peer without `-own` or `-onnx` in its name is handed bythebook's embedder: 8-bit MiniLM, one
  text a call, a thread for each core (`embedding.py`), so that what differs is all the rest. No
  peer comes with it. The rows *peers get our embedder* are against these.
- A peer whose name ends in `-own` or `-onnx` embeds the same published weights by a way that it
  offers itself: `langchain-faiss-own` and `haystack-own` by FastEmbed, made to be fast without a
  graphics card (ONNX, 32-bit floats), for which both have components; `txtai-own` by PyTorch, its
  default; `txtai-onnx` by its own export to 8 bits. The rows *peers embed as they can* take the
  best of these.
- What FastEmbed would download is exported from the same weights (`float_weights.py`), once and not
  timed. It cuts after 256 word pieces as the others do, and embeds 32 chunks at a time.
- As the published model does, all read the first 256 word pieces of a chunk. A peer with longer
  chunks therefore embeds only a share of the book, and is faster for it; the column *embedded*
  tells. bythebook embeds all of it.
- *whole process* is from starting Python to the end of the work, *inside* is opening the stored
  index and the work itself, without loading libraries. bythebook
  loads what only an ingest needs when one begins; here before that is timed.
- *CPU* is processor time of all threads: it hardly depends on what else the machine did.
- Search includes embedding the question. At 1,000 to 50,000 chunks all peers hold the same chunks
  with the same made-up vectors, whoever embeds the questions; the filter selects a tenth of them.
- Peak memory is the most that the process held (VmHWM), opening the stored index included. It
  counts mapped files, which the system takes back when it needs the room; *held* is what it can't
  take back (RssAnon), after the searches.
- *As the command line started* (reports before 2026-11-18): a second process loaded the model while
  the first imported the rest. It is gone: an answer took 5 % less by it.
- Only bythebook answers without a language model; for the others the first search result counts.
- ± after a quality: by how much the difference would be off, 19 times in 20, for being measured on
  no more than these questions.
- LangChain's BM25Retriever has no filter: its hits are filtered afterwards, out of 20 times as
  many. FAISS filters afterwards as well. LlamaIndex's BM25 mask is made once for each filter.
- Haystack and txtai have nothing that finds what changed before it is embedded; the adapters
  compare ids or texts with what is stored. They are not counted among those that support it.
- RAGLite downloads a model that finds ends of sentences, DuckDB extensions and a reranker. A rule,
  the extensions' wheels and nothing stand in for them. For the searches it is filled past its
  own interface, which takes one row at a time.
"""


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = "|".join("---" for _ in head)
    body = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return f"| {' | '.join(head)} |\n|{rule}|\n{body}"


def number(value: Any, digits: int = 2) -> str:
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "**no**"
    return f"{value:,.{digits}f}"


def per_question(results: Results, peer: str, size: int) -> str:
    """Processor time in milliseconds."""
    return number(at(results, peer, f"search-{size}", "filtered_cpu_ms"), 1)


def milliseconds(times: list[float] | None) -> str:
    if times is None:
        return MISSING
    ordered = sorted(times)
    p95 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    return f"{p50_ms(times):.1f} / {p95 * 1000:.1f}"


def write_report(results: Results, folder: Path) -> None:
    """Peers that were not measured at all are left out."""
    results = {name: steps for name, steps in results.items() if steps}
    parts = [
        "# bythebook beside its peers",
        f"Written by `make bench-peers`. {_machine()}",
        _sittings(results),
        "## What was asked for",
        judged(results),
        "## Set-ups",
        _setups(results),
        "## Full ingest: files to searchable",
        *(_ingest(results, book) for book in BOOKS),
        "## Ingest again",
        *(_again(results, book) for book in BOOKS),
        "## Search, p50 / p95 in ms",
        _searches(results),
        "## Serving 50,000 chunks",
        _serving(results),
        "## Start and answer",
        _starts(results),
        "## Quality in the same run",
        _quality(results),
        "## How to read it",
        NOTES,
        _failures(results),
        _plots(results, folder),
    ]
    (folder / "RESULTS.md").write_text("\n\n".join(p for p in parts if p).rstrip() + "\n", "utf-8")


def _sittings(results: Results) -> str:
    """When each step was measured, and how fast and busy the machine was then."""
    lines = []
    for step in dict.fromkeys(step for steps in results.values() for step in steps):
        done = [steps[step] for steps in results.values() if "day" in steps.get(step, {})]
        if not done or step == "install":
            continue
        speeds = [one["additions_ms"] for one in done]
        loads = [load for one in done for load in one["load"]]
        lines.append(
            [
                step,
                ", ".join(sorted({one["day"] for one in done})),
                f"{min(speeds):.0f} to {max(speeds):.0f}",
                f"{min(loads):.1f} to {max(loads):.1f}",
            ]
        )
    head = ("step", "measured on", "a million additions in Python, ms", "load average")
    return table(head, lines)


def _machine() -> str:
    told = subprocess.run(["lscpu"], capture_output=True, text=True, check=True).stdout
    parts = dict(line.split(":", 1) for line in told.splitlines() if ":" in line)
    name = parts.get("Model name", "").strip()
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return (
        f"{name} ({platform.machine()}), {os.cpu_count()} cores, {memory:.0f} GB, "
        f"Python {platform.python_version()}. The machine is shared, and its speed changes from "
        f"hour to hour. Of the load 1 is the run itself; the more above {os.cpu_count()}, the less "
        "the seconds say."
    )


def judged(results: Results, *, whole: bool = True) -> str:
    """What was asked for; unless `whole`, without what was not measured."""
    lines = [
        [
            row.what,
            row.wanted,
            MISSING if row.ratio is None else f"{row.ratio:.2f}",
            MISSING if row.reached is None else ("yes" if row.reached else "no"),
            row.told,
        ]
        for row in rows(results)
        if whole or row.ratio is not None
    ]
    return table(("what", "wanted", "ratio", "reached", "figures"), lines)


def _setups(results: Results) -> str:
    lines = []
    for name in results:
        packages = at(results, name, "install", "packages") or {}
        main = {"langchain": "langchain-core", "llamaindex": "llama-index-core"}
        main |= {"haystack": "haystack-ai"}
        library = PEERS[name].library
        lines.append(
            [
                name,
                packages.get(main.get(library, library), MISSING),
                PEERS[name].told,
                number(at(results, name, "install", "seconds"), 0),
                number(at(results, name, "install", "mb"), 0),
                number(len(packages), 0),
            ]
        )
    head = ("peer", "version", "set-up", "install, s", "install, MB", "packages")
    return table(head, lines)


def _ingest(results: Results, book: str) -> str:
    lines = []
    for name in results:
        full = at(results, name, book, "full") or {}
        share = share_embedded(results, name, book)
        lines.append(
            [
                name,
                number(full.get("seconds"), 1),
                number(full.get("cpu_seconds"), 1),
                number(full.get("chunks"), 0),
                MISSING if share is None else f"{share:.0%}",
                number(full.get("peak_mb"), 0),
                number(at(results, name, book, "disk_mb"), 1),
            ]
        )
    size = next((at(results, name, book, "book") for name in results), None) or {}
    told = f"{BOOKS[book]}: {size.get('files', 0)} files, {size.get('words', 0):,} words."
    head = (book, "s", "CPU s", "chunks", "embedded", "peak MB", "disk MB")
    return f"{told}\n\n{table(head, lines)}"


def _again(results: Results, book: str) -> str:
    lines = []
    for name in results:
        line = [name]
        for what in ("unchanged", "edited", "deleted"):
            done = at(results, name, book, what) or {}
            both = (done.get("process_s"), done.get("with_open_s"))
            line.append(f"{number(both[0])} / {number(both[1])}" if done else MISSING)
        line.append(number(at(results, name, book, "edited", "found")))
        line.append(number(at(results, name, book, "deleted", "gone")))
        lines.append(line)
    head = (
        f"{book}: whole process / inside, s", "nothing changed", "section edited",
        "file deleted", "edit found", "file gone",
    )  # fmt: skip
    return table(head, lines)


def _searches(results: Results) -> str:
    lines = []
    for name in results:
        line = [name]
        for kind in ("plain", "filtered"):
            line += [milliseconds(at(results, name, f"search-{size}", kind)) for size in SIZES]
        kept = [at(results, name, f"search-{size}", "filter_kept") for size in SIZES]
        known = [one for one in kept if one is not None]
        fewest = [at(results, name, f"search-{size}", "results") for size in SIZES]
        few = min((one for one in fewest if one is not None), default=None)
        lines.append([*line, number(all(known)) if known else MISSING, number(few, 1)])
    sizes = [f"{size:,}" for size in SIZES]
    head = ("peer", *sizes, *(f"filtered, {size}" for size in sizes), "filter held", "results of 5")
    return table(head, lines)


def _serving(results: Results) -> str:
    step = "search-50000"
    lines = [
        [
            name,
            number(at(results, name, step, "open", "since_start"), 1),
            per_question(results, name, 50_000),
            number(at(results, name, step, "peak_mb"), 0),
            number(at(results, name, step, "held_mb"), 0),
            number(at(results, name, step, "disk_mb"), 0),
            number(at(results, name, step, "fill", "seconds"), 0),
        ]
        for name in results
    ]
    return table(
        ("peer", "process start to open, s", "filtered search, CPU ms", "peak MB", "held MB",
         "disk MB", "filling, s"), lines,
    )  # fmt: skip


def _starts(results: Results) -> str:
    lines = [
        [
            name,
            number(at(results, name, "docs", "first_result", "seconds")),
            number(at(results, name, "mdn", "first_result", "seconds")),
            number(at(results, name, "mdn", "first_result", "ahead_s")),
            number(at(results, name, "mdn", "first_answer", "seconds")),
            number(at(results, name, "mdn", "first_answer", "ahead_s")),
            number(at(results, name, "mdn", "first_result", "peak_mb"), 0),
            milliseconds(at(results, name, "answer", "times")),
        ]
        for name in results
    ]
    head = (
        "peer", "first result, docs, s", "first result, mdn, s", "by the command line",
        "first answer, mdn, s", "by the command line", "peak MB by then",
        "question to answer, p50 / p95 ms",
    )  # fmt: skip
    return table(head, lines)


def _quality(results: Results) -> str:
    lines = []
    for name in results:
        line = [name]
        for one in SETS:
            line.append(number(at(results, name, f"quality-{one}", "ndcg@10"), 3))
            line.append(number(at(results, name, f"quality-{one}", "recall@5"), 3))
        lines.append(line)
    head = ["peer"]
    for one in SETS:
        head += [f"{one} ndcg@10", "recall@5"]
    return table(head, lines)


def _failures(results: Results) -> str:
    lines = [
        f"- {name}, {step}: {done['failed']}"
        for name, steps in results.items()
        for step, done in steps.items()
        if "failed" in done
    ]
    return "## What did not work\n\n" + "\n".join(lines) if lines else ""


def _plots(results: Results, folder: Path) -> str:
    plots = folder / "plots"
    plots.mkdir(exist_ok=True)

    def known(figure: Callable[[str], float | None]) -> dict[str, float]:
        figures = {name: figure(name) for name in results}
        return {name: value for name, value in figures.items() if value}

    kept: dict[str, str] = {}
    for kind, told in (("filtered", "Filtered search"), ("plain", "Search")):
        series = {}
        for name in results:
            line = [(s, p50_ms(at(results, name, f"search-{s}", kind))) for s in SIZES]
            points = [(float(size), value) for size, value in line if value is not None]
            if len(points) > 1:
                series[name] = points
        if series:
            kept[f"search-{kind}"] = curves(f"{told}: p50 by number of chunks", series, "ms")
    simple: dict[str, tuple[str, str, Callable[[str], float | None]]] = {
        "ingest": (
            "Full ingest of the Docusaurus docs", "s",
            lambda name: at(results, name, "docs", "full", "seconds"),
        ),
        "unchanged": (
            "Nothing changed: whole process, MDN slice", "s",
            lambda name: at(results, name, "mdn", "unchanged", "process_s"),
        ),
        "start": (
            "Process start to first search result, MDN slice", "s",
            lambda name: at(results, name, "mdn", "first_result", "seconds"),
        ),
        "memory": (
            "Peak memory serving 50,000 chunks", "MB",
            lambda name: at(results, name, "search-50000", "peak_mb"),
        ),
    }  # fmt: skip
    for name, (title, unit, figure) in simple.items():
        values = known(figure)
        if values:
            kept[name] = bars(title, values, unit)
    for name, drawn in kept.items():
        (plots / f"{name}.svg").write_text(drawn, encoding="utf-8")
    return "\n\n".join(["## Plots", *(f"![{name}](plots/{name}.svg)" for name in kept)])
