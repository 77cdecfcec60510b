"""Each kind of question gets the kind of answer that reads well."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from bythebook.quoting.compose import compose
from bythebook.quoting.excerpt import Excerpt
from quoting.quoting_tools import assert_by_the_book, excerpts, lesson, words_outside_code

GRAPH = "module-1-ros2/chapter-1-foundations/01-the-ros-graph.md"
NODE = "module-1-ros2/chapter-1-foundations/03-your-first-node.mdx"
TOPICS = "module-1-ros2/chapter-2-communication/01-topics-and-messages.md"
SERVICES = "module-1-ros2/chapter-2-communication/02-services-and-actions.md"
FRAMES = "module-1-ros2/chapter-3-robot-models/02-coordinate-frames-and-tf2.md"
URDF = "module-1-ros2/chapter-3-robot-models/01-urdf-and-xacro.md"
NAVIGATION = "module-1-ros2/chapter-3-robot-models/03-navigation-with-nav2.md"
RUNNING = "module-2-gazebo/chapter-1-simulation-basics/01-running-gazebo.md"
SENSORS = "module-2-gazebo/chapter-2-sensors-and-bridges/01-simulated-sensors.md"
BRIDGE = "module-2-gazebo/chapter-2-sensors-and-bridges/02-the-ros-gz-bridge.md"


def answer(question: str, given: Sequence[Excerpt]) -> str:
    text = compose(question, given)
    assert_by_the_book(text, given)
    assert words_outside_code(text) <= 130
    return text


def test_a_definition_comes_first_and_what_follows_it_next() -> None:
    text = answer("What is a node?", lesson(GRAPH, "Nodes and the graph"))
    assert text.startswith("A **node** is a participant in a ROS 2 system")
    assert "A node has a name" in text


def test_a_term_defined_in_passing() -> None:
    text = answer("What is a deadlock?", lesson(SERVICES, "Calling a service from Python"))
    assert "This is a **deadlock**: the node hangs forever" in text
    assert text.index("The callback waits") < text.index("This is a **deadlock**")


def test_steps_come_as_an_ordered_list_with_what_announces_them() -> None:
    text = answer("How do I make and save a map?", lesson(NAVIGATION, "Maps and localization"))
    assert text.startswith("To make a map: [1]\n\n1. Start the drivers")
    assert re.findall(r"^(\d)\. ", text, re.MULTILINE) == ["1", "2", "3", "4"]


def test_steps_that_need_a_code_block_bring_it() -> None:
    given = lesson(RUNNING, "Controlling a simulation from the terminal")
    text = answer("How can I pause a world and advance it by exactly 100 steps?", given)
    assert "5. Replace the request by `pause: true, multi_step: 100`" in text
    assert "```bash\ngz service -s /world/empty/control" in text


def test_code_comes_with_the_sentence_that_introduces_it() -> None:
    given = lesson(SERVICES, "Services: a question and an answer")
    text = answer("Show me the code of a service server", given)
    assert re.match(r"Here is a server that .*: \[1\]\n\n```python\n", text)
    assert text.count("```") % 2 == 0


def test_long_code_only_where_code_is_asked_for() -> None:
    given = lesson(NAVIGATION, "Sending goals")
    assert "nav.goToPose" in answer("Show me the code for sending a goal from Python", given)
    assert "nav.goToPose" not in answer("How do I send a goal to the robot?", given)


def test_why_is_answered_by_the_reason() -> None:
    given = lesson(NODE, "Executors and callback groups")
    text = answer("Why does switching to a MultiThreadedExecutor alone change nothing?", given)
    assert text.startswith("Since every callback of a node belongs to the same")


def test_a_sentence_that_refers_back_brings_the_one_before_it() -> None:
    given = lesson(FRAMES, "The standard frames of a mobile robot")
    text = answer("Why does localization publish map to odom instead of map to base_link?", given)
    assert text.index("localization cannot publish") < text.index("It publishes `map` to `odom`")


def test_a_comparison_goes_on_to_both_sides() -> None:
    given = lesson(SENSORS, "Making data realistic")
    text = answer("What is the difference between sensor noise and bias?", given)
    assert "Noise and bias are not the same thing. [1] Noise changes with every reading" in text
    assert "A **bias** is a constant offset" in text


def test_a_table_in_the_comparison_keeps_its_head() -> None:
    given = lesson(SERVICES, "Choosing: topic, service or action")
    text = answer("topics vs services", given)
    assert "Topics versus services is the first decision" in text


def test_a_list_is_whole_and_follows_its_announcement() -> None:
    given = lesson(GRAPH, "Nodes and the graph")
    text = answer("What are the benefits of splitting a robot into nodes?", given)
    assert text.startswith("Splitting a robot into nodes brings three benefits: [1]\n\n- **Fault")
    assert text.count("\n- ") == 3


def test_a_table_lists_what_its_head_names() -> None:
    text = answer("Which joint types does URDF have?", lesson(URDF, "Links and joints"))
    for joint in ("fixed", "revolute", "continuous", "prismatic", "planar", "floating"):
        assert f"| `{joint}` |" in text
    assert "| Joint type |" in text


def test_only_the_row_that_answers() -> None:
    given = lesson(GRAPH, "Looking at a running system")
    text = answer("Which command shows all topics with their message types?", given)
    assert "| `ros2 topic list -t` | All topics with their message types |" in text
    assert "rqt_graph" not in text


def test_signs_are_words_too() -> None:
    given = lesson(BRIDGE, "Bridging from the command line")
    text = answer("What do the signs @, [ and ] mean in a parameter_bridge argument?", given)
    assert "- `@` means in both directions. [1]" in text


def test_yes_or_no_is_settled_by_one_sentence() -> None:
    given = lesson(NAVIGATION, "Lifecycle: why nothing happens at first")
    assert answer("Is Nav2 a safety system?", given) == "Nav2 is not a safety system. [1]"


def test_a_number_question_gets_the_sentence_with_the_number() -> None:
    given = lesson(TOPICS, "Bandwidth: why images hurt")
    text = answer("How much data per second does a 640 by 480 color camera produce?", given)
    assert "27.6 MB" in text


def test_both_parts_of_a_question_are_answered() -> None:
    given = lesson(GRAPH, "Keeping systems apart with domain IDs")
    text = answer("Which values of ROS_DOMAIN_ID are safe, and what is the default?", given)
    assert "Values from 0 to 101 are safe" in text
    assert "the default is 0" in text


def test_contradicting_passages_are_both_shown() -> None:
    given = excerpts(
        "The default timeout of the planner server is 20 seconds.",
        "The default timeout of the planner server is 30 seconds.",
    )
    text = answer("What is the default timeout of the planner server?", given)
    assert "20 seconds. [1]" in text and "30 seconds. [2]" in text


def test_the_same_sentence_in_two_passages_is_shown_once() -> None:
    sentence = "The planner server waits twenty seconds for a path before it gives up."
    text = answer("How long does the planner server wait?", excerpts(sentence, f"{sentence} So."))
    assert text == f"{sentence} [1]"


def test_what_was_said_is_not_said_again() -> None:
    given = lesson(GRAPH, "Nodes and the graph")
    first = answer("What is a node?", given)
    more = compose("What is a node?", given, already_said=[first])
    assert_by_the_book(more, given)
    assert more and "is a participant in a ROS 2 system" not in more


@pytest.mark.parametrize(
    "question",
    [
        "What is the capital of Australia?",
        "How do I bake sourdough bread?",
        "Does a node support Zenoh?",
        "How many nodes were sold in the United States?",
        "???",
        "",
    ],
)
def test_nothing_is_quoted_that_does_not_answer(question: str) -> None:
    assert compose(question, lesson(GRAPH, "Nodes and the graph")) == ""


def test_nothing_from_nothing() -> None:
    assert compose("What is a node?", []) == ""


def test_an_announcement_without_what_it_announces_is_not_quoted() -> None:
    given = excerpts("To start the planner server run the following:\n\n## Next\n\nPlanners plan.")
    assert "following:" not in answer("How do I start the planner server?", given)


def test_meaning_is_asked_once_and_for_few_pieces() -> None:
    calls: list[Sequence[str]] = []

    def similarity(question: str, texts: Sequence[str]) -> list[float]:
        calls.append(texts)
        return [1.0 if "overhead" in text else 0.0 for text in texts]

    given = lesson(GRAPH, "Nodes and the graph")
    text = compose("What speaks against many nodes?", given, similarity=similarity)
    assert "The drawback is overhead." in text
    assert len(calls) == 1 and len(calls[0]) <= 25


def test_links_become_words_and_code_keeps_its_form() -> None:
    given = excerpts(
        "Use the [`planner`](a.md) option > speed to plan a path.\n\n- item\n\n"
        "Plan a path with this command:\n\n   ```bash\n   plan --path\n   ```\n"
    )
    text = answer("How do I plan a path?", given)
    assert "```bash\nplan --path\n```" in text
    assert "](" not in text


def test_other_languages_are_quoted_by_their_words() -> None:
    given = [
        Excerpt(4, "Ein **Knoten** ist ein Programm. Er hat einen Namen.", "Knoten", "", 0.9),
        Excerpt(7, "Roboter fahren auf Rädern.", "Räder", "", 0.4),
    ]
    assert compose("Was ist ein Knoten?", given, "de").startswith("Ein **Knoten** ist")
    japanese = [Excerpt(1, "ノードは一つの仕事をするプログラムです。", "ノード", "", 0.9)]
    assert compose("ノードとは何ですか", japanese, "ja") == japanese[0].text + " [1]"


def test_a_question_of_the_books_own_comes_with_its_reply() -> None:
    text = (
        "Position is more accurate than distance. Can tags work in the dark? No. They are passive "
        "and need light from a lamp. Motion blur is another cause of missed tags."
    )
    quoted = answer("Do tags work in the dark?", excerpts(text))
    assert "No [1]. They are passive" in quoted or "No. They are passive" in quoted, quoted


def test_a_list_of_one_endless_item_is_left_out() -> None:
    endless = "- Set the robot " + "and the server and the planner and the map " * 20 + "up."
    text = answer("How do I set the robot up?", excerpts(f"Set up the robot so:\n\n{endless}"))
    assert "endless" not in text and words_outside_code(text) < 120
