"""`bythebook calibrate` on a person's own book and on folders of questions."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from booktext import TOPICS, WriteBook, small_book
from bythebook.cli.commands import main
from bythebook.retrieval.calibration import BUILT_IN, FILE, calibration_for
from question_folder import write_folder

COVERED = [
    "What is a node?",
    "What forms the graph of a robot?",
    "What is a topic?",
    "Who sends messages to subscribers?",
    "What does a service answer?",
    "What is an action?",
    "Can a long task be cancelled?",
    "How does a lidar measure distance?",
    "What does a camera measure?",
    "What pulls every body down?",
    "topics of a node",
]
UNCOVERED = [
    "How do I start a node on Windows 11?",
    "How do I write a node in Rust?",
    "Who invented the lidar of Velodyne?",
    "How do I bake bread?",
    "What is the capital of Australia?",
    "Who won the election in 1948?",
    "How do I connect Foxglove to a topic?",
    "How many volts does the camera need?",
    "How old is Taylor Swift?",
    "Which pill helps against a headache?",
]


def run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str
) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["bythebook", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    return int(ended.value.code or 0), printed.out, printed.err


def write_questions(file: Path, covered: list[str], uncovered: list[str]) -> str:
    lines = [{"question": text, "covered": True} for text in covered]
    lines += [{"question": text, "covered": False} for text in uncovered]
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return str(file)


def test_a_book_of_ones_own(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    write_book: WriteBook,
    tmp_path: Path,
    home: Path,
) -> None:
    assert run(capsys, monkeypatch, "ingest", str(write_book(small_book())))[0] == 0
    file = write_questions(tmp_path / "questions.jsonl", COVERED, UNCOVERED)
    status, out, err = run(capsys, monkeypatch, "calibrate", "--book", "small", file, "--json")
    assert status == 0, err
    told = json.loads(out)
    after = told["figures"]["after (held out)"]["small"]
    assert (after["covered"], after["near"], after["off_topic"]) == (11, 10, 0)
    assert after["auroc_near"] > 0.8 and after["auroc_off_topic"] is None
    assert told["saved"] == str(home / FILE)
    own = calibration_for(BUILT_IN, home)
    assert own.fitted_on == "11 covered and 10 other questions of small"
    assert own != calibration_for(BUILT_IN)

    elsewhere = tmp_path / "elsewhere.json"
    named = ("calibrate", f"small={file}", "--out", str(elsewhere))
    status, out, err = run(capsys, monkeypatch, *named)
    assert status == 0 and "covered questions answered" in out and str(elsewhere) in err
    assert json.loads(elsewhere.read_text(encoding="utf-8"))[0]["model"] == BUILT_IN
    assert not (home / "calibration").exists()


def test_folders_give_each_other_off_topic_questions(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def folder(name: str, topics: list[str]) -> str:
        passages = {topic: TOPICS[topic] * 3 for topic in topics}
        asked: list[dict[str, Any]] = [
            {"_id": f"{topic}{number}", "text": f"{how} {TOPICS[topic]}"}
            for topic in topics
            for number, how in enumerate(("Is it so:", "Who says:", "Why is it that"))
        ]
        right = {query["_id"]: query["_id"][:-1] for query in asked}
        return str(write_folder(tmp_path / name, passages, asked, right))

    folders = (
        folder("robots", ["nodes", "topics", "services", "actions"]),
        folder("others", ["sensors", "cooking", "gravity", "wheels"]),
    )
    work = ("--work", str(tmp_path / "work"), "--out", str(tmp_path / "out.json"))
    options = ("--weight", "others=0.5", "--balance", "robots", "--json")
    status, out, err = run(capsys, monkeypatch, "calibrate", *folders, *work, *options)
    assert status == 0, err
    figures = json.loads(out)["figures"]["after (held out)"]
    assert set(figures) == {"all", "robots", "others"}
    assert figures["all"]["off_topic"] == figures["all"]["covered"] == 24
    assert figures["all"]["auroc_off_topic"] > 0.95
    assert (tmp_path / "work" / "books" / "robots").is_dir()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nothing.jsonl", "--book", "small"), "can't be read"),
        (("few.jsonl", "--book", "small"), "a fit takes at least"),
        (("bad.jsonl", "--book", "small"), "bad.jsonl:1"),
        (("empty",), "not a folder of questions"),
        (("few.jsonl", "--weight", "small"), "not a weight"),
        (("few.jsonl", "--weight", "small=-1"), "not a weight"),
        (("few.jsonl", "--book", "unknown"), "unknown"),
    ],
)
def test_what_goes_wrong_is_said(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    write_book: WriteBook,
    tmp_path: Path,
    home: Path,
    arguments: tuple[str, ...],
    says: str,
) -> None:
    run(capsys, monkeypatch, "ingest", str(write_book(small_book())))
    (tmp_path / "empty").mkdir()
    write_questions(tmp_path / "few.jsonl", COVERED[:2], UNCOVERED[:2])
    (tmp_path / "bad.jsonl").write_text('{"question": "?"}', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    status, _, err = run(capsys, monkeypatch, "calibrate", *arguments)
    assert status == 1 and says in err
    assert not (home / FILE).exists()
