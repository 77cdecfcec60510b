"""A real browser for the tests: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, async_playwright

from shared_server import give_up

NAMES = ("chromium", "chromium-browser")
# Nothing is fetched from elsewhere, whatever a page asks for.
ONLY_HERE = "MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1"


@asynccontextmanager
async def running_chromium() -> AsyncIterator[Browser]:
    command = _command()
    # As root there is no sandbox, and in a container little shared memory.
    arguments = ["--no-sandbox", "--disable-dev-shm-usage", f"--host-resolver-rules={ONLY_HERE}"]
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=command, args=arguments)
        yield browser
        await browser.close()


def _command() -> str:
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        give_up("There is no chromium; install the Debian package of that name.")
    return found
