"""Takes the README's pictures of the page and the widget: a real answer from the sample book."""

from __future__ import annotations

import asyncio
import io
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.async_api import Browser, Page, async_playwright, expect

from bythebook.library import Library, sample_book
from bythebook.server.run import Server, serve
from bythebook.settings import Settings

FOLDER = Path(__file__).parents[1] / "docs" / "images"
QUESTION = "When should I use an action instead of a service?"
MOST_BYTES = 150_000
COLOURS = 256
DESKTOP = {"width": 1280, "height": 760}
SITE = {"width": 1100, "height": 760}
PHONE = {"width": 390, "height": 760}
HOST_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Robots, step by step</title>
<style>
  body { margin: 0; font: 17px/1.6 system-ui, sans-serif; }
  header { padding: 14px 32px; font-weight: 600; border-bottom: 1px solid #8884; }
  main { max-width: 34em; padding: 24px 32px; }
  pre { padding: 12px 16px; background: #8882; border-radius: 6px; font-size: 14px; }
</style>
<header>Robots, step by step</header>
<main>
  <h1>Calling a service</h1>
  <p>This page stands for the web site of a book. The chat in its corner is the widget: one line of
  HTML, asked by readers while they read.</p>
  <pre>ros2 service call /reset std_srvs/srv/Empty</pre>
  <p>A reader who wonders whether a service is the right choice asks, and gets the book's own
  words, each with the place where they stand.</p>
</main>
<script src="ADDRESS/widget.js" data-book="BOOK"></script>
</html>
"""


async def main() -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SystemExit("There is no chromium; install the Debian package of that name.")
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        async with host_site() as site, service(Path(folder), site.address) as address:
            site.page = HOST_PAGE.replace("ADDRESS", address).replace(
                "BOOK", "physical-ai-robotics"
            )
            async with async_playwright() as playwright:
                browser = await playwright.chromium.launch(
                    executable_path=chromium, args=["--no-sandbox", "--disable-lcd-text"]
                )
                for scheme in ("light", "dark"):
                    await take_page(browser, address, f"page-{scheme}", scheme, DESKTOP)
                    await take_widget(browser, site.address, f"widget-{scheme}", scheme, SITE)
                await take_page(browser, address, "page-phone", "light", PHONE)
                await take_widget(browser, site.address, "widget-phone", "light", PHONE)
                await browser.close()


@asynccontextmanager
async def service(home: Path, site: str) -> AsyncIterator[str]:
    """Where the sample book can be asked, also by the pages of a site."""
    settings = Settings(
        home=home, port=0, log_level="error", answerer="built-in", cors_origins=site
    )
    async with await Library.open(settings) as library:
        await library.ingest(sample_book())
    ready: asyncio.Future[Server] = asyncio.get_running_loop().create_future()
    ended = asyncio.create_task(serve(settings, ready.set_result))
    server = await ready
    try:
        yield server.address
    finally:
        server.should_exit = True
        await ended


class HostSite:
    """A web site of one page."""

    def __init__(self) -> None:
        self.page = ""
        self.address = ""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n"
        writer.write(f"{head}{self.page}".encode())
        await writer.drain()
        writer.close()


@asynccontextmanager
async def host_site() -> AsyncIterator[HostSite]:
    site = HostSite()
    async with await asyncio.start_server(site.answer, "127.0.0.1", 0) as server:
        site.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield site
        server.close()


async def take_page(
    browser: Browser, address: str, name: str, scheme: str, size: dict[str, int]
) -> None:
    page = await new_page(browser, scheme, size)
    await page.goto(address)
    await ask(page)
    if size != PHONE:
        await page.locator(".text .cite").first.click()
        await expect(page.locator(".passage mark").first).to_be_in_viewport()
    await keep(page, name)


async def take_widget(
    browser: Browser, address: str, name: str, scheme: str, size: dict[str, int]
) -> None:
    page = await new_page(browser, scheme, size)
    await page.goto(address)
    await page.get_by_role("button", name="Ask the book").click()
    await ask(page)
    await keep(page, name)


async def new_page(browser: Browser, scheme: Any, size: Any) -> Page:
    """Phones have finer screens."""
    return await browser.new_page(
        color_scheme=scheme,
        viewport=size,
        device_scale_factor=1.5 if size == PHONE else 1,
        reduced_motion="reduce",
        locale="en-GB",
    )


async def ask(page: Page) -> None:
    await expect(page.locator(".welcome")).to_be_visible(timeout=30_000)
    await page.locator("#question").fill(QUESTION)
    await page.locator("#question").press("Enter")
    await expect(page.locator(".confidence")).to_be_visible(timeout=30_000)


async def keep(page: Page, name: str) -> None:
    file = FOLDER / f"{name}.png"
    taken = await page.screenshot(animations="disabled", caret="hide")
    await page.close()
    # Few colours are enough for letters on paper, and make a third of the size.
    picture = Image.open(io.BytesIO(taken)).convert("RGB")
    picture.quantize(COLOURS, kmeans=1, dither=Image.Dither.NONE).save(file, optimize=True)
    size = file.stat().st_size
    print(f"{file.name}: {size // 1024} KB")
    if size > MOST_BYTES:
        raise SystemExit(f"{file.name} is larger than {MOST_BYTES // 1000} KB.")


if __name__ == "__main__":
    asyncio.run(main())
