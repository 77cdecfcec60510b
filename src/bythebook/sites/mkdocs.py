"""The MkDocs plug-in `bythebook`: the widget on every page of a site. See docs/guides/widget.md."""

from __future__ import annotations

from collections.abc import Callable

from mkdocs.config import base
from mkdocs.config import config_options as options
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import BasePlugin
from mkdocs.structure.pages import Page

from bythebook.errors import InputError
from bythebook.sites import (
    MODES,
    THEMES,
    check_together,
    checked_key,
    checked_server,
    script_tag,
)

END_OF_BODY = "</body>"


class Checked(options.Type[str]):
    """A text that a function of ours accepts or refuses; MkDocs adds the option's name."""

    def __init__(self, check: Callable[[str], str]) -> None:
        super().__init__(str)
        self.check = check

    def run_validation(self, value: object) -> str:
        text = super().run_validation(value)
        try:
            return self.check(text)
        except InputError as problem:
            raise base.ValidationError(str(problem)) from problem


class BythebookOptions(base.Config):  # type: ignore[no-untyped-call]  # MkDocs' own
    """What may stand below `bythebook:` in mkdocs.yml."""

    server = Checked(checked_server)
    key = options.Optional(Checked(checked_key))
    book = options.Optional(options.Type(str))
    title = options.Optional(options.Type(str))
    theme = options.Choice(THEMES, default="auto")
    mode = options.Choice(MODES, default="float")
    enabled = options.Type(bool, default=True)


class BythebookPlugin(BasePlugin[BythebookOptions]):  # type: ignore[no-untyped-call]
    """One line at the end of each page. Material's instant navigation leaves it in place."""

    def on_config(self, config: MkDocsConfig) -> None:
        if self.config.enabled:
            try:
                check_together(self.config.server, self.config.key, config.site_url)
            except InputError as problem:
                raise PluginError(f"Plugin 'bythebook': {problem}") from problem

    def on_post_page(self, output: str, /, *, page: Page, config: MkDocsConfig) -> str:
        return self._with_widget(output)

    def on_post_template(
        self, output_content: str, /, *, template_name: str, config: MkDocsConfig
    ) -> str:
        """Pages that are not of the book: 404, and the search of some themes."""
        is_page = template_name.endswith(".html")
        return self._with_widget(output_content) if is_page else output_content

    def _with_widget(self, html: str) -> str:
        if not self.config.enabled:
            return html
        chosen = self.config
        theme = None if chosen.theme == "auto" else chosen.theme
        tag = script_tag(
            chosen.server,
            key=chosen.key,
            book=chosen.book,
            title=chosen.title,
            theme=theme,
            mode=None if chosen.mode == "float" else chosen.mode,
        )
        # The last one: others may stand in a page's own scripts.
        before, end, after = html.rpartition(END_OF_BODY)
        return f"{before}{tag}\n{end}{after}" if end else f"{html}\n{tag}\n"
