"""Memory is given back, and nothing that was in it is lost."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from bythebook import runtime
from bythebook.embedding.onnx_model import FOLDER
from bythebook.index.edge import EdgeStore
from bythebook.runtime import give_back_freed, give_back_pages

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such calls")

SIZE = 1 << 20


def mapped(path: Path, *, private: bool = False) -> mmap.mmap:
    """A file whose every page is held, the last one written to."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"a" * SIZE)
    with path.open("r+b") as file:
        access = mmap.ACCESS_COPY if private else mmap.ACCESS_WRITE
        content = mmap.mmap(file.fileno(), SIZE, access=access)
    assert set(content[::4096]) == {ord("a")}
    content[-1] = ord("z")
    return content


def held(folder: Path) -> int:
    """Bytes of mapped files below a folder that this process holds."""
    return sum(size for name, size in _mappings() if name.startswith(f"{folder}/"))


def _mappings() -> Iterator[tuple[str, int]]:
    name = ""
    with Path("/proc/self/smaps").open(errors="surrogateescape", newline="\n") as lines:
        for line in lines:
            first, *rest = line.split(maxsplit=5)
            if first == "Rss:":
                yield name, int(rest[0]) * 1024
            elif not first.endswith(":"):
                name = rest[4] if len(rest) == 5 else ""


def test_pages_are_given_back_and_keep_what_was_written(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    content = mapped(folder / "segments" / "page.dat")
    assert held(folder) == SIZE
    give_back_pages(folder)
    assert held(folder) == 0
    assert content[: SIZE - 1] == b"a" * (SIZE - 1) and content[-1:] == b"z"
    content[0] = ord("b")
    content.flush()
    assert (folder / "segments" / "page.dat").read_bytes() == content[:]


def test_what_exists_only_in_memory_and_other_folders_are_left_alone(tmp_path: Path) -> None:
    own = mapped(tmp_path / "index" / "own.dat", private=True)
    beside = mapped(tmp_path / "index-2" / "page.dat")
    give_back_pages(tmp_path / "index")
    assert own[-1:] == b"z" and held(tmp_path / "index") == SIZE
    assert beside[-1:] == b"z" and held(tmp_path / "index-2") == SIZE


@pytest.mark.parametrize("name", ["a b.dat", "a\r\x0b\u2028b.dat", os.fsdecode(b"\xff.dat")])
def test_any_name_may_be_mapped(tmp_path: Path, name: str) -> None:
    content = mapped(tmp_path / "index" / name)
    give_back_pages(tmp_path / "index")
    assert held(tmp_path / "index") == 0 and content[-1:] == b"z"


def test_a_system_that_does_not_tell_what_is_mapped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = mapped(tmp_path / "index" / "page.dat")
    monkeypatch.setattr(runtime, "_MAPPINGS", tmp_path / "none")
    give_back_pages(tmp_path / "index")
    assert content[-1:] == b"z"


def test_nothing_in_use_is_freed() -> None:
    kept = [bytes([number % 256]) * 5000 for number in range(2000)]
    give_back_freed()
    assert all(part == bytes([number % 256]) * 5000 for number, part in enumerate(kept))


async def test_an_open_index_holds_little_until_it_is_searched(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    store = EdgeStore(folder)
    await store.open(384)
    assert held(folder) < 2 * SIZE  # the engine itself would hold forty
    assert await store.count() == 0
    await store.close()


def test_the_model_is_held_once() -> None:
    code = """
        from pathlib import Path
        import numpy, onnxruntime, tokenizers
        from bythebook.embedding.onnx_model import FOLDER
        from bythebook.embedding.embedder import Model

        def own():
            status = Path("/proc/self/status").read_text()
            return int(status.split("RssAnon:")[1].split()[0]) * 1024

        before = own()
        model = Model(FOLDER)
        model.vector("A node publishes messages on a topic.")
        print(own() - before)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 2 * (FOLDER / "model.onnx").stat().st_size
