"""benchmarks/RESULTS.md: of each machine what was asked for, and where the rest is."""

from __future__ import annotations

from pathlib import Path

from peers.ratios import Results
from peers.report import judged

HEAD = """\
# Results

Written by `make bench-peers`: what was asked for, where it was measured. All other figures, plots,
the machines and how to read the rows are in the report of each machine. bythebook alone:
[ALONE.md](ALONE.md) (`make bench`); as a book grows: [GROWTH.md](GROWTH.md)."""


def write_summary(file: Path, machines: dict[str, Results]) -> None:
    parts = [HEAD]
    for name, results in machines.items():
        parts += [f"## {name}", f"[Report](peers/{name}/RESULTS.md)", judged(results, whole=False)]
    file.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
