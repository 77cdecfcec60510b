"""Strategies for text as language models and books write it, well or badly formed."""

from __future__ import annotations

from hypothesis import strategies as st

WORDS = """A node is a process e.g. etc. 3.14 v1.2 main.py Dr. ... U.S. 1. J. ß É é
    机器人。 好！ 「是。」 [1] [2, 3]
    [ ] [see [x](y) ( ) " “ ” ** _ ` `` ``` ```` ~~ `a. B` | . ! ? …""".split()
SPACES = [". ", "? ", ".\n", " ", "\n", "\n\n", "\r\n", "\t"]
BLOCKS = ["```py\nx = 1.\n```\n", "~~~\na. B\n~~~\n", "| a. B |\n", ":::note\n"]
BEGINNINGS = ["- ", "* ", "1) ", "# ", "> "]
FRAGMENTS = st.sampled_from([*WORDS, *SPACES, *BLOCKS, *BEGINNINGS])
MESSY = st.lists(st.one_of(FRAGMENTS, st.just(" "), st.text(max_size=3)), max_size=40).map("".join)
