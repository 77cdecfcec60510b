"""What a language model writes, made plain before it is checked or shown."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable
from typing import Any

from bythebook.index.sparse import terms
from bythebook.models.conversation import Turn

# Signs that turn the order of others around, or that no screen shows. Joiners and variation
# selectors stay: Persian, Hindi and pictures are written with them.
UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e"
    "\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
HALF = re.compile("[\ud800-\udfff]")
FIRST_HALVES = ("\ud800", "\udbff")


class Cleaning:
    """Takes text piece by piece; what is checked is then what is seen. A sign whose two halves
    come in two pieces is put together, and a half alone is shown as a sign that can't be."""

    def __init__(self) -> None:
        self._half = ""

    def clean(self, piece: str) -> str:
        text = self._half + piece
        self._half = ""
        if text and FIRST_HALVES[0] <= text[-1] <= FIRST_HALVES[1]:
            text, self._half = text[:-1], text[-1]
        if HALF.search(text):
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return UNSEEN.sub("", text)


BLOCK = re.compile(r"[\s>]*+(?:`{3}|~{3})")
# Signs that are drawn through the one before. A slash through a mathematical sign makes another
# one, such as ≠.
STROKES = "\u0334-\u0337\u20d2\u20d3\u20e5\u20e6\u20ea\u20eb"
STROKE = re.compile(rf"[{STROKES}]|(?<=[\w\s])\u0338")
PART = re.compile(
    rf"""(?P<code>(?<!`)`++[^`\n]*+`++)
    |(?P<image>!?)\[(?P<label>(?:`[^`\[\]\n]*+`|[^\[\]`])*+)\]\((?P<target>[^)\[\n]*+)\)
    |(?P<comment><!--(?:[^-<]|-(?!->))*+-->)
    |<(?P<address>[A-Za-z][A-Za-z+.-]{{1,20}}:[^<>\s]*+)>
    |(?P<tag></?[A-Za-z][^<>]*+>)
    |(?P<open><)(?=[A-Za-z/!?])
    |(?P<entity>&\#?\w{{1,31}};?)
    |(?P<struck>(?<!~)~~(?!~))
    |(?<![\\~])~(?![~\s])(?P<words>[^~\n]*+)(?<!\s)~(?!~)
    |(?P<stroke>{STROKE.pattern})""",
    re.VERBOSE,
)
LINK = re.compile(r"(?<!`)`++[^`\n]*+`++|\]\(\s*+<?+(?P<target>[^)\s>]*+)")
DEFINED = re.compile(r"^[ \t]*+\[[^\[\]\n]++\]:[ \t]*+(\S++)[^\n]*+", re.MULTILINE)
BREAKS = frozenset("br p div li ul ol td th tr table hr h1 h2 h3 h4 h5 h6 blockquote pre".split())
# A tag or comment whose end has not come; the end of a sentence may stand inside.
OPEN = re.compile(r"<(?=[A-Za-z/!])[^<>]*+\Z")
# Nobody nests tags deeper without meaning harm.
MOST_ROUNDS = 8
NAME = re.compile(r"[A-Za-z0-9]+")
# Whether the book has these words.
_Has = Callable[[str], bool]


def is_open(unit: str) -> bool:
    """Whether a tag may go on in what follows."""
    return not BLOCK.match(unit) and bool(OPEN.search(unit)) and unit.count("`") % 2 == 0


def plain_words(unit: str, book: Iterable[str]) -> str:
    """The unit as it may be checked and shown. `book` is what was retrieved of it: a tag, a picture
    or an address that it has stays, a tag as code."""
    if BLOCK.match(unit):
        return unit
    texts = tuple(book)

    def has(words: str) -> bool:
        return any(words in text for text in texts)

    def shown(part: re.Match[str]) -> str:
        return _shown(part, has)

    def unlinked(link: re.Match[str]) -> str:
        target = link["target"]
        return link[0] if target is None or _is_known(target, has) else f"] {link[0][1:]}"

    def undefined(line: re.Match[str]) -> str:
        return line[0] if "/" not in line[1] or _is_known(line[1], has) else ""

    for _ in range(MOST_ROUNDS):  # what one leaves may be another
        before, unit = unit, LINK.sub(unlinked, DEFINED.sub(undefined, PART.sub(shown, unit)))
        if unit == before:
            return unit
    return ""


def _shown(part: re.Match[str], has: _Has) -> str:
    match part.lastgroup:
        case "code":
            return part[0]
        case "target":
            return _link(part, has)
        case "address":
            return part["address"]  # which is checked like any other
        case "tag":
            return _tag(part, has)
        case "open":
            return "<" if has(part.string[part.start() : part.end() + 8]) else "< "
        case "entity":
            sign = html.unescape(part[0])
            return "" if UNSEEN.search(sign) or STROKE.search(f"a{sign}") else part[0]
        case "words":
            return part["words"]
        case _:
            return ""


def _link(part: re.Match[str], has: _Has) -> str:
    if has(part[0]):
        return part[0]
    label = part["label"]
    target = (part["target"].split() or [""])[0].strip("<>")
    if label.strip().isdigit():
        return f"[{label.strip()}]"
    known = not part["image"] and bool(target) and _is_known(target, has)
    return f"[{label}]({target})" if known else label


def _tag(part: re.Match[str], has: _Has) -> str:
    before = part.string[: part.start()]
    if has(part[0]):
        is_inside = bool(before) and (before[-1].isalnum() or before[-1] in "_`")
        return part[0] if is_inside else f"`{part[0]}`"
    name = NAME.search(part[0])
    return " " if name and name[0].lower() in BREAKS else ""


def _is_known(target: str, has: _Has) -> bool:
    return has(target.rstrip("/"))


# The longest that a search is told as; a question is not much longer.
LONGEST = 300
# The id of a module, a level, a layer.
CHOICE = re.compile(r"[\w.-]{1,40}")


class QueryRedaction:
    """Nobody verifies what a model searches for. A book or a question that talks a model into it
    could make a query of what the model was told in secret, or of a claim; it is told to the reader
    only where the conversation has all its words."""

    def __init__(
        self, question: str, query: str, turns: Iterable[Turn], title: str, language: str
    ) -> None:
        self._own = query
        self._language = language
        said = [question, query, title]
        for turn in turns:
            said += [turn.question, turn.answer]
        self._known = frozenset(term for text in said for term in terms(text, language))

    def query(self, query: str) -> str:
        """The model's query, or the reader's own."""
        if len(query) <= LONGEST and self._known.issuperset(terms(query, self._language)):
            return query
        return self._own

    def arguments(self, given: dict[str, Any]) -> dict[str, Any]:
        """Numbers and choices as they are; of free text the query, as it is told."""
        told = dict(given)
        if "query" in told:
            told["query"] = self.query(str(told["query"]))
        if isinstance(told.get("filters"), dict):
            told["filters"] = {
                name: value for name, value in told["filters"].items() if _is_choice(value)
            }
        return told


def _is_choice(value: object) -> bool:
    return not isinstance(value, str) or bool(CHOICE.fullmatch(value))
