"""What a question names, and what the best passages say of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.index.sparse import query_terms, terms
from bythebook.retrieval.answerability import LOOKED_AT, RankedPassage, answerability_of
from bythebook.retrieval.query import SIGNED, missing_names, names_in


def named(question: str, language: str = "en", unknown: bool = True) -> list[str]:
    weight = 1.0 if unknown else 0.4
    return [name.word for name in names_in(question, language, lambda _word: weight)]


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("How do I install ROS 2 on Windows 11?", ["ROS", "Windows", "11"]),
        ("What does slam_toolbox need?", ["slam_toolbox"]),
        ("Does OpenVLA run on an RTX4090?", ["OpenVLA", "RTX4090"]),
        ("Why does it stop? Because of Gazebo?", ["Gazebo"]),
        ("Can I write it in C++ or C#?", ["C++", "C#"]),
        ("how do i port a catkin package", ["catkin"]),
        ("My simulation is crawling, what can I do to speed it up?", []),
        ("Which folders can I throw away?", []),
        ("HOW DO I SAVE THE MAP OF A ROOM", []),
        ("How To Save The Map Of A Room", []),
    ],
)
def test_names_of_a_question(question: str, names: list[str]) -> None:
    assert named(question) == names


def test_a_rare_word_is_a_name_only_if_the_book_never_says_it() -> None:
    assert named("how do i port a catkin package", unknown=False) == []
    assert named("How does Gazebo port it?", unknown=False) == ["Gazebo"]


def test_german_nouns_are_no_names() -> None:
    assert named("Wie wird die Karte gespeichert?", "de") == []
    assert named("Wie wird ROS2 installiert?", "de") == ["ROS2"]


def test_a_name_of_a_letter_and_signs_is_missed() -> None:
    names = names_in("How do I write a node in C++?", "en", lambda _word: 1.0)
    assert not missing_names(names, "A node in C++, not in C.", "en")
    missing = missing_names(names, "A node to write in C.", "en")
    assert [name.word for name in missing] == ["C++"]


PIECES = st.sampled_from(
    ["Node", "node", "nodes", "NODE", "create_node", "_node", "node_", "C++", "x", "漢字", "İnode",
     "ß", "Ss", " ", ". ", "-", "_", "7"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=12), st.lists(PIECES, max_size=12))
def test_a_name_is_missing_where_no_word_has_its_stem(asked: list[str], said: list[str]) -> None:
    names = names_in("".join(asked), "en", lambda _: 1.0)
    text = "".join(said)
    stems = {*terms(text, "en"), *(word.lower() for word in SIGNED.findall(text))}
    lacking = {name for name in names if name.stem not in stems}
    assert set(missing_names(names, text, "en")) == lacking


def weights(question: str, value: float) -> dict[int, float]:
    return dict.fromkeys(query_terms(question, "en").indices, value)


def test_a_missing_name_is_found_whatever_its_case() -> None:
    passages = [RankedPassage(0.5, 0.5, "You can install it on Ubuntu with a package.")]
    for question, missing in (
        ("How do I install it on Foxglove?", ("Foxglove",)),
        ("how do i install it on foxglove", ("foxglove",)),
        ("How do I install it on Ubuntu?", ()),
    ):
        found = answerability_of(question, "en", weights(question, 1.0), passages)
        assert found.missing == missing
        assert (found.features.missing > 0) is bool(missing)


def test_a_name_counts_less_in_a_long_message() -> None:
    short = "How do I install it on Foxglove?"
    words = " ".join(f"word{number}x" for number in range(40))
    passages = [RankedPassage(0.5, 0.5, words)]
    long = f"{words} and on Foxglove?"
    alone = answerability_of(short, "en", weights(short, 1.0), passages).features
    among = answerability_of(long, "en", weights(long, 1.0), passages).features
    assert 0 < among.missing < alone.missing
    assert among.evidence > alone.evidence


questions = st.one_of(
    st.text(min_size=1, max_size=60),
    st.sampled_from(
        ["机器人是什么？", "ロボット", "the of and", "…", "how many", "How many?", "C++"]
    ),
)
looked_at = st.lists(
    st.builds(RankedPassage, st.floats(-1, 1), st.floats(-0.5, 1), st.text(max_size=80)), max_size=8
)


@given(questions, st.sampled_from(["en", "de", "zh", "xx"]), looked_at, st.floats(0, 1))
def test_every_question_can_be_weighed(
    question: str, language: str, passages: list[RankedPassage], weight: float
) -> None:
    terms = dict.fromkeys(query_terms(question, language).indices, weight)
    found = answerability_of(question, language, terms, passages)
    assert found == answerability_of(question, language, terms, passages)
    assert 0 <= found.features.missing <= 1
    assert len(found.strengths) == min(len(passages), LOOKED_AT)
