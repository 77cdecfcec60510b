"""What is measured of one peer, step by step; every step is a process or several of its own."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from statistics import mean, median
from typing import Any

from peers import books
from peers.peer import Peer, Running, environment_of, megabytes_in, weights_for
from questions import load, ndcg, recall
from speed import additions_ms

SIZES = (1_000, 10_000, 50_000)
SETS = ("anthropic_docs", "clapnq_dev", "mtrag_un")
STARTS = 3
# Slow peers are asked fewer questions than the 200 there are.
BUDGET_S = 20.0
FILTER = 3

Result = dict[str, Any]


class Bench:
    """One peer's folders; the data are shared."""

    def __init__(self, peer: Peer, work: Path, data: Path) -> None:
        self.peer, self.work, self.data = peer, work, data
        self.homes = work / "homes" / peer.name

    def running(self, setup: str | None = None) -> Running:
        weights_for(self.peer, self.work)
        peer = self.peer if setup is None else replace(self.peer, setup=setup)
        return Running(peer, self.work)

    def home(self, name: str, *, empty: bool = False) -> str:
        folder = self.homes / name
        if empty:
            shutil.rmtree(folder, ignore_errors=True)
        return str(folder)

    def drop(self, name: str) -> float:
        """Forget what was kept there; tells the megabytes it took."""
        size = megabytes_in(self.homes / name)
        shutil.rmtree(self.homes / name)
        return size


def install(bench: Bench) -> Result:
    return environment_of(bench.peer, bench.work)


def ingest(bench: Bench, book: str) -> Result:
    """Empty to searchable; then nothing changed, one section edited, one file deleted."""
    folder = books.own_copy(bench.work, book, bench.homes / f"{book}-files")
    home = bench.home(book, empty=True)
    result: Result = {"book": books.size_of(folder)}
    with bench.running() as peer:
        peer.ask("load", changes=True)
        result["ready"] = peer.ask("open", home=home)
        result["full"] = peer.ask("ingest", folder=str(folder))
    result["disk_mb"] = megabytes_in(Path(home))
    again = [_again(bench, home, folder) for _ in range(STARTS)]
    result["unchanged"] = sorted(again, key=lambda one: float(one["process_s"]))[STARTS // 2]
    result |= _starts(bench, home)
    edited = books.edit_a_section(folder)
    result["edited"] = _again(bench, home, folder, books.NEW_QUESTION)
    result["edited"]["found"] = any(
        books.NEW_SENTENCE in " ".join(text.split()) for text in result["edited"].pop("texts")
    )
    del result["edited"]["sources"]  # paths of this machine
    deleted = books.delete_a_file(folder)
    name = f"{deleted.parent.name} {deleted.stem}".replace("_", " ").replace("-", " ")
    result["deleted"] = _again(bench, home, folder, name)
    del result["deleted"]["texts"]  # the book's, of which only figures are kept
    sources = result["deleted"].pop("sources")
    result["deleted"]["gone"] = not any(_same_file(one, deleted) for one in sources)
    result["files"] = [edited.name, deleted.name]
    return result


def _same_file(source: str, file: Path) -> bool:
    return str(file).endswith(source.lstrip("/")) or source.endswith(str(file))


def _again(bench: Bench, home: str, folder: Path, question: str = "") -> Result:
    """A re-ingest as a person runs it: in a new process."""
    with bench.running() as peer:
        peer.ask("load", changes=bool(question))
        opened = peer.ask("open", home=home)
        done = peer.ask("reingest", folder=str(folder))
        done["process_s"] = done.pop("since_start")
        done["with_open_s"] = opened["seconds"] + done["seconds"]
        done["with_open_cpu_s"] = opened["cpu_seconds"] + done["cpu_seconds"]
        if question:
            found = _search(peer, [question], None, limit=10)
            done |= {"texts": found["texts"], "sources": found["sources"][0]}
    return done


def _starts(bench: Bench, home: str) -> Result:
    """From starting the process to the first result; bythebook also to the first answer."""
    question = "How do I configure this for a deployment?"
    ours = bench.peer.library == "bythebook"
    result: Result = {}
    for name in ("first_result", "first_answer") if ours else ("first_result",):
        asked = {"home": home, "question": question, "answer": name == "first_answer"}
        runs: list[Result] = []
        for _ in range(STARTS):
            with bench.running("" if ours else bench.peer.setup) as peer:
                runs.append(peer.ask("first", **asked))
        result[name] = {
            "seconds": median(run["since_start"] for run in runs),
            "peak_mb": median(run["peak_mb"] for run in runs),
        }
    return result


def _search(
    peer: Running, questions: list[str], chapter: int | None, limit: int = 5, budget: float = 1e9
) -> Result:
    return peer.ask("search", questions=questions, limit=limit, chapter=chapter, budget_s=budget)


def docs(bench: Bench) -> Result:
    return ingest(bench, books.DOCS)


def mdn(bench: Bench) -> Result:
    return ingest(bench, books.MDN)


def raw(bench: Bench) -> Result:
    """bythebook's embedder alone on what its ingest embeds, before and after such an ingest: the
    machine's speed changes within minutes."""
    return {
        book: _against_raw(bench, bench.work / "books" / book) for book in (books.DOCS, books.MDN)
    }


def _against_raw(bench: Bench, folder: Path) -> Result:
    before = _alone(bench, folder)
    with bench.running() as peer:
        peer.ask("load", changes=True)
        peer.ask("open", home=bench.home("raw", empty=True))
        whole = peer.ask("ingest", folder=str(folder))
    after = _alone(bench, folder)
    bench.drop("raw")
    return {"embedding_s": [before, after], "ingest_s": whole["seconds"]}


def _alone(bench: Bench, folder: Path) -> float:
    with bench.running() as peer:
        peer.ask("load", changes=True)
        peer.ask("open", home=bench.home("raw", empty=True))
        return float(peer.ask("raw", folder=str(folder))["embedding_seconds"])


def answer(bench: Bench) -> Result:
    """Question to complete answer, offline. The peers need a language model for that."""
    questions = json.loads((bench.work / "questions.json").read_text())[:50]
    with bench.running() as peer:
        peer.ask("open", home=bench.home(books.MDN))
        return peer.ask("answer", questions=questions)


def search_at(size: int) -> Callable[[Bench], Result]:
    """Filled in one process, searched in another, which is the one whose memory counts."""

    def search(bench: Bench) -> Result:
        questions = json.loads((bench.work / "questions.json").read_text())
        home = bench.home(f"search-{size}", empty=True)
        with bench.running() as peer:
            peer.ask("open", home=home)
            filled = peer.ask(
                "fill", count=size, chunks=str(bench.work / "chunks.jsonl"),
                vectors=str(bench.work / "vectors.npy"),
            )  # fmt: skip
        with bench.running() as peer:
            opened = peer.ask("open", home=home)
            # Others each time: bythebook remembers the vectors of questions.
            plain = _search(peer, questions[::2], None, budget=BUDGET_S)
            only = _search(peer, questions[1::2], FILTER, budget=BUDGET_S)
        kept = {int(Path(s).stem) % books.CHAPTERS for found in only["sources"] for s in found}
        return {
            "fill": filled,
            "open": opened,
            "plain": plain["times"],
            "filtered": only["times"],
            "filtered_cpu_ms": 1000 * only["cpu_seconds"] / (len(only["times"]) + 1),
            "results": mean(len(one) for one in only["sources"]),
            "filter_kept": kept == {FILTER},
            "peak_mb": only["peak_mb"],
            "held_mb": only["held_mb"],
            "disk_mb": bench.drop(f"search-{size}"),
        }

    return search


def quality_on(name: str) -> Callable[[Bench], Result]:
    def quality(bench: Bench) -> Result:
        one = load(bench.data, name, bench.work)
        asked = [question for question in one.questions if one.right.get(question["_id"])]
        home = bench.home(name, empty=True)
        with bench.running() as peer:
            peer.ask("open", home=home)
            done = peer.ask("ingest", folder=str(one.book))
            found = _search(peer, [question["text"] for question in asked], None, limit=20)
        bench.drop(name)
        each: dict[str, list[float]] = {"ndcg@10": [], "recall@5": []}
        for question, sources in zip(asked, found["sources"], strict=True):
            ranked = list(dict.fromkeys(one.pages[Path(source).name] for source in sources))
            right = one.right[question["_id"]]
            each["ndcg@10"].append(ndcg(ranked, right))
            each["recall@5"].append(recall(ranked, right))
        means = {measure: mean(figures) for measure, figures in each.items()}
        return {"questions": len(asked), **means, "each": each, "ingest": done}

    return quality


STEPS: dict[str, Callable[[Bench], Result]] = {
    "install": install,
    "docs": docs,
    "mdn": mdn,
    "raw": raw,
    "answer": answer,
    **{f"search-{size}": search_at(size) for size in SIZES},
    **{f"quality-{name}": quality_on(name) for name in SETS},
}
ONLY_OWN = ("raw", "answer")


def applies(step: str, peer: Peer) -> bool:
    return step not in ONLY_OWN or peer.library == "bythebook"


def measured(step: str, bench: Bench) -> Result:
    """The step's figures with the day, and the machine's speed and load."""
    when = {"day": date.today().isoformat(), "additions_ms": additions_ms()}
    before = os.getloadavg()
    result = STEPS[step](bench)
    return {**result, **when, "load": [before[0], os.getloadavg()[0]]}
