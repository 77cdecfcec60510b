"""A book that attacks its readers: nothing of it runs, wherever its text is shown."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from playwright.async_api import expect

from booktext import WriteBook
from browser.conftest import NewReader
from browser.reader import Reader, Trouble
from bythebook.library import Library
from bythebook.settings import Settings
from server.running import Running, running, until, with_model
from standins.llm_server import LlmServer, calls_tool, says

EVIL = "window.pwned = (window.pwned ?? 0) + 1"
GENTLE = """
The green kettle boils water in three minutes, which is what every visitor of the tea house asks
about first, and the answer has been the same for years. It is filled from the well behind the
house, carried in by hand, and set on the iron stove that stands between the two windows.
"""
PAGE = f"""# The <img src=x onerror="{EVIL}"> kettle

{GENTLE}

## Boiling <script>{EVIL}</script> water

The red kettle whistles <script>{EVIL}</script> when the water boils <img src=x onerror="{EVIL}">
and must be <a href="javascript:{EVIL}">taken off the stove</a> at once. The whistle of the red
kettle can be heard <svg onload="{EVIL}"><animate onbegin="{EVIL}" attributeName="x"></svg> in the
garden. The red kettle is [described here](javascript:{EVIL}) and
[there](data:text/html,<script>{EVIL}</script>) and ![drawn](x" onerror="{EVIL}).
<button type="button" class="cite" data-n="1">7</button> A red kettle weighs two kilograms [1] [99].

<iframe srcdoc="<script>parent.pwned = 1</script>"></iframe>
<style>@import "https://elsewhere.example/x.css"; * {{ display: none }}</style>
<bythebook-chat endpoint="https://elsewhere.example"></bythebook-chat>
<form action="https://elsewhere.example"><input name="key"></form>
<meta http-equiv="refresh" content="0; url=https://elsewhere.example">
<object data="https://elsewhere.example"></object><base href="https://elsewhere.example">

![A kettle](https://elsewhere.example/kettle.png)

## The blue kettle

The blue kettle keeps tea warm for two hours, and $\\href{{javascript:{EVIL}}}{{x}}$ of them.

```"><script>{EVIL}</script>
kettle = "</code></pre><script>{EVIL}</script>"
```

| Kettle | Weight |
|---|---|
| <img src=x onerror={EVIL.replace(" ", "")}> | `<script>{EVIL}</script>` |

{GENTLE}
"""
QUESTIONS = (
    "When must the red kettle be taken off the stove?",
    "How long does the blue kettle keep tea warm?",
    "How much does a red kettle weigh?",
)
TAUNT = f'Why <img src=x onerror="{EVIL}"><script>{EVIL}</script> [1] is there snow?'

# Everything that a book has no business to bring, in the page and in all shadows.
LIVE = """() => {
  const roots = [document];
  for (const root of roots)
    for (const each of root.querySelectorAll("*")) if (each.shadowRoot) roots.push(each.shadowRoot);
  const target = (each) => each.getAttribute("href") ?? each.getAttribute("src") ?? "";
  const isLive = (each) =>
    ["SCRIPT", "IFRAME", "IMG", "OBJECT", "FORM", "STYLE", "META", "BASE"].includes(each.tagName)
      && !!each.closest(".text, .nearest, .path, .question, .history, .welcome, .sources")
    || [...each.attributes].some(({ name }) => name.startsWith("on") || name === "srcdoc")
    || /^(javascript|data|vbscript):/i.test(target(each));
  return roots.flatMap((root) => [...root.querySelectorAll("*")]).filter(isLive)
    .map((each) => each.outerHTML);
}"""


@pytest_asyncio.fixture(loop_scope="session")
async def hostile(write_book: WriteBook, tmp_path: Path) -> AsyncIterator[Path]:
    """A home with that book in it."""
    title = f'title = "Tea <script>{EVIL}</script><img src=x onerror=1>"'
    book = write_book(
        {
            "bythebook.toml": f'[book]\nid = "tea"\n{title}\nbase_url = "https://tea.example"\n',
            "module-1-tea/chapter-1-kettles/01-kettles.md": PAGE,
        }
    )
    home = tmp_path / "home"
    async with await Library.open(Settings(home=home)) as library:
        await library.ingest(book)
    yield home


async def check(reader: Reader) -> None:
    assert await reader.page.evaluate("window.pwned ?? 0") == 0
    assert await reader.page.evaluate(LIVE) == []


async def read_all(reader: Reader) -> str:
    """All passages of the book, from the one that is open."""
    while await reader.can_turn("Previous passage"):
        await reader.turn("Previous passage")
    text = await reader.passage.inner_text()
    while await reader.can_turn("Next passage"):
        await reader.turn("Next passage")
        text += await reader.passage.inner_text()
        await check(reader)
        await expect(reader.passage.locator(".cite")).to_have_count(0)
    return text


async def test_an_attack_would_be_noticed(reader: Reader, up: Running, trouble: Trouble) -> None:
    await reader.open(up.server.address)
    exchange = await reader.ask("What is a URDF?")
    await check(reader)
    await exchange.locator(".text").evaluate(
        "(text, evil) => text.innerHTML = `<img src=x onerror='${evil}'>`", EVIL
    )
    assert len(await reader.page.evaluate(LIVE)) == 1

    async def told() -> list[str]:
        return trouble.errors

    (policy,) = await until(told)
    assert policy.startswith("policy: ") and "script-src" in policy
    trouble.errors.clear()


async def test_its_own_words(new_reader: NewReader, hostile: Path) -> None:
    reader = await new_reader()
    async with running(hostile) as up:
        await reader.open(up.server.address)
        await check(reader)
        answered = 0
        for question in (*QUESTIONS, TAUNT):
            exchange = await reader.ask(question)
            answer = await reader.answer()
            await check(reader)
            chips = exchange.locator(".cite")
            numbers = {cited["number"] for cited in answer["citations"]}
            assert {int(each) for each in await chips.all_inner_texts()} <= numbers
            if answer["refused"]:
                continue
            answered += 1
            await reader.read(exchange)
            await check(reader)
            text = await read_all(reader)
            assert "blue kettle" in text and "red kettle" in text
            await reader.page.keyboard.press("Escape")
        assert answered >= 2
        await reader.page.reload()
        await expect(reader.exchanges).to_have_count(len(QUESTIONS) + 1)
        await check(reader)
        await reader.page.get_by_role("button", name="Reader settings").click()
        await check(reader)
        await reader.page.goto(f"{up.server.address}/admin")
        questions = reader.page.get_by_role("region", name="Questions", exact=True)
        await questions.get_by_label("Which questions").select_option(label="All")
        await expect(questions.locator(".question")).to_have_count(len(QUESTIONS) + 1)
        await check(reader)


async def test_repeated_by_a_model(new_reader: NewReader, hostile: Path, llm: LlmServer) -> None:
    reader = await new_reader()
    told = (
        f"The red kettle whistles when the water boils <script>{EVIL}</script> [1]. "
        f'The red kettle whistles <img src=x onerror="{EVIL}"> when the water boils [1]. '
        f"[The red kettle](javascript:{EVIL}) whistles when the water boils [1]. "
        'The red kettle whistles <button class="cite" data-n="1">1</button> when the water boils.'
    )
    llm.script(calls_tool("red kettle whistles"), says(told))
    async with running(hostile, **with_model(llm)) as up:
        await reader.open(up.server.address)
        exchange = await reader.ask("When does the red kettle whistle?")
        await check(reader)
        answer = await reader.answer()
        assert not answer["refused"]
        forged = await exchange.locator(".text .cite").count() - answer["response"].count("[1]")
        assert forged == 0
