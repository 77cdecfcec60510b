"""A connection is closed by whoever may use it again, not by the service under his hands, and what
is sent over it is not held back, by the system or by Python's collector of garbage."""

from __future__ import annotations

import asyncio
import gc
import socket
from pathlib import Path

import httpx

from bythebook.server.run import KEEP_ALIVE_SECONDS
from extent import FULL
from server.running import running

# Uvicorn would close it after five, at the very moment when httpx still uses it.
IDLE_SECONDS = 5.5 if FULL else 0.0


async def test_an_idle_connection_can_be_used_again(tmp_path: Path) -> None:
    limits = httpx.Limits(keepalive_expiry=60)
    async with (
        running(tmp_path) as up,
        httpx.AsyncClient(base_url=up.server.address, limits=limits) as http,
    ):
        used = []
        for pause in (IDLE_SECONDS, 0):
            response = await http.get("/info")
            stream = response.extensions["network_stream"]
            used.append(stream.get_extra_info("client_addr"))
            await asyncio.sleep(pause)
        assert up.server.config.timeout_keep_alive == KEEP_ALIVE_SECONDS
    assert used[0] == used[1]


async def test_responses_are_sent_at_once(tmp_path: Path) -> None:
    async with running(tmp_path) as up:
        for one in up.server.servers:
            for listener in one.sockets:
                assert listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


async def test_nothing_is_held_up_by_a_search_for_garbage_in_what_stands(tmp_path: Path) -> None:
    async with running(tmp_path):
        kept, looked_through = gc.get_freeze_count(), len(gc.get_objects())
        # Looking through all of them takes 150 ms and more.
        assert kept > 10 * looked_through
    assert gc.get_freeze_count() == 0
