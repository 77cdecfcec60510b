"""What a model is told of the conversation."""

from __future__ import annotations

from bythebook.agent.model_writer import messages_of
from bythebook.models.conversation import Turn


def test_an_answer_is_followed_by_what_it_cited() -> None:
    (_, answer) = messages_of([Turn("Q?", "A [1]. B [2].", ("Topics", "Actions › Goals"))])
    assert answer["content"] == "A [1]. B [2].\n\nSources:\n[1] Topics\n[2] Actions › Goals"


def test_a_refusal_cites_nothing() -> None:
    (asked, answer) = messages_of([Turn("Q?", "The book is silent.", (), refused=True)])
    assert asked == {"role": "user", "content": "Q?"}
    assert answer == {"role": "assistant", "content": "The book is silent."}
