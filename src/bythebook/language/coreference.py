"""How a message refers to what was said before."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from bythebook.index.sparse import terms

FollowUpKind = Literal["pronoun", "ellipsis", "aspect"]

ORDINALS = {
    "first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4,
    "fifth": 5, "5th": 5, "sixth": 6, "6th": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10,
}  # fmt: skip
ORDINAL = "|".join(ORDINALS)
NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}
SOURCE = r"(?:source|citation|reference|passage|excerpt|quote|quotation|footnote|link)"
SOURCE_NAMED = (
    re.compile(r"\[(?P<number>\d{1,2})\]"),
    re.compile(
        rf"\b{SOURCE}\s*(?:number\s+|no\.?\s*|#)?(?P<number>\d{{1,2}}|{'|'.join(NUMBERS)})\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?P<ordinal>{ORDINAL}|last|final|latter|former|previous)\s+(?:cited\s+)?{SOURCE}\b",
        re.IGNORECASE,
    ),
)
SOURCE_WORDS = re.compile(
    rf"\[\d{{1,2}}\]|\b(?:(?:{ORDINAL}|last|final|that|the)\s++)*+(?:{SOURCE}s?\b"
    rf"(?:\s*+(?:(?:number|no\.?+|#)\s*+)?+(?:\d{{1,2}}|{'|'.join(NUMBERS)})\b)?|(?P<nothing>(?<=\s)))",
    re.IGNORECASE,
)
ITEM_NAMED = re.compile(
    rf"\bthe\s+(?P<ordinal>{ORDINAL}|last|former|latter)\s+(?:one|point|item|step|option|reason|"
    rf"method|way|benefit|thing|part|bullet|mode|type)\b|^\W*(?:and\s+)?(?:what|how)\s+about\s+the\s+"
    rf"(?P<bare>{ORDINAL}|last)\W*$",
    re.IGNORECASE,
)
LIST_ITEM = re.compile(r"^[^\S\n]*+(?:[-*+]|\d{1,2}[.)])\s++(.+)$", re.MULTILINE)
MARKER = re.compile(r"(?<!\s)\s*+\[\d{1,3}\]")

TALK = frozenset(
    """hi hello hey thanks thank you thx cheers ok okay great good cool nice bye goodbye perfect
    awesome yes yeah yep no nope sure wow hmm alright fine much very so a lot again there all for
    your the help got it i see that is helpful excellent interesting morning evening afternoon day
    have welcome understood makes sense this was""".split()
)
TALK_NEEDED = re.compile(
    r"\b(?:hi|hello|hey|thanks|thank|thx|cheers|ok|okay|great|good|cool|nice|bye|goodbye|perfect|"
    r"awesome|yes|yeah|yep|nope|wow|hmm|alright|fine|got it|i see|excellent|interesting|helpful|"
    r"understood|makes sense|no)\b",
    re.IGNORECASE,
)
THANKS = re.compile(r"\b(?:thanks|thank|thx|cheers|great|perfect|awesome|helpful)\b", re.IGNORECASE)
WORD = re.compile(r"[^\W_]+(?:['’][a-z]+)?")

CORRECTION = re.compile(
    r"^\W*+(?:(?:no|nope|sorry|oops|wait|actually|hmm)\W++)*(?:(?:i|what i)\s+(?:meant|mean|was\s+"
    r"(?:asking|talking)\s+about|am\s+(?:asking|talking)\s+about)|not\s+[\w-]+\s*,\s*+(?:but\s++)?|no\s*,)"
    r"\s*+(?:to\s+(?:ask|say)\s+(?:about\s+)?|about\s+|for\s+)?",
    re.IGNORECASE,
)
FILLER = re.compile(
    r"^\W*(?:(?:ok|okay|and|but|so|then|or|also|well|now|hmm|got it|thanks|great)\b[\s,.!]*)*"
    r"(?:(?:what|how)\s+about\s+)?",
    re.IGNORECASE,
)
OPENING = r"^\W*(?:(?:ok|okay|well|so|now|alright|right|anyway|thanks)\b\W*)*"
# "Back to actions: how long …", "Let's go back to actions. How long …"
BACK = re.compile(
    OPENING
    + r"(?:let'?s\s+|let\s+us\s+)?(?:(?:go|come|get|going|coming)\s+)?(?:back|return(?:ing)?)\s+"
    r"to\s+(?:the\s+)?(?P<topic>[^:,.?!]{2,50})[:,.]\s*(?P<rest>\S.*)$",
    re.IGNORECASE | re.DOTALL,
)
# "Different topic: what is …"
CHANGE = re.compile(
    OPENING
    + r"(?:(?:an?\s+)?(?:completely\s+)?(?:different|new|another|other)\s+(?:topic|question|"
    r"subject|thing)|something\s+(?:else|different)(?:\s+entirely)?)\s*[:,.]\s*(?P<rest>\S.*)$",
    re.IGNORECASE | re.DOTALL,
)
MORE = re.compile(
    r"\b(?:tell|say|know|read|explain|give|show)\b.{0,20}\b(?:more|further)\b|^\W*(?:some\s+|any\s+)?more\b|"
    r"\b(?:what|anything|something)\s+else\b|^\W*(?:please\s+)?(?:continue|go\s+on|keep\s+going|elaborate)\b|"
    r"\bmore\s+(?:details?|information|info|about)\b|\bin\s+more\s+detail\b|^\W*and\s*(?:then)?\W*$",
    re.IGNORECASE,
)

# After these, "that" is a pronoun; elsewhere it joins clauses ("the node that publishes").
PRONOUN = re.compile(
    r"""\b(?:they|them|their|theirs|its|he|she|him|his|her|itself|themselves)\b
    |\b(?:this|these|those)\b(?!\s+(?:book|chapter|section|lesson|course|year|week|day|morning|way\b))
    |(?:^\W*|\b(?:about|of|like|for|with|is|are|was|were|do|does|did|can|could|would|should|will|in|
        on|to|than|from|by|after|before|why|and|if|say|said|use|using|understand|mean)\s+)
        that\b(?!\s+(?:is\s+)?(?:a|an|the|i|we|you)\s)
    |\bthat\W*$
    |\b(?:the\s+(?:former|latter|same)|(?:which|that|this|the\s+other|another|other|such\s+an?)\s+one|
        both\s+of|each\s+of|either\s+of|the\s+two|like\s+so)\b
    |(?<!\bno\s)(?<!\bevery\s)(?<!\beach\s)\bones?\b(?=\W*$|\s+(?:while|when|if|in|on|for|with|from|by|at|
        after|before|without|of\s+(?:those|these|them))\b)
    |\bit\b(?!\s+(?:is|be|was)\s+(?:possible|necessary|required|true|recommended|important|better|best|
        safe|ok|okay|worth|enough|allowed|advisable|easier|easy|hard|a\s+good)\b)(?!\s+takes?\s+\S+\s+to\b)
    |(?<!is\s)(?<!are\s)(?<!were\s)(?<!was\s)(?<!will\s)(?<!be\s)\bthere\b(?!\s+(?:is|are|was|were|any|
        a|an|be|some|more|other|no|been|exists?)\b)""",
    re.IGNORECASE | re.VERBOSE,
)
EXPLETIVE = re.compile(
    r"\b(?:is|was|does|would|will|can|could)\s+it\s+(?:ever\s+|always\s+|also\s+|not\s+)?(?:be\s+)?"
    r"(?:possible|necessary|required|true|recommended|important|better|best|safe|ok|okay|worth|"
    r"enough|allowed|advisable|easier|easy|hard|take|matter|cost|make\s+sense|a\s+good(?:\s+\w+)?)"
    r"(?=\s+(?:to|that|if|for|when|whether)\b)",
    re.IGNORECASE,
)
POSSESSIVE = re.compile(r"its|their|theirs|his|her|itself|themselves", re.IGNORECASE)
THANKING = re.compile(
    r"^\W*(?:(?:ok|okay|got it|i see|thanks|thank you|great|hmm|well|right)\b[\s,.!]*)+",
    re.IGNORECASE,
)
WITHOUT_OBJECT = re.compile(
    r"^\W*(?:and\s+)?(?:how|where|when)\s+(?:do|can|could|should|would|must)\s+(?:i|we|you|one)\s+\w+\W*$",
    re.IGNORECASE,
)
OTHERS = re.compile(r"\b(?:any|some|what|which)\s+(?:other|others|another|more)\b", re.IGNORECASE)
WHOLE_QUESTION = re.compile(
    r"^\W*(?:and|but|so|then|or|also)\b[\s,]*(?:who|what|which|where|when|how|why|is|are|was|were|do|does|"
    r"did|can|could|should|will|would)\b(?!\s+(?:about|if|not)\b)",
    re.IGNORECASE,
)
CLAUSE = re.compile(r"[,;:?.!]\s|\s(?:and|but|or|if|when|because|while|so|then|since|although)\s")
ELLIPSIS = re.compile(
    r"^\W*(?:(?:and|but|or|so|then|also|ok|okay|now)\b[\s,]*)*(?:what|how)\s+about\b"
    r"|^\W*(?:and|or|but|so|then|also|what\s+if)\b"
    r"|^\W*(?:in|for|with|on|from|at|under|without|by|versus|vs)\s+[^,]*\W*$"
    r"|\b(?:too|as\s+well|instead|either)\W*$",
    re.IGNORECASE,
)
# "What are the drawbacks?" — of what? Such words never are a topic of their own.
ASPECTS = frozenset(
    terms(
        """drawback drawbacks disadvantage disadvantages advantage advantages benefit benefits pros
        cons limit limits limitation limitations example examples detail details alternative
        alternatives step steps reason reasons cost costs default defaults purpose usage syntax
        option options difference differences requirement requirements feature features problem
        problems issue issues risk risks downside downsides upside effect effects result results
        consequence consequences more else other another further explain elaborate continue
        go keep going simpler simple short shorter summary summarize mean meaning code snippet show
        give tell please exactly detail use used work works way ways kind kinds type types part
        parts many much long often name names size first second third next last important main
        prerequisite prerequisites exception exceptions caveat caveats tip tips mistake mistakes
        happen happens wrong fail fails get need why how when where make better best rule rules
        list compare comparison sure only again information info know say terms term word words""",
        "en",
    )
)
FEW_OWN = 2


def without_sources(message: str) -> str:
    """The message without the words that name a source."""
    return SOURCE_WORDS.sub(lambda found: " " if found["nothing"] is None else found[0], message)


def is_small_talk(message: str) -> bool:
    """Whether a message greets, thanks or agrees, and asks nothing."""
    words = [word.lower() for word in WORD.findall(message)]
    return all(word in TALK for word in words) and bool(TALK_NEEDED.search(message))


def source_referred_to(message: str, sources: int) -> int | None:
    """The number of the source a message names, if there is such a source."""
    for shape in SOURCE_NAMED:
        found = shape.search(message)
        if not found:
            continue
        named = found.groupdict()
        if named.get("number"):
            word = named["number"].lower()
            number = NUMBERS.get(word) or int(word)
        else:
            number = _position(found["ordinal"].lower(), sources)
        return number if 1 <= number <= sources else None
    return None


def item_referred_to(message: str, answer: str) -> str:
    """The item of the last answer's list that "the second one" means, or nothing."""
    found = ITEM_NAMED.search(message)
    items = [MARKER.sub("", item) for item in LIST_ITEM.findall(answer)]
    if not found or not items:
        return ""
    number = _position((found["ordinal"] or found["bare"]).lower(), len(items))
    return items[number - 1] if 1 <= number <= len(items) else ""


def _position(ordinal: str, of: int) -> int:
    if ordinal in ("last", "final", "latter", "previous"):
        return of
    return 1 if ordinal == "former" else ORDINALS[ordinal]


def follow_up_kind(message: str, own: Sequence[str]) -> FollowUpKind | None:
    """How a message leans on what was said before, or None if it stands alone. `own` are its
    content words."""
    stems = {stem for word in own for stem in terms(word, "en")}
    asked = THANKING.sub("", message)
    if stems <= ASPECTS:
        return "pronoun" if PRONOUN.search(asked) else "aspect"
    if _has_open_pronoun(asked):
        return "pronoun"
    if WITHOUT_OBJECT.match(asked) or (len(own) == 1 and OTHERS.search(asked)):
        return "aspect"
    if MORE.search(asked) and len(own) <= FEW_OWN and not re.search(r"\babout\b", asked):
        return "aspect"
    whole = WHOLE_QUESTION.match(asked)
    if ELLIPSIS.search(asked) and len(own) <= FEW_OWN and not whole:
        return "ellipsis"
    return None


def _has_open_pronoun(message: str) -> bool:
    """A pronoun that nothing earlier in the same message can explain."""
    text = EXPLETIVE.sub(" ", message)
    found = PRONOUN.search(text)
    if not found:
        return False
    before = text[: found.start()]
    if not POSSESSIVE.fullmatch(found[0]):
        # "How does the planner use it?": the planner is not it. In an earlier clause it would be.
        clauses = list(CLAUSE.finditer(text, 0, found.start() + 1))
        before = text[: clauses[-1].start()] if clauses else ""
    return not set(terms(before, "en")) - ASPECTS
