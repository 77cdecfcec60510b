"""A real language model, served on this machine for as long as the tests run."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

_TOOLS = Path(__file__).parent.parent.parent / ".tools" / "llm"
_SECONDS_TO_START = 180


@dataclass(frozen=True)
class RealModel:
    url: str
    name: str
    key: str


def first_model(url: str, key: str) -> str:
    request = urllib.request.Request(f"{url}/models", headers={"Authorization": f"Bearer {key}"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return str(json.load(answer)["data"][0]["id"])


@contextmanager
def own_server(folder: Path) -> Iterator[str]:
    models = sorted(_TOOLS.glob("*.gguf"))
    program = _TOOLS / "venv" / "bin" / "dasllama-server"
    if not models or not program.exists():
        pytest.fail("There is no model; run scripts/get_test_llm.py or set BYTHEBOOK_TEST_LLM_URL.")
    port = _free_port()
    command = [str(program), "--model", str(models[0]), "--host", "127.0.0.1", "--port", str(port)]
    # One stream and a context that holds five passages and an answer, on the CPU.
    command += ["--gpu", "off", "--streams", "1", "--ctx", "8192", "--threads", "-1"]
    log = folder / "server.log"
    # It keeps its tuning in the home folder.
    environment = os.environ | {"HOME": str(_TOOLS)}
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, cwd=folder, env=environment
        )
    try:
        url = f"http://127.0.0.1:{port}/v1"
        _wait(process, url, log)
        yield url
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    """Its list of models comes before the model is there; only an answer says that it is."""
    body = {"model": "any", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}
    deadline = time.monotonic() + _SECONDS_TO_START
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        request = urllib.request.Request(
            f"{url}/chat/completions",
            json.dumps(body | {"model": _model_or_any(url)}).encode(),
            {"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=60):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.5)
    pytest.fail(f"The model's server did not start:\n{log.read_text(errors='replace')[-2000:]}")


def _model_or_any(url: str) -> str:
    try:
        return first_model(url, "none")
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return "any"
