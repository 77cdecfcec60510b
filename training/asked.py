"""Ordinary questions of a book with the passages that our own search finds, for two readers.

    python -m training.asked find --work WORK --books fastapi vue …   # packets for two readers
    python -m training.asked merge --work WORK                        # rows into training/data/
    python -m training.asked labelled --work WORK --books simpy …     # the same of one reader

WORK/books holds the unpacked books, WORK/asked/BOOK.jsonl questions that somebody wrote who saw
the book alone. This is what the reader meets in use: not passages chosen for a question, but those
that search puts first. Two readers say of each passage whether it answers and by which units; what
they differ on is dropped. In the third round one reader alone said it, of six passages, and wrote
for each answered question a true sentence and a false one. `labelled` takes these from
WORK/BOOK/groups.json, in the form of `find`'s groups-asked.json, and WORK/BOOK/labels.jsonl; it
needs the names of the books.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path

from bythebook.library import Library
from bythebook.models.search_messages import SearchQuery
from bythebook.settings import Settings
from training.books import BOOKS, BookPassage
from training.packets import LETTERS, PACKET_CHARACTERS, Row, keep, lines, sentence_order, shown

PASSAGES = 5


async def find(work: Path, books: list[str]) -> None:
    """Packets and groups, as `training.packets` makes them."""
    file = work / "groups-asked.json"
    known: dict[str, Row] = json.loads(file.read_text()) if file.exists() else {}
    for folder in ("packets-asked", "read-first", "read-second"):
        (work / folder).mkdir(exist_ok=True)
    async with await Library.open(Settings(home=work / "home-books")) as library:
        for name in books:
            await library.ingest(work / "books" / name, book_id=name)
            parts: list[str] = []
            packet = 0
            for number, asked in enumerate(lines(work / "asked" / f"{name}.jsonl")):
                query = SearchQuery(
                    text=asked["q"], book_id=name, hardware_tier_filter=4, limit=PASSAGES
                )
                found = (await library.search(query)).passages
                key = f"{name}-asked-{number:03}"
                passages = [
                    BookPassage(
                        name, n, p.metadata.source_file, tuple(p.metadata.heading_path), p.text
                    )
                    for n, p in enumerate(found)
                ]
                known[key] = {
                    "book": name,
                    "question": asked["q"],
                    "kind": asked["kind"],
                    "passages": [
                        {"path": p.path, "headings": p.headings, "text": p.text} for p in passages
                    ],
                }
                texts = [shown(p, LETTERS[n]) for n, p in enumerate(passages)]
                part = "\n".join([f"######## GROUP {key}", f"QUESTION {asked['q']}", *texts])
                if parts and sum(map(len, parts)) + len(part) > PACKET_CHARACTERS * 2:
                    write(work, f"{name}-{packet:02}", parts)
                    parts, packet = [], packet + 1
                parts.append(part)
            write(work, f"{name}-{packet:02}", parts)
            file.write_text(json.dumps(known))
            print(name, packet + 1, flush=True)


def write(work: Path, name: str, parts: list[str]) -> None:
    (work / "packets-asked" / f"{name}.txt").write_text("\n\n".join(parts))


def merge(work: Path) -> None:
    """The first reading counts as the writer's, the second as the judge's."""
    known = json.loads((work / "groups-asked.json").read_text())
    first, second = (
        {row["group"]: row for f in sorted((work / name).glob("*.jsonl")) for row in lines(f)}
        for name in ("read-first", "read-second")
    )
    groups, written, judged = {}, {}, []
    for key in first.keys() & second.keys():
        group, said = known[key], first[key]["answers"]
        groups[key] = group
        question = {
            "q": group["question"],
            "kind": group["kind"],
            "yes": {letter: units for letter, units in said.items() if isinstance(units, list)},
            "partly": [letter for letter, value in said.items() if value == "partly"],
            "no": {},
        }
        written[key] = {"group": key, "questions": [question], "sentences": []}
        judged.append({"group": key, "answers": [second[key]["answers"]], "supports": []})
    keep(groups, written, sorted(judged, key=lambda row: str(row["group"])))


def labelled(work: Path, books: list[str]) -> None:
    """A line of labels.jsonl: the group, units by letter or "partly", and the two sentences."""
    groups: dict[str, Row] = {}
    written, judged = {}, []
    for book in books:
        groups |= json.loads((work / book / "groups.json").read_text())
        done = {str(row["g"]): row for row in lines(work / book / "labels.jsonl")}
        for number, row in done.items():
            letters = LETTERS[: len(groups[number]["passages"])]
            said = {letter: row.get(letter, "no") for letter in letters}
            question = {
                "q": groups[number]["question"],
                "kind": groups[number]["kind"],
                "yes": {letter: units for letter, units in said.items() if isinstance(units, list)},
                "partly": [letter for letter, value in said.items() if value == "partly"],
                "no": {},
            }
            pair = [("t", True, "reworded"), ("f", False, row.get("kind", "word"))]
            sentences = [
                {"s": row[key], "true": true, "kind": kind, "p": row["p"]}
                for key, true, kind in pair
                if row.get(key) and row.get("p") in question["yes"]
            ]
            written[number] = {"group": number, "questions": [question], "sentences": sentences}
            verdicts = [
                "yes" if sentences[place]["true"] else "no"
                for place in sentence_order(number, len(sentences))
            ]
            judged.append({"group": number, "answers": [said], "supports": verdicts})
    keep(groups, written, judged)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("step", choices=("find", "merge", "labelled"))
    options.add_argument("--work", type=Path, required=True)
    options.add_argument("--books", nargs="*", default=list(BOOKS))
    chosen = options.parse_args()
    if chosen.step == "find":
        asyncio.run(find(chosen.work, chosen.books))
    elif chosen.step == "labelled":
        labelled(chosen.work, chosen.books)
    else:
        merge(chosen.work)


if __name__ == "__main__":
    main()
