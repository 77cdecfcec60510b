"""bythebook beside the libraries that people would otherwise wire together themselves.

    make bench-peers
    cd benchmarks && python -m peers.run --data ../../shared/data --work /somewhere/with/20/GB
        [--only bythebook,txtai] [--steps docs,search-10000] [--again] [--report]

Each peer runs in an environment and a process of its own, one after the other. What was measured
is kept below --work, so that a run can be stopped and taken up again; --again measures anew, and
--report only writes RESULTS.md and the plots.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from peers.books import prepare
from peers.peer import PEERS, PeerFailed
from peers.report import write_report
from peers.steps import STEPS, Bench, applies, measured


def results_of(work: Path) -> dict[str, dict[str, Any]]:
    """All that was measured so far: peer, then step."""
    kept: dict[str, dict[str, Any]] = {}
    for name in PEERS:
        file = work / "results" / f"{name}.json"
        kept[name] = json.loads(file.read_text()) if file.exists() else {}
    return kept


def keep(work: Path, peer: str, results: dict[str, Any]) -> None:
    file = work / "results" / f"{peer}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(results, indent=1))


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
    write_report(results_of(work), Path(__file__).resolve().parent)


def measure_all(chosen: argparse.Namespace, work: Path) -> None:
    """Step by step, each by all peers in turn: what the machine does besides then hits all."""
    results = results_of(work)
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
            keep(work, name, results[name])
            print(f"{step}, {name}: {time.perf_counter() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
