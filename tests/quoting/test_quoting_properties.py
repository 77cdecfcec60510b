"""What holds for every answer, whatever the book looks like."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from bythebook.quoting.compose import compose
from bythebook.quoting.excerpt import Excerpt
from bythebook.quoting.followup import Turn, standalone
from quoting.quoting_tools import assert_by_the_book, words_outside_code

WORDS = (
    "node robot planner server map it This However they starts the a is because of 42 not and "
    "**node** `run_node` [link](page.md) *path* uses path for"
).split()
QUESTIONS = (
    "What is a node?", "How do I start the planner server?", "Why is the map not a path?",
    "What is the difference between a node and a server?", "Which parts does a robot have?",
    "Show me an example of a node", "How many nodes start the robot, and what is a map?",
    "Can a node start the server?", "node", "When was the planner started?",
)  # fmt: skip

sentence = st.builds(
    lambda words, end: " ".join(words) + end,
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=14),
    st.sampled_from([".", ".", ".", "?", ":", ""]),
)
paragraph = st.lists(sentence, min_size=1, max_size=4).map(" ".join)
block = st.one_of(
    paragraph,
    sentence.map(lambda text: f"## {text}"),
    st.lists(sentence, min_size=1, max_size=12).map(lambda ss: "\n".join(f"- {s}" for s in ss)),
    st.lists(sentence, min_size=1, max_size=5).map(
        lambda ss: "\n".join(f"{n}. {s}" for n, s in enumerate(ss, 1))
    ),
    st.lists(sentence, min_size=1, max_size=3).map(lambda ss: "- top\n  - " + "\n  - ".join(ss)),
    st.lists(sentence, min_size=1, max_size=30).map(
        lambda ss: "\n".join(["```python", *ss, "```"])
    ),
    st.lists(sentence, min_size=1, max_size=6).map(
        lambda ss: "\n".join(["| Node | Path |", "|---|---|", *(f"| {s} | x |" for s in ss)])
    ),
    paragraph.map(lambda text: f":::tip\n{text}\n:::"),
    paragraph.map(lambda text: f"> {text}"),
)
markdown = st.lists(block, min_size=1, max_size=8).map("\n\n".join)
passages = st.lists(markdown, min_size=1, max_size=5).map(
    lambda texts: [
        Excerpt(2 * n + 1, text, "Nodes", "The node", 1 - n / 10) for n, text in enumerate(texts)
    ]
)
anything = st.text(max_size=300)


@settings(max_examples=150)
@given(st.sampled_from(QUESTIONS), passages)
def test_every_piece_is_the_book_s(question: str, given_: list[Excerpt]) -> None:
    text = compose(question, given_)
    assert_by_the_book(text, given_)
    assert words_outside_code(text) <= 140
    assert compose(question, given_) == text


@settings(max_examples=200)
@given(anything, st.lists(anything, max_size=4), st.sampled_from(["en", "de", "ja", "xx"]))
@example("a", ["```", "| a |\n|---|", "$$", "- \n- ", "1. ", "> ```\n> x"], "en")
@example("What is [1]?", ["[1] [2](3) [4]. It is. So?"], "en")
def test_nothing_makes_it_fail(question: str, texts: list[str], language: str) -> None:
    given_ = [Excerpt(n, text, "", "", 0.5) for n, text in enumerate(texts, 1)]
    assert compose(question, given_, language) == compose(question, given_, language)


@settings(max_examples=200)
@given(anything, st.lists(st.tuples(anything, anything), max_size=15))
def test_any_message_has_a_query(message: str, said: list[tuple[str, str]]) -> None:
    turns = [Turn(question, reply, ("A page › A section",)) for question, reply in said]
    found = standalone(message, turns)
    assert found.depends or found.query == message
    assert found.source in (None, 1)
