"""Slack's marks, which it calls mrkdwn."""

from __future__ import annotations

from bythebook.server.platforms.dialect import ZERO_WIDTH, Dialect


class Mrkdwn(Dialect):
    """Whatever Slack acts on stands between `<` and `>`, so that without these signs, and without
    `&`, which writes them, text is only text."""

    bullet = "• "

    def text(self, text: str) -> str:
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

    def strong(self, written: str) -> str:
        return f"*{written}*"

    def emphasis(self, written: str) -> str:
        return f"_{written}_"

    def struck(self, written: str) -> str:
        return f"~{written}~"

    def code(self, code: str) -> str:
        # There is no way to write the sign itself.
        return f"`{self.text(code.replace('`', 'ˋ'))}`"

    def code_block(self, code: str) -> str:
        apart = code.replace("```", ZERO_WIDTH.join("```"))
        return f"```\n{self.text(apart)}\n```"

    def link(self, label: str, target: str) -> str:
        shown = self.text(" ".join(label.split()).replace("|", "¦"))
        return f"<{self.text(target)}|{shown}>"
