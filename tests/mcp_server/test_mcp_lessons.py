"""A lesson put together from its passages."""

from __future__ import annotations

from pathlib import Path

from booktext import WriteBook
from bythebook.library import Library
from bythebook.retrieval.neighbours import lesson_text
from bythebook.settings import Settings


async def test_nothing_is_said_twice_and_nothing_is_missing(
    home: Path, write_book: WriteBook
) -> None:
    sentences = [f"Sentence number {n} tells of the tide of day {n}." for n in range(300)]
    paragraphs = [" ".join(sentences[at : at + 3]) for at in range(0, 300, 3)]
    book = write_book({"1-tides.md": "# Tides\n\n" + "\n\n".join(paragraphs), "2-empty.md": ""})
    async with await Library.open(Settings(home=home)) as library:
        await library.ingest(book, book_id="tides")
        (lesson,) = await library.known.lessons("tides")
        passages = await library.lesson("tides", lesson.parent_doc_id)
    assert lesson.title == "Tides" and len(passages) > 3
    assert sum(len(passage.text) for passage in passages) > sum(map(len, paragraphs)) + 100
    text = lesson_text(passages)
    assert [text.count(sentence) for sentence in sentences] == [1] * 300
    assert [text.index(sentence) for sentence in sentences] == sorted(map(text.index, sentences))


async def test_every_lesson_of_the_sample_book(sample_home: Path) -> None:
    async with await Library.open(Settings(home=sample_home)) as library:
        book = await library.book()
        lessons = await library.known.lessons(book.book_id)
        assert len(lessons) == book.total_files
        for lesson in lessons:
            passages = await library.lesson(book.book_id, lesson.parent_doc_id)
            assert passages[0].metadata.title == lesson.title
            text = lesson_text(passages)
            lines = [line for line in text.splitlines() if len(line) > 80]
            assert len(lines) == len(set(lines)), lesson.title
            said = {line for passage in passages for line in passage.text.splitlines()}
            assert {line for line in said if len(line) > 80} == set(lines), lesson.title
