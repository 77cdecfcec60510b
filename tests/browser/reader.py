"""A person before the page: what they do, and what they see."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import ConsoleMessage, Dialog, Error, Locator, Page, Request, expect

from extent import PATIENCE

# Two slow cores carry a service, a browser, and another worker's.
PATIENCE_MS = PATIENCE * 1000

# A part of Chromium: an extension, and what all of its own pages use.
PDF_VIEWER = ("chrome-extension://mhjfbmdgcfjbbpaeojofohoefgiehjai/", "chrome://resources/")

expect.set_options(timeout=PATIENCE_MS)

# Runs on every page before its own scripts: notes what the chat tells the page around it.
LISTEN = """
window.heardOfBook = [];
for (const name of ["open", "close", "ask", "answer", "error"])
  document.addEventListener(`bythebook:${name}`, ({ detail }) => {
    window.heardOfBook.push({ name, detail });
  });
"""

OVERFLOW = """() => {
  const roots = [document];
  for (const root of roots)
    for (const each of root.querySelectorAll("*")) if (each.shadowRoot) roots.push(each.shadowRoot);
  const own = "pre, .table, .math, .hidden, [inert], dialog:not([open])";
  const isWide = (each) => {
    const { width, left, right } = each.getBoundingClientRect();
    if (!width || each.closest(own)) return false;
    const scrolls = ["auto", "scroll"].includes(getComputedStyle(each).overflowX);
    const mayMove = scrolls || each === document.documentElement;
    const isMoved = mayMove && each.scrollWidth > each.clientWidth;
    return isMoved || right > innerWidth + 1 || left < -1;
  };
  const wide = roots.flatMap((root) => [...root.querySelectorAll("*")]).filter(isWide);
  return wide.map((each) => each.cloneNode(false).outerHTML);
}"""


@dataclass
class Trouble:
    """What should never happen on a page."""

    errors: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        page.on("pageerror", self._on_error)
        page.on("dialog", self._on_dialog)
        page.on("console", self._on_console)
        page.on("request", self._on_request)

    def _on_error(self, problem: Error) -> None:
        self.errors.append(f"error: {problem.message}")

    async def _on_dialog(self, dialog: Dialog) -> None:
        self.errors.append(f"dialog: {dialog.message}")
        await dialog.dismiss()

    def _on_console(self, message: ConsoleMessage) -> None:
        """The browser tells there what a policy forbade."""
        if "Content Security Policy" in message.text or "TrustedHTML" in message.text:
            self.errors.append(f"policy: {message.text}")

    def _on_request(self, request: Request) -> None:
        if request.url.startswith(PDF_VIEWER):
            return
        if urlsplit(request.url).hostname not in ("127.0.0.1", "localhost", None):
            self.errors.append(f"request: {request.url}")


class Reader:
    """Works on the page, on the widget and on whatever holds a `<bythebook-chat>`."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.question = page.locator("#question")
        self.exchanges = page.locator(".exchange")
        self.passage = page.locator(".passage")
        self.history = page.locator(".history")
        self.failure = page.locator(".failure")
        self.welcome = page.locator(".welcome")
        self.suggestions = page.locator(".suggestion")

    async def open(self, address: str) -> None:
        """The page, as soon as the books are known."""
        await self.page.goto(address)
        await expect(self.page.locator(".welcome, .exchange").first).to_be_visible()

    async def send(self, question: str) -> None:
        await self.question.fill(question)
        await self.question.press("Enter")

    async def ask(self, question: str) -> Locator:
        """Ask, and wait until it is answered or refused."""
        before = await self.exchanges.count()
        await self.send(question)
        exchange = self.exchanges.nth(before)
        await expect(exchange.get_by_role("button", name="Ask again")).to_be_visible()
        return exchange

    async def read(self, exchange: Locator, number: int = 1) -> Locator:
        """Open what a citation of an answer points to; its chip."""
        chip = exchange.locator(f'.text .cite[data-n="{number}"]').first
        await chip.click()
        await self._passage_is_there()
        await expect(self.passage.locator("mark").first).to_be_visible()
        return chip

    async def turn(self, name: str) -> None:
        """To the `Next passage` or the `Previous passage`."""
        before = await self.passage.locator(".links").inner_text()
        await self.passage.get_by_role("button", name=name).click()
        await expect(self.passage.locator(".links")).not_to_have_text(before)
        await self._passage_is_there()

    async def can_turn(self, name: str) -> bool:
        return await self.passage.get_by_role("button", name=name).is_enabled()

    async def _passage_is_there(self) -> None:
        await expect(self.passage).to_be_visible()
        await expect(self.passage).not_to_have_attribute("aria-busy", "true")

    async def heard(self) -> list[dict[str, Any]]:
        """The events that the chat told its page, oldest first."""
        found: list[dict[str, Any]] = await self.page.evaluate("window.heardOfBook")
        return found

    async def answer(self) -> dict[str, Any]:
        """The response to the last question."""
        answers = [event["detail"] for event in await self.heard() if event["name"] == "answer"]
        last: dict[str, Any] = answers[-1]
        return last

    async def focused(self) -> str:
        """What has the keyboard, through all shadows: its label, else its text."""
        found: str = await self.page.evaluate(
            """() => {
              let at = document.activeElement;
              while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
              return at.id || at.getAttribute("aria-label") || at.innerText || at.localName;
            }"""
        )
        return found

    async def tab_to(self, name: str, most: int = 60) -> None:
        for _ in range(most):
            if await self.focused() == name:
                return
            await self.page.keyboard.press("Tab")
        raise AssertionError(f"The keyboard does not come to {name!r}.")

    async def overflow(self) -> list[str]:
        """What makes the page or a part of it scroll sideways, or stands out of the window; code,
        tables and formulas may scroll by themselves."""
        found: list[str] = await self.page.evaluate(OVERFLOW)
        return found


def squeezed(text: str) -> str:
    """Without what a browser does not show: how lines and gaps were written."""
    return re.sub(r"\s+", " ", text).strip()
