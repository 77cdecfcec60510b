"""What a model is told of the conversation, and what the built-in one reads back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bythebook.agent.history import messages_of, turns_of
from bythebook.models.conversation import Turn

line = st.text(alphabet="abc ?[1]", min_size=1).map(str.strip).filter(bool)
turns = st.lists(
    st.builds(lambda q, a, s: Turn(q, a, tuple(s)), line, line, st.lists(line, max_size=3)),
    max_size=5,
)


@given(turns)
def test_turns_come_back_from_messages(given_turns: list[Turn]) -> None:
    back = turns_of(messages_of(given_turns))
    assert [(t.question, t.answer, t.sources) for t in back] == [
        (t.question, t.answer, t.sources) for t in given_turns
    ]


def test_an_answer_is_followed_by_what_it_cited() -> None:
    (_, answer) = messages_of([Turn("Q?", "A [1]. B [2].", ("Topics", "Actions › Goals"))])
    assert answer["content"] == "A [1]. B [2].\n\nSources:\n[1] Topics\n[2] Actions › Goals"


def test_the_open_question_is_no_turn() -> None:
    assert turns_of([{"role": "user", "content": "Q?"}]) == []
