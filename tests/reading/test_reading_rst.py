"""reStructuredText: docutils' own and what Sphinx adds; nothing outside of the file is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from bythebook.errors import InputError
from reading.converting import converted, page_of, text_of
from reading.reading_tools import words

MANUAL = """\
======
Manual
======

.. _start:

Getting started
===============

A *node* runs ``x < y``; see :ref:`the rest <start>`, :py:func:`~os.path.join`, x\\ :sup:`2` and
:math:`a^2`.

.. code-block:: python
   :linenos:
   :caption: A loop

   for x in y:
       print(x)

.. note:: Be careful.

   Very careful.

- one

  more of one
- two

  * inner

1. first
2. second

======  =====
Name    Value
======  =====
a|b     1
c       2
======  =====

.. math::

   x = 1

.. toctree::
   :maxdepth: 2

   other

.. py:function:: turn(angle)

   Turns by an angle.

.. versionadded:: 2.0

Term
  Definition of it.

:field: value

Details
-------

Text [1]_.

.. [1] A footnote.

>>> 1 + 1
2
"""


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (":class:`.IOLoop` runs.", "`IOLoop` runs."),
        (":py:meth:`~.Handler.get` runs.", "`Handler.get` runs."),
        (":func:`~os.path.join` joins.", "`os.path.join` joins."),
        ("See `.IOLoop.add` or `~.Future`.", "See `IOLoop.add` or `Future`."),
        (":file:`.coveragerc` is read.", "`.coveragerc` is read."),
        ("A `plain word` stays.", "A plain word stays."),
    ],
)
def test_names_for_sphinx_lose_their_marks(written: str, shown: str) -> None:
    assert shown in text_of(f"Title\n=====\n\n{written}\n".encode(), "a.rst")


def test_a_manual() -> None:
    assert text_of(MANUAL.encode(), "a.rst") == (
        "# Manual\n\n## Getting started\n\n"
        "A node runs `x < y`; see the rest, `os.path.join`, x^2 and $a^2$.\n\n"
        "```python\nfor x in y:\n    print(x)\n```\n\nNote: Be careful.\n\nVery careful.\n\n"
        "- one\n   more of one\n- two\n   - inner\n\n1. first\n2. second\n\n"
        "| Name | Value |\n| --- | --- |\n| a\\|b | 1 |\n| c | 2 |\n\n$$\nx = 1\n$$\n\n"
        "`turn(angle)`\n\nTurns by an angle.\n\nversionadded: 2.0\n\n"
        "Term: Definition of it.\n\nfield: value\n\n"
        "### Details\n\nText [1].\n\n[1] A footnote.\n\n```python\n>>> 1 + 1\n2\n```\n"
    )


def test_passages_link_to_the_ids_of_the_sections() -> None:
    text = f"Title\n=====\n\n{words(120)}\n\nA part\n------\n\n{words(120)}\n"
    page = page_of(text.encode(), "docs/a.rst")
    assert page.urls == [
        "https://example.org/docs/a.rst#title",
        "https://example.org/docs/a.rst#a-part",
    ]
    assert page.chunks[1].metadata.heading_path == ["Title", "A part"]


def test_a_file_without_a_title() -> None:
    text = f"One\n===\n\n{words(30)}\n\nTwo\n===\n\n{words(30)}\n"
    page = page_of(text.encode(), "my-notes.rst")
    assert page.placement.title == "My notes"
    assert page.source.text.startswith("## One\n")


def test_nothing_outside_of_the_file_is_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret words")
    text = (
        f".. include:: {secret}\n\n.. csv-table:: T\n   :file: {secret}\n\n"
        f".. literalinclude:: {secret}\n\n.. raw:: html\n   :file: {secret}\n\n"
        ".. raw:: html\n\n   <b>raw</b>\n\nText of the file.\n"
    )
    made = text_of(text.encode(), "a.rst")
    assert "secret words" not in made and "raw</b>" not in made
    assert "Text of the file." in made


def test_an_unknown_directive_is_an_entry() -> None:
    made = converted(b".. spaceship:: fast\n\n   It :flies:`high <x>`.\n\nText.\n", "a.rst")
    assert made.text.split("\n\n")[-3:] == ["`fast`", "It `high`.", "Text.\n"]
    assert made.problems == ()


def test_an_unknown_directive_in_a_list_whatever_was_read_before() -> None:
    page = b"Title\n=====\n\n- .. rocket:: fast\n\n     It flies.\n"
    alone = converted(page, "a.rst")
    assert "`fast`" in alone.text and alone.problems == ()
    converted(b".. rocket:: slow\n\n   It stands.\n", "b.rst")
    assert converted(page, "a.rst") == alone


def test_tabs_prompts_and_settings_keep_what_tells_them_apart() -> None:
    made = converted(
        b".. tabs::\n\n   .. group-tab:: Linux\n\n      .. prompt:: bash $\n\n"
        b"         apt install x\n\n"
        b"   .. tab:: Windows\n\n      Use choco.\n\n"
        b".. confval:: port\n   :type: int\n   :default: ``80``\n   :no-index:\n\n"
        b"   Where it listens.\n",
        "a.rst",
    )
    assert made.text.strip().split("\n\n") == [
        "Linux:", "```bash\napt install x\n```", "Windows:", "Use choco.",
        "`port`", "default: `80`", "type: int", "Where it listens.",
    ]  # fmt: skip
    assert made.problems == ()


def test_a_name_with_words_of_its_own_shows_them() -> None:
    made = text_of(b"Use `Schema.validate <marshmallow.Schema.validate>`, `A <of b>`.", "a.rst")
    assert made.strip() == "Use `Schema.validate`, A <of b>."


def test_what_only_sphinx_knows_is_left_out() -> None:
    assert text_of(b"Release |version| of |today|, |other|.", "a.rst").strip() == (
        "Release of , |other|."
    )


def test_docutils_says_nothing_on_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    converted(b"Title\n==\n\n`a <b\n\n:unknown:`x` |sub| text_\n", "a.rst")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "text", ["> " * 3000 + "x", "* " * 2000 + "x", "\n".join(" " * n + "x" for n in range(900))]
)
def test_deep_nesting(text: str) -> None:
    try:
        text_of(text.encode(), "a.rst")
    except InputError as problem:
        assert "a.rst can't be read as reStructuredText" in problem.message


def test_a_binary_file() -> None:
    with pytest.raises(InputError, match=r"a.rst is not a text file"):
        converted(b"text\0", "a.rst")


def test_what_a_page_adds_to_a_description_in_the_code_is_read() -> None:
    source = """\
Fields
======

.. autoclass:: forms.Field
   :members:

   A field holds **one** value.

   .. code-block:: python

      Field(default=3)

   .. automethod:: validate

      Runs before :attr:`saving`.

.. autofunction:: forms.without_text

.. autoexception:: forms.TooLong

.. plot::
   :include-source:

   draw(1)

.. plot:: examples/drawing.py
"""
    text = text_of(source.encode(), "a.rst")
    for told in ("`forms.Field`", "A field holds one value.", "Field(default=3)", "`validate`"):
        assert told in text
    assert "`forms.TooLong`" in text
    assert "Runs before `saving`." in text
    assert "draw(1)" in text
    assert "without_text" not in text
    assert "drawing.py" not in text


def test_a_cell_shows_its_lines_and_no_message_of_the_parser() -> None:
    source = """\
Limits
======

+------+-----------+
| Name | Value     |
+======+===========+
| a    | | first   |
|      | | second  |
+------+-----------+
| ==   | `x <u>`__ |
| b    |           |
| ==== |           |
+------+-----------+
"""
    text = text_of(source.encode(), "a.rst")
    assert "| a | first second |" in text
    assert "overline" not in text


def test_options_of_a_command_and_programs_of_a_page() -> None:
    source = """\
Tool
====

-f FILE, --file=FILE  read it

.. versionadded:: 2.1 The :meth:`Foo.bar` method.

.. jupyter-execute::

   import foo
   foo.run()

.. testcode:: the-group

   foo.test()

.. testsetup::

   import hidden
"""
    text = text_of(source.encode(), "a.rst")
    assert "`-f FILE`, `--file=FILE`: read it" in text
    assert "versionadded: 2.1 The `Foo.bar` method." in text
    assert "```\nimport foo\nfoo.run()\n```" in text
    assert "```\nfoo.test()\n```" in text
    assert "hidden" not in text
