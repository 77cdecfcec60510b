"""Whether what was chosen can be an answer: some questions want a value of a certain kind."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bythebook.index.sparse import terms
from bythebook.quoting.material import Material
from bythebook.quoting.question import ASKING

COUNT = re.compile(r"\bhow (?:many|much)\b", re.IGNORECASE)
PRICE = re.compile(
    r"\bhow (?:much|expensive)\b.*\b(?:costs?|pay|price|charge|expensive)\b|"
    r"\bwhat\b.*\b(?:price|costs?)\b|\bhow expensive\b",
    re.IGNORECASE,
)
PERSON = re.compile(
    r"^\W*(?:and\s+)?(?:who|(?:which|what)\s+(?:\w+\s+)?(?:person|people|company|team|university|"
    r"institute|institution|organi[sz]ation|lab|laboratory|group|engineer|developer|author))\s+"
    r"(?:\w+\s+)?(?:founded|started|invented|created|wrote|made|developed|"
    r"designed|built|owns?|maintains?|leads?)\b",
    re.IGNORECASE,
)
DATE = re.compile(r"^\W*(?:and\s+)?(?:when (?:was|were|did)|(?:in )?(?:what|which) year)\b", re.I)

# "Show me the SDF …", "Give me the command …"
CODE = re.compile(
    r"^\W*(?i:(?:please|can you|could you)\s+)*(?i:show|give|write)\b.*\b(?:(?i:code|commands?|"
    r"snippet|script|syntax|config\w*)|[A-Z]{3,4})\b",
)
# "What is the default goal tolerance of Nav2?" wants a tolerance.
VALUE = re.compile(
    r"^\W*what(?:['’]s|\s+is|\s+are|\s+was)\s+the\s+(?P<phrase>\w[\w/-]*(?:\s+\w[\w/-]*)+?)"
    r"(?:\s+(?:in|of|for|on|at|when|that|to|used|between|behind|if|after|with|from)\b.*)?\W*$",
    re.IGNORECASE,
)
# A number of its own: not that of "ROS 2", "Claude 3", "Chapter 4" or "Section 1.2".
NUMBER = re.compile(
    r"(?<!\w)(?<![A-Za-z]-)\d+(?:[.,]\d+)*|\b(?:one|two|three|four|five|six|seven|"
    r"eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundreds?|thousands?|millions?|"
    r"dozens?|half|twice|none|single|no limit|unlimited|as many)\b",
    re.IGNORECASE,
)
NAME_BEFORE = re.compile(
    r"\b(?!(?:About|Around|After|All|At|Before|Between|By|For|From|If|In|Nearly|Of|On|Only|Over|Set|"
    r"The|These|To|Up|Use|When|With)\b)[A-Z][\w.-]*\s+$"
)
MONEY = re.compile(
    r"[$€£¥]|\b(?:dollars?|euros?|cents?|usd|eur|free of charge|for free|is free|costs?|prices?|"
    r"priced|fees?)\b",
    re.IGNORECASE,
)
MAKER = re.compile(
    r"\b(?:by|found\w*|start\w*|invent\w*|creat\w*|wr[io]t\w*|ma[dk]e\w*|develop\w*|"
    r"design\w*|buil[dt]\w*|own\w*|maint\w*|le[ad]\w*|teams?|company|authors?)\b",
    re.IGNORECASE,
)
YEAR = re.compile(
    r"\b(?:1\d{3}|20\d{2})s?\b|\bcentur(?:y|ies)\b|\b(?:January|February|March|April|May|June|July|"
    r"August|September|October|November|December)\b"
)


def is_missing(question: str, chosen: Sequence[Material], language: str) -> bool:
    """Whether the question wants something that none of the pieces can hold."""
    named = VALUE.match(question)
    if named:
        head = set(terms(named["phrase"].split()[-1], language)) - ASKING
        if head and not any(head & piece.stems for piece in chosen):
            return True
    if CODE.search(question):
        return not any(piece.kind == "code" or "`" in piece.shown for piece in chosen)
    texts = [piece.plain if piece.kind != "table" else piece.shown for piece in chosen]
    if PRICE.search(question):
        return not any(MONEY.search(text) for text in texts)
    if COUNT.search(question):
        return not any(_has_number(text) for text in texts)
    if PERSON.search(question):
        return not any(MAKER.search(text) for text in texts)
    if DATE.search(question):
        return not any(YEAR.search(text) for text in texts)
    return False


def _has_number(text: str) -> bool:
    return any(not NAME_BEFORE.search(text, 0, found.start()) for found in NUMBER.finditer(text))
