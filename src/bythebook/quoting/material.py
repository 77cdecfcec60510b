"""A passage cut into what can be quoted, with what each piece needs to be understood."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bythebook.index.sparse import terms
from bythebook.language.pieces import pieces_of, readable
from bythebook.models.chunk import count_words
from bythebook.quoting.excerpt import Excerpt

MaterialKind = Literal["sentence", "item", "code", "table", "heading", "math"]

MARKUP = re.compile(r"[*_`]+")
COMPLETE = re.compile(r"[.!?:…。！？][\"'”’»)\]*_`]*$")
REFERS_BACK = re.compile(
    r"""^\W*(?:
    it(?!\ is\ (?:not\ )?(?:possible|recommended|important|necessary|best|better|common|worth|easy|
        hard)\b)|its|this|these|those|they|their|them|he|she|his|her|
    that(?!\ (?:is\ why|said))|such(?!\ as)|however|but|and|or|so|thus|therefore|hence|otherwise|
    then|also|moreover|furthermore|additionally|in\ addition|for\ (?:example|instance)|similarly|
    likewise|nevertheless|nonetheless|yet|both|neither|another|again|in\ (?:this|that|these|those|
    such|both)\ (?:case|cases|way|ways|situation|situations|respect)|as\ a\ result|as\ such|
    consequently|on\ the\ other\ hand|(?:in|by)\ contrast|meanwhile|besides|
    the\ (?:former|latter|other|same|second|third|last|above)|rather|instead(?!\ of)|which|
    (?:by\ default|in\ \w+|here|there|now|sometimes|usually),?\ (?:it|they|this|these)|
    (?:because|since|if|when|although|while|as)\ (?:it|they|this|these)|
    that\ is|in\ other\ words|conversely|accordingly|afterwards?|following\ (?:this|that)
    )(?![\w'’])
    |^.{0,60}\b(?:one|ones|them)[.!]?$""",
    re.IGNORECASE | re.VERBOSE,
)
SUB_ITEM = re.compile(r"\n(?=[ \t>]+(?:[-*+]|\d{1,3}[.)])[ \t]+)")
NUMBER = re.compile(r"[ \t>]*(\d{1,3})[.)][ \t]")
SIGN_IN_CODE = re.compile(r"`([^\w\s`]{1,4})`")
ANCHOR = re.compile(r"\s*\{#[^}]*\}\s*$")
HUGE = 25


@dataclass(frozen=True)
class Material:
    """A piece. `needs` is the place of the piece that has to stand before it, `brings` those of
    the pieces that it announces; `refers_back` says that it can't be understood on its own."""

    excerpt: int
    at: int
    kind: MaterialKind
    text: str
    shown: str
    stems: frozenset[str]
    block: int
    words: int
    heading: int | None
    refers_back: bool = False
    needs: int | None = None
    brings: tuple[int, ...] = ()

    @property
    def plain(self) -> str:
        return MARKUP.sub("", self.shown)

    @property
    def lines(self) -> int:
        return self.text.count("\n") + 1

    @property
    def number(self) -> str:
        """An item's own number in the book, or nothing."""
        found = NUMBER.match(self.text)
        return found[1] if found else ""

    @property
    def complete(self) -> bool:
        return bool(COMPLETE.search(self.shown))


def materials_of(index: int, excerpt: Excerpt, language: str) -> list[Material]:
    """Every piece of an excerpt in reading order."""
    drafts = _drafts(excerpt.text)
    found: list[Material] = []
    heading: int | None = None
    for at, (kind, block, text) in enumerate(drafts):
        if kind == "heading":
            heading = at
        shown = shown_text(kind, text)
        back = kind == "sentence" and bool(REFERS_BACK.match(MARKUP.sub("", shown)))
        found.append(
            Material(
                excerpt=index,
                at=at,
                kind=kind,
                text=text,
                shown=shown,
                stems=frozenset([*terms(shown, language), *SIGN_IN_CODE.findall(shown)]),
                block=block,
                words=0 if kind == "code" else count_words(shown),
                heading=heading if kind != "heading" else None,
                refers_back=back,
                needs=_needed(drafts, at) if back else None,
                brings=_announced(drafts, at, shown),
            )
        )
    return found


Draft = tuple[MaterialKind, int, str]


def _drafts(text: str) -> list[Draft]:
    """Pieces; a displayed formula is one piece however many full stops it has."""
    drafts: list[Draft] = []
    for piece in pieces_of(text):
        words = text[piece.start : piece.end]
        last = drafts[-1] if drafts else None
        if last and last[0] == "math" and last[1] == piece.block:
            drafts[-1] = ("math", piece.block, f"{last[2]} {words}")
        elif piece.kind == "sentence" and words.startswith("$$"):
            drafts.append(("math", piece.block, words))
        else:
            drafts.append((piece.kind, piece.block, words))
    return drafts


def shown_text(kind: MaterialKind, text: str) -> str:
    """The piece as a reader gets it, without its marker."""
    if kind == "code":
        return _dedented(text)
    if kind == "table":
        return "\n".join(readable(line) for line in text.splitlines())
    if kind == "heading":
        return readable(ANCHOR.sub("", text.lstrip("# \t"))).rstrip("# \t")
    return readable(text)


def _dedented(code: str) -> str:
    """A block that stood in a list or quotation, moved to the margin."""
    lines = code.splitlines()
    fence = lines[-1]
    indent = fence[: len(fence) - len(fence.lstrip(" \t>"))]
    if not indent or lines[0].startswith(indent):
        return code
    return "\n".join([lines[0], *(line.removeprefix(indent) for line in lines[1:])])


def sub_items(material: Material) -> list[tuple[str, str]]:
    """An item and the items below it: the indentation of each and its words."""
    parts: list[tuple[str, str]] = []
    for part in SUB_ITEM.split(material.text):
        indent = "" if not parts else part[: len(part) - len(part.lstrip(" \t"))]
        number = NUMBER.match(part)
        mark = f"{number[1]}." if number else "-"
        words = readable(part)
        if words:
            parts.append((f"{indent}{mark} ", words))
    return parts


def _needed(drafts: Sequence[Draft], at: int) -> int | None:
    """What a sentence that refers back refers to: the one before it, else its heading."""
    if at and drafts[at - 1][0] in ("sentence", "heading", "math"):
        return at - 1
    if at and drafts[at - 1][0] == "code" and drafts[at - 1][2].count("\n") < HUGE // 2:
        return at - 1
    for before in range(at - 1, -1, -1):
        if drafts[before][0] in ("sentence", "heading"):
            return before
    return None


def _announced(drafts: Sequence[Draft], at: int, shown: str) -> tuple[int, ...]:
    """The list, code, table or formula directly behind a sentence that announces it; the label of
    a tab may stand between."""
    kind, block, _ = drafts[at]
    after = at + 1
    announces = shown.rstrip("*_").endswith((":", "："))
    if kind != "sentence" or after >= len(drafts) or drafts[after][1] == block:
        return ()
    if announces and after + 1 < len(drafts) and _is_label(drafts, after):
        after += 1
    follows = drafts[after][0]
    if follows == "math" and not COMPLETE.search(shown):
        announces = True
    if not announces or follows in ("sentence", "heading"):
        return ()
    last = after
    while last + 1 < len(drafts) and drafts[last + 1][1] == drafts[after][1]:
        last += 1
    return tuple(range(after, last + 1))


def _is_label(drafts: Sequence[Draft], at: int) -> bool:
    kind, block, text = drafts[at]
    alone = drafts[at - 1][1] != block and drafts[at + 1][1] != block
    return kind == "sentence" and alone and len(text.split()) <= 3 and not COMPLETE.search(text)
