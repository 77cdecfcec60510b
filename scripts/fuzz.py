"""Throws many broken inputs at everything that reads what strangers wrote; prints a table.

    python scripts/fuzz.py [--inputs 2000] [--seed 1] [--atheris] [PARSER]

Inputs are samples changed at random, the same ones for the same seed. With --atheris each parser is
also run by Atheris, which looks for inputs that reach new code (`pip install atheris`). An input
that breaks a parser is kept in .tools/fuzz, and the status is 1.
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
        if given.atheris:
            broken += in_child(name, given.inputs)
    return 1 if broken else 0


def run(name: str, inputs: int, seed: int) -> int:
    from security.mutation import mutated
    from security.parsers import PARSERS, parse

    rng = random.Random(f"{seed} {name}")
    samples = PARSERS[name].samples()
    read = broke = 0
    slowest = 0.0
    for number in range(inputs):
        data = mutated(samples, rng)
        started = time.perf_counter()
        try:
            read += parse(name, data)
        except Exception as problem:  # noqa: BLE001 (each one is what is looked for)
            broke += 1
            keep(name, number, data, problem)
        slowest = max(slowest, time.perf_counter() - started)
    refused = inputs - read - broke
    print(
        f"| {name} | {inputs} | {read} | {refused} | {broke} | {slowest * 1000:.0f} |", flush=True
    )
    return broke


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
