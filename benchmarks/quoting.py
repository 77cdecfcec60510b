"""How well the built-in answerer quotes, and what resolving follow-ups does for the search.

python benchmarks/quoting.py --data ../shared/data --work <folder of benchmarks/retrieval.py>
    [--half dev|check|all] [--without-meaning] [--only clapnq,anthropic,squad,followups]

The halves are every other question: `dev` is what was tuned on, `check` is reported.
"""

from __future__ import annotations

import argparse
import asyncio
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import mul
from pathlib import Path
from statistics import mean
from typing import Any

from bythebook.index.sparse import terms
from bythebook.language.pieces import pieces_of
from bythebook.library import Library
from bythebook.models.search import SearchQuery
from bythebook.quoting.compose import Similarity, compose
from bythebook.quoting.excerpt import Excerpt
from bythebook.quoting.followup import Turn, standalone
from bythebook.settings import Settings
from questions import QuestionSet, load, ndcg

Answerer = Callable[[str, Sequence[Excerpt]], str]
MARKER = re.compile(r"\s*\[\d+\]")


def plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def first_three(question: str, excerpts: Sequence[Excerpt]) -> str:
    return "\n".join(f"{s} [1]" for s in sentences(excerpts[:1])[:3])


def most_overlap(question: str, excerpts: Sequence[Excerpt]) -> str:
    asked = set(terms(question, "en"))
    every = sentences(excerpts)
    best = sorted(every, key=lambda s: -len(asked & set(terms(s, "en"))))[:3]
    return "\n".join(f"{s} [1]" for s in every if s in best)


def sentences(excerpts: Sequence[Excerpt]) -> list[str]:
    return [
        excerpt.text[piece.start : piece.end]
        for excerpt in excerpts
        for piece in pieces_of(excerpt.text)
        if piece.kind in ("sentence", "item")
    ]


def quoted(answer: str) -> list[str]:
    """The pieces of an answer without markers; a bold title is no sentence."""
    parts = [part.strip() for part in re.split(r"\[\d+\]", answer)]
    return [part for part in parts if part and not re.fullmatch(r"\*\*[^*]+\*\*", part)]


def same(a: str, b: str) -> bool:
    a, b = plain(a), plain(b)
    return a == b or (min(len(a), len(b)) > 30 and (a in b or b in a))


def sentence_f1(answer: str, gold: Sequence[Sequence[str]]) -> tuple[float, float, float]:
    """Precision, recall and F1 against the annotator who agrees most."""
    said = quoted(answer)
    best = (0.0, 0.0, 0.0)
    for right in (one for one in gold if one):
        precise = sum(any(same(s, g) for g in right) for s in said) / len(said) if said else 0.0
        found = sum(any(same(s, g) for s in said) for g in right) / len(right)
        f1 = 2 * precise * found / (precise + found) if precise + found else 0.0
        best = max(best, (precise, found, f1), key=lambda row: row[2])
    return best


def token_f1(answer: str, golds: Sequence[str]) -> tuple[float, float]:
    """F1 and recall of words against the answer that agrees most."""
    said = Counter(plain(MARKER.sub("", answer)).split())
    rows = []
    for gold in golds:
        words = Counter(plain(gold).split())
        common = sum((said & words).values())
        recall = common / max(1, sum(words.values()))
        precise = common / max(1, sum(said.values()))
        rows.append((2 * precise * recall / (precise + recall) if common else 0.0, recall))
    return max(rows)


def rouge_l(answer: str, golds: Sequence[str]) -> float:
    return max(_longest_common(plain(MARKER.sub("", answer)).split(), plain(gold).split())
               for gold in golds)  # fmt: skip


def _longest_common(a: list[str], b: list[str]) -> float:
    row = [0] * (len(b) + 1)
    for word in a:
        before = 0
        for at, other in enumerate(b, 1):
            before, row[at] = row[at], before + 1 if word == other else max(row[at], row[at - 1])
    return 2 * row[-1] / (len(a) + len(b)) if a and b else 0.0


@dataclass
class Bench:
    """An open library with the question sets in it."""

    library: Library
    half: str
    meaning: bool
    data: Path
    work: Path

    def half_of(self, questions: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        start = {"dev": 0, "check": 1}.get(self.half)
        return list(questions) if start is None else list(questions[start::2])

    async def set(self, name: str) -> QuestionSet:
        one = load(self.data, name, self.work)
        await self.library.ingest(one.book, book_id=name)
        return one

    async def search(self, book: str, text: str, limit: int = 5) -> list[tuple[str, Excerpt]]:
        query = SearchQuery(text=text[:2000], book_id=book, hardware_tier_filter=4, limit=limit)
        found = (await self.library.search(query)).passages
        return [
            (
                p.metadata.source_file,
                Excerpt(n, p.text, p.metadata.title, p.metadata.section_title or "", p.score),
            )
            for n, p in enumerate(found, 1)
        ]

    async def answerers(self, texts: Sequence[str]) -> dict[str, Answerer]:
        """Ours and the baselines; the vectors of all that may be compared are made beforehand."""
        meaning = await self.similarity(texts) if self.meaning else None
        return {
            "compose": lambda q, e: compose(q, e, "en", meaning),
            "first 3 sentences": first_three,
            "3 by overlap": most_overlap,
        }

    async def similarity(self, texts: Sequence[str]) -> Similarity:
        from bythebook.language.pieces import readable

        shown = list(dict.fromkeys([*texts, *map(readable, texts)]))
        vectors = await self.library.embedder.embed_documents(shown)
        known = dict(zip(shown, vectors, strict=True))

        def cosines(question: str, candidates: Sequence[str]) -> list[float]:
            # Formulas and other joined pieces are few: they count as unlike.
            return [
                sum(map(mul, known[question], known[text])) if text in known else 0.0
                for text in candidates
            ]

        return cosines


def show(name: str, columns: Sequence[str], rows: dict[str, list[tuple[float, ...]]]) -> None:
    print(f"\n{name}: {len(next(iter(rows.values())))} questions")
    for who, values in rows.items():
        means = [mean(column) for column in zip(*values, strict=True)]
        print(
            f"  {who:20}" + "".join(f"  {c} {m:.3f}" for c, m in zip(columns, means, strict=True))
        )


async def clapnq(bench: Bench) -> None:
    one = await bench.set("clapnq_dev")
    passages = {i: (bench.work / "books" / one.name / p).read_text(encoding="utf-8")
                for p, i in one.pages.items()}  # fmt: skip
    chosen = bench.half_of([q for q in one.questions if q["answerable"]])
    found = {q["_id"]: [e for _, e in await bench.search(one.name, q["text"])] for q in chosen}
    gold = {
        q["_id"]: [
            Excerpt(n, passages[i], passages[i].splitlines()[0][2:], "", 1.0)
            for n, i in enumerate(q["context_ids"], 1)
        ]
        for q in chosen
    }
    texts = [q["text"] for q in chosen]
    for source in (found, gold):
        texts += [s for excerpts in source.values() for s in sentences(excerpts)]
    answerers = await bench.answerers(texts)
    columns = ("precision", "recall", "F1", "token-F1", "ROUGE-L", "answered", "words")
    for label, source in (("gold passage", gold), ("top 5 retrieved", found)):
        rows: dict[str, list[tuple[float, ...]]] = {}
        for who, answerer in answerers.items():
            rows[who] = []
            for q in chosen:
                answer = answerer(q["text"], source[q["_id"]])
                rows[who].append(
                    (
                        *sentence_f1(answer, q["selected_sentences"]),
                        token_f1(answer, q["answers"])[0],
                        rouge_l(answer, q["answers"]),
                        float(bool(answer)),
                        len(plain(MARKER.sub("", answer)).split()),
                    )
                )
        show(f"clapnq_dev, {label}", columns, rows)
    await refusals(bench, one)


async def refusals(bench: Bench, one: QuestionSet) -> None:
    """Questions without an answer among the passages: how often nothing is quoted."""
    chosen = bench.half_of([q for q in one.questions if not q["answerable"]])
    silent = [
        not compose(q["text"], [e for _, e in await bench.search(one.name, q["text"])])
        for q in chosen
    ]
    print(f"  of {len(chosen)} unanswerable questions {mean(silent):.3f} quote nothing")


async def anthropic(bench: Bench) -> None:
    one = await bench.set("anthropic_docs")
    chosen = bench.half_of(one.questions)
    found = {q["_id"]: [e for _, e in await bench.search(one.name, q["text"])] for q in chosen}
    texts = [q["text"] for q in chosen] + [s for e in found.values() for s in sentences(e)]
    rows: dict[str, list[tuple[float, ...]]] = {}
    for who, answerer in (await bench.answerers(texts)).items():
        answers = [(answerer(q["text"], found[q["_id"]]), q["answers"]) for q in chosen]
        rows[who] = [
            (*token_f1(a, g), rouge_l(a, g), float(bool(a)), len(plain(a).split()))
            for a, g in answers
        ]
    show("anthropic_docs, top 5", ("token-F1", "recall", "ROUGE-L", "answered", "words"), rows)


async def squad(bench: Bench) -> None:
    one = load(bench.data, "squad2", bench.work)
    book = bench.work / "books" / one.name
    passages = {i: (book / page).read_text(encoding="utf-8") for page, i in one.pages.items()}
    for answerable in (True, False):
        chosen = bench.half_of([q for q in one.questions if q["answerable"] is answerable])[::3]
        given = {
            q["_id"]: [Excerpt(1, text, text.splitlines()[0][2:], "", 1.0)]
            for q in chosen
            if (text := passages[q["context_id"]])
        }
        texts = [q["text"] for q in chosen] + [s for e in given.values() for s in sentences(e)]
        rows: dict[str, list[tuple[float, ...]]] = {}
        for who, answerer in (await bench.answerers(texts)).items():
            rows[who] = []
            for q in chosen:
                answer = answerer(q["text"], given[q["_id"]])
                held = any(plain(a) in plain(answer) for a in q["answers"])
                rows[who].append((float(held), float(bool(answer)), len(plain(answer).split())))
        name = "answerable" if answerable else "unanswerable"
        show(f"squad2 {name}, gold passage", ("holds answer", "answered", "words"), rows)


async def followups(bench: Bench) -> None:
    one = await bench.set("mtrag_un")
    rows: dict[str, list[tuple[float, ...]]] = {"last turn alone": [], "standalone": []}
    changed = []
    for q in bench.half_of(one.questions):
        right = one.right.get(q["_id"])
        if not right:
            continue
        history = q["history"]
        turns = [
            Turn(a["text"], b["text"], ())
            for a, b in zip(history[::2], history[1::2], strict=False)
        ]
        rewritten = standalone(q["text"], turns)
        changed.append(rewritten.depends)
        for who, text in (("last turn alone", q["text"]), ("standalone", rewritten.query)):
            found = await bench.search(one.name, text, limit=10)
            order = list(dict.fromkeys(one.pages[page] for page, _ in found))
            rows[who].append((ndcg(order, right),))
    show("mtrag_un", ("nDCG@10",), rows)
    apart = {who: [v for v, c in zip(values, changed, strict=True) if c]
             for who, values in rows.items()}  # fmt: skip
    show("mtrag_un, those that depend", ("nDCG@10",), apart)


async def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--data", type=Path, default=Path("../shared/data"))
    options.add_argument("--work", type=Path, required=True)
    options.add_argument("--half", choices=("dev", "check", "all"), default="check")
    options.add_argument("--without-meaning", action="store_true")
    options.add_argument("--only", default="clapnq,anthropic,squad,followups")
    chosen = options.parse_args()
    tasks = {"clapnq": clapnq, "anthropic": anthropic, "squad": squad, "followups": followups}
    async with await Library.open(Settings(home=chosen.work / "home")) as library:
        bench = Bench(library, chosen.half, not chosen.without_meaning, chosen.data, chosen.work)
        for name in chosen.only.split(","):
            await tasks[name](bench)


if __name__ == "__main__":
    asyncio.run(main())
