"""Follow-ups take their topic along; what stands alone is left as it is."""

from __future__ import annotations

import pytest

from bythebook.language.query_rewrite import Turn, rewrite_standalone, wants_more

SOURCES = ("The ROS Graph › Nodes and the graph", "Services and Actions › Goals that take time")


def turns(*questions: str, answer: str = "It does one job. [1]") -> list[Turn]:
    return [Turn(question, answer, SOURCES) for question in questions]


@pytest.mark.parametrize(
    ("message", "before", "words"),
    [
        ("what about its drawbacks?", "What is a costmap?", {"costmap", "drawbacks"}),
        ("How do they find each other?", "What are nodes?", {"nodes", "find"}),
        ("how does that work?", "What is sim-to-sim transfer?", {"sim", "transfer"}),
        ("Is this safe?", "What is Nav2?", {"nav2", "safe"}),
        ("What can I find there?", "What is the install folder?", {"install", "folder", "find"}),
        ("the former", "What is better, DWB or MPPI?", {"dwb", "mppi"}),
        ("what about services?", "What are the limits of topics?", {"services", "limits"}),
        ("and in Python?", "How do I write a publisher in C++?", {"python", "publisher"}),
        ("why?", "Can I sleep in a callback?", {"why", "sleep", "callback"}),
        ("how?", "Can I cancel an action?", {"how", "cancel", "action"}),
        ("an example?", "What is a launch file?", {"example", "launch", "file"}),
        ("drawbacks?", "What is a launch file?", {"drawbacks", "launch", "file"}),
        ("What are the advantages?", "What is xacro?", {"advantages", "xacro"}),
        ("tell me more", "What is a launch file?", {"launch", "file"}),
        ("continue", "What is a launch file?", {"launch", "file"}),
        ("what else?", "What is a launch file?", {"launch", "file"}),
        ("no, I meant actions", "What is a service?", {"actions"}),
        ("which one is faster?", "Should I use DWB or MPPI?", {"faster", "dwb", "mppi"}),
        ("How do I apply?", "What is a parameter file?", {"apply", "parameter", "file"}),
    ],
)
def test_a_follow_up_takes_its_topic_along(message: str, before: str, words: set[str]) -> None:
    found = rewrite_standalone(message, turns(before))
    assert found.depends
    assert words <= set(found.query.lower().replace("-", " ").replace("?", "").split())


@pytest.mark.parametrize(
    "message",
    [
        "What is the real-time factor?",
        "How do I convert a network to a TensorRT engine on a Jetson?",
        "If a parameter was declared with the default 0.5, can I set it to the integer 1?",
        "Is it possible to run Gazebo without a window?",
        "How long does it take to build a map?",
        "What is a node that publishes images called?",
        "What is a node and how does it find others?",
        "How does the planner use its costmap?",
        "Are there any differences between Humble and Jazzy?",
        "What does this book say about URDF?",
        "How do I know that the robot is localized?",
        "And who was Hubble?",
        "Give me an example of a launch file",
        "thanks",
        "Thank you very much!",
        "hello",
        "ok, great",
        "Was ist ein Knoten?",
        "",
    ],
)
def test_what_stands_alone_stays_as_it_is(message: str) -> None:
    found = rewrite_standalone(message, turns("What is a quaternion?", "Why is it used?"))
    assert (found.query, found.depends, found.source) == (message, False, None)


def test_the_first_message_stands_alone() -> None:
    assert rewrite_standalone("what about its drawbacks?", []).query == "what about its drawbacks?"


@pytest.mark.parametrize(
    ("message", "title", "asked"),
    [
        ("how do i install it", "WebTest", "how do i install WebTest"),
        ("What is this?", "Invoke", "What is Invoke?"),
        ("what is this library good for?", "Invoke", "what is Invoke good for?"),
        ("How does this work?", "APScheduler documentation", "How does APScheduler work?"),
        ("is it free?", "The Widget Handbook", "is Widget free?"),
        ("what is it?", "A Guide to Networking", "what is Networking?"),
        # Here the pronoun means something else, or nothing says what it means.
        ("Is it possible to pause a job?", "Invoke", "Is it possible to pause a job?"),
        ("What does this error mean: E001?", "Invoke", "What does this error mean: E001?"),
        ("If a job fails, is it run again?", "Invoke", "If a job fails, is it run again?"),
        ("How do they find each other?", "Invoke", "How do they find each other?"),
        ("How do I install it?", "Documentation", "How do I install it?"),
    ],
)
def test_at_first_it_is_what_the_book_is_about(message: str, title: str, asked: str) -> None:
    found = rewrite_standalone(message, [], title=title)
    assert (found.query, found.depends) == (asked, False)
    followed = rewrite_standalone("How do I start it?", turns("What is a node?"), title=title)
    assert title not in followed.query and "node" in followed.query


@pytest.mark.parametrize(
    ("message", "source"),
    [
        ("tell me more about the second source", 2),
        ("Explain [2]", 2),
        ("what does source 1 say about crashes?", 1),
        ("quote source two", 2),
        ("that last source", 2),
        ("the first citation", 1),
        ("open the fifth source", None),
        ("What is a source tree?", None),
    ],
)
def test_sources_are_found_by_number(message: str, source: int | None) -> None:
    assert rewrite_standalone(message, turns("What is a node?")).source == source


def test_a_source_is_searched_by_its_section() -> None:
    found = rewrite_standalone("tell me more about the second source", turns("What is a node?"))
    assert found.depends and "Goals" in found.query and "node" not in found.query
    asked = rewrite_standalone("what does [1] say about crashes?", turns("What is a topic?"))
    assert "crashes" in asked.query and "Graph" in asked.query


def test_an_item_of_the_last_answer() -> None:
    reply = "Three ways: [1]\n\n- **Prompt.** List it. [1]\n- **Schema.** Ask for JSON. [1]"
    found = rewrite_standalone("what about the second one?", turns("How to ground?", answer=reply))
    assert found.depends and "Schema" in found.query and "Prompt" not in found.query


def test_a_chain_of_pronouns_keeps_its_topic() -> None:
    history = turns(
        "What is a costmap?", "What is it made of?", "And what are its limits?", "thanks", "why?"
    )
    assert "costmap" in rewrite_standalone("how do I configure it?", history).query


def test_a_new_topic_replaces_the_old_one() -> None:
    history = turns("What is a costmap?", "What is it made of?", "What is a quaternion?")
    query = rewrite_standalone("Why is it used?", history).query
    assert "quaternion" in query and "costmap" not in query


def test_fifteen_turns_keep_their_references() -> None:
    history = turns(
        "What is a node?", "How do they find each other?", "Can that be limited?", "thanks",
        "What is an action?", "What are its parts?", "an example?", "How do I cancel it?", "why?",
        "What is the real-time factor?", "What if it is below 1?", "ok", "What is AMCL?",
        "How does it work?",
    )  # fmt: skip
    assert "AMCL" in rewrite_standalone("what are its limits?", history).query
    assert "action" in rewrite_standalone("and why is it slow?", history[:9]).query
    assert "factor" in rewrite_standalone("tell me more", history[:12]).query


def test_a_correction_replaces_the_topic() -> None:
    history = turns("What is a service?", "no, I meant actions")
    assert "actions" in rewrite_standalone("how do I cancel it?", history).query


@pytest.mark.parametrize("message", ["tell me more", "What else?", "go on", "more details please"])
def test_asking_for_more(message: str) -> None:
    assert wants_more(message)
    assert not wants_more("What is a node?")
