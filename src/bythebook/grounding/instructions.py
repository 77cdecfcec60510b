"""Text that speaks to a machine instead of a reader is no evidence."""

from __future__ import annotations

import re

from bythebook.grounding.undisguised import undisguised
from bythebook.language.pieces import pieces_of

_PRIOR = r"(?:previous|prior|above|earlier|preceding|foregoing|system|original|initial|your)"
_ORDERS = r"(?:instructions?|prompts?|directions?|guidelines?|directives?|orders)"
_MACHINE = (
    r"(?:ai|a\.i\.|ai (?:assistant|model|agent|system)|(?:large )?language model|llm|chat ?bot"
    r"|chat ?gpt|gpt-?\d\w*|assistant)"
)
# Only a command counts: "the page has to tell users that ..." is about a page.
_COMMAND = r"(?:^|[.!?:;\"“”'(>*\-]\s*|\b(?:please|always|you must|you should|instead|now|then)\s+)"
_USER = r"(?:the |any |every )?(?:users?|readers?|askers?|humans?|person asking)"
_PATTERNS = (
    rf"\b(?:ignore|disregard|forget|override|bypass)\b[^.\n]{{0,40}}?\b{_PRIOR}\b[^.\n]{{0,25}}?"
    rf"\b{_ORDERS}\b",
    r"\b(?:ignore|disregard|forget)\b(?: all| any)?(?: of)? (?:your|previous|prior|system) rules\b",
    rf"\b(?:ignore|disregard|forget) (?:all |any |the |these |those )*{_ORDERS} "
    r"(?:above|before|so far|you|given to you)\b",
    r"\b(?:ignore|disregard|forget) (?:absolutely )?(?:everything|anything|all)\b[^.\n]{0,20}"
    r"\b(?:above|told|said|previously|instructed)\b",
    # a new role
    rf"\byou are now (?:an? |the |in )?(?:\w+ ){{0,2}}?(?:{_MACHINE}|dan|jailbroken|unrestricted"
    r"|developer mode|free (?:from|of)|acting as|a pirate)\b",
    rf"\b(?:you are|you're|act as|behave as|pretend (?:to be|you are)|role-?play as) "
    rf"(?:(?:an? |the )(?:\w+ ){{0,2}}?{_MACHINE}|chat ?gpt)\b",
    r"\bas an? (?:ai|(?:large )?language model|ai (?:assistant|language model|model))\b"
    r"(?=,|\.| you\b| i\b| trained\b)",
    r"\bfrom now on,? (?:(?:you )?(?:must|shall|will|should|are to|can)? ?(?:only |always |never )?"
    r"(?:answer|respond|reply|act|pretend|ignore|refuse|obey|say)\b|you are\b"
    r"|your (?:name|role)\b)",
    r"\byour new (?:instructions?|role|persona|system prompt|task is|goal is|identity)\b",
    r"\bnew (?:system )?(?:instructions?|prompt)(?: for (?:you|the (?:ai|model|assistant)))?\s*:",
    # what it shall say or hide
    rf"{_COMMAND}(?:tell|convince|persuade|trick|inform|assure|warn) {_USER} (?:that|to|they|their"
    r"|there|it|this|about how)\b",
    r"\b(?:do not|don't|never|must not|should not) (?:cite|quote|mention|reveal|disclose)\b"
    r"[^.\n]{0,40}\b(?:sources?|passages?|citations?|this (?:instruction|message|prompt|paragraph)"
    r"|these instructions|to the user)\b",
    rf"{_COMMAND}(?:do not|don't|never) cite\b"
    r"(?! (?:\w+ )?(?:papers?|works?|literature|wikipedia))",
    rf"{_COMMAND}(?:respond|reply|answer|say) (?:only|exactly|nothing but|with only)\b"
    r"[^.\n]{0,20}[\"“'`:]",
    rf"{_COMMAND}(?:respond|reply|answer) (?:to )?(?:every|all|any|each) "
    r"(?:questions?|quer(?:y|ies)|prompts?|messages?)\b[^.\n]{0,20}\b(?:with|by|as|in)\b",
    r"\b(?:when(?:ever)?|if) (?:(?:the |a |any )?(?:user|someone|anyone) asks|you are asked|asked)"
    r"\b[^.\n]{0,60}?,? (?:(?:you )?(?:must|should) )?"
    r"(?:say|answer|respond|reply|claim|recommend)\b",
    r"\b(?:reveal|print|show|output|repeat|display|leak|disclose|expose|send)(?: me| us)? (?:your"
    r"|the (?:system|hidden|secret)) (?:\w+ )?(?:prompt|instructions?|system message|api keys?"
    r"|credentials|secrets?|rules|guidelines|training data|configuration|memory)\b"
    r"(?! (?:of|in) (?:the|a|your|an) (?:shell|terminal|console))",
    rf"{_COMMAND}(?:reveal|print|show|output|repeat|display|disclose)(?: me| us)? the (?:prompt"
    r"|instructions?|rules|guidelines|configuration|text|message) (?:that )?(?:you (?:were|are|have"
    r"|got|received)|given to you|above)\b",
    r"\brepeat (?:everything|the text|all (?:the )?text|the words) above\b",
    r"\b(?:ai|llm|assistant|chatbot|language model)s? (?:reading|that reads?|processing"
    r"|summari[sz]ing|who reads?) this\b",
    r"(?:^|[.!?]\s+)[*_#> ]*(?:ai|llm|assistant|chatbot)s?[*_ ]*[:,][*_\s]*(?:please|ignore|you"
    r"|do not"
    r"|always|never|say|answer|tell|stop)\b",
    rf"\b(?:attention|note to|message (?:to|for)|instructions? (?:to|for)|notice to)[,:]? "
    rf"(?:the |all |any |an )?{_MACHINE}s?\b",
    r"\b(?:jailbreak|developer|dan|god) mode (?:is )?(?:now )?(?:enabled|activated|on)\b",
    r"\bsystem prompt\s*(?::|override)",
    r"\bprompt injection\s*:",
    r"\bdo anything now\b",
    # tags of chat formats
    r"<\|\s*(?:im_start|im_end|system|user|assistant|endoftext|end_of_turn|eot_id|start_header_id"
    r"|begin_of_text)\b[^|>\n]*\|?>",
    r"\[/?INST\]|<</?SYS>>|</?(?:start_of_turn|end_of_turn|system_prompt)>",
)
INSTRUCTION = re.compile("|".join(_PATTERNS), re.IGNORECASE | re.MULTILINE)
# Upper case is the point here: "System: Ubuntu 24.04" is a line of a table of requirements.
SHOUTED = re.compile(r"^[ \t>#*_\-]*(?:SYSTEM|ASSISTANT|OVERRIDE)(?: \w+)?[*_]*\s*:", re.MULTILINE)
# Each pattern needs one of these: most passages have none, and then the patterns needn't run.
TRIGGERS = (
    "ignor", "disregard", "forget", "overrid", "bypass", "you are", "you're", "act as", "behave as",
    "pretend", "play as", "as an a", "as a la", "from now on", "your new", "new instr", "new sys",
    "new prompt", "tell ", "convince", "persuade", "trick ", "inform ", "assure ", "warn ", " cite",
    "not quote", "n't quote", "never quote", "not mention", "n't mention", "never mention",
    "not reveal", "n't reveal", "never reveal", "disclose", "only", "exactly", "nothing but",
    "every q", "all q", "any q", "each q", "every p", "all p", "every m", "all m", "asks", "asked",
    "asking", "prompt", "reveal", "api key", "secret", "above", " this", "ai:", "ai,", "llm",
    "assistant", "chatbot", "attention", "note to", "message", "notice", "instruction", "mode",
    "anything now", "<|", "inst]", "sys>>", "_of_turn", "credential", "rules", "guidelines",
    "training data", "configuration", "memory",
)  # fmt: skip
PARAGRAPH = re.compile(r"(?:[^\n]*\S[^\n]*(?:\n|$))+")
LINE_END = re.compile(r"(?<![ \t\n])[ \t]*\n(?![ \t>]*\n)[ \t>]*")
QUOTED = re.compile(r"\"[^\"\n]*\"|“[^”\n]*”|`[^`\n]*`|«[^»\n]*»")
SENTENCE_EDGE = re.compile(r"[.!?]\s|\n")
# A sentence with so many words around a quotation talks about it.
WORDS_AROUND = 5


def is_instruction(text: str) -> bool:
    """Whether a text tries to steer whoever answers from it."""
    text = undisguised(text)
    if SHOUTED.search(text):
        return True
    lower = text.lower()
    if not any(trigger in lower for trigger in TRIGGERS):
        return False
    joined = LINE_END.sub(" ", text)
    quoted = [(found.start(), found.end()) for found in QUOTED.finditer(joined)]
    return any(
        not _is_mentioned(joined, found.start(), found.end(), quoted)
        for found in INSTRUCTION.finditer(joined)
    )


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
            evidence = evidence[:start] + _blank(evidence[start:end]) + evidence[end:]
    # What no block holds: the line of an admonition, or a heading together with its paragraph.
    return PARAGRAPH.sub(lambda found: _cleared(found[0]), evidence)


def _cleared(paragraph: str) -> str:
    return _blank(paragraph) if is_instruction(paragraph) else paragraph


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
