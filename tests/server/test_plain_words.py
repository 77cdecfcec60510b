"""What a model writes to make a reader see other words than were checked does not reach anybody:
not by the stream, not by the OpenAI endpoint, not from the stored conversation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from booktext import WriteBook, small_book
from bythebook.agent.sanitize import plain_words
from server.conftest import Serve
from server.running import Running, running, with_model
from standins.llm_server import LlmServer, says

QUESTION = "What is a service in ROS 2?"
TRUE = "A service is a request-and-reply connection"
EVIL = "evil.example"
MARKUP = (
    "A ~~service~~ is a request-and-reply connection",
    "A ~service~ is a request-and-reply connection",
    "A <del>service</del> is a request-and-reply connection",
    'A <span title="Robots lie. They do">service</span> is a request-and-reply connection',
    f"A <a href='https://{EVIL}'>service</a> is a request-and-reply connection",
    f"A [service](https://{EVIL}/x) is a request-and-reply connection",
    f'A [service](//{EVIL} "Robots lie") is a request-and-reply connection',
    f"A service is a request-and-reply connection <img src=//{EVIL}/p.png onerror=x>",
    "A service is a request-and-reply connection <!-- robots lie -->",
    "A s\u0336e\u0336r\u0336vice is a request-and-reply connection",
    "A s&#x336;e&#822;rvice is a request-and-reply &#8238;connection",
)
SEEN_BY_NOBODY = ("~", "<", "&#", EVIL, "lie", "\u0336", "](")
# A sentence that says the contrary of the book, once what is struck is taken for what it is.
STRUCK_FALSE = (
    "A service is ~~not~~ a request-and-reply connection",
    "A service is <s>not</s> a request-and-reply connection",
    "A service is n\u0338o\u0338t\u0338 a request-and-reply connection",
)


async def all_told(up: Running) -> list[str]:
    """The answer by every way that a reader gets it."""
    events = await up.events(QUESTION)
    streamed = "".join(data["text"] for name, data in events if name == "token")
    session = events[-1][1]["session_id"]
    stored = (await up.http.get(f"/session/{session}/history")).json()["messages"][1]["content"]
    whole = (await up.ask(QUESTION)).json()["response"]
    body = {"model": "bythebook", "messages": [{"role": "user", "content": QUESTION}]}
    completed = (await up.http.post("/v1/chat/completions", json=body)).json()
    in_pieces = await up.http.post("/v1/chat/completions", json={**body, "stream": True})
    lines = [line.removeprefix("data: ") for line in in_pieces.text.split("\n\n") if line]
    chunks = [json.loads(line) for line in lines if line.startswith("{")]
    pieces = [chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks]
    said = completed["choices"][0]["message"]["content"]
    lists = [text.partition("\n\nSources:\n")[0] for text in (said, "".join(pieces))]
    return [streamed, stored, whole, *lists]


@pytest.mark.parametrize("sentence", MARKUP)
async def test_only_the_checked_words_are_shown(
    serve: Serve, llm: LlmServer, sentence: str
) -> None:
    llm.always(says(f"{sentence} [1]."))
    async with serve(**with_model(llm)) as up:
        for told in await all_told(up):
            assert TRUE in told
            assert not [sign for sign in SEEN_BY_NOBODY if sign in told], told


@pytest.mark.parametrize("sentence", STRUCK_FALSE)
async def test_what_is_struck_is_checked_like_the_rest(
    serve: Serve, llm: LlmServer, sentence: str
) -> None:
    llm.always(says(f"{sentence} [1]. {TRUE} [1]."))
    async with serve(**with_model(llm)) as up:
        for told in await all_told(up):
            assert TRUE in told and " not " not in told, told


async def test_a_picture_alone_is_no_answer(serve: Serve, llm: LlmServer) -> None:
    picture = f"![](https://{EVIL}/p.png)\n\n<img src=//{EVIL}/p.png>\n\n[x]: //{EVIL}/p.png\n\n"
    llm.always(says(f"{picture}{TRUE} [1]."))
    async with serve(**with_model(llm)) as up:
        assert all(told.startswith(TRUE) for told in await all_told(up))


IMAGES = """# Pictures

The `<img src="cat.png">` element shows a picture, and the `alt` attribute says what it shows.
The ~~ sign strikes text: `~~old~~` is shown struck. See [the list](https://html.example/img) of all
attributes. A picture in a page looks like this:

```html
<img src="cat.png" alt="A cat">
<del>old</del>
```
"""


async def test_what_a_book_about_html_says_stays(
    home: Path, write_book: WriteBook, llm: LlmServer
) -> None:
    block = '```html\n<img src="cat.png" alt="A cat">\n<del>old</del>\n```'
    llm.always(
        says(
            'The `<img src="cat.png">` element shows a picture [1]. '
            'The <img src="cat.png"> element shows a picture [1]. '
            "See [the list](https://html.example/img) of all attributes [1]. "
            "The text `~~old~~` is shown struck [1].\n\n"
            f"A picture in a page looks like this:\n\n{block}\n[1]\n"
        )
    )
    async with running(home, **with_model(llm)) as up:
        await up.service.library.ingest(
            write_book({**small_book(), "pictures.md": IMAGES}), book_id="pictures"
        )
        asked = await up.ask("Which element shows a picture in a page?", book_id="pictures")
    told = asked.json()["response"]
    assert told.count('`<img src="cat.png">` element') == 2, told
    assert "[the list](https://html.example/img)" in told and "`~~old~~`" in told
    assert block in told


@pytest.mark.parametrize(
    "text",
    [
        "About ~5 and ~6 of them, in ~/ros and ~/src.",
        "5 < 6 and a > b, x \u2260 y, x =\u0338 y.",
        "A list<int> holds them [1][2].",
        "Write &amp; for &.",
        "~~~\n~~old~~ <del>\n~~~\n",
        "> ```\n> <del>\n> ```\n",
    ],
)
def test_what_is_no_markup_stays(text: str) -> None:
    assert plain_words(text, ["A list<int> holds them."]) == text


def test_what_is_cut_in_two_is_no_tag_or_link() -> None:
    assert plain_words('See <img alt="One.', []) == 'See < img alt="One.'
    assert plain_words("that](https://evil.example).", []) == "that] (https://evil.example)."


def test_what_is_left_is_looked_at_again() -> None:
    assert plain_words("A <<b>img src=x> picture.", []) == "A  picture."
    assert plain_words("[<del>not</del>](https://evil.example) so", []) == "not so"
    assert plain_words("~<i>~~not~~</i>~ so", []) == "not so"
    assert plain_words("<" * 30 + "b>" * 30 + " so", []) == ""
