"""Text that a page takes from other files of the book, put where the published page has it.

mdBook's `{{#include}}`, MkDocs' snippets, Hugo's and VitePress' includes, Sphinx' `include` and
`literalinclude`, in reStructuredText and MyST. Only files inside the book's folder are read. What
can't be filled is left out: a placeholder says nothing to a reader.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

DEEPEST = 3
# Of one file, and of all that a page takes from others.
MOST_CHARACTERS, MOST_TOGETHER = 200_000, 1_000_000
# Folders that generators look for included files in.
FOLDERS = ("", *"includes _includes snippets _snippets src docs assets examples".split())

END = r"[ \t]*+(?=\r?$)"
PATH = r"[^\s\"'<>|*{}:]++"
# The same before an end that may follow at once: one of its signs is no end by itself.
PATH_BEFORE_END = r"(?:[^\s\"'<>|*{}:!%]|[!%](?!\}))++"
MDBOOK = re.compile(
    rf"\{{\{{#(?P<how>include|rustdoc_include|playground|playpen)[ \t]++(?P<path>{PATH})"
    r"(?::(?P<part>[\w:.-]*+))?+[^{}\r\n]*+\}\}"
)
SNIPPET = re.compile(
    r"^(?P<indent>[ \t]*+)(?:"
    rf"-{{1,3}}8<-{{1,3}}[ \t]++[\"'](?P<path>{PATH})(?::(?P<part>[\w:.-]*+))?[\"']|"
    rf"\{{[!*][ \t]*+(?P<other>{PATH_BEFORE_END})"
    r"(?:[ \t]++(?P<more>[^}\r\n]*+)(?<=[!*])|[!*])\}|"
    r"<<<[ \t]*+(?P<vite>[@\w./-]++)[^\r\n]*+|"
    rf"\{{\{{[<%][ \t]*+include[ \t]++(?:file=)?[\"']?(?P<hugo>{PATH_BEFORE_END})"
    r"[\"']?[ \t]*+[>%]\}\}"
    rf"|\{{\{{[<%][ \t]*+code(?:_sample|new)?[ \t](?=[^}}\r\n]*+\}}\}}{END})[^}}\r\n]*?"
    rf"file=\"(?P<code>{PATH})\"[^}}\r\n]*+\}}\}}"
    rf"){END}",
    re.MULTILINE,
)
MYST = re.compile(
    r"^(?P<fence>`{3,}|:{3,})\{(?P<how>include|literalinclude)\}"
    rf"[ \t]+(?P<path>{PATH})[ \t]*\r?\n"
    rf"(?P<options>(?:[ \t]*:[\w-]+:[^\n]*\n)*)[ \t]*(?P=fence){END}",
    re.MULTILINE,
)
RST = re.compile(
    r"^(?P<indent>[ \t]*+)\.\.[ \t]++(?P<how>include|literalinclude)::"
    r"[ \t]++(?P<path>[^\s<>|*{}]++)[ \t]*+"
    rf"(?P<options>(?:\r?\n(?P=indent)[ \t]++:[\w-]++:[^\r\n]*+)*){END}",
    re.MULTILINE,
)
OPTION = re.compile(r"(?<![\w-]):?([\w-]++):[ \t]*+([^\n]*+)")
LINES_OF = re.compile(r"\bln\[([\d:,]+)\]")
ANCHOR = re.compile(r"^.*\bANCHOR(?:_END)?:\s*[\w-]+.*\n?", re.MULTILINE)
ANCHOR_LINE = re.compile(r"\b(?P<how>ANCHOR_END|ANCHOR|start|end):[ \t]*(?P<name>[\w.-]+)")
# mdBook's orders beside includes, and a fence that nothing was put in.
LEFT_OVER = re.compile(r"\{\{#[a-z_][^{}\r\n]*+\}\}")
EMPTY_FENCE = re.compile(
    r"^(?P<indent>[ \t]*+)(?P<mark>`{3,}+|~{3,}+)[^\n`]*+\n(?:[ \t]*+\n)*+(?P=indent)(?P=mark)"
    r"[ \t]*+$",
    re.MULTILINE,
)
LANGUAGES = {"py": "python", "rs": "rust", "js": "javascript", "ts": "typescript", "sh": "bash"}


class Includes:
    """Fills one page; `top` is the folder beyond which nothing is read, `room` how much more may be
    put into the page."""

    def __init__(self, top: Path) -> None:
        self.top, self.room, self.depth = top, MOST_TOGETHER, 0

    def fill(self, file: Path, text: str) -> str:
        """The text of this file with what it includes; the same object where that is nothing."""
        if file.suffix == ".rst":
            return RST.sub(partial(self._directive, folder=file.parent), text)
        filled = text
        for pattern, put in (
            (MDBOOK, self._mdbook),
            (SNIPPET, self._snippet),
            (MYST, self._directive),
        ):
            filled = pattern.sub(partial(put, folder=file.parent), filled)
        if filled != text or "{{#" in text:
            filled = EMPTY_FENCE.sub("", LEFT_OVER.sub("", filled))
        return text if filled == text else filled

    def _mdbook(self, found: re.Match[str], folder: Path) -> str:
        text = self._read(found["path"], folder)
        return ANCHOR.sub("", part_of(text, found["part"] or "")).rstrip("\n")

    def _snippet(self, found: re.Match[str], folder: Path) -> str:
        names = ("path", "other", "vite", "hugo", "code")
        path = next(filter(None, (found[name] for name in names)))
        lines = LINES_OF.search(found["more"] or "")
        text = self._read(path.removeprefix("@").lstrip("/"), folder)
        text = part_of(text, lines[1] if lines else found["part"] or "").rstrip("\n")
        if found["other"] or found["vite"] or found["code"]:
            text = fenced(text, language_of(path))
        return indented(text, found["indent"])

    def _directive(self, found: re.Match[str], folder: Path) -> str:
        options = {name: value.strip() for name, value in OPTION.findall(found["options"] or "")}
        text = self._read(found["path"].lstrip("/"), folder)
        text = chosen(text, options).rstrip("\n")
        indent = found.groupdict().get("indent") or ""
        if found["how"] == "literalinclude" and text:
            language = options.get("language") or language_of(found["path"])
            if found.re is RST:
                text = f".. code-block:: {language}\n\n{indented(text, '   ')}\n"
            else:
                text = fenced(text, language)
        return indented(text, indent)

    def _read(self, path: str, folder: Path) -> str:
        """The file's text, itself filled; nothing where there is none inside the book, or where
        the page is full."""
        file = next(filter(self._may_read, self._candidates(path, folder)), None)
        if file is None or self.depth == DEEPEST:
            return ""
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return ""
        if len(text) > min(self.room, MOST_CHARACTERS):
            return ""
        self.room -= len(text)
        self.depth += 1
        text = self.fill(file, text)
        self.depth -= 1
        return text

    def _may_read(self, file: Path) -> bool:
        """Whether it is a file of the book, and none that is hidden."""
        try:
            inside = file.resolve().relative_to(self.top)
            return file.is_file() and not any(part.startswith(".") for part in inside.parts)
        except (OSError, ValueError):
            return False

    def _candidates(self, path: str, folder: Path) -> Iterator[Path]:
        """Beside the page first, then in each folder above it."""
        for above in (folder, *folder.parents):
            for name in FOLDERS:
                yield above / name / path
            if above == self.top:
                return


def part_of(text: str, part: str) -> str:
    """Lines `a:b`, or those between an anchor's comments; all where nothing is named."""
    if not part:
        return text
    lines = text.splitlines(keepends=True)
    if re.fullmatch(r"[\d:,]+", part):
        return "".join(line for first, last in _ranges(part) for line in lines[first - 1 : last])
    inside = False
    chosen_lines: list[str] = []
    for line in lines:
        mark = ANCHOR_LINE.search(line)
        if mark and mark["name"] == part:
            inside = mark["how"] in ("ANCHOR", "start")
        elif inside:
            chosen_lines.append(line)
    return "".join(chosen_lines)


def _ranges(part: str) -> Iterator[tuple[int, int | None]]:
    for piece in part.split(","):
        first, *rest = piece.split(":")
        last = rest[0] if rest else first
        yield max(int(first or 1), 1), int(last) if last else None


def chosen(text: str, options: dict[str, str]) -> str:
    """What `literalinclude` and `include` take of a file."""
    if "lines" in options:
        text = part_of(text, options["lines"].replace("-", ":").replace(" ", ""))
    if options.get("start-after") and options["start-after"] in text:
        text = text.split(options["start-after"], 1)[1].partition("\n")[2]
    if options.get("end-before") and options["end-before"] in text:
        text = text.split(options["end-before"], 1)[0].rpartition("\n")[0]
    return text


def language_of(path: str) -> str:
    ending = path.rpartition(".")[2].lower()
    return LANGUAGES.get(ending, ending)


def fenced(text: str, language: str) -> str:
    return f"```{language}\n{text}\n```" if text else ""


def indented(text: str, indent: str) -> str:
    if not indent:
        return text
    return "\n".join(f"{indent}{line}" if line else "" for line in text.split("\n"))
