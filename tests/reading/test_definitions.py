"""Terms stand with their definitions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.reading.references import with_titles
from bythebook.reading.source import decode
from reading.converting import page_of, text_of
from reading.reading_tools import check_page, read_text, words

RST = """\
Words
=====

.. glossary::
   :sorted:

   pump
   water pump
      It moves water, see :term:`valve`.

      - by hand
      - by motor

   .. a comment

   valve : part
      It slows a pump.
"""
MYST = """\
# Words

:::{glossary}
pump
water pump
  It moves water, see {term}`valve`.

  - by hand
  - by motor

  ```python
  # no heading
  turn()
  ```

valve
  It slows a pump.
:::

[^one]: A note.
"""


def test_a_glossary_of_restructuredtext() -> None:
    assert text_of(RST.encode(), "a.rst") == (
        "# Words\n\n## pump, water pump\n\nIt moves water, see valve.\n\n- by hand\n- by motor\n\n"
        "## valve\n\nIt slows a pump.\n"
    )


def test_each_term_has_its_own_address() -> None:
    text = RST.replace("It slows a pump.", words(150)).replace("It moves", f"{words(150)} It moves")
    page = page_of(text.encode(), "a.rst")
    assert [url.partition("#")[2] for url in page.urls] == ["term-pump", "term-valve"]
    assert page.chunks[1].metadata.heading_path == ["Words", "valve"]


@pytest.mark.parametrize("fence", [":::", "```", "````"])
def test_a_glossary_of_myst(fence: str) -> None:
    text = MYST.replace(":::", fence)
    if fence == "```":
        text = text.replace("  ```python\n  # no heading\n  turn()\n  ```\n\n", "")
    page = read_text(text)
    check_page(page)
    paths = [start.heading_path[-1] for start in page.chunks[0].metadata.section_starts]
    assert paths[1:] == ["pump, water pump", "valve"]
    assert "## pump, water pump\n\nIt moves water, see valve.\n\n- by hand\n- by motor" in page.text
    assert "[^one]: A note." in page.text


def test_a_glossary_amid_a_section_keeps_the_heading_of_what_follows() -> None:
    following = "\nThat was the list of words.\n"
    page = read_text(MYST.replace("\n[^one]: A note.\n", following))
    assert "**pump, water pump**: It moves water" in page.text
    assert page.chunks[0].metadata.heading_path == ["Words"]
    made = text_of(f"{RST}{following}".encode(), "a.rst")
    assert "pump, water pump: It moves water" in made and "## valve" not in made


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("Pump\n: It moves water.", "**Pump**: It moves water."),
        ("Pump\n:   It moves water.\n    By motor.", "**Pump**: It moves water.\nBy motor."),
        (
            "**Pumps move.**\n\n: Water, that is.\n  All of it.",
            "**Pumps move.** Water, that is.\nAll of it.",
        ),
        (
            "Pump\n: It moves water.\n\n  Twice.\n\nText.",
            "**Pump**: It moves water.\n\nTwice.\n\nText.",
        ),
        ("`pump`\n: It moves water.", "**`pump`**: It moves water."),
    ],
)
def test_a_definition_list(written: str, read: str) -> None:
    page = read_text(f"# Words\n\nSome text before it.\n\n{written}\n")
    check_page(page)
    assert page.text.endswith(f"before it.\n\n{read}")


@pytest.mark.parametrize(
    "written",
    [
        "```text\nPump\n: It moves water.\n```",
        "- Pump\n: It moves water.",
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n: A caption.",
        "## Pump\n\n: It moves water.",
        "```yaml\nPump\n\n  : {glossary}\n```",
    ],
)
def test_what_defines_nothing_stays(written: str) -> None:
    page = read_text(f"# Words\n\nSome text before it.\n\n{written}\n")
    check_page(page)
    assert page.text.endswith(written)


PIECES = (
    ":::{glossary}\n", ":::\n", "```{glossary}\n", "```\n", ":sorted:\n", "pump\n", "  moves\n",
    ": water\n", "    deep\n", "\n", "\r\n", "# Head\n", "(label)=\n", "{ref}`label`", "[](#head)",
    "[](label)", "**bold**\n", "- item\n", "---\n", "{doc}`page.md`", "\ue000", "\ue000ref:x",
    "::: a.b\n", "[x]: y\n", "% no\n", "`", "~~~\n",
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_no_word_is_lost_whatever_is_written(text: str) -> None:
    source = decode("page.md", text.encode())
    named = with_titles(source, {"ref:label": "Title"})
    assert "\ue001" not in named.text
    for word in ("pump", "moves", "water", "deep", "bold", "item", "no"):
        assert named.text.count(word) >= text.count(word)
    check_page(read_text(text + "\n\nSome words behind it all.\n"))
