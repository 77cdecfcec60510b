"""HTML and XML as a row of tags and texts."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from itertools import accumulate
from typing import Literal

# A longer tag is read up to its first `>`, and after so many that don't end every one is.
LONGEST_TAG = 4_000
MAX_FAILURES = 1_000
MAX_ATTRIBUTES = 200
TAG = re.compile(
    r"<(?P<close>/?)(?P<name>[A-Za-z][^\s/>]*+)"
    r"(?P<rest>(?:[^<>=]|=\s*+(?:\"[^\"]*\"|'[^']*')|=)*+)>"
)
TAG_NAME = re.compile(r"</?(?P<name>[A-Za-z][^\s/<>]{0,100})")
ATTRIBUTE = re.compile(
    r"(?P<name>[^\s\"'<>/=]++)(?:\s*+=\s*+(?:\"(?P<a>[^\"]*)\"|'(?P<b>[^']*)'|(?P<c>[^\s\"'<>]++)))?"
)
DATA_ADDRESS = re.compile(r"data:[^\"'\s<>]{200,}+")
# Main text that is a smaller share of the page than this is only a frame for a program.
SMALL_SHARE = 0.2
# Their content is no markup, and ends at their own closing tag only.
RAW = frozenset({"script", "style", "textarea", "title", "iframe", "xmp"})
VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
CHARSET = re.compile(
    rb"<meta[^>]{0,200}?charset\s*+=\s*+(?:[\"']\s*+)?([\w-]++)|"
    rb"<\?xml[^>]{0,100}?encoding\s*+=\s*+[\"']([\w-]++)",
    re.IGNORECASE,
)
LONGEST_ENCODING = 40
# Python reads these too, punycode in the square of the length. Browsers know none of them, so that
# readers of a page that names one see another text.
NO_PAGE_HAS = frozenset(
    {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"}
)


@dataclass(frozen=True, slots=True)
class MarkupToken:
    """A tag or a text. `raw` are a tag's attributes, or the text with its entities resolved."""

    kind: Literal["open", "close", "text"]
    name: str
    raw: str = ""
    empty: bool = False

    def attributes(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for count, part in enumerate(ATTRIBUTE.finditer(self.raw)):
            if count == MAX_ATTRIBUTES:
                break
            name = part["name"].lower().rpartition(":")[2]
            value = part["a"] or part["b"] or part["c"] or ""
            found.setdefault(name, unescape(value))
        return found


def tokens(text: str, *, xml: bool = False) -> Iterator[MarkupToken]:
    """Names are in lower case and without a prefix."""
    text = DATA_ADDRESS.sub("data:", text)
    position = failures = 0
    while position < len(text):
        start = text.find("<", position)
        if start < 0:
            start = len(text)
        if start > position:
            yield MarkupToken("text", "", unescape(text[position:start]))
        if start == len(text):
            return
        if text.startswith("<!--", start):
            position = _after(text, "-->", start + 4)
        elif text.startswith("<![CDATA[", start):
            position = _after(text, "]]>", start)
            yield MarkupToken("text", "", text[start + 9 : max(start + 9, position - 3)])
        elif text.startswith(("<!", "<?"), start):
            position = _after(text, ">", start)
        else:
            found = None
            if failures < MAX_FAILURES:
                found = TAG.match(text, start, start + LONGEST_TAG)
            token, position = _long_tag(text, start) if found is None else _tag(found)
            failures += found is None
            yield token
            if token.kind == "open" and token.name in RAW and not token.empty and not xml:
                end = re.compile(rf"</{token.name}(?=[\s/>])", re.IGNORECASE).search(text, position)
                stop = end.start() if end else len(text)
                yield MarkupToken("text", token.name, text[position:stop])
                position = stop


def _tag(found: re.Match[str]) -> tuple[MarkupToken, int]:
    return _made(bool(found["close"]), found["name"], found["rest"]), found.end()


def _long_tag(text: str, start: int) -> tuple[MarkupToken, int]:
    """A tag up to the next `>`; a `<` that begins none is text."""
    name = TAG_NAME.match(text, start)
    end = text.find(">", start) if name else -1
    if name is None or end < 0:
        return MarkupToken("text", "", "<"), start + 1 if name is None else len(text)
    return _made(text[start + 1] == "/", name["name"], text[name.end() : end]), end + 1


def _made(closing: bool, name: str, rest: str) -> MarkupToken:
    name = name.lower().rpartition(":")[2]
    if closing:
        return MarkupToken("close", name)
    return MarkupToken("open", name, rest, rest.endswith("/"))


def _after(text: str, ending: str, start: int) -> int:
    found = text.find(ending, start)
    return found + len(ending) if found >= 0 else len(text)


def ends_of(found: Sequence[MarkupToken]) -> dict[int, int]:
    """For each tag that is closed, where; one that is left open is closed by nothing."""
    ends: dict[int, int] = {}
    opened: dict[str, list[int]] = {}
    for index, token in enumerate(found):
        if token.kind == "open" and token.name not in VOID and not token.empty:
            opened.setdefault(token.name, []).append(index)
        elif token.kind == "close" and opened.get(token.name):
            ends[opened[token.name].pop()] = index
    return ends


def title_of(found: Sequence[MarkupToken]) -> str:
    return next(
        (" ".join(t.raw.split()) for t in found if t.kind == "text" and t.name == "title"), ""
    )


def language_of(found: Sequence[MarkupToken]) -> str | None:
    for token in found:
        if token.kind == "open" and token.name == "html":
            return token.attributes().get("lang")
    return None


def main_part(found: Sequence[MarkupToken]) -> tuple[int, int]:
    """Where the main text begins and ends: `main`, the only `article`, else everything."""
    ends = ends_of(found)
    named = (start for start in ends if found[start].name == "main" or _says_main(found[start]))
    wanted = [(start + 1, ends[start]) for start in named]
    articles: list[tuple[int, int]] = []
    behind = 0  # the last article, with those inside it
    for index, token in enumerate(found):
        if token.kind == "open" and token.name == "article" and index >= behind and not token.empty:
            behind = ends.get(index, len(found))
            articles += [(index + 1, behind)] if index in ends else []
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


def decoded(data: bytes) -> str:
    """The text in the encoding that the file names, else UTF-8, else that of old web pages."""
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    named = CHARSET.search(data[:2048])
    names = [text_encoding((named[1] or named[2]).decode("ascii", "replace"))] if named else []
    for name in [*names, "utf-8"]:
        if name is None or name.startswith(("utf-16", "utf-32")):
            continue  # with these it could not have been read up to here
        try:
            return data.decode(name)
        except (LookupError, ValueError):
            continue
    return data.decode("cp1252", "replace")


def text_encoding(name: str) -> str | None:
    """Python's name for an encoding that a page may have; None where there is none."""
    if len(name) > LONGEST_ENCODING:  # Python remembers every name that it looked for
        return None
    try:
        found = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    return None if found in NO_PAGE_HAS else found
