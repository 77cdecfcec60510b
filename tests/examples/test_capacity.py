"""The capacity page is what its script computes, and what it advises works."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from uuid import uuid4

import httpx

from bythebook.index.qdrant_server import ServerStore
from examples.example_files import EXAMPLES
from extent import PATIENCE

ROOT = EXAMPLES.parent
PAGE = ROOT / "docs" / "engineering" / "capacity.md"
SCRIPT = ROOT / "benchmarks" / "capacity.py"


def computed(*options: str) -> str:
    command = [sys.executable, str(SCRIPT), *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def rows(text: str, chunks: str) -> list[list[str]]:
    found = (line for line in text.splitlines() if line.startswith(f"| {chunks} |"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in found]


def test_the_page_holds_what_the_script_computes() -> None:
    page = PAGE.read_text(encoding="utf-8")
    tables = re.findall(r"^\|.*?\|$", computed(), re.MULTILINE)
    assert len(tables) > 25
    assert [line for line in tables if line not in page] == []


def test_more_chunks_and_copies_need_more_and_prices_count() -> None:
    plain, *_ = rows(computed("--chunks", "10000000"), "10,000,000")
    thrice, *_ = rows(computed("--chunks", "10000000", "--replicas", "6"), "10,000,000")
    free = ("--price-vcpu-hour", "0", "--price-memory-gb-month", "0", "--price-disk-gb-month", "0")
    gratis, *_ = rows(computed("--chunks", "10000000", *free), "10,000,000")
    wide, *_ = rows(computed("--chunks", "10000000", "--dimension", "1536"), "10,000,000")
    assert gratis[-1] == "0.0"
    assert gratis[:-1] == plain[:-1]
    assert gigabytes(thrice[2]) > 2.9 * gigabytes(plain[2])
    # 1,152 more numbers of 4 bytes, with room, in two copies.
    more = 10_000_000 * 1152 * 4 * 1.3 * 2 / 2**30
    assert gigabytes(wide[2]) - gigabytes(plain[2]) > 0.9 * more


def gigabytes(text: str) -> float:
    amount, unit = text.replace(",", "").split()
    return float(amount) * {"MB": 1 / 1024, "GB": 1, "TB": 1024}[unit]


async def test_a_collection_made_as_advised_can_be_used(qdrant_url: str) -> None:
    (body,) = re.findall(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    name = f"advised-{uuid4().hex[:8]}"
    async with httpx.AsyncClient(base_url=qdrant_url, timeout=PATIENCE, trust_env=False) as server:
        made = await server.put(f"/collections/{name}", json=json.loads(body))
        assert made.is_success, made.text
        store = ServerStore(qdrant_url, collection=name)
        try:
            await store.open(384)
            assert (await store.info()).healthy
            found = (await server.get(f"/collections/{name}")).json()["result"]
            assert found["payload_schema"]["book_id"]["params"]["is_tenant"] is True
            assert found["config"]["quantization_config"] is not None
        finally:
            await store.drop()
            await store.close()
