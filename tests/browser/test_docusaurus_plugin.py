"""The Docusaurus plug-in, run as it is in a browser: Docusaurus and React are stood in for, since
nothing here may need their thousand packages."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest_asyncio
from playwright.async_api import expect

from browser.conftest import Serve
from browser.guide import BOOK, DARK, QUESTION, as_in_the_guide, ask_on
from browser.reader import Reader
from browser.site import Site
from server.running import Running

PACKAGE = Path(__file__).parents[2] / "integrations" / "docusaurus"
HOME = "https://ask.example.org"
KEY = "btbp_0123456789ab_secret"

# What Node does with the plug-in's two files.
RUN = """([files, task, ...given]) => {
  const load = (name) => {
    const module = { exports: {} };
    const path = { resolve: (...parts) => parts.join("/") };
    const require = (wanted) => (wanted === "path" ? path : load(wanted.slice(2)));
    new Function("module", "require", "__dirname", files[name])(module, require, "/package");
    return module.exports;
  };
  return new Function("plugin", "...given", task)(load("index.js"), ...given);
}"""
TAGS = """
const options = plugin.validateOptions({ options: given[0] });
return plugin({ siteConfig: { url: given[1] } }, options).injectHtmlTags();
"""
REFUSAL = """
try { plugin({ siteConfig: { url: given[1] } }, plugin.validateOptions({ options: given[0] })); }
catch (problem) { return problem.message; }
"""
DATA = """
const options = plugin.validateOptions({ options: given[0] });
const made = plugin({ siteConfig: { url: given[1] } }, options);
let told;
return made.contentLoaded({ actions: { setGlobalData: (data) => (told = data) } })
  .then(() => [told, made.getThemePath()]);
"""


async def run(reader: Reader, task: str, *given: Any) -> Any:
    files = {name: (PACKAGE / name).read_text("utf-8") for name in ("index.js", "options.js")}
    return await reader.page.evaluate(RUN, [files, task, *given])


@pytest_asyncio.fixture(loop_scope="session")
async def up(serve: Serve) -> AsyncIterator[Running]:
    async with serve() as service:
        yield service


# The shape of what Docusaurus writes: the script in the head, a switch that sets data-theme, and
# links that change the page without loading it.
DOCUSAURUS = """<!doctype html>
<html lang="en" dir="ltr" class="docs-wrapper plugin-docs" data-theme="light">
<head><meta charset="UTF-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Begin | A book</title>
<script {attributes}></script>
<style>html[data-theme=dark] {{ color-scheme: dark; background: #1b1b1d }}
html {{ color-scheme: light }}</style></head>
<body class="navigation-with-keyboard"><div id="__docusaurus">
<nav aria-label="Main"><a href="/next/">Next</a><button id="theme">Switch</button></nav>
<main><article><h1>Begin</h1><p>Text.</p></article></main></div>
<script>
document.querySelector("#theme").onclick = () => document.documentElement.dataset.theme = "dark";
document.querySelector("a").onclick = (event) => {{
  event.preventDefault();
  history.pushState(null, "", "/next/");
  document.querySelector("#__docusaurus").innerHTML = "<main><h1>Next</h1></main>";
}};
</script></body></html>"""


async def test_the_button_on_every_page(reader: Reader, up: Running, site: Site) -> None:
    (settings,) = await as_in_the_guide(up, site, "Docusaurus", "js")
    (name, options) = await reader.page.evaluate(
        f"() => {{ {settings}; return config.plugins[0]; }}"
    )
    assert name == json.loads((PACKAGE / "package.json").read_text("utf-8"))["name"]
    tags = await run(reader, TAGS, options, site.origin)
    (tag,) = tags["headTags"]
    assert tag["tagName"] == "script"
    attributes = " ".join(
        key if value is True else f'{key}="{value}"' for key, value in tag["attributes"].items()
    )
    await ask_on(reader, site.put("/", DOCUSAURUS.format(attributes=attributes)))
    await reader.page.get_by_role("button", name="Switch").click()
    await expect(reader.page.locator(".shell")).to_have_css("background-color", DARK)
    await reader.page.get_by_role("link", name="Next", exact=True).click()
    await expect(reader.page.get_by_role("heading", name="Next")).to_be_visible()
    await expect(reader.exchanges).to_have_count(1)
    await reader.ask("What is a URDF?")


# As much of React as the component uses, and of Docusaurus.
REACT = """
let hooks, turn;
const same = (left, right) => left.every((each, place) => Object.is(each, right[place]));
export const useRef = (first) => (hooks[turn] ??= { current: first }, hooks[turn++]);
export function useEffect(effect, needs) {
  const mine = (hooks[turn++] ??= {});
  if (!mine.needs || !same(mine.needs, needs)) mine.due = effect;
  mine.needs = needs;
}
export const createElement = (tag, props) => ({ tag, ...props });
export function mount(component, props, place) {
  const kept = [];
  const element = document.createElement("div");
  place.append(element);
  const render = () => {
    [hooks, turn] = [kept, 0];
    const made = component(props);
    Object.assign(element.style, made.style);
    made.ref.current = element;
    for (const hook of kept.filter((one) => one.due)) {
      hook.end?.();
      hook.end = hook.due();
      hook.due = null;
    }
  };
  const unmount = () => { kept.forEach((hook) => hook.end?.()); element.remove(); };
  render();
  return { render, unmount };
}
"""
PLACE = """<!doctype html><html lang="en"><title>Ask</title>
<script type="importmap">{"imports": {"react": "/react.js",
  "@docusaurus/useGlobalData": "/data.js", "@docusaurus/theme-common": "/mode.js"}}</script>
<h1>Ask</h1><div id="place"></div>
<script type="module">
import { mount } from "react";
import BythebookChat from "/chat.js";
window.page = mount(BythebookChat, { height: "500px" }, document.querySelector("#place"));
</script></html>"""
MODE = "export const useColorMode = () => ({ colorMode: window.colorMode ?? 'light' });"


async def test_the_component_in_a_place_of_a_page(reader: Reader, up: Running, site: Site) -> None:
    _, key = await up.service.keys.create("site", ["chat"], [BOOK], origins=[site.origin])
    given = {"server": f"{up.server.address}/", "key": key, "book": BOOK, "button": False}
    assert await run(reader, TAGS, given, site.origin) == {}
    data, themes = await run(reader, DATA, given, site.origin)
    assert themes == "/package/theme"
    site.put("/react.js", REACT)
    site.put("/mode.js", MODE)
    site.put("/data.js", f"export const usePluginData = () => ({json.dumps(data)});")
    site.put("/chat.js", (PACKAGE / "theme" / "BythebookChat" / "index.js").read_text("utf-8"))
    await reader.page.goto(site.put("/", PLACE))
    await reader.ask(QUESTION)
    assert await reader.page.locator("bythebook-chat").evaluate("it => it.offsetHeight") == 500
    await reader.page.evaluate("colorMode = 'dark'; page.render()")
    await expect(reader.page.locator(".shell")).to_have_css("background-color", DARK)
    await expect(reader.exchanges).to_have_count(1)
    # Another page, and back.
    await reader.page.evaluate("page.unmount()")
    await expect(reader.page.locator("bythebook-chat")).to_have_count(0)
    await reader.page.reload()
    await expect(reader.exchanges).to_have_count(1)


async def test_what_can_not_be_used_stops_the_build(reader: Reader) -> None:
    good = {"server": HOME, "key": KEY}
    for options, complaint in (
        ({}, "server is missing"),
        ({"server": "ask.example.org", "key": KEY}, "ask.example.org is not a web address"),
        ({"server": "ftp://ask.example.org", "key": KEY}, "is not a web address"),
        ({"server": "https://a:b@ask.example.org", "key": KEY}, "holds more than"),
        ({"server": HOME}, "key is missing"),
        ({"server": HOME, "key": "btb_0123_dontsayit"}, "this key is a secret"),
        ({"server": HOME, "key": "sk-dontsayit"}, "begins with btbp_"),
        ({**good, "theme": "blue"}, "theme: blue is unknown"),
        ({**good, "button": "no"}, "button: true or false"),
        ({**good, "bok": "guide"}, "there is no option bok"),
        ({**good, "title": 3}, "title: a text is expected"),
        ({"server": "http://ask.example.org", "key": KEY}, "which come over https"),
    ):
        said = await run(reader, REFUSAL, options, "https://docs.example.org")
        assert said is not None, options
        assert complaint in said
        assert "dontsayit" not in said
    for fine in (good, {"server": "http://localhost:8000"}, {**good, "id": "second"}):
        assert await run(reader, REFUSAL, fine, "https://docs.example.org") is None


def test_all_that_is_needed_is_in_the_package() -> None:
    package = json.loads((PACKAGE / "package.json").read_text("utf-8"))
    kept = [part for part in package["files"] if (PACKAGE / part).exists()]
    assert kept == package["files"]
    needed = re.findall(r'require\("\./([^"]+)"\)', (PACKAGE / package["main"]).read_text("utf-8"))
    assert set(needed) <= set(package["files"])
    assert package["license"] == "Apache-2.0"
