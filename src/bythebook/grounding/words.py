"""The words of a text without its markup, each with its place and its stem."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bythebook.index.sparse import IDEOGRAPHIC, terms

MARKUP = re.compile(
    r"""(?P<block>^[ \t>]*+(?P<fence>`{3,}+|~{3,}+)[^\n]*+\n(?P<code>[\s\S]*?)
        (?:^[ \t>]*+(?P=fence)[`~]*+[ \t]*+$|\Z))
    |(?<!`)`++(?P<span>[^`\n]++)`++
    |(?P<image>!\[[^\]\n]{0,250}+\]\((?:(?!\]\()[^)\n])*+\))
    |\[(?P<label>[^\]\n]{1,250}+)\](?:\((?:(?!\]\()[^)\n])*+\)|\[[^\]\n]{0,250}+\])
    |(?P<marker>\[\d{1,3}+(?:\s*+,\s*+\d{1,3}+)*+\]|(?<!\w)\[\^?[\w-]{1,4}\])
    |(?P<tag></?[A-Za-z][^<>\n]*>)
    |(?P<opening>^[ \t>]*(?:[-*+]|\d{1,3}[.)]|\#{1,6}|>)[ \t]+(?:\[[ xX]\][ \t]+)?)
    |(?P<anchor>\{\#[^{}\n]*+\})
    |(?P<admonition>^[ \t]*(?::::|!!!|\?\?\?)\+?[ \t]*\w*)
    |(?P<emphasis>\*{1,3}(?=\S)|(?<=\S)\*{1,3}|~~|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w))
    |(?P<rule>^[ \t]*+(?:\|[ \t]*+)?+:?+---[-:| \t]*+$)
    |(?P<pipe>\|)""",
    re.MULTILINE | re.VERBOSE,
)
WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+|[^\W_]+(?:(?:_+|['’])[^\W_]+)*", re.UNICODE
)
COMPOUND = re.compile(r"[^\W_]+(?:-[^\W_]+){2,}")
TOKEN = re.compile(r"\S+")
EDGES = "®™©.,;:!?…\"'“”‘’«»„()[]{}"
DASHES = frozenset("-–—|")
STRAIGHT = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "−": "-", "\u00a0": " "})
MARKER = re.compile(r"(?<![ \t])[ \t]*+\[\d{1,3}(?:\s*+,\s*+\d{1,3})*+\](?!\()")


@dataclass(frozen=True, slots=True)
class Word:
    """A word as written in lower case; a stop word has no stems. A name such as `create_node`
    has its own stem first and those of its parts behind it."""

    text: str
    start: int
    end: int
    stems: tuple[str, ...]


def bare(text: str) -> str:
    """The text with its markup turned into spaces: every word stays at its place."""
    return MARKUP.sub(_without_markup, text)


def _without_markup(found: re.Match[str]) -> str:
    for kept in ("code", "span", "label"):
        if found[kept] is not None:
            start, end = found.start(kept) - found.start(), found.end(kept) - found.start()
            whole = found[0]
            inner = whole[start:end]
            if kept == "label":
                inner = re.sub(r"[`*]", " ", inner)
            return blank(whole[:start]) + inner + blank(whole[end:])
    return blank(found[0])


def blank(text: str) -> str:
    """As many spaces; line ends stay."""
    return re.sub(r"[^\n]", " ", text)


def words_of(text: str, language: str) -> list[Word]:
    """Every word of a bare text, stop words too. Of "eye-to-hand" also the whole."""
    found = []
    for match in WORD.finditer(text):
        word = match[0].lower().translate(STRAIGHT)
        start, end = match.span()
        may_go_on = text[end : end + 1] == "-" or not word.isascii()
        if may_go_on and text[start - 1] != "-" and (compound := COMPOUND.match(text, start)):
            joined = compound[0].replace("-", "").lower()
            found.append(Word(joined, start, end, (joined,)))
        found.append(Word(word, start, end, stems_of(match[0], language)))
    return found


def stems_of(word: str, language: str) -> tuple[str, ...]:
    """As for searching, but single letters are left out."""
    if len(word) == 1 and not (word.isdigit() or IDEOGRAPHIC.match(word)):
        return ()
    return tuple(terms(word, language))


def tokens_of(text: str) -> list[tuple[str, int, int]]:
    """What has to be the same for a text to be verbatim: everything between white space, without
    punctuation at its edges, and where it stands."""
    found = []
    for token in TOKEN.finditer(text):
        straight = token[0].translate(STRAIGHT)
        # A bracket or an operator alone is meant: "the sign [".
        word = straight.strip(EDGES).lower() or straight.strip(".,;:!?…\"'")
        if word and not DASHES.issuperset(word):
            found.append((word, token.start(), token.end()))
    return found


def without_markers(text: str) -> str:
    """A claim as it was meant, without its citations; code keeps its brackets."""
    if text.lstrip().startswith(("```", "~~~")):
        return text
    parts = re.split(r"(`[^`\n]*`)", text)
    parts[::2] = [MARKER.sub("", part) for part in parts[::2]]
    return "".join(parts)
