"""Writes the tables of docs/engineering/reliability.md from what the suites measured.

    BYTHEBOOK_FAULT_TALLY=benchmarks/data/faults.jsonl make test-faults
    python benchmarks/endurance.py --out benchmarks/data/endurance.jsonl
    python scripts/fuzz.py > benchmarks/data/fuzz.md
    python scripts/make_reliability.py

Only what was measured is in them: a suite that was not run has no rows. Lines of several runs are
added up.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
DATA = ROOT / "benchmarks" / "data"
PAGE = ROOT / "docs" / "engineering" / "reliability.md"
COUNTED = (
    "injected",
    "requests",
    "acknowledged",
    "refused",
    "cut",
    "lost",
    "wrong",
    "unrecovered",
)

Line = dict[str, Any]


def read_lines(file: Path) -> list[Line]:
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def table(head: list[str], rows: list[list[Any]], *, words: int) -> str:
    """`words` columns of text, then figures."""
    rule = ["---"] * words + ["--:"] * (len(head) - words)
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in [head, rule, *rows])


def fault_table(lines: list[Line]) -> str:
    sums: dict[tuple[str, str], list[int]] = {}
    for line in lines:
        row = sums.setdefault((line["fault"], line["where"]), [0] * len(COUNTED))
        for place, name in enumerate(COUNTED):
            row[place] += line[name]
    rows: list[list[Any]] = [[*names, *counts] for names, counts in sums.items()]
    total = [sum(counts) for counts in zip(*sums.values(), strict=True)]
    return table(["fault", "where", *COUNTED], [*rows, ["**all**", "", *total]], words=2)


def hold_table(lines: list[Line]) -> str:
    head = ["readers", "minutes", "think_seconds", "answers", "searches", "ingests", "errors"]
    rows = []
    for line in lines:
        memory = line["memory_mb"]
        memory_shown = f"{memory['at half time']:.0f} / {memory['at the end']:.0f}"
        speed = " / ".join(f"{each:.0f}" for each in line["additions_ms"])
        rows.append([*(line[name] for name in head), memory_shown, speed, line["stolen_percent"]])
    head += ["memory at half time / at the end, MB", "a million additions before / after, ms"]
    head += ["stolen, %"]
    return table([name.replace("_", " ") for name in head], rows, words=0)


def waited_table(lines: list[Line]) -> str:
    """p50 and p95, of all and of what fell into times of ordinary speed."""
    head = ["readers", "what", "of it", "beside them p50 / p95, ms", "idle", "ratio of p95"]
    rows = []
    for line in lines:
        for what in ("first_sentence", "search"):
            for part in filter(None, (line, line.get("at_ordinary_speed"))):
                busy, idle = (part[when] for when in ("busy", "idle"))
                times = [
                    f"{each[f'{what}_p50_ms']:.0f} / {each[f'{what}_p95_ms']:.0f}"
                    for each in (busy, idle)
                ]
                ratio = busy[f"{what}_p95_ms"] / idle[f"{what}_p95_ms"]
                shown = "all"
                if part is not line:
                    share = busy[f"{what}_count"] / line["busy"][f"{what}_count"]
                    shown = f"at ordinary speed, {share:.0%}"
                name = what.replace("_", " ")
                rows.append([line["readers"], name, shown, *times, f"{ratio:.2f}"])
    return table(head, rows, words=3)


def overload_table(lines: list[Line]) -> str:
    head = ["sent at once", "taken at once", "answered", "got 503", "got 429", "anything else"]
    head += ["answered of 5 afterwards"]
    rows = []
    for line in lines:
        counts = dict(line["outcomes"])
        known = [counts.pop(name, 0) for name in ("answered", "503", "429")]
        rest = sum(counts.values())
        row = [line["sent_at_once"], line["taken_at_once"], *known, rest, line["answered_after"]]
        rows.append(row)
    return table(head, rows, words=0)


def replica_table(lines: list[Line]) -> str:
    head = ["what three services share", "expected", "found"]
    rows = []
    for line in lines:
        limit = f"requests let through, of {line['sent_in_a_minute']} in a minute"
        rows += [
            [limit, line["limit_a_minute"], line["let_through"]],
            ["turns kept exactly once", line["turns_made"], line["turns_kept_once"]],
            ["jobs done", line["jobs_queued"], line["jobs_done_once"]],
            ["files processed by them", line["files_expected"], line["files_processed"]],
            ["errors", 0, line["errors"]],
        ]
    return table(head, rows, words=1)


def fuzz_table(file: Path) -> str:
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    return "\n".join(line for line in text.splitlines() if line.startswith("|"))


def main() -> None:
    load = read_lines(DATA / "endurance.jsonl")
    faults = read_lines(DATA / "faults.jsonl")

    def part(name: str) -> list[Line]:
        return [line for line in load if line["part"] == name]

    made = {
        "faults": fault_table(faults) if faults else "",
        "hold": hold_table(part("hold")) if part("hold") else "",
        "waited": waited_table(part("hold")) if part("hold") else "",
        "overload": overload_table(part("overload")) if part("overload") else "",
        "replicas": replica_table(part("replicas")) if part("replicas") else "",
        "fuzz": fuzz_table(DATA / "fuzz.md"),
    }
    page = PAGE.read_text(encoding="utf-8")
    for name, text in made.items():
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        shown = text or "Not measured yet."
        marked = re.compile(f"{begin}.*?{end}", re.DOTALL)
        page = marked.sub(lambda _, new=f"{begin}\n{shown}\n{end}": new, page)  # type: ignore[misc]
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
