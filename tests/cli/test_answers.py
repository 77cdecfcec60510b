"""Answers are broken between words; code and tables are not."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bythebook.cli.answer_view import LineWrapper

text = st.text(alphabet="ab \n", max_size=200)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(text, max_size=5))
def test_lines_are_short_and_no_word_is_lost(
    capsys: pytest.CaptureFixture[str], parts: list[str]
) -> None:
    capsys.readouterr()
    writer = LineWrapper(20)
    for part in parts:
        writer.write(part)
    written = capsys.readouterr().out
    longest = max((len(word) for part in parts for word in part.split()), default=0)
    assert all(len(line.rstrip()) <= max(20, 2 * longest) for line in written.split("\n"))
    assert "".join(written.split()) == "".join("".join(parts).split())


def test_code_stays_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    code = "```python\n" + "value = 1 + " * 10 + "1\n```\n"
    LineWrapper(20).write(code)
    assert capsys.readouterr().out == code
