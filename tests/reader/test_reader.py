"""The reader with its real weights: what it says of clear cases, and how it behaves."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bythebook.errors import ConfigurationError
from bythebook.reader import Reader
from bythebook.reader.network import Network, installed_weights
from bythebook.settings import Settings

pytestmark = pytest.mark.usefixtures("with_reader", "with_networks")

QUESTION = "Which port does the development server use?"
ANSWER = (
    "## Running locally\n\nThe project needs Node 20 or newer. Start the development server with "
    "the command below.\n\n```bash\nnpm run start\n```\n\nBy default the development server "
    "listens on port 3000. Images go to the static folder."
)
BESIDE = (
    "## Writing posts\n\nA post is a Markdown file with front matter. The author field names who "
    "wrote it, and tags group posts by topic. Drafts are left out of the published site."
)


@pytest.fixture
async def reader() -> AsyncIterator[Reader]:
    async with Reader.open(Settings()) as opened:
        yield opened


async def test_a_passage_that_answers_is_told_from_one_that_does_not(reader: Reader) -> None:
    right, wrong = await reader.read(QUESTION, ANSWER), await reader.read(QUESTION, BESIDE)
    assert right.answers > 0.5 > wrong.answers


async def test_evidence_is_the_sentence_that_says_it(reader: Reader) -> None:
    reading = await reader.read(QUESTION, ANSWER)
    best = max(reading.evidence, key=lambda one: one.score)
    assert "port 3000" in ANSWER[best.start : best.end]
    assert "npm run start" not in ANSWER[best.start : best.end]


async def test_a_sentence_is_supported_by_what_says_it(reader: Reader) -> None:
    said = await reader.supports("The development server listens on port 3000.", ANSWER)
    changed = await reader.supports("The development server listens on port 8080.", ANSWER)
    assert said > 0.5 > changed


async def test_a_long_passage_is_read_to_its_end(reader: Reader) -> None:
    long = "\n\n".join([BESIDE] * 20 + [ANSWER])
    reading = await reader.read(QUESTION, long)
    assert reading.answers > 0.5
    assert any("port 3000" in long[one.start : one.end] for one in reading.evidence)


async def test_a_reading_does_not_depend_on_what_is_read_beside_it(reader: Reader) -> None:
    alone = await reader.read(QUESTION, ANSWER)
    many = await asyncio.gather(*(reader.read(QUESTION, ANSWER) for _ in range(8)))
    assert all(one == alone for one in many)


async def test_several_are_ranked_and_reading_stops_when_one_surely_answers(reader: Reader) -> None:
    passages = [BESIDE, ANSWER, *[BESIDE] * 30]
    found = await reader.read_all(QUESTION, passages, sure=0.5)
    assert found[0].number == 1
    assert len(found) < len(passages)
    assert len(await reader.read_all(QUESTION, [BESIDE] * 3, sure=1.0)) == 3


async def test_an_empty_text_and_an_endless_question_are_read(reader: Reader) -> None:
    assert (await reader.read(QUESTION, "")).evidence == ()
    assert 0 <= (await reader.read("why " * 5000, ANSWER)).answers <= 1


async def test_reading_can_be_cancelled_and_leaves_a_working_reader(reader: Reader) -> None:
    task = asyncio.create_task(reader.read_all(QUESTION, [ANSWER + str(n) for n in range(200)]))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await reader.read(QUESTION, ANSWER)).answers > 0.5


async def test_what_was_read_lately_is_not_read_again(reader: Reader) -> None:
    first = await reader.read_all(QUESTION, [BESIDE, ANSWER], sure=1.0)
    supported = await reader.supports("It listens on port 3000.", ANSWER)
    await reader.close()
    assert await reader.read_all(QUESTION, [BESIDE, ANSWER], sure=1.0) == first
    assert await reader.supports("It listens on port 3000.", ANSWER) == supported
    for new in (reader.read(QUESTION, ANSWER + " More."), reader.supports(QUESTION, ANSWER)):
        with pytest.raises(RuntimeError):
            await new


async def test_the_loop_goes_on_while_it_reads(reader: Reader) -> None:
    await reader.check()
    done: list[str] = []

    async def read() -> None:
        await reader.read_all(QUESTION, [BESIDE] * 8, sure=1.0)
        done.append("read")

    async def other() -> None:
        for _ in range(3):
            await asyncio.sleep(0)
        done.append("other")

    await asyncio.gather(read(), other())
    assert done == ["other", "read"]


def test_one_network_serves_the_process() -> None:
    first, second = (Reader.open(Settings()) for _ in range(2))
    assert first._network is second._network


def test_switched_off_it_says_what_is_lost() -> None:
    with pytest.raises(ConfigurationError, match="search and refusals work as before") as caught:
        Reader.open(Settings(reader="off"))
    assert "BYTHEBOOK_READER" in caught.value.action


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "calibration.json"])
def test_a_damaged_or_missing_file_is_a_clear_error(tmp_path: Path, name: str) -> None:
    weights = tmp_path / "weights"
    shutil.copytree(installed_weights(), weights)

    def use() -> None:
        network = Network(weights)
        network.load()
        assert network.calibration

    use()
    content = bytearray((weights / name).read_bytes())
    content[len(content) // 2] ^= 1
    (weights / name).write_bytes(content)
    with pytest.raises(ConfigurationError, match=f"{name} of the reader is damaged") as damaged:
        use()
    assert "pip install --force-reinstall bythebook-reader" in damaged.value.action
    (weights / name).unlink()
    with pytest.raises(ConfigurationError, match=f"{name} of the reader can't be read"):
        use()


def test_without_the_package_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bythebook_reader", None)
    with pytest.raises(ConfigurationError, match="bythebook-reader is missing") as caught:
        Reader.open(Settings())
    assert "pip install bythebook-reader" in caught.value.action
