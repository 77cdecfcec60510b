from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import zlib
from array import array
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.embedding.embedder import Embedder, MiniLM, Model, make_embedder
from bythebook.embedding.onnx_model import FOLDER, even_windows
from bythebook.errors import ConfigurationError
from bythebook.settings import Settings
from kept import MODEL, VECTOR

pytestmark = pytest.mark.usefixtures("with_networks")

SENTENCES = [
    "A node publishes messages on a topic.",
    "Gazebo simulates the physics of a robot and its sensors.",
    "```python\nrclpy.init()\nnode = rclpy.create_node('talker')\n```",
    "The quick brown fox jumps over the lazy dog. " * 12,
    "Ein Satz in einer anderen Sprache.",
    "短い文",
    "Long passages need more than one window of the model. " * 90,
]
FIRST_NUMBERS = [0.0530, 0.0021, -0.0187, 0.0687]


@pytest.fixture
async def embedder() -> AsyncIterator[MiniLM]:
    made = MiniLM(threads=2)
    yield made
    await made.close()


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    return float(np.dot(a, b))


async def test_rows_have_the_promised_shape_and_unit_length(embedder: MiniLM) -> None:
    rows = await embedder.embed_documents(SENTENCES)
    assert [(row.typecode, len(row)) for row in rows] == [("f", 384)] * len(SENTENCES)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert (embedder.name, embedder.dimension) == ("all-MiniLM-L6-v2", 384)


async def test_one_text_has_one_vector(embedder: MiniLM) -> None:
    """Alone, among others, in another order, as a query, on more threads: the same bytes."""
    together = await embedder.embed_documents(SENTENCES)
    backwards = await embedder.embed_documents(SENTENCES[::-1])
    assert backwards[::-1] == together
    for text, row in zip(SENTENCES, together, strict=True):
        assert await embedder.embed_documents([text]) == [row]
        assert await embedder.embed_query(text) == row
    for threads in (1, 3, 8):
        other = MiniLM(threads=threads)
        again = await other.embed_documents(SENTENCES * 3)
        await other.close()
        assert again == together * 3


async def test_calls_at_the_same_time_do_not_mix(embedder: MiniLM) -> None:
    alone = await embedder.embed_documents(SENTENCES)
    calls = [embedder.embed_documents(SENTENCES[i:] + SENTENCES[:i]) for i in range(4)]
    for i, rows in enumerate(await asyncio.gather(*calls)):
        assert rows == alone[i:] + alone[:i]


async def test_related_text_is_nearer(embedder: MiniLM) -> None:
    question = await embedder.embed_query("How does a robot's program send data to another one?")
    near, far, farther = await embedder.embed_documents(
        [
            "Nodes exchange messages by publishing them on topics.",
            "Bake the cake for forty minutes at a moderate heat.",
            "The treaty was signed in 1648 and ended the war.",
        ]
    )
    assert cosine(question, near) > cosine(question, far) + 0.2
    assert cosine(question, near) > cosine(question, farther) + 0.2


async def test_the_end_of_a_long_text_counts(embedder: MiniLM) -> None:
    body = "Wheels are driven by motors and measured by encoders. " * 60
    ending = "Sourdough bread rises overnight before it is baked. " * 30
    with_ending, without = await embedder.embed_documents([body + ending, body])
    bread = await embedder.embed_query("How long does bread dough rise?")
    assert cosine(bread, with_ending) > cosine(bread, without) + 0.1


@pytest.mark.parametrize("text", ["", " \n\t", "\x00", "\ud800", "�", "x" * 20_000, "[SEP] [PAD]"])
async def test_any_text_has_a_vector(embedder: MiniLM, text: str) -> None:
    row = await embedder.embed_query(text)
    assert np.isfinite(row).all()
    assert np.isclose(np.linalg.norm(row), 1, atol=1e-5)


async def test_marks_written_in_a_book_are_words(embedder: MiniLM) -> None:
    with_mark, with_pad = await embedder.embed_documents(["see [SEP] here", "see [PAD] here"])
    assert cosine(with_mark, with_pad) < 0.999
    spelled = await embedder.embed_query("see [ SEP ] here")
    assert np.allclose(with_mark, spelled)


async def test_no_texts_make_no_rows(embedder: MiniLM) -> None:
    assert await embedder.embed_documents([]) == []


async def test_documents_are_counted_and_queries_are_not(embedder: MiniLM) -> None:
    await embedder.embed_documents(["one", "two"])
    await embedder.embed_query("three")
    await embedder.embed_documents(["four"])
    assert embedder.texts_embedded == 3


async def test_a_cancelled_call_stops_and_leaves_the_embedder_usable(
    embedder: MiniLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []
    has_begun = asyncio.Event()
    tell = asyncio.get_running_loop().call_soon_threadsafe

    def vector(model: Model, text: str) -> array[float]:
        begun.append(text)
        tell(has_begun.set)
        return VECTOR(model, text)

    monkeypatch.setattr(MODEL, "vector", vector)
    many = SENTENCES * 200
    call = asyncio.create_task(embedder.embed_documents(many))
    await has_begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert len(await embedder.embed_documents(["next"])) == 1
    assert begun[-1] == "next" and len(begun) < len(many)
    assert embedder.texts_embedded == 1


async def test_a_query_does_not_wait_for_a_book(embedder: MiniLM) -> None:
    await embedder.embed_query("load")
    call = asyncio.create_task(embedder.embed_documents(SENTENCES * 100))
    await asyncio.sleep(0)
    await embedder.embed_query("a question in between")
    assert not call.done()
    call.cancel()


async def test_closing_ends_its_threads() -> None:
    embedder = MiniLM(threads=2)
    await embedder.embed_documents(SENTENCES)
    await embedder.close()
    with pytest.raises(RuntimeError):
        await embedder.embed_query("too late")


async def test_vectors_stay_what_they_were(embedder: MiniLM) -> None:
    """Stored vectors outlive a release; other weights or rules need another `name`."""
    row = await embedder.embed_query("A node publishes messages on a topic.")
    assert np.allclose(row[:4], FIRST_NUMBERS, atol=5e-3)


def test_the_checksums_are_those_of_the_weights() -> None:
    for line in (FOLDER / "CRC32SUMS").read_text().splitlines():
        expected, name = line.split()
        assert f"{zlib.crc32((FOLDER / name).read_bytes()):08x}" == expected
    assert "Apache License" in (FOLDER / "LICENSE").read_text()
    assert "all-MiniLM-L6-v2" in (FOLDER / "NOTICE").read_text()


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "CRC32SUMS"])
@pytest.mark.parametrize("damage", ["one bit", "half", "gone"])
async def test_damaged_weights_are_told(name: str, damage: str, tmp_path: Path) -> None:
    for file in ("model.onnx", "tokenizer.json", "CRC32SUMS"):
        shutil.copyfile(FOLDER / file, tmp_path / file)
    victim = tmp_path / name
    content = bytearray(victim.read_bytes())
    if damage == "gone":
        victim.unlink()
    elif damage == "half":
        victim.write_bytes(content[: len(content) // 3])
    else:
        content[len(content) // 4] ^= 1
        victim.write_bytes(content)
    embedder = MiniLM(threads=2, weights=tmp_path)
    with pytest.raises(ConfigurationError, match="of the built-in embedder") as caught:
        await embedder.embed_documents(["one", "two", "three"])
    await embedder.close()
    assert "Install bythebook again" in caught.value.action


@given(st.integers(0, 3000), st.integers(1, 300))
def test_windows_hold_every_piece_once_and_are_even(count: int, size: int) -> None:
    pieces = list(range(count))
    windows = even_windows(pieces, size)
    assert [piece for window in windows for piece in window] == pieces
    lengths = [len(window) for window in windows]
    assert max(lengths) <= size
    assert max(lengths) - min(lengths) <= 1
    assert len(windows) == max(1, -(-count // size))


async def test_the_settings_choose_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    embedder: Embedder = make_embedder(Settings(embedder="built-in", embedding_threads=1))
    assert isinstance(embedder, MiniLM)
    await embedder.close()


@pytest.mark.parametrize(
    "use",
    [
        pytest.param("", id="imported"),
        pytest.param("embedder.make_embedder(Settings(embedder='built-in'))", id="made"),
    ],
)
def test_nothing_heavy_is_loaded_before_the_first_text(use: str, tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from bythebook.embedding import embedder\n"
        "from bythebook.settings import Settings\n"
        f"{use}\n"
        "print(*sorted({'onnxruntime', 'tokenizers', 'httpx'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert result.stdout.strip() == ""
