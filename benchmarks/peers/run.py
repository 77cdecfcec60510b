"""bythebook beside the libraries that people would otherwise wire together themselves.

    make bench-peers
    cd benchmarks && python -m peers.run --data ../../shared/data --work /somewhere/with/20/GB
        [--only bythebook,txtai] [--steps docs,search-10000] [--again] [--report]

Each peer runs in an environment and a process of its own, one after the other. What was measured
is kept in a folder named after the processor's architecture, so that a run can be stopped and taken
up again; --again measures anew, and --report only writes RESULTS.md and the plots there, and what
was asked for into benchmarks/RESULTS.md. A step is to be measured by all peers in one sitting; the
report tells when each was.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from pathlib import Path
from typing import Any

from peers.books import prepare
from peers.peer import PEERS, PeerFailed
from peers.ratios import Results
from peers.report import judged, write_report
from peers.steps import STEPS, Bench, applies, measured
from rounding import rounded

HERE = Path(__file__).resolve().parent
RESULTS = HERE / platform.machine()


def file_of(peer: str, folder: Path) -> Path:
    return folder / "measured" / f"{peer}.json"


def all_results(folder: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """All that was measured so far: peer, then step."""
    files = {name: file_of(name, folder) for name in PEERS}
    return {name: json.loads(f.read_text()) if f.exists() else {} for name, f in files.items()}


def keep(peer: str, results: dict[str, Any]) -> None:
    file = file_of(peer, RESULTS)
    file.parent.mkdir(parents=True, exist_ok=True)
    # A step a line, so that a diff shows which were measured anew.
    steps = (
        f"{json.dumps(step)}: {json.dumps(rounded(done, 5))}" for step, done in results.items()
    )
    file.write_text("{\n" + ",\n".join(steps) + "\n}\n", encoding="utf-8")


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


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--data", type=Path, default=Path("../../shared/data"))
    options.add_argument("--work", type=Path, required=True)
    options.add_argument("--only", default=",".join(PEERS))
    options.add_argument("--steps", default=",".join(STEPS))
    options.add_argument("--again", action="store_true")
    options.add_argument("--report", action="store_true")
    chosen = options.parse_args()
    if not chosen.data.exists():
        sys.exit(f"There are no books in {chosen.data}; give their folder with --data.")
    work = chosen.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    if not chosen.report:
        prepare(chosen.data, work)
        measure_all(chosen, work)
    write_report(all_results(), RESULTS)
    machines = sorted(folder.parent for folder in HERE.glob("*/measured"))
    write_summary(HERE.parent / "RESULTS.md", {one.name: all_results(one) for one in machines})


def measure_all(chosen: argparse.Namespace, work: Path) -> None:
    """Step by step, each by all peers in turn: what the machine does besides then hits all."""
    results = all_results()
    for step in chosen.steps.split(","):
        for name in chosen.only.split(","):
            peer = PEERS[name]
            known = results[name].get(step, {"failed": "not yet"})
            if not applies(step, peer) or ("failed" not in known and not chosen.again):
                continue
            started = time.perf_counter()
            try:
                results[name][step] = measured(step, Bench(peer, work, chosen.data))
            except PeerFailed as problem:
                results[name][step] = {"failed": str(problem)}
                print(problem, flush=True)
            keep(name, results[name])
            print(f"{step}, {name}: {time.perf_counter() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
