"""A browser for each worker, a profile for each test, and a service that most tests share."""

from __future__ import annotations

import shutil
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext

from browser.chromium import running_chromium
from browser.reader import LISTEN, PATIENCE_MS, Reader, Trouble
from browser.site import Site, running_site
from bythebook.settings import Settings
from server.running import Running, running

HERE = Path(__file__).parent
NewReader = Callable[..., Awaitable[Reader]]
Serve = Callable[..., AbstractAsyncContextManager[Running]]
DESKTOP = {"width": 1280, "height": 800}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A browser belongs to one event loop, so its tests share theirs."""
    for item in items:
        if item.path.parent == HERE and pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with running_chromium() as started:
        yield started


@pytest.fixture
def trouble() -> Iterator[Trouble]:
    """Fails a test on whose pages a script failed, a dialog opened or a policy was broken."""
    seen = Trouble()
    yield seen
    assert seen.errors == []


@pytest_asyncio.fixture(loop_scope="session")
async def new_reader(browser: Browser, trouble: Trouble) -> AsyncIterator[NewReader]:
    """`await new_reader(color_scheme="dark", …)`: somebody with a profile of their own."""
    contexts: list[BrowserContext] = []

    async def come(**options: Any) -> Reader:
        context = await browser.new_context(**{"viewport": DESKTOP, "locale": "en-GB", **options})
        contexts.append(context)
        context.set_default_timeout(PATIENCE_MS)
        context.on("page", trouble.watch)
        await context.add_init_script(LISTEN)
        return Reader(await context.new_page())

    yield come
    for context in contexts:
        await context.close()


@pytest_asyncio.fixture(loop_scope="session")
async def reader(new_reader: NewReader) -> Reader:
    return await new_reader()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def up(
    ingested_sample: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Running]:
    """The sample book, without keys, for all tests of this worker that change no setting."""
    home = tmp_path_factory.mktemp("browser") / "home"
    shutil.copytree(ingested_sample, home)
    with pytest.MonkeyPatch.context() as environment:
        for setting in Settings.model_fields.values():
            environment.delenv(str(setting.validation_alias), raising=False)
        interrupt = signal.getsignal(signal.SIGINT)
        async with running(home) as service:
            # It outlives its tests, and the person at the keyboard must be able to stop pytest.
            signal.signal(signal.SIGINT, interrupt)
            yield service


@pytest.fixture
def serve(sample_home: Path, tmp_path: Path) -> Serve:
    """`async with serve(setting=…) as up`: the sample book with settings and a database of its
    own."""
    copy = tmp_path / "own.db"
    shutil.copyfile(sample_home / "bythebook.db", copy)

    def start(**settings: Any) -> AbstractAsyncContextManager[Running]:
        return running(sample_home, **{"database_url": f"sqlite+aiosqlite:///{copy}", **settings})

    return start


@pytest.fixture
def site() -> Iterator[Site]:
    """Somebody else's web site, at an origin of its own."""
    with running_site() as started:
        yield started
