"""Throws many broken inputs at everything that reads what strangers wrote; prints a table.

    python scripts/fuzz.py [--inputs 2000] [--seed 1] [--atheris] [PARSER]

Inputs are samples changed at random, the same ones for the same seed. With --atheris each parser is
also run by Atheris, which looks for inputs that reach new code (`pip install atheris`). An input
that breaks a parser, or takes it 2 s (for each megabyte) more than a sample each time, is kept in
.tools/fuzz, and the status is 1. It is 1 too when this process took more than 512 MB. Readers run
here and, as in an ingest, in the sandbox.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
KEPT = ROOT / ".tools" / "fuzz"
SECONDS_PER_MB = 2.0
MOST_MEGABYTES = 512
sys.path.insert(0, str(ROOT / "tests"))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("name", nargs="?")
    parser.add_argument("--inputs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--atheris", action="store_true")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        run_atheris(given.name, given.inputs)
        return 0
    from security.parsers import PARSERS

    broken = 0
    print("| parser | inputs | read | refused | broke | slowest, ms |")
    print("|---|--:|--:|--:|--:|--:|")
    for name in [given.name] if given.name else PARSERS:
        broken += run(name, given.inputs, given.seed)
        if given.atheris and not name.endswith("sandboxed"):  # it sees only its own process
            broken += in_child(name, given.inputs)
    used = megabytes()
    print(f"\nMost memory of this process: {used} MB")
    return 1 if broken or used > MOST_MEGABYTES else 0


def run(name: str, inputs: int, seed: int) -> int:
    from security.mutation import mutated
    from security.parsers import PARSERS

    rng = random.Random(f"{seed} {name}")
    samples = PARSERS[name].samples()
    # What this machine takes for one that nobody changed: a restore opens an index, for instance.
    usual = max(timed(name, sample)[1] for sample in samples)
    read = broke = 0
    slowest = 0.0
    for number in range(inputs):
        data = mutated(samples, rng)
        try:
            taken, seconds = timed(name, data)
            most = usual + SECONDS_PER_MB * max(1, len(data) / 1e6)
            if seconds > most:  # or was it the machine, busy with something else?
                seconds = min(seconds, *(timed(name, data)[1] for _ in range(3)))
                assert seconds <= most, f"{seconds:.1f} s"
            read += taken
            slowest = max(slowest, seconds)
        except Exception as problem:  # noqa: BLE001 (each one is what is looked for)
            broke += 1
            keep(name, number, data, problem)
    refused = inputs - read - broke
    print(
        f"| {name} | {inputs} | {read} | {refused} | {broke} | {slowest * 1000:.0f} |", flush=True
    )
    return broke


def timed(name: str, data: bytes) -> tuple[bool, float]:
    from security.parsers import parse

    started = time.perf_counter()
    return parse(name, data), time.perf_counter() - started


def megabytes() -> int:
    """The most that this process has had; what the sandbox takes is its own."""
    try:
        import resource
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def keep(name: str, number: int, data: bytes, problem: BaseException) -> None:
    KEPT.mkdir(parents=True, exist_ok=True)
    file = KEPT / f"{name.replace(' ', '-')}-{number}"
    file.write_bytes(data)
    print(f"{name}: {problem!r:.200} ({file.relative_to(ROOT)})", file=sys.stderr)


def in_child(name: str, runs: int) -> int:
    """Atheris ends its process when it is done."""
    command = [sys.executable, __file__, name, "--one", "--inputs", str(runs)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        print(ended.stderr[-2000:], file=sys.stderr)
    print(f"| {name}, Atheris | {runs} | | | {int(bool(ended.returncode))} | |", flush=True)
    return int(bool(ended.returncode))


def run_atheris(name: str, runs: int) -> None:
    import atheris

    with atheris.instrument_imports(include=["bythebook"]):
        from security.parsers import PARSERS, parse
    KEPT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as corpus:
        for number, data in enumerate(PARSERS[name].samples()):
            (Path(corpus) / str(number)).write_bytes(data)
        options = [f"-atheris_runs={runs}", f"-artifact_prefix={KEPT}/", "-timeout=20", corpus]
        atheris.Setup([sys.argv[0], *options], lambda data: parse(name, data) and None)
        atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
