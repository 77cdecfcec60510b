"""Measures the verifier of sentences against passages.

python benchmarks/grounding.py [--data ../shared/data]
    [--only check,swapped,begin,mtrag,sample,speed] [--many 500]

check: sentences of two books that the reader was not trained on, true and false, by kind
    (training/data); the passage is the one they were written from.
swapped: as many sentences as `--many` says that these books have word for word, and each with one
    word changed for one of another such sentence, which the passage lacks.
begin, mtrag: as `bythebook eval FILE` judges them. Two thirds of begin were trained on.
sample: sentences of the sample book, true, changed, of another lesson, and paraphrased by hand.
speed: milliseconds a sentence, verbatim and not.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import random
import re
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from bythebook.evaluation.metrics import auroc  # noqa: E402
from bythebook.evaluation.sentence_check import Judged, judge_file  # noqa: E402
from bythebook.grounding.verifier import SUPPORTED, Verdict, Verifier  # noqa: E402
from bythebook.language.segmentation import pieces_of  # noqa: E402
from bythebook.models.passage import Passage  # noqa: E402
from bythebook.reader import Reader  # noqa: E402
from bythebook.settings import Settings  # noqa: E402
from grounding_samples import CHANGES, false_sentences, passages, true_sentences  # noqa: E402
from models.samples import passage  # noqa: E402

# Words that say something, in prose.
WORD = re.compile(r"(?<![\w`./-])[a-z]{5,}(?![\w`./-])")
BANDS = (("4", 4.0, 4.0), ("3.5-3.9", 3.5, 3.99), ("2.5-3.4", 2.5, 3.49), ("below 2.5", 0, 2.49))


def told(judged: list[tuple[bool, Verdict]]) -> str:
    true = [verdict for right, verdict in judged if right]
    false = [verdict for right, verdict in judged if not right]
    area = auroc([one.score for one in true], [one.score for one in false])
    return (
        f"AUROC {area:.3f}, true accepted {mean(one.supported for one in true):.3f}, "
        f"false rejected {1 - mean(one.supported for one in false):.3f}"
    )


async def check(reader: Reader) -> None:
    by_kind: dict[tuple[int, str], list[Verdict]] = defaultdict(list)
    judged: dict[bool, list[tuple[bool, Verdict]]] = {False: [], True: []}
    with gzip.open(ROOT / "training/data/sentences-check.jsonl.gz", "rt", encoding="utf-8") as rows:
        for row in map(json.loads, rows):
            verdict = await cited(reader, row["sentence"], [of(one) for one in row["passages"]])
            judged[row["kind"].startswith("model:")].append((bool(row["label"]), verdict))
            by_kind[row["label"], row["kind"]].append(verdict)
    print(f"check books: {len(judged[False])} sentences, {told(judged[False])}")
    print(f"  as models write them: {len(judged[True])} sentences, {told(judged[True])}")
    for (label, kind), verdicts in sorted(by_kind.items()):
        passed = mean(one.supported for one in verdicts)
        share = f"{passed:.2f} accepted" if label else f"{1 - passed:.2f} rejected"
        print(f"  {'true' if label else 'false'}, {kind}: {share} of {len(verdicts)}")


async def swapped(reader: Reader, many: int) -> None:
    pick = random.Random(5)
    with gzip.open(ROOT / "training/data/sentences-check.jsonl.gz", "rt", encoding="utf-8") as rows:
        texts = [one["text"] for row in map(json.loads, rows) for one in row["passages"]]
    whole = [
        (text[piece.start : piece.end], text)
        for text in dict.fromkeys(texts)
        for piece in pieces_of(text)
        if piece.kind == "sentence" and len(WORD.findall(text[piece.start : piece.end])) > 4
    ]
    words = sorted({word for sentence, _ in whole for word in WORD.findall(sentence)})
    accepted, rejected = [], []
    for sentence, text in pick.sample(whole, min(many, len(whole))):
        found = pick.choice(list(WORD.finditer(sentence)))
        new = pick.choice([word for word in words if word.lower() not in text.lower()])
        changed = sentence[: found.start()] + new + sentence[found.end() :]
        accepted.append((await best(reader, sentence, [text])).supported)
        rejected.append(not (await best(reader, changed, [text])).supported)
    print(f"swapped: {len(accepted)} sentences as they stand, {mean(accepted):.3f} accepted")
    print(f"  one word changed: {mean(rejected):.3f} rejected")


async def cited(reader: Reader, claim: str, texts: Sequence[Passage | str]) -> Verdict:
    """As of a sentence that cites them all: one of them says it, or two together."""
    found = await best(reader, claim, texts)
    if found.supported or len(texts) < 2:
        return found
    return await Verifier(reader, "en").check_together(claim, texts[:2])


def of(row: dict[str, Any]) -> Passage:
    return passage(text=row["text"], heading_path=row["headings"] or ["Page"])


async def best(
    reader: Reader, claim: str, texts: Sequence[Passage | str], question: str = ""
) -> Verdict:
    verifier = Verifier(reader, "en", question)
    verdicts = [await verifier.check(claim, text) for text in texts]
    return max(verdicts, key=lambda verdict: (verdict.supported, verdict.score))


async def people(reader: Reader, file: Path) -> None:
    judged = await judge_file(file, reader)
    right = [one.score for one in judged if one.faithful]
    wrong = [one.score for one in judged if not one.faithful]
    print(f"{file.parent.name}: {len(judged)} answers, AUROC {auroc(right, wrong):.3f}")
    whole = mean(one.passes for one in judged if one.faithful)
    print(f"  faithful ones that come through whole: {whole:.3f}")
    bands(judged)


def bands(judged: list[Judged]) -> None:
    for name, low, high in BANDS:
        rated = [one for one in judged if one.label.startswith("rated")]
        some = [one for one in rated if low <= float(one.label.split()[1]) <= high]
        if some:
            units = sum(one.supported for one in some) / sum(one.sentences for one in some)
            print(f"  sentences of answers rated {name}: {units:.3f} pass")


async def sample(reader: Reader) -> None:
    sentences = true_sentences()
    texts = [(f"{one.text} [1]", one.passage) for one in sentences]
    passed = mean([(await best(reader, claim, [text])).supported for claim, text in texts])
    print(f"sample book: {len(sentences)} true sentences, {passed:.4f} pass")
    for kind in CHANGES:
        changed = list(false_sentences(kind))
        failed = [not (await best(reader, new, [one.passage])).supported for new, one in changed]
        print(f"  {kind}: {len(changed)}, {mean(failed):.3f} fail")
    pick = random.Random(3)
    others = [
        (one.text, text)
        for one in pick.sample(sentences, 200)
        for lesson, text in pick.sample(passages(), 1)
        if lesson != one.lesson
    ]
    failed = [not (await best(reader, claim, [text])).supported for claim, text in others]
    print(f"  of another lesson: {len(others)}, {mean(failed):.3f} fail")
    judged = []
    for line in (ROOT / "tests/data/paraphrases.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        heading = re.compile(rf"^#+ {re.escape(row['section'])}", re.MULTILINE)
        found = [t for lesson, t in passages() if lesson == row["file"] and heading.search(t)]
        judged.append((row["supported"], await best(reader, row["claim"], found)))
    print(f"  paraphrases by hand: {told(judged)}")


async def speed(reader: Reader) -> None:
    """A new claim against a passage already seen, as for the sentences of one answer."""
    verifier = Verifier(reader, "en")
    for name, prefix in (("verbatim", ""), ("not verbatim", "Note that ")):
        spent = []
        for one in true_sentences()[::15]:
            await verifier.check("The arm has joints.", one.passage)
            started = time.perf_counter()
            await verifier.check(prefix + one.text, one.passage)
            spent.append(1000 * (time.perf_counter() - started))
        spent.sort()
        slow = spent[int(0.95 * len(spent))]
        print(f"speed, {name}: median {median(spent):.1f} ms, 95 % below {slow:.1f} ms")


async def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    options.add_argument("--only", default="check,swapped,begin,mtrag,sample,speed")
    options.add_argument("--many", type=int, default=500)
    chosen = options.parse_args()
    wanted = chosen.only.split(",")
    print(f"a sentence passes from {SUPPORTED}")
    async with Reader.open(Settings()) as reader:
        if "check" in wanted:
            await check(reader)
        if "swapped" in wanted:
            await swapped(reader, chosen.many)
        if "begin" in wanted:
            await people(reader, chosen.data / "qa" / "begin" / "begin.jsonl.gz")
        if "mtrag" in wanted:
            file = chosen.data / "qa" / "mtrag_human_eval" / "evaluations.jsonl.gz"
            await people(reader, file)
        if "sample" in wanted:
            await sample(reader)
        if "speed" in wanted:
            await speed(reader)


if __name__ == "__main__":
    asyncio.run(main())
