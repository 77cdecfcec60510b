"""Text that speaks to a machine instead of a reader is no evidence, however it is disguised."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from html import unescape

from bythebook.grounding.words import blank
from bythebook.language.segmentation import pieces_of

# Zero-width signs, the soft hyphen, variation selectors, and tags that no screen shows.
INVISIBLE = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2060-\u2064\u206a-\u206f"
    "\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)
# What turns the order of the signs around, up to its end.
REVERSED = re.compile("[\u202e\u2067]([^\u202c\u2069\\n]*)[\u202c\u2069]?")
DIRECTIONS = re.compile("[\u202a-\u202e\u2066-\u2069]")
# Letters of other scripts that look like Latin ones.
ALIKE = str.maketrans(
    "ıаеіорсухѕјһԁԛԝАВЕКМНОРСТХІЅЈοαενικρτυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "iaeiopcyxsjhdqwABEKMHOPCTXISJoaevikptuxABEZHIKMNOPTYX",
)
LATIN = re.compile("[A-Za-z]")


def without_disguise(text: str) -> str:
    """For looking through only: it is no longer the book's text, and stands elsewhere in it."""
    if text.isascii() and "&" not in text:
        return text
    plain = unescape(INVISIBLE.sub("", text))
    plain = REVERSED.sub(lambda found: found[1][::-1], plain)
    plain = unicodedata.normalize("NFKC", DIRECTIONS.sub("", plain))
    return re.sub(r"\w+", _as_latin, plain)


def _as_latin(word: re.Match[str]) -> str:
    """Only in a word that has Latin letters as well: all in Cyrillic, it is Cyrillic."""
    return word[0].translate(ALIKE) if LATIN.search(word[0]) else word[0]


_PRIOR = r"(?:previous|prior|above|earlier|preceding|foregoing|system|original|initial|your)"
_ORDERS = r"(?:instructions?|prompts?|directions?|guidelines?|directives?|orders)"
_MACHINE = (
    r"(?:ai|a\.i\.|ai (?:assistant|model|agent|system)|(?:large )?language model|llm|chat ?bot"
    r"|chat ?gpt|gpt-?\d\w*|assistant)"
)
# Only a command counts: "the page has to tell users that ..." is about a page.
_COMMAND = r"(?:^|[.!?:;\"“”'(>*\-]\s*|\b(?:please|always|you must|you should|instead|now|then)\s+)"
# One of them is whoever asks; "tell users that ..." is said to people who write for users.
_USER = r"(?:the |any |every )(?:user|reader|asker|human|person asking)"
_USERS = r"(?:the |any |every )?(?:users?|readers?|askers?|humans?|person asking)"
_DROP = ("ignore ", "disregard ", "forget ")
# What to look for, behind words of which one is in whatever matches: most passages have few of
# them, and the other patterns need not even be compiled.
STEERING: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("ignore", "disregard", "forget", "override", "bypass"),
        r"\b(?:ignore|disregard|forget|override|bypass)\b[^.\n]{0,40}?"
        rf"\b{_PRIOR}\b[^.\n]{{0,25}}?\b{_ORDERS}\b",
    ),
    (
        _DROP,
        r"\b(?:ignore|disregard|forget)\b(?: all| any)?(?: of)? (?:your|previous|prior|system) "
        r"rules\b",
    ),
    (
        _DROP,
        rf"\b(?:ignore|disregard|forget) (?:all |any |the |these |those )*{_ORDERS} "
        r"(?:above|before|so far|you|given to you)\b",
    ),
    (
        _DROP,
        r"\b(?:ignore|disregard|forget) (?:absolutely )?(?:everything|anything|all)\b[^.\n]{0,20}"
        r"\b(?:above|told|said|previously|instructed)\b",
    ),
    # a new role
    (
        ("you are now ",),
        rf"\byou are now (?:an? |the |in )?(?:\w+ ){{0,2}}?(?:{_MACHINE}|dan|jailbroken"
        r"|unrestricted|developer mode|free (?:from|of)|acting as|a pirate)\b",
    ),
    (
        ("you are ", "you're ", "act as ", "behave as ", "pretend to be ", "play as "),
        r"\b(?:you are|you're|act as|behave as|pretend (?:to be|you are)|role-?play as) "
        rf"(?:(?:an? |the )(?:\w+ ){{0,2}}?{_MACHINE}|chat ?gpt)\b",
    ),
    (
        ("as a ai", "as an ai", "language model"),
        r"\bas an? (?:ai|(?:large )?language model|ai (?:assistant|language model|model))\b"
        r"(?=,|\.| you\b| i\b| trained\b)",
    ),
    (
        ("from now on",),
        r"\bfrom now on,? (?:(?:you )?(?:must|shall|will|should|are to|can)? ?"
        r"(?:only |always |never )?(?:answer|respond|reply|act|pretend|ignore|refuse|obey|say)\b"
        r"|you are\b|your (?:name|role)\b)",
    ),
    (
        ("your new ",),
        r"\byour new (?:instructions?|role|persona|system prompt|task is|goal is|identity)\b",
    ),
    (
        ("new instruction", "new prompt", "new system "),
        r"\bnew (?:system )?(?:instructions?|prompt)(?: for (?:you|the (?:ai|model|assistant)))?"
        r"\s*:",
    ),
    # what it shall say or hide
    (
        ("tell ", "convince ", "persuade ", "trick ", "inform ", "assure ", "warn "),
        rf"{_COMMAND}(?:(?:tell|inform|assure|warn) {_USER}|(?:convince|persuade|trick) {_USERS}) "
        r"(?:that|to|they|their|there|it|this|about how)\b",
    ),
    (
        (" cite", " quote", " mention", " reveal", " disclose"),
        r"\b(?:do not|don't|never|must not|should not) (?:cite|quote|mention|reveal|disclose)\b"
        r"[^.\n]{0,40}\b(?:sources?|passages?|citations?|this (?:instruction|message|prompt"
        r"|paragraph)|these instructions|to the user)\b",
    ),
    (
        (" cite",),
        rf"{_COMMAND}(?:do not|don't|never) cite\b"
        r"(?! (?:\w+ )?(?:papers?|works?|literature|wikipedia))",
    ),
    (
        ("respond ", "reply ", "answer ", "say "),
        rf"{_COMMAND}(?:respond|reply|answer|say) (?:only|exactly|nothing but|with only)\b"
        r"[^.\n]{0,20}[\"“'`:]",
    ),
    (
        ("respond ", "reply ", "answer "),
        rf"{_COMMAND}(?:respond|reply|answer) (?:to )?(?:every|all|any|each) "
        r"(?:questions?|quer(?:y|ies)|prompts?|messages?)\b[^.\n]{0,20}\b(?:with|by|as|in)\b",
    ),
    (
        (" asks", " asked"),
        r"\b(?:when(?:ever)?|if) (?:(?:the |a |any )?(?:user|someone|anyone) asks|you are asked"
        r"|asked)\b[^.\n]{0,60}?,? (?:(?:you )?(?:must|should) )?"
        r"(?:say|answer|respond|reply|claim|recommend)\b",
    ),
    (
        (
            "prompt", "instruction", "system message", "api key", "credentials", "secret", "rules",
            "guidelines", "training data", "configuration", "memory",
        ),
        r"\b(?:reveal|print|show|output|repeat|display|leak|disclose|expose|send)(?: me| us)? "
        r"(?:your|the (?:system|hidden|secret)) (?:\w+ )?(?:prompt|instructions?|system message"
        r"|api keys?|credentials|secrets?|rules|guidelines|training data|configuration|memory)\b"
        r"(?! (?:of|in) (?:the|a|your|an) (?:shell|terminal|console))",
    ),
    (
        (
            " you were", " you are", " you have", " you got", " you received", " given to you",
            " above",
        ),
        rf"{_COMMAND}(?:reveal|print|show|output|repeat|display|disclose)(?: me| us)? the (?:prompt"
        r"|instructions?|rules|guidelines|configuration|text|message) (?:that )?(?:you (?:were|are"
        r"|have|got|received)|given to you|above)\b",
    ),
    (
        ("repeat ",),
        r"\brepeat (?:everything|the text|all (?:the )?text|the words) above\b",
    ),
    (
        ("ing this", " reads this", " read this"),
        r"\b(?:ai|llm|assistant|chatbot|language model)s? (?:reading|that reads?|processing"
        r"|summari[sz]ing|who reads?) this\b",
    ),
    (
        ("ai", "llm", "assistant", "chatbot"),
        r"(?:^|[.!?]\s++)[*_#> ]*+(?:ai|llm|assistant|chatbot)s?[*_ ]*+[:,][*_\s]*+"
        r"(?:please|ignore|you|do not|always|never|say|answer|tell|stop)\b",
    ),
    (
        ("attention", "note to", "message to", "message for", "instruction", "notice to"),
        r"\b(?:attention|note to|message (?:to|for)|instructions? (?:to|for)|notice to)[,:]? "
        rf"(?:the |all |any |an )?{_MACHINE}s?\b",
    ),
    (
        (" mode ",),
        r"\b(?:jailbreak|developer|dan|god) mode (?:is )?(?:now )?(?:enabled|activated|on)\b",
    ),
    (("system prompt",), r"\bsystem prompt\s*(?::|override)"),
    (("prompt injection",), r"\bprompt injection\s*:"),
    (("do anything now",), r"\bdo anything now\b"),
    # tags of chat formats
    (
        ("<|",),
        r"<\|\s*(?:im_start|im_end|system|user|assistant|endoftext|end_of_turn|eot_id"
        r"|start_header_id|begin_of_text)\b[^|>\n]*\|?>",
    ),
    (
        ("inst]", "sys>>", "_of_turn>", "system_prompt>"),
        r"\[/?INST\]|<</?SYS>>|</?(?:start_of_turn|end_of_turn|system_prompt)>",
    ),
)  # fmt: skip
# Upper case is the point here: "System: Ubuntu 24.04" is a line of a table of requirements.
SHOUTED = re.compile(
    r"^[ \t>#*_\-]*+(?:SYSTEM|ASSISTANT|OVERRIDE)(?: \w++)?+[*_]*+\s*+:", re.MULTILINE
)
PARAGRAPH = re.compile(r"(?<![^\n])(?:[^\S\n]*+\S[^\n]*+(?:\n|$))++")
LINE_END = re.compile(r"(?<![ \t\n])[ \t]*\n(?![ \t>]*\n)[ \t>]*")
QUOTED = re.compile(r"\"[^\"\n]*+\"|“[^“”\n]*+”|`[^`\n]*+`|«[^«»\n]*+»")
SENTENCE_EDGE = re.compile(r"[.!?]\s|\n")
# A sentence with so many words around a quotation talks about it.
WORDS_AROUND = 5


def is_instruction(text: str) -> bool:
    """Whether a text tries to steer whoever answers from it."""
    text = without_disguise(text)
    if SHOUTED.search(text):
        return True
    joined = LINE_END.sub(" ", text)
    lower = joined.lower()
    likely = [pattern for words, pattern in STEERING if any(word in lower for word in words)]
    if not likely:
        return False
    quoted = [(found.start(), found.end()) for found in QUOTED.finditer(joined)]
    return any(
        not _is_mentioned(joined, found.start(), found.end(), quoted)
        for pattern in likely
        for found in compiled(pattern).finditer(joined)
    )


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


def _is_mentioned(text: str, start: int, end: int, quoted: list[tuple[int, int]]) -> bool:
    """Whether it only stands in quotation marks, inside a sentence that says something of it."""
    around = next(((a, b) for a, b in quoted if a <= start and end <= b), None)
    if around is None:
        return False
    before = SENTENCE_EDGE.split(text[: around[0]])[-1]
    behind = SENTENCE_EDGE.split(text[around[1] :])[0]
    return len(f"{before} {behind}".split()) >= WORDS_AROUND


def without_instructions(evidence: str) -> str:
    """The evidence with each paragraph, list or block that holds an instruction turned into spaces:
    what is left stands where it stood."""
    if not is_instruction(evidence):
        return evidence
    blocks: dict[int, tuple[int, int]] = {}
    for piece in pieces_of(evidence):
        start = blocks.get(piece.block, (piece.start, 0))[0]
        blocks[piece.block] = (start, piece.end)
    for start, end in blocks.values():
        if is_instruction(evidence[start:end]):
            evidence = evidence[:start] + blank(evidence[start:end]) + evidence[end:]
    # What no block holds: the line of an admonition, or a heading together with its paragraph.
    return PARAGRAPH.sub(
        lambda found: blank(found[0]) if is_instruction(found[0]) else found[0], evidence
    )
