"""Answers as chat platforms show them: whatever a text holds, nobody is called, and it fits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bythebook.errors import InputError, ModelError
from bythebook.models.answer import Answer, Citation
from bythebook.models.passage import Passage
from bythebook.server.conversations import SavedAnswer
from bythebook.server.platforms import discord, slack
from bythebook.server.platforms.chats import PlatformQuestion, book_of, session_of
from bythebook.server.platforms.dialects import (
    Dialect,
    DiscordMarkdown,
    Mrkdwn,
    in_dialect,
    web_address,
)
from bythebook.server.platforms.discord import Discord, content_of
from bythebook.server.platforms.reply_text import length, render_outcome
from bythebook.server.platforms.slack import Slack, blocks_of
from extent import examples
from models.samples import answer, passage, refusal, sentence

# Whatever else stands in a message, only these between the brackets are an address of ours.
SLACK_LINK = re.compile(r"<https?://[^<>|\s@]+\|[^<>|]*>")
CALLS_ALL = re.compile(r"@(channel|here|everyone)", re.IGNORECASE)
DISCORD_CALL = re.compile(r"<(@[!&]?|#|a?:\w+:|t:|/|id:)")
PIECES = [
    *("<!channel>", "<!here|x>", "<@U061F7AUR>", "<#C1|x>", "<!subteam^S1>", "@here", "@everyone"),
    *("&lt;!channel&gt;", "&#60;@U1&#62;", "&#64;channel", "\\<!here>", "<@&1>", "<:e:1>", "<t:1>"),
    *(
        "</ask:1>",
        "<id:customize>",
        "```",
        "`",
        "``",
        "**",
        "_",
        "~~",
        "\n",
        "\n\n",
        "- ",
        "1. ",
        "> ",
    ),
    *("# ", "| a | b |\n|---|---|\n", "[1]", "[x](https://e.org/@here|<!channel>)", "$x$", "\\"),
    *(
        "[",
        "](",
        ")",
        "![",
        "https://e.org/a_b",
        "<https://e.org|x>",
        ":::note\n",
        "!!! note\n    ",
    ),
    *("Robots move. ", "😀", "\ud800", "\0", "\r\n", "[1]: https://evil.org/<!here>\n", "word "),
]
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=20), max_size=60).map("".join)
long_texts = st.tuples(texts, st.integers(1, 40)).map(lambda made: made[0] * made[1])


def in_slack(kept: SavedAnswer) -> list[str]:
    message = render_outcome(kept, Slack.dialect, Slack.room)
    blocks = blocks_of(message)
    return [(block.get("text") or block["elements"][0])["text"] for block in blocks]


def in_discord(kept: SavedAnswer, question: str = "") -> str:
    return content_of(question, render_outcome(kept, Discord.dialect, Discord.room))


def with_text(text: str, ends: Sequence[int] = (), **changes: Any) -> Answer:
    starts = [0, *ends]
    sentences = tuple(
        sentence(start, end, 1)
        for start, end in zip(starts, [*ends, len(text)], strict=True)
        if start < end
    )
    return answer(text=text, sentences=sentences, **changes)


@settings(deadline=None, max_examples=examples(150))
@given(text=long_texts, other=texts, places=st.lists(st.floats(0, 1), max_size=5))
def test_nobody_is_called_and_it_fits(text: str, other: str, places: list[float]) -> None:
    ends = sorted({int(place * len(text)) for place in places})
    label = other.encode("utf-8", "replace").decode().strip() or "Nodes"
    cited = passage(title=label[:200], url=f"https://e.org/{label}")
    citations = tuple(Citation(number, cited, 0, 9, 0.9) for number in range(1, 8))
    made = with_text(text or "x", ends, citations=citations, notes=(other,))
    refused = replace(made, refused=True, citations=(), sentences=())
    for kept in (SavedAnswer(made), SavedAnswer(replace(refused, nearest=(cited, passage())))):
        blocks = in_slack(kept)
        assert blocks and all(0 < length(block) <= 3000 for block in blocks)
        for block in blocks:
            assert not CALLS_ALL.search(block)
            left = SLACK_LINK.sub("", block)
            # A quotation is the only other use of these signs.
            assert "<" not in left and not re.search(r"(?m)(?<!^)>(?! )|^>(?! )", _unquoted(left))
        content = in_discord(kept, question=other)
        assert 0 < length(content) <= 2000
        assert not CALLS_ALL.search(content) and not DISCORD_CALL.search(content)


def _unquoted(text: str) -> str:
    return re.sub(r"(?m)^[ •\d.]*(> ?)+", "", text)


@pytest.mark.parametrize(
    ("text", "in_mrkdwn", "in_markdown"),
    [
        ("A **bold** and *slanted* word [1].", "A *bold* and _slanted_ word [1].", None),
        ("a < b && c > d", "a &lt; b &amp;&amp; c &gt; d", r"a \< b && c \> d"),
        ("`x<y>` ~~old~~", "`x&lt;y&gt;` ~old~", "`x<y>` ~~old~~"),
        ("`` a`b ``", "`aˋb`", "`` a`b ``"),
        ("## Parts {#parts}", "*Parts*", "**Parts**"),
        ("- one\n  - two\n- three", "• one\n    • two\n• three", "- one\n    - two\n- three"),
        ("3. c\n4. d", "3. c\n4. d", "3. c\n4. d"),
        ("```py\na = 1\n```", "```\na = 1\n```", "```\na = 1\n```"),
        ("> said", "> said", "> said"),
        ("| a | bb |\n|--|--|\n| 1 | 2 |", "```\na | bb\n1 | 2\n```", "```\na | bb\n1 | 2\n```"),
        (
            "[docs](https://e.org/a_b?x=1&y=2)",
            "<https://e.org/a_b?x=1&amp;y=2|docs>",
            "[docs](<https://e.org/a_b?x=1&y=2>)",
        ),
        ("[here](../other.md) [old](ftp://e.org)", "here old", "here old"),
        (
            "see https://e.org/a_b_c now",
            "see https://e.org/a_b_c now",
            "see https://e.org/a_b_c now",
        ),
        ("my_name __x__", "my_name *x*", r"my\_name **x**"),
        ("\\# no title", "# no title", r"\# no title"),
        ("[1]\n\n[1]: https://evil.org", "[1]", r"\[1\]"),
        (":::tip[Try it]\nGo.\n:::", "> *Try it*\n> \n> Go.", "> **Try it**\n> \n> Go."),
    ],
)
def test_markdown_in_other_marks(text: str, in_mrkdwn: str, in_markdown: str | None) -> None:
    assert in_dialect(text, Mrkdwn()) == in_mrkdwn
    if in_markdown is not None:
        assert in_dialect(text, DiscordMarkdown()) == in_markdown


def test_a_long_answer_is_cut_at_a_sentence_with_a_link_on() -> None:
    sentence = "Every joint of the robot has a limit that the controller keeps. [1] "
    count = 80
    text = (sentence * count).strip()
    ends = [len(sentence) * number - 1 for number in range(1, count)]
    kept = SavedAnswer(with_text(text, ends))
    body, sources, _ = in_slack(kept)
    assert 2800 < len(body) <= 3000
    said, _, link = body.rpartition("\n\n")
    assert said.endswith("keeps. [1]")
    assert link == "… <https://b.example/nodes#s0|Read on in the book>"
    assert sources.count("\n") == 1
    content = in_discord(kept, "Which limits?")
    assert 1500 < len(content) <= 2000
    assert r"keeps. \[1\]" + "\n\n… [Read on in the book](<https://b.example/nodes#s0>)" in content


def test_a_sentence_without_end_is_cut_between_words() -> None:
    body = in_slack(SavedAnswer(with_text("word " * 2000)))[0]
    assert body.endswith("word…") and 2900 < len(body) <= 3000


def test_many_sources_are_counted() -> None:
    def cited(number: int) -> Passage:
        return passage(title=f"Page {number} " + "x" * 140, url=f"https://e.org/{number}")

    citations = tuple(Citation(number, cited(number), 0, 9, 0.9) for number in range(1, 41))
    sources = in_slack(SavedAnswer(answer(citations=citations)))[1]
    assert sources.startswith("[1] <https://e.org/1|Page 1 ") and len(sources) <= 3000
    shown = sources.count("<https://")
    assert sources.endswith(f"\nand {40 - shown} more")


def test_how_sure_it_is_and_what_was_noted() -> None:
    assert in_slack(SavedAnswer(answer()))[-1] == "High confidence · One sentence was removed"


def test_a_refusal_names_what_is_near() -> None:
    near = (passage(), passage(), passage(url="/nodes", title="Topics", section_title=None))
    told_in_slack = in_slack(SavedAnswer(replace(refusal(), nearest=near)))
    assert told_in_slack == [
        "I don't have information about that in the book content.",
        "These sections come closest, although they don't answer it:\n"
        "• <https://b.example/nodes#s0|Nodes › 3.2 What a node is>\n"
        "• Topics",
    ]


def test_errors_are_told_as_far_as_the_asker_can_help() -> None:
    for dialect, room in ((Slack.dialect, Slack.room), (Discord.dialect, Discord.room)):
        inner = render_outcome(ModelError("key sk-1 <!here>", action="Pay."), dialect, room)
        assert inner.body == "The question could not be answered just now. Try again in a moment."
        own = render_outcome(InputError("Too <long> @here."), dialect, room)
        assert own.body in ("Too &lt;long&gt; @\u200bhere.", "Too \\<long\\> @\u200bhere.")


def test_what_an_address_may_be() -> None:
    assert web_address("https://e.org/a b|c>@x") == "https://e.org/a%20b%7Cc%3E%40x"
    assert web_address("/docs/nodes") is None
    assert web_address("javascript:alert(1)") is None
    assert web_address("https://e.org/" + "x" * 500) is None


def test_which_book_a_channel_asks() -> None:
    setting = "C1=history, physics ,C2 = art"
    assert [book_of(setting, name) for name in ("C1", "C2", "C3")] == ["history", "art", "physics"]
    assert book_of("C1=history", "C3") is None
    assert book_of("", "C1") is None


def test_a_conversation_is_known_by_its_place() -> None:
    def asked(*place: str) -> PlatformQuestion:
        return PlatformQuestion("slack", "Ev1", "U1", "C1", place, "x")

    one = session_of(asked("T", "C", "1.0"), "book", 0)
    assert one == session_of(asked("T", "C", "1.0"), "book", 0)
    others = [
        session_of(asked("T", "C", "2.0"), "book", 0),
        session_of(asked("T", "C1", ".0"), "book", 0),
        session_of(asked("T", "C", "1.0"), "other", 0),
        session_of(asked("T", "C", "1.0"), "book", 1),
    ]
    assert len({one, *others}) == 5


@pytest.mark.parametrize(
    ("typed", "question"),
    [
        ("<@U0LAN0Z89> What is a node?", "What is a node?"),
        ("&lt;b&gt; &amp; <https://e.org|docs> <https://e.org/x>", "<b> & docs https://e.org/x"),
        ("<#C024BE7LR|general> <!here> <!subteam^S1|@team>", "general here @team"),
    ],
)
def test_what_was_typed_in_slack(typed: str, question: str) -> None:
    event = {"type": "app_mention", "user": "U1", "text": typed, "channel": "C1", "ts": "1.0"}
    delivery = slack.Delivery.model_validate(
        {"type": "event_callback", "event_id": "Ev1", "event": event}
    )
    assert delivery.is_question()
    assert slack.question_of(delivery).text == question


def test_what_is_told_at_once_calls_nobody() -> None:
    told_at_once = discord.ephemeral_message("@everyone <@1>")
    assert told_at_once["data"]["content"] == "@\u200beveryone \\<\u200b@1\\>"
    dialects: list[Dialect] = [Mrkdwn(), DiscordMarkdown()]
    assert len({dialect.bullet for dialect in dialects}) == 2
