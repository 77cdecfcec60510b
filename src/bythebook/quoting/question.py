"""What kind of answer a question asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from bythebook.index.sparse import terms

Kind = Literal[
    "definition", "how", "why", "comparison", "list", "yes_no", "number", "when", "where", "who",
    "code", "other",
]  # fmt: skip

# The first that fits decides.
WRITTEN_SHAPES: tuple[tuple[Kind, str], ...] = (
    ("why", r"^(?:\W*(?:and|but|so)\ )?why\b"),
    (
        "comparison",
        r"""\b(?:differences?|distinction|distinguish(?:es)?)\b.*\b(?:between|from|and|of)\b
            |\bdiffers?\b|\bdifferent\ from\b|\bvs\b|\bversus\b|\bcompar(?:e|es|ed|ison)\b
            |\binstead\ of\b|\brather\ than\b|\bbetter\ than\b|\badvantages?\b.*\bover\b""",
    ),
    (
        "code",
        r"""\b(?:show|give|provide|write|print|see)\b.*\b(?:examples?|code|snippet|commands?|
            script|syntax|config\w*|file)\b
            |^(?:an?\ |any\ |with\ an?\ )?(?:code\ )?examples?\b|\b(?:example|sample)\ code\b
            |\bcode\ (?:for|of|to|example|sample)\b|\b(?:which|what)\ (?:is\ the\ )?command\b
            |\blooks?\ like\b.*\b(?:code|file|config\w*)\b|\bsyntax\ (?:for|of)\b""",
    ),
    (
        "why",
        r"""\bwhy\ (?:do|does|did|is|are|was|were|should|must)\b
            |\breasons?\ (?:for|why|that)\b|\bhow\ come\b|\bwhat\ (?:causes?|caused)\b
            |\b(?:purpose|motive)\ (?:of|for)\b""",
    ),
    (
        "number",
        r"""\bhow\ (?:many|much|long|old|far|fast|often|big|large|tall|high|deep|heavy|wide|
            frequently|quickly|late|early|close)\b
            |\b(?:what|which)\ (?:is\ the\ |was\ the\ |are\ the\ )?(?:\w+\ )?(?:number|percentage|
            rate|size|speed|age|port|maximum|minimum|limit|price|cost|frequency|population)\b
            (?!\ (?:of|are)\ \w+s\ (?:in|does))""",
    ),
    (
        "how",
        r"""^(?:\W*(?:and|but|so)\ )?how\ (?:do|can|could|should|would|might|must)\ (?:i|we|you|
            one|someone|a\ \w+|the\ user)\b|^(?:and\ )?how\ to\b|\bwhat\ are\ the\ steps\b
            |\bsteps\ (?:to|for|required|needed)\b|\bway\ to\b
            |\b(?:explain|show|tell)\b.{0,12}\bhow\ to\b
            |\bwhat\ (?:do|should|must)\ (?:i|we|you)\ do\ (?:to|if|when)\b|\bprocess\ (?:of|for)\b
            |\bprocedure\b|^how\ (?:is|are)\ \w+\ (?:made|built|created|installed)\b""",
    ),
    (
        "when",
        r"^(?:and\ )?when\ (?:was|were|did|is|will)\b|\b(?:what|which)\ (?:year|date|day|"
        r"month|century)\b",
    ),
    ("who", r"^(?:and\ )?(?:who|whom|whose)\b"),
    ("where", r"^(?:and\ )?where\b|\bwhat\ (?:part|place|city|country|state)\b"),
    (
        "list",
        r"""^(?:and\ )?(?:which|what)\ (?:are|were)\ (?:some|the|all|two|three|four|five|\d|its|
            their|your|my|our|common|different|possible|typical|main|key)\b
            |^(?:and\ )?(?:which|what)\ (?:(?:\w+\ ){0,2}(?:kinds|types|ways|options|values|methods|
            modes|levels|steps|parts|features|benefits|drawbacks|advantages|disadvantages|reasons|
            commands|files|fields|parameters|settings|requirements|tools|formats|languages))\b
            |^(?:which|what)\ (?:two|three|four|five|six|seven|eight)\b
            |^(?:please\ )?(?:list|name|enumerate)\b|\blist\ of\b|\bgive\ (?:two|three|four)\b
            |^which\ (?!does\b|is\b|was\b|has\b)\w+(?:[^s\W]s|ies)\b
            |^what\ (?:\w+\ )?\w+[^s\W]s\ (?:are|were|do|does|can|should|have|has|exist)\b""",
    ),
    (
        "definition",
        r"""^(?:and\ )?(?:what|who)(?:'s|’s|\ is|\ are|\ was|\ were)\ |\bmeans?\b|\bmeaning\b
            |^(?:please\ )?(?:define|explain|describe)\b|\bdefinition\ of\b|\btell\ me\ about\b
            |\bstands?\ for\b|\brefers?\ to\b|^(?:what|how)\ (?:does|do)\ .+\ (?:do|work)\b""",
    ),
    (
        "yes_no",
        r"""^(?:so\ |and\ |but\ )?(?:can|could|is|are|was|were|do|does|did|has|have|had|should|
            must|will|would|may|might|am|isn't|aren't|doesn't|don't|can't|won't)\b
            |,\ ?(?:can|could|is|are|do|does|should|must|will|would|may)
            \ (?:i|it|we|you|the|a|they)\b|\bpossible\ to\b""",
    ),
)
SHAPES = tuple(
    (kind, re.compile(shape, re.IGNORECASE | re.VERBOSE)) for kind, shape in WRITTEN_SHAPES
)

PART = re.compile(
    r"(?:\?\s+|,?\s+(?:and|but|or)\s+)(?=(?:also\s+)?(?:what|which|how|when|where|why|who|whose|is|"
    r"are|does|do|can|should)\b)",
    re.IGNORECASE,
)
DEFINED = re.compile(
    r"^(?:and\s+)?(?:(?:what|who)(?:'s|’s|\s+is|\s+are|\s+was|\s+were)|(?:please\s+)?(?:define|"
    r"explain|describe)|(?:what|how)\s+(?:does|do)|tell\s+me\s+about|(?:the\s+)?(?:meaning|definition)\s+of)"
    r"\s+(?:meant\s+by\s+|the\s+(?:meaning|definition)\s+of\s+)?(?:an?\s+|the\s+)?(?P<subject>.+?)"
    r"(?:\s+(?:mean|means|stand\s+for|refer\s+to|do|work))?\s*[?.!]*$",
    re.IGNORECASE,
)
LISTED = re.compile(
    r"^(?:and\s+)?(?:which|what)\s+(?:are\s+|were\s+)?(?:the\s+|some\s+|all\s+)?(?:two|three|four|five|"
    r"six|seven|eight|main|different|possible|common)?\s*(?P<subject>(?:[\w-]+\s+){0,2}?[\w-]+s)\b",
    re.IGNORECASE,
)
WHERE_IT_IS = re.compile(
    r"\s+(?:in|on|for|of|from|by|with|used|called|within|when|at|according)\s+.*$", re.IGNORECASE
)
SIDES = (
    re.compile(r"\bbetween\s+(?P<a>.+?)\s+and\s+(?P<b>.+)", re.IGNORECASE),
    re.compile(
        r"(?P<a>.+?)\s+(?:vs\.?|versus|instead\s+of|rather\s+than|better\s+than|differs?\s+from|"
        r"different\s+from|compared\s+(?:to|with)|over)\s+(?P<b>.+)",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:compare|do|does|distinguish)\s+(?P<a>.+?)\s+(?:and|with|to|from)\s+(?P<b>.+)",
        re.IGNORECASE,
    ),
)
IN_CODE = re.compile(
    r"\b(?:in|from|with|using)\s+(?:python|java|javascript|typescript|rust|go|bash|c)\b|\bc\+\+|"
    r"\b(?:code|scripts?|program|programmatically)\b",
    re.IGNORECASE,
)
# They say what is wanted, not what it is about.
ASKING = frozenset(
    terms(
        """difference differ different compare comparison versus vs instead rather between example
        show give explain describe define definition mean meaning tell list name use using used work
        many much get make way step way kind type purpose reason happen exactly need want know
        please help also one you've someone something thing like actually look""",
        "en",
    )
)

PLATFORM = re.compile(
    r"\b(?:on|onto|under)\s+(?:an?\s+|the\s+|my\s+)?([A-Z][\w+.-]*|[a-z]+(?:OS|[A-Z])\w*)"
)

SIGN = re.compile(r"[^\w\s]{1,4}")
PUNCTUATION = frozenset(("-", "–", "—", "?", "!", "&", "/", "…", "...", "--", "**", "*"))
# "A100", "ROS_DOMAIN_ID", "--packages-select", and capitals within a sentence.
NAME = re.compile(
    r"`[^`]+`|(?<!\w)--?[a-z][\w-]+|\b\w+_\w+\b|\b[a-z]+[A-Z]\w*|\b(?=\w*\d)(?=\w*[A-Za-z])\w+\b"
    r"|(?<!^)(?<![.?!:]\s)\b[A-Z][\w-]+\b"
)
# Written in many ways, so that a book may well use another.
COMMON_NAMES = frozenset(
    """us usa uk eu un api ai url html ok english america american europe european britain british
    january february march april may june july august september october november december monday
    tuesday wednesday thursday friday saturday sunday python java yes no what which how why when
    where who is are can do does""".split()
)


@dataclass(frozen=True)
class Asked:
    """One question: the stems it is made of, those that only say what is wanted, and, where there
    are such, the stems of what is to be defined and of the two things to be compared."""

    kind: Kind
    text: str
    terms: tuple[str, ...]
    asking: frozenset[str]
    subject: tuple[str, ...] = ()
    sides: tuple[frozenset[str], frozenset[str]] | None = None
    context: tuple[str, ...] = ()

    @property
    def wants_code(self) -> bool:
        return self.kind in ("code", "how")

    @property
    def wants_long_code(self) -> bool:
        return self.kind == "code" or (self.kind == "how" and bool(IN_CODE.search(self.text)))


def questions_in(text: str, language: str) -> list[Asked]:
    """The parts of a message such as "what is it, and how do I start it?", at most three."""
    parts = [part for part in PART.split(text.strip()) if any(terms(part, language))]
    asked: list[Asked] = []
    for part in parts[:3] or [text]:
        asked.append(_asked(part.strip(), language, asked[0].terms if asked else ()))
    return asked


def signs_in(text: str) -> list[str]:
    """Operators and the like: "@", "[", "===", "??"."""
    found = [word.strip(".,;:!\"'()`").removesuffix("?") for word in text.split()]
    return [sign for sign in found if SIGN.fullmatch(sign) and sign not in PUNCTUATION]


def names_in(question: str, language: str) -> list[frozenset[str]]:
    """The stems of each name and identifier; one without which no passage can answer."""
    words = question.split()
    if sum(word[:1].isupper() for word in words) > 0.6 * len(words):
        return []  # Everything Is Written So
    names = [name for name in NAME.findall(question) if name.lower() not in COMMON_NAMES]
    return [stems for name in names if (stems := frozenset(terms(name, language)))]


def platforms_in(question: str, language: str) -> list[frozenset[str]]:
    """The stems of what something is to be done on: what is told of another does not answer."""
    names = PLATFORM.findall(question)
    return [stems for name in names if (stems := frozenset(terms(name, language)))]


def _asked(text: str, language: str, before: tuple[str, ...]) -> Asked:
    words = tuple(dict.fromkeys([*terms(text, language), *signs_in(text)]))
    kind = _kind(text, words) if language.startswith("en") else "other"
    own = frozenset(words) & ASKING
    # A question made of asking words alone ("what is the way to use it?") is about them.
    asking = own if len(own) < len(words) else frozenset()
    return Asked(
        kind=kind,
        text=text,
        terms=words,
        asking=asking,
        subject=_subject(text, kind, language) if kind in ("definition", "who", "list") else (),
        sides=_sides(text, language) if kind == "comparison" else None,
        context=tuple(term for term in before if term not in words),
    )


def _kind(text: str, words: tuple[str, ...]) -> Kind:
    for kind, shape in SHAPES:
        if shape.search(text):
            return kind
    return "definition" if len(words) <= 2 else "other"


def _subject(text: str, kind: Kind, language: str) -> tuple[str, ...]:
    listed = LISTED.match(text) if kind == "list" else None
    found = listed or DEFINED.match(text)
    subject = found["subject"] if found else text.rstrip("?.! ")
    return tuple(terms(WHERE_IT_IS.sub("", subject), language))


def _sides(text: str, language: str) -> tuple[frozenset[str], frozenset[str]] | None:
    for shape in SIDES:
        found = shape.search(text)
        if found:
            a, b = (frozenset(terms(found[side], language)) - ASKING for side in "ab")
            if a - b and b - a:
                return a - b, b - a
    return None
