"""HTML: the main text of a page, with the page's own ids as anchors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from bythebook.errors import InputError
from bythebook.reading.converted import Converted
from bythebook.reading.readers.html_text import FURNITURE, HtmlText
from bythebook.reading.readers.markdown_writer import MarkdownWriter
from bythebook.reading.readers.markup_tokens import VOID, MarkupToken, decoded, tokens

# Main text that is a smaller share of the page than this is only a frame for a program.
SMALL_SHARE = 0.2
AROUND_MAIN = frozenset({"header", "footer", "nav", "aside"})


def read(data: bytes, path: str) -> Converted:
    if data.count(b"\0") > len(data) // 4 and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{path} is not an HTML file.", action="Remove it from the book.")
    found = list(tokens(decoded(data)))
    start, end = main_part(found)
    whole = (start, end) == (0, len(found))
    writer = MarkdownWriter(path)
    writer.mark("")
    if not has_title(found[start:end]):
        writer.heading(1, title_of(found))
    skipped = AROUND_MAIN if whole else AROUND_MAIN - {"header"}
    HtmlText(writer, found[start:end], skipped=skipped, furniture=FURNITURE).write()
    return writer.finish(language=language_of(found))


def main_part(found: Sequence[MarkupToken]) -> tuple[int, int]:
    """Where the main text begins and ends: `main`, the only `article`, else everything."""
    wanted: list[tuple[int, int]] = []
    articles: list[tuple[int, int]] = []
    opened: dict[str, list[int]] = {}
    for index, token in enumerate(found):
        if token.kind == "open" and token.name not in VOID and not token.empty:
            opened.setdefault(token.name, []).append(index)
        elif token.kind == "close" and opened.get(token.name):
            start = opened[token.name].pop()
            if token.name == "main" or _says_main(found[start]):
                wanted.append((start + 1, index))
            elif token.name == "article" and not opened["article"]:
                articles.append((start + 1, index))
    candidates = wanted or (articles if len(articles) == 1 else [])
    letters = list(accumulate((_letters(token) for token in found), initial=0))
    best = max(candidates, key=lambda part: letters[part[1]] - letters[part[0]], default=(0, 0))
    if letters[best[1]] - letters[best[0]] < SMALL_SHARE * letters[-1] or not candidates:
        return 0, len(found)
    return best


def _says_main(token: MarkupToken) -> bool:
    return "role" in token.raw and token.attributes().get("role") == "main"


def _letters(token: MarkupToken) -> int:
    return len(token.raw.strip()) if token.kind == "text" and not token.name else 0


def has_title(found: Sequence[MarkupToken]) -> bool:
    return any(token.kind == "open" and token.name == "h1" for token in found)


def title_of(found: Sequence[MarkupToken]) -> str:
    return next(
        (" ".join(t.raw.split()) for t in found if t.kind == "text" and t.name == "title"), ""
    )


def language_of(found: Sequence[MarkupToken]) -> str | None:
    for token in found:
        if token.kind == "open" and token.name == "html":
            return token.attributes().get("lang")
    return None
