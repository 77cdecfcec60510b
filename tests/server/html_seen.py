"""HTML as a browser would read it: elements, text and what is marked."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = ("br", "hr")


class Seen(HTMLParser):
    """`elements` are (tag, attributes) in order; `cites` the texts of citation buttons."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.marks: list[str] = []
        self.cites: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self.open: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open, f"left open: {self.open}"

    @property
    def tags(self) -> list[str]:
        return [tag for tag, _ in self.elements]

    @property
    def links(self) -> list[str | None]:
        return [attributes.get("href") for tag, attributes in self.elements if tag == "a"]

    @property
    def marked(self) -> str:
        return "".join(self.marks)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        assert len(dict(attrs)) == len(attrs)
        if tag in VOID:
            return
        self.open.append(tag)
        self.texts.setdefault(tag, []).append("")
        if tag == "mark":
            self.marks.append("")
        if tag == "button":
            self.cites.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        for tag in set(self.open):
            self.texts[tag][-1] += data
        if "mark" in self.open:
            self.marks[-1] += data
        if "button" in self.open:
            self.cites[-1] += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(f"a declaration: {decl}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"an instruction: {data}")
