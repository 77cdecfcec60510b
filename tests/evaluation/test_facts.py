"""Facts that an answer conveys."""

from __future__ import annotations

from pathlib import Path

import pytest

from bythebook.errors import InputError
from bythebook.evaluation.outcomes import count_conveyed, count_facts
from evaluation.conftest import Eval
from evaluation.test_eval_book import BOOK, GRAPH, written

FACTS = (("port 3000", "`3000`"), ("--port",))


def test_one_way_to_say_it_is_enough_whatever_its_markup() -> None:
    assert count_facts(FACTS, "By default it is **port\n3000** [1].") == 1
    assert count_facts(FACTS, "| `--port` | `3000` |") == 2
    assert count_facts(FACTS, "It listens.") == 0


def test_what_tells_is_counted_by_characters() -> None:
    found = count_conveyed(FACTS, ["It is port 3000.", "Ports are numbers."], ["no", "use --port"])
    assert (found.by_answer, found.by_first, found.by_five) == (1, 0, 1)
    assert (found.telling, found.characters) == (16, 34)


@pytest.mark.usefixtures("with_reader")
def test_a_file_with_facts_is_measured(evaluate: Eval, sample_home: Path, tmp_path: Path) -> None:
    question = {
        "question": "What is a node in ROS 2?",
        "source_file": GRAPH,
        "facts": [["participant in a ROS 2 system"], ["no such words", "clearly bounded job"]],
    }
    document = evaluate.json("--book", BOOK, written(tmp_path, [question]), "--details")
    facts = document["facts"]
    assert (facts["questions"], facts["facts"]) == (1, 2)
    assert facts["by_answer"] == facts["by_five_passages"] == 1
    assert 0 < facts["telling"] <= 1
    assert document["questions"][0]["facts"]["by_answer"] == 2


def test_a_fact_without_words_is_refused(evaluate: Eval, sample_home: Path, tmp_path: Path) -> None:
    line = {"question": "What is a node?", "source_file": GRAPH, "facts": [[]]}
    with pytest.raises(InputError, match="facts"):
        evaluate("--book", BOOK, written(tmp_path, [line]))
