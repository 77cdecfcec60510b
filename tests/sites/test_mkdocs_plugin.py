"""Two lines of mkdocs.yml put the widget on every page; what can't be used stops the build."""

from __future__ import annotations

from pathlib import Path

import pytest

from bythebook.sites.mkdocs import BythebookPlugin
from sites.book_site import build

HOME = "https://ask.example.org"
KEY = "btbp_0123456789ab_secret"
TAG = f'<script src="{HOME}/widget.js" data-book="guide" data-key="{KEY}" async></script>'
LINES = f"plugins:\n- search\n- bythebook: {{server: {HOME}, key: {KEY}, book: guide}}\n"


@pytest.mark.parametrize(
    ("theme", "folders"),
    [("mkdocs", "true"), ("mkdocs", "false"), ("readthedocs", "true"), ("material", "false")],
)
def test_every_page_has_it_once(theme: str, folders: str, tmp_path: Path) -> None:
    settings = f"site_name: A book\nuse_directory_urls: {folders}\ntheme: {theme}\n{LINES}"
    status, said = build(tmp_path, settings)
    assert status == 0, said
    pages = list((tmp_path / "site").rglob("*.html"))
    following = "next/index.html" if folders == "true" else "next.html"
    assert {tmp_path / "site" / name for name in ("index.html", following, "404.html")} <= set(
        pages
    )
    for page in pages:
        html = page.read_text(encoding="utf-8")
        assert html.count(TAG) == 1
        assert html.rindex(TAG) < html.rindex("</body>")
    assert "&lt;/body&gt;" in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "name", "complaint"),
    [
        ({}, "server", "Required configuration not provided."),
        ({"server": "ask.example.org"}, "server", "ask.example.org is not a web address."),
        ({"server": HOME, "key": "btb_0123_x"}, "key", "This key is a secret"),
        ({"server": HOME, "key": 12}, "key", "Expected type"),
        ({"server": HOME, "theme": "blue"}, "theme", "Expected one of"),
    ],
)
def test_an_option_that_can_not_be_used_is_named(
    given: dict[str, object], name: str, complaint: str
) -> None:
    errors, _ = BythebookPlugin().load_config(given)
    ((option, problem),) = errors
    assert option == name
    assert complaint in str(problem)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (f"server: {HOME}", f"Plugin 'bythebook': {HOME} can't be asked without a key. Make one"),
        (f"server: {HOME}, key: btb_0123_x", "Plugin 'bythebook' option 'key': This key is a"),
        (f"server: {HOME}, key: {KEY}, bok: guide", "'bok': Unrecognised configuration name"),
    ],
)
def test_what_can_not_be_used_stops_the_build(options: str, complaint: str, tmp_path: Path) -> None:
    lines = f"site_name: A book\nplugins:\n- bythebook: {{{options}}}\n"
    status, said = build(tmp_path, lines)
    assert status == 1
    assert complaint in said
    assert "Traceback" not in said


def test_it_can_be_switched_off_and_the_key_come_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASK_KEY", KEY)
    lines = "site_name: A book\nplugins:\n- bythebook:\n    server: {}\n    key: !ENV ASK_KEY\n{}"
    for name, switch in (("on", ""), ("off", "    enabled: false\n")):
        status, said = build(tmp_path / name, lines.format(HOME, switch))
        assert status == 0, said
        html = (tmp_path / name / "site" / "index.html").read_text(encoding="utf-8")
        assert html.count(f'data-key="{KEY}"') == (1 if name == "on" else 0)
