"""Following a job over HTTP to its end."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx

from extent import PATIENCE
from server.running import Running


async def follow(up: Running, accepted: httpx.Response) -> dict[str, Any]:
    """The job that a 202 names, once it has ended."""
    assert accepted.status_code == 202, accepted.text
    job_id: int = accepted.json()["job_id"]
    assert accepted.headers["Location"] == f"/ingestion/status/{job_id}"
    return await end_of(up, job_id)


async def end_of(up: Running, job_id: int, **options: Any) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE):
        while True:
            response = await up.http.get(f"/ingestion/status/{job_id}", **options)
            assert response.status_code == 200, response.text
            job: dict[str, Any] = response.json()
            if job["status"] in ("completed", "failed"):
                return job
            await asyncio.sleep(0.02)
