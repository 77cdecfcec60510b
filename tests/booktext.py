"""Small books for tests, with text of a real length so that sections stay apart."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path

WriteBook = Callable[[dict[str, str]], Path]

TOPICS = {
    "nodes": "A node is a process that performs computation, and nodes form the graph of a robot.",
    "topics": "A topic is a named channel over which a publisher sends messages to subscribers.",
    "services": "A service answers a request with a response and blocks nobody else meanwhile.",
    "actions": "An action is a long task that reports feedback and can be cancelled by its client.",
    "sensors": "A lidar measures distance by timing laser light, and a camera measures brightness.",
    "wheels": "Differential drive turns two wheels at different speeds to steer a small robot.",
    "gravity": "The simulated world pulls every body down with nine point eight one metres.",
    "cooking": "Bread dough rests for an hour before it is baked in a hot oven with some steam.",
}


def section(heading: str, topic: str, extra: str = "", sentences: int = 8) -> str:
    """A section of more than the minimum size, all about one thing."""
    lines = [
        f"{TOPICS[topic]} This is remark {number} on {topic}, number {number} of {heading}."
        for number in range(1, sentences + 1)
    ]
    return f"## {heading}\n\n" + " ".join(lines) + (f"\n\n{extra}" if extra else "") + "\n\n"


def lesson(title: str, *sections: str, front: str = "") -> str:
    head = f"---\n{front}\n---\n" if front else ""
    return f"{head}# {title}\n\n" + "".join(sections)


def small_book() -> dict[str, str]:
    """Two modules, three chapters, tiers 1 to 3."""
    return {
        "bythebook.toml": '[book]\nid = "small"\ntitle = "A small book"\nbase_url = "https://b.example"\n',
        "module-1-ros/chapter-1/README.md": lesson("Talking robots", section("Overview", "nodes")),
        "module-1-ros/chapter-1/01-nodes.md": lesson(
            "Nodes",
            section("What a node is", "nodes"),
            section("Topics of a node", "topics"),
            section("Services of a node", "services"),
            front="hardware_tier: 1\nproficiency_level: A1\nlayer: L1",
        ),
        "module-1-ros/chapter-2/01-actions.md": lesson(
            "Actions",
            section("Long tasks", "actions"),
            section("Cancelling", "actions", "Cancel early."),
            front="hardware_tier: 2\nproficiency_level: B1\nlayer: L2",
        ),
        "module-2-sim/chapter-1/01-worlds.md": lesson(
            "Worlds",
            section("Gravity", "gravity"),
            section("Simulated sensors", "sensors"),
            front="hardware_tier: 3\nproficiency_level: C1\nlayer: L3",
        ),
    }


def unpack(archive: Path, folder: Path) -> None:
    """Early releases of Python 3.11 don't know filters, later ones demand one."""
    how = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(archive) as opened:
        opened.extractall(folder, **how)  # type: ignore[arg-type]


# Enough to answer "What is a canary?"; the word is in every sentence, heading and file name.
CANARIES = {
    "canary.md": "# What a canary is\n\nA canary is a small songbird.\n",
    "canary-mine.md": "# A canary in a mine\n\nA canary faints before a miner does.\n",
    "canary-pet.md": "# A canary as a pet\n\nA canary is kept in a cage, and sings.\n",
}
