"""Throws many broken inputs at everything that reads what strangers wrote; prints a table.

    python scripts/fuzz.py [--cases 20000] [--seed 1] [--keep FOLDER] [--atheris] [PARSER]

So many cases in all: bodies, headers, front matter, each reader (here and, as in an ingest, in the
sandbox), imports, backups and more. Inputs are samples changed at random, one in twenty of them
grown to up to 100 KB; the same ones for the same seed. With --atheris each parser is also run
by Atheris, which looks for inputs that reach new code (`pip install atheris`).

An input breaks a parser if it does anything but be read or refused, or takes 2 s (for each
megabyte) more than a sample each time; it is kept. Waiting for a processor does not count: other
programs may run. The status is 1 if anything broke, or a process took more than 512 MB.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
SECONDS_PER_MB = 2.0
MOST_MEGABYTES = 512
GROWN = 0.05
sys.path.insert(0, str(ROOT / "tests"))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("name", nargs="?")
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=ROOT / ".tools" / "fuzz")
    parser.add_argument("--atheris", action="store_true")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        run_atheris(given.name, given.cases, given.keep)
        return 0
    use_memory()
    from security.parsers import PARSERS

    names = [given.name] if given.name else list(PARSERS)
    each = -(-given.cases // len(names))
    broken, most = 0, {"this process": 0}
    print("| parser | cases | read | refused | broke | slowest, ms | memory till then, MB |")
    print("|---|--:|--:|--:|--:|--:|--:|", flush=True)
    for name in names:
        broken += run(name, each, given.seed, given.keep, most)
        if given.atheris and not name.endswith("sandboxed"):  # it sees only its own process
            broken += in_child(name, each, given.keep)
    print(f"\n{each * len(names)} cases, {broken} broke.")
    for what, megabytes in most.items():
        print(f"Most memory of {what if what == 'this process' else f'the {what}'}: {megabytes} MB")
    return 1 if broken or max(most.values()) > MOST_MEGABYTES else 0


def use_memory() -> None:
    """Thousands of folders are made and removed: not on a disk, where that can be avoided."""
    from shared_server import room_in_memory

    if "TMPDIR" not in os.environ and (memory := room_in_memory()):
        os.environ["TMPDIR"] = str(memory)
        tempfile.tempdir = None  # found anew


def run(name: str, cases: int, seed: int, keep: Path, most: dict[str, int]) -> int:
    from security.effort import timed
    from security.mutation import mutated
    from security.parsers import PARSERS, parse

    rng = random.Random(f"{seed} {name}")
    samples = PARSERS[name].samples()
    parse(name, samples[0])  # which starts what it needs
    # What this machine takes for one that nobody changed: a restore opens an index, for instance.
    usual = max(timed(lambda s=sample: parse(name, s))[1] for sample in samples)  # type: ignore[misc]
    read = broke = 0
    slowest = 0.0
    for number in range(cases):
        data = mutated(samples, rng, GROWN)

        def attempt(given: bytes = data) -> bool:
            return parse(name, given)

        try:
            taken, seconds = timed(attempt)
            limit = usual + SECONDS_PER_MB * max(1, len(data) / 1e6)
            if seconds > limit:  # or was it the machine, busy with something else?
                seconds = min(seconds, *(timed(attempt)[1] for _ in range(3)))
                assert seconds <= limit, f"{seconds:.1f} s for {len(data)} bytes"
            read += taken
            slowest = max(slowest, seconds)
        except Exception as problem:  # noqa: BLE001 (each one is what is looked for)
            broke += 1
            note(name, number, data, problem, keep)
        remember_memory(most)
    refused = cases - read - broke
    row = (name, cases, read, refused, broke, f"{slowest * 1000:.0f}", most["this process"])
    print(f"| {' | '.join(map(str, row))} |", flush=True)
    return broke


def remember_memory(most: dict[str, int]) -> None:
    from security.effort import others
    from security.over_http import megabytes

    for what, pid in {"this process": os.getpid(), **others()}.items():
        most[what] = max(most.get(what, 0), megabytes(pid))


def note(name: str, number: int, data: bytes, problem: BaseException, keep: Path) -> None:
    keep.mkdir(parents=True, exist_ok=True)
    file = keep / f"{name.replace(' ', '-').replace('/', '_')}-{number}"
    file.write_bytes(data)
    print(f"{name}: {problem!r:.200} ({file})", file=sys.stderr, flush=True)


def in_child(name: str, runs: int, keep: Path) -> int:
    """Atheris ends its process when it is done."""
    command = [sys.executable, __file__, name, "--one", "--cases", str(runs), "--keep", str(keep)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        print(ended.stderr[-2000:], file=sys.stderr)
    print(f"| {name}, Atheris | {runs} | | | {int(bool(ended.returncode))} | | |", flush=True)
    return int(bool(ended.returncode))


def run_atheris(name: str, runs: int, keep: Path) -> None:
    import atheris

    with atheris.instrument_imports(include=["bythebook"]):
        from security.parsers import PARSERS, parse
    keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as corpus:
        for number, data in enumerate(PARSERS[name].samples()):
            (Path(corpus) / str(number)).write_bytes(data)
        options = [f"-atheris_runs={runs}", f"-artifact_prefix={keep}/", "-timeout=20", corpus]
        atheris.Setup([sys.argv[0], *options], lambda data: parse(name, data) and None)
        atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
