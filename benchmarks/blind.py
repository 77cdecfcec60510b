"""Two versions' answers side by side, for readers who do not know which is whose.

    python benchmarks/answers.py --data DATA --work NEW --part check     # in each checkout
    python benchmarks/blind.py packets --old OLD --new NEW --work WORK
    python benchmarks/blind.py tally --work WORK

`packets` reads OLD/answers-check.jsonl and NEW/…, and writes WORK/BOOK.md for each book. A reader
who knows the book judges each answer by what it says at the top, in WORK/verdicts-NAME.jsonl, one
line a question. WORK/key.json says which answer is whose: it is for `tally`, not for readers.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

TOLD = "answers-check.jsonl"
VERDICTS = ("right", "half", "beside", "wrong", "refused")
HEAD = """# {book}

Judge each answer by the book alone, one line a question in verdicts-NAME.jsonl:
{{"id": "…", "A": "…", "B": "…", "why": "a few words where it is not obvious"}}

- right: what was asked can be done or known from it, and nothing in it misleads; more than was
  asked is no fault
- half: a part of what was asked is missing, but what is there helps
- beside: about something else; nothing false, but not what was asked
- wrong: it misleads: says what the book does not, or answers another question as if it were
  this one
- refused: it says that the book does not answer

If the book does not answer the question, "refused" is what one wants; an answer is then beside or
wrong.
Where B is missing, both versions said the same.
"""


def answers(file: Path) -> dict[str, dict[str, Any]]:
    lines = (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())
    return {f"{line['book']}/{line['question']}": line for line in lines}


def packets(old: Path, new: Path, work: Path) -> None:
    told = {"old": answers(old), "new": answers(new)}
    key: dict[str, dict[str, Any]] = {}
    texts: dict[str, list[str]] = {}
    for number, name in enumerate(sorted(told["old"].keys() & told["new"].keys())):
        versions = ["old", "new"]
        random.Random(name).shuffle(versions)
        said = [told[version][name]["answer"] for version in versions]
        line = told["new"][name]
        letters = ["A"] if said[0] == said[1] else ["A", "B"]
        own = f"{line['book']}-{number:03}"
        key[own] = {
            **dict(zip("AB", versions, strict=True)),
            "covered": bool(line["gold"]),
            "same": said[0] == said[1],
        }
        text = texts.setdefault(line["book"], [HEAD.format(book=line["book"])])
        text.append(f"\n## {own}: {line['question']}\n")
        text += [f"\n### {letter}\n\n{said[n]}\n" for n, letter in enumerate(letters)]
    work.mkdir(parents=True, exist_ok=True)
    for book, parts in texts.items():
        (work / f"{book}.md").write_text("".join(parts), encoding="utf-8")
    (work / "key.json").write_text(json.dumps(key, indent=1))
    print(len(key), "questions in", ", ".join(f"{book}.md" for book in texts))


def tally(work: Path) -> None:
    """Counts for each reader and version, questions that the book answers and others apart."""
    key = json.loads((work / "key.json").read_text())
    print(f"| reader | version | covered | {' | '.join(VERDICTS)} |")
    print(f"|{'---|' * (3 + len(VERDICTS))}")
    for file in sorted(work.glob("verdicts-*.jsonl")):
        counts: dict[tuple[str, bool], Counter[str]] = {}
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        judged = Counter(line["id"] for line in lines)
        if wrong := {one for one in key if judged[one] != 1} | judged.keys() - key.keys():
            raise SystemExit(f"{file.name}: not judged once, or not asked: {sorted(wrong)}.")
        for line in lines:
            own = key[line["id"]]
            for letter in "AB":
                verdict = line.get("A" if own["same"] else letter)
                if verdict not in VERDICTS:
                    raise SystemExit(f"{file.name}: {line['id']} has {letter} {verdict!r}.")
                place = (own[letter], own["covered"])
                counts.setdefault(place, Counter())[verdict] += 1
        for (version, covered), own in sorted(counts.items(), key=str):
            cells = [str(own[verdict]) for verdict in VERDICTS]
            name = file.stem.removeprefix("verdicts-")
            print(f"| {name} | {version} | {'yes' if covered else 'no'} | {' | '.join(cells)} |")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("step", choices=("packets", "tally"))
    options.add_argument("--old", type=Path)
    options.add_argument("--new", type=Path)
    options.add_argument("--work", type=Path, required=True)
    chosen = options.parse_args()
    if chosen.step == "packets":
        packets(chosen.old / TOLD, chosen.new / TOLD, chosen.work)
    else:
        tally(chosen.work)


if __name__ == "__main__":
    main()
