"""The widget on somebody else's site: another origin, a strict policy, and a key for it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import expect

from browser.conftest import NewReader, Serve
from browser.reader import Reader
from browser.site import Site, running_site
from server.running import Running

BOOK = "physical-ai-robotics"
QUESTION = "When should I use an action instead of a service?"
REFUSED = "This page is not allowed to ask the book."


@dataclass(frozen=True)
class Embedded:
    """A service, and a site whose pages hold its widget."""

    up: Running
    site: Site
    key: str

    @property
    def policy(self) -> str:
        """What docs/guides/widget.md says is enough, and nothing else."""
        home = self.up.server.address
        return (
            f"default-src 'none'; script-src {home}; connect-src {home}; "
            "require-trusted-types-for 'script'; trusted-types bythebook"
        )

    def page(self, path: str = "/", body: str = "", **attributes: str) -> str:
        """The address of a page with the widget in it."""
        given = {"data-book": BOOK, "data-key": self.key, **attributes}
        words = " ".join(f'{name.replace("_", "-")}="{value}"' for name, value in given.items())
        script = f'<script src="{self.up.server.address}/widget.js" {words} async></script>'
        head = '<!doctype html><html lang="en"><title>Site</title>'
        return self.site.put(path, f"{head}<h1>A site</h1>{body}{script}</html>")


@pytest_asyncio.fixture(loop_scope="session")
async def embedded(serve: Serve, site: Site) -> AsyncIterator[Embedded]:
    async with serve() as up:
        _, key = await up.service.keys.create("site", ["chat"], [BOOK], origins=[site.origin])
        found = Embedded(up, site, key)
        site.policy = found.policy
        yield found


async def test_asked_on_another_origin_under_a_strict_policy(
    reader: Reader, embedded: Embedded
) -> None:
    loaded: list[str] = []
    reader.page.on("request", lambda request: loaded.append(request.url))
    await reader.page.goto(embedded.page())
    launcher = reader.page.get_by_role("button", name="Ask the book")
    await expect(launcher).to_be_visible()
    home = embedded.up.server.address
    assert [url for url in loaded if url.startswith(home)] == [f"{home}/widget.js"]

    await launcher.click()
    await expect(reader.question).to_be_focused()
    exchange = await reader.ask(QUESTION)
    await reader.read(exchange)
    assert all(url.startswith((home, embedded.site.origin)) for url in loaded)
    await reader.page.keyboard.press("Escape")
    await expect(reader.passage).to_be_hidden()
    await reader.page.keyboard.press("Escape")
    await expect(reader.question).to_be_hidden()
    await expect(launcher).to_be_focused()
    names = [event["name"] for event in await reader.heard()]
    assert names == ["open", "ask", "answer", "close"]

    # The conversation is still there when it is opened again, and on the next page.
    await launcher.click()
    await expect(reader.exchanges).to_have_count(1)
    await reader.page.goto(embedded.page("/other/"))
    await launcher.click()
    await expect(reader.exchanges).to_have_count(1)
    await expect(reader.exchanges.locator(".text .cite").first).to_be_enabled()


async def test_only_one_name_is_added_to_the_page(reader: Reader, embedded: Embedded) -> None:
    await reader.page.add_init_script("window.namesBefore = Object.getOwnPropertyNames(window);")
    await reader.page.goto(embedded.page())
    await reader.page.get_by_role("button", name="Ask the book").click()
    await reader.ask(QUESTION)
    added: list[str] = await reader.page.evaluate(
        "Object.getOwnPropertyNames(window).filter((name) => !window.namesBefore.includes(name))"
    )
    assert [name for name in added if name not in ("namesBefore", "event")] == ["bythebook"]
    assert await reader.page.context.cookies() == []


async def test_driven_by_the_page_around_it(reader: Reader, embedded: Embedded) -> None:
    await reader.page.goto(embedded.page(data_title="Help"))
    await expect(reader.page.get_by_role("button", name="Help")).to_be_visible()
    await reader.page.evaluate(
        """(question) => {
          window.told = [];
          const listener = (detail) => window.told.push(["on", detail.question, detail.refused]);
          bythebook.on("answer", listener);
          bythebook.on("ask", () => window.told.push(["ask"]));
          document.addEventListener("bythebook:answer", () => bythebook.off("answer", listener));
          bythebook.ask(question);
        }""",
        QUESTION,
    )
    await expect(reader.exchanges.locator(".text .cite").first).to_be_enabled()
    await reader.page.evaluate("bythebook.close()")
    await expect(reader.question).to_be_hidden()
    await reader.page.evaluate("bythebook.open()")
    await expect(reader.page.get_by_role("heading", name="Help")).to_be_visible()
    await reader.ask("What is a URDF?")
    told: list[Any] = await reader.page.evaluate("window.told")
    assert told == [["ask"], ["on", QUESTION, False], ["ask"]]


async def test_in_a_place_of_the_page(reader: Reader, embedded: Embedded) -> None:
    body = '<div id="ask"></div>'
    await reader.page.goto(embedded.page(body=body, data_mode="inline", data_target="#ask"))
    await expect(reader.page.locator("#ask").locator("#question")).to_be_visible()
    exchange = await reader.ask(QUESTION)
    await expect(exchange.locator(".text .cite").first).to_be_enabled()
    assert await reader.overflow() == []


async def test_as_light_or_dark_and_coloured_as_its_page(
    reader: Reader, embedded: Embedded
) -> None:
    embedded.site.policy = f"{embedded.policy}; style-src 'unsafe-inline'"
    style = "<style>:root { color-scheme: light; --bythebook-accent: rgb(122, 31, 61); }</style>"
    await reader.page.goto(embedded.page(body=style))
    launcher = reader.page.get_by_role("button", name="Ask the book")
    await expect(launcher).to_have_css("background-color", "rgb(122, 31, 61)")
    await launcher.click()
    shell = reader.page.locator(".shell")
    await expect(shell).to_have_css("background-color", "rgb(253, 252, 249)")
    await reader.page.evaluate("document.documentElement.style.colorScheme = 'dark'")
    await expect(shell).to_have_css("background-color", "rgb(25, 24, 21)")


async def test_keys_pressed_in_it_are_not_the_pages(reader: Reader, embedded: Embedded) -> None:
    """Sites have shortcuts, such as s for search and arrows for the next chapter."""
    await reader.page.goto(embedded.page())
    await reader.page.evaluate(
        """() => {
          window.pressed = [];
          for (const kind of ["keydown", "keypress", "keyup"])
            document.addEventListener(kind, ({ key }) => window.pressed.push(key));
        }"""
    )
    await reader.page.get_by_role("button", name="Ask the book").click()
    await expect(reader.question).to_be_focused()
    await reader.page.keyboard.type("s/")
    await reader.page.keyboard.press("ArrowLeft")
    await expect(reader.question).to_have_value("s/")
    assert await reader.page.evaluate("window.pressed") == []
    await reader.page.locator("h1").click()
    await reader.page.keyboard.press("s")
    assert "s" in await reader.page.evaluate("window.pressed")


async def test_on_a_phone_it_takes_the_screen(new_reader: NewReader, embedded: Embedded) -> None:
    reader = await new_reader(
        viewport={"width": 320, "height": 640}, is_mobile=True, has_touch=True
    )
    embedded.page(body="<p>" + "text " * 900)
    page = embedded.site.files["/"].replace(
        b"<title>", b'<meta name="viewport" content="width=device-width"><title>'
    )
    embedded.site.files["/"] = page
    await reader.page.goto(f"{embedded.site.origin}/")
    await reader.page.get_by_role("button", name="Ask the book").tap()
    await expect(reader.question).to_be_focused()
    box = await reader.page.locator("bythebook-chat").bounding_box()
    assert box and (box["width"], box["height"]) == (320, 640)
    await reader.ask(QUESTION)
    assert await reader.overflow() == []
    await reader.page.get_by_role("button", name="Close", exact=True).tap()
    await expect(reader.question).to_be_hidden()


async def test_a_site_that_is_not_allowed(reader: Reader, embedded: Embedded) -> None:
    with running_site() as other:
        foreign = Embedded(embedded.up, other, embedded.key)
        await reader.page.goto(foreign.page())
        await reader.page.get_by_role("button", name="Ask the book").click()
        # The browser does not let the page read the refusal, so that the widget asks why.
        await expect(reader.failure).to_have_attribute("data-kind", "forbidden")
        await expect(reader.failure).to_contain_text(f"does not answer pages of {other.origin}.")
        await expect(reader.failure).to_contain_text(f"--origin {other.origin}")
        await expect(reader.welcome).to_have_count(0)

        # A site that has a key of its own is told, whichever key it uses.
        await embedded.up.service.keys.create("other", ["chat"], [BOOK], origins=[other.origin])
        await reader.failure.get_by_role("button", name="Try again").click()
        await expect(reader.failure).to_have_attribute("data-kind", "forbidden")
        await expect(reader.failure.locator(".what")).to_have_text(REFUSED)


async def test_a_site_by_another_name_of_its_machine(reader: Reader, embedded: Embedded) -> None:
    """It is allowed as localhost, and opened as 127.0.0.1."""
    address = embedded.page().replace("localhost", "127.0.0.1")
    await reader.page.goto(address)
    await reader.page.get_by_role("button", name="Ask the book").click()
    origin = address.rstrip("/")
    await expect(reader.failure.locator(".what")).to_have_text(
        f"The service does not answer pages of {origin}."
    )
    await expect(reader.failure).to_contain_text(f"--origin {origin}")
    await embedded.up.stop()
    await reader.failure.get_by_role("button", name="Try again").click()
    await expect(reader.failure).to_have_attribute("data-kind", "offline")
    await expect(reader.failure).to_contain_text("can’t be reached")


async def test_a_key_that_was_revoked(reader: Reader, embedded: Embedded) -> None:
    keys = embedded.up.service.keys
    await keys.create("other", ["chat"], [BOOK], origins=[embedded.site.origin])
    await reader.page.goto(embedded.page())
    await reader.page.get_by_role("button", name="Ask the book").click()
    await expect(reader.welcome).to_be_visible()
    (own,) = [key for key in await keys.list() if key.name == "site"]
    await keys.revoke(own.key_id)
    await reader.send(QUESTION)
    await expect(reader.failure.locator(".what")).to_have_text(REFUSED)
    await expect(reader.page.get_by_role("dialog", name=re.compile("key"))).to_have_count(0)


async def test_a_page_elsewhere_can_not_drive_a_service_without_keys(
    reader: Reader, up: Running, site: Site
) -> None:
    await reader.page.goto(Embedded(up, site, "").page())
    await reader.page.get_by_role("button", name="Ask the book").click()
    await expect(reader.failure).to_contain_text(f"--origin {site.origin}")
    # Without a preflight, as any page can send it.
    question = "What is a URDF, asked by a stranger?"
    heard: int | str = await reader.page.evaluate(
        """async ([url, message]) => {
          const body = JSON.stringify({ message });
          try { return (await fetch(url, { method: "POST", body })).status; }
          catch (problem) { return problem.name; }
        }""",
        [f"{up.server.address}/chat/run", question],
    )
    assert heard == "TypeError", "the page could read the answer"
    asked = (await up.http.get("/admin/questions")).json()["items"]
    assert question not in [each["question"] for each in asked]


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_a_theme_that_the_page_fixed(
    new_reader: NewReader, embedded: Embedded, theme: str
) -> None:
    reader = await new_reader(color_scheme="light" if theme == "dark" else "dark")
    await reader.page.goto(embedded.page(data_theme=theme))
    await reader.page.get_by_role("button", name="Ask the book").click()
    colour = "rgb(25, 24, 21)" if theme == "dark" else "rgb(253, 252, 249)"
    await expect(reader.page.locator(".shell")).to_have_css("background-color", colour)
    await expect(reader.page.get_by_role("button", name="appearance")).to_have_count(0)
