"""Fits the calibration that ships, and measures it on books it was not fitted to.

    python benchmarks/coverage.py --data ../shared/data --work WORK [--out FILE] [--json]

`--out src/bythebook/retrieval/calibrations.json` writes the file of the package. The books are
prepared below `--work` (the first run embeds them, minutes), then `bythebook calibrate` does the
rest. Documentation counts most: the trivia of squad2 and clapnq_dev is made so that words hardly
tell, and must not push covered questions about a manual into refusal.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
from pathlib import Path

from bythebook.library import sample_book
from questions import SETS

HERE = Path(__file__).parent
SAMPLE, MANUAL = "physical-ai-robotics", "docusaurus"
QUESTIONS = (
    f"anthropic_docs={HERE / 'data' / 'anthropic_docs.jsonl'}",
    f"{MANUAL}={HERE / 'data' / 'docusaurus.jsonl'}",
    f"{SAMPLE}={HERE.parent / 'tests' / 'data' / 'ask_dev.jsonl'}",
    f"{SAMPLE}={HERE.parent / 'tests' / 'data' / 'sample_questions.jsonl'}",
)
WEIGHTS = {"squad2": 0.1, "clapnq_dev": 0.2, "mtrag_un": 0.4}
DOCUMENTATION = ("anthropic_docs", MANUAL, SAMPLE)


def bythebook(home: Path, *arguments: str) -> None:
    program = str(Path(sys.executable).parent / "bythebook")
    environment = {**os.environ, "BYTHEBOOK_HOME": str(home)}
    subprocess.run([program, *arguments], env=environment, check=True)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--data", type=Path, default=Path("../shared/data"))
    options.add_argument("--work", type=Path, required=True)
    options.add_argument("--out", type=Path)
    options.add_argument("--json", action="store_true")
    chosen = options.parse_args()
    home, manual = chosen.work / "main", chosen.work / MANUAL
    if not manual.exists():
        with tarfile.open(chosen.data / "books" / "docusaurus-docs.tar.xz") as archive:
            archive.extractall(manual, filter="data")
    bythebook(home, "ingest", str(sample_book()), "--book", SAMPLE)
    bythebook(home, "ingest", str(manual / "docs"), "--book", MANUAL)
    bythebook(
        home,
        "calibrate",
        *(str(chosen.data / "qa" / name) for name in SETS),
        *QUESTIONS,
        *(part for name, value in WEIGHTS.items() for part in ("--weight", f"{name}={value}")),
        *(part for name in DOCUMENTATION for part in ("--balance", name)),
        *("--work", str(chosen.work / "home")),
        *("--out", str(chosen.out or chosen.work / "calibrations.json")),
        *(["--json"] if chosen.json else []),
    )


if __name__ == "__main__":
    main()
