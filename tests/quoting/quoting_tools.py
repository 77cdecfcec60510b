"""Excerpts from the sample book, and what must hold for every answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bythebook.language.pieces import readable
from bythebook.library import sample_book
from bythebook.models.chunk import count_words
from bythebook.quoting.excerpt import Excerpt
from bythebook.reading.frontmatter import read_front_matter

MARKER = re.compile(r"\[(\d{1,3})\]")
FENCE = re.compile(r"^(`{3,}|~{3,})[^\n]*\n.*?(?:^\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)

TABLE = re.compile(r"^(?:\|.*\|[ \t]*(?:\n|\Z))+", re.MULTILINE)


def excerpts(*texts: str, title: str = "A page") -> list[Excerpt]:
    return [Excerpt(n, text, title, "", 0.9) for n, text in enumerate(texts, 1)]


def lesson(file: str, first: str) -> list[Excerpt]:
    """The sections of a lesson as excerpts, the one called `first` before the others."""
    text = (sample_book() / file).read_text(encoding="utf-8")
    head = read_front_matter(text)
    parts = re.split(r"^(?=#{2,3} )", text[head.end :], flags=re.MULTILINE)[1:]
    named = [(part.splitlines()[0].strip("# ").partition(" {")[0], part) for part in parts]
    named.sort(key=lambda one: one[0] != first)
    assert named[0][0] == first
    title = str(head.values["title"])
    return [
        Excerpt(n, part, title, section, 0.95 if n == 1 else 0.6)
        for n, (section, part) in enumerate(named[:5], 1)
    ]


def letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text)


def without_code(answer: str) -> str:
    return FENCE.sub("", answer)


def words_outside_code(answer: str) -> int:
    prose = re.sub(r"^\|[\s:|-]+\|$", "", without_code(answer), flags=re.MULTILINE)
    return count_words(MARKER.sub("", prose).replace("|", " "))


def assert_by_the_book(answer: str, given: Sequence[Excerpt]) -> None:
    """Every piece stands in the passage its marker names, and every marker names a given one."""
    texts = {excerpt.number: excerpt.text for excerpt in given}
    for block in [*FENCE.finditer(answer), *TABLE.finditer(without_code(answer))]:
        lines = {letters(line) for line in block[0].splitlines()}
        held = [{letters(readable(line)) for line in text.splitlines()} for text in texts.values()]
        raw = [{letters(line) for line in text.splitlines()} for text in texts.values()]
        assert any(lines <= known for known in [*held, *raw]), block[0]
    prose = TABLE.sub("", without_code(answer))
    start = 0
    for marker in MARKER.finditer(prose):
        piece = letters(re.sub(r"^\s*(?:\d{1,3}\.|-) ", "", prose[start : marker.start()]))
        text = texts[int(marker[1])]
        whole = letters("\n".join(readable(line) for line in text.splitlines()) + readable(text))
        assert piece in whole, prose[start : marker.start()]
        start = marker.end()
    assert not prose[start:].strip(), prose[start:]
