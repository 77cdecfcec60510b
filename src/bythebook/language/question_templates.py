"""Questions a reader might ask, made from a book's own headings, definitions and terms."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from bythebook.index.sparse import STOP_WORDS
from bythebook.language.segmentation import pieces_of, readable

MOST_HEADING_WORDS = 9
MOST_TERM_WORDS = 4
SIMPLE_WORDS = 3
PLAIN_WORD = re.compile(r"[A-Za-z]+(?:['’][A-Za-z]+)?")
NUMBERING = re.compile(
    r"^(?:(?:chapter|module|part|lesson|section|step|unit|appendix)\s+)?[\dIVX]+(?:\.\d+)*[.:)]?\s+|"
    r"^(?:chapter|module|part|lesson|section|step|unit|appendix)\s+\w+:\s+",
    re.IGNORECASE,
)
EMPHASIS = re.compile(r"\*\*|__|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)")
ANCHOR = re.compile(r"(?<!\s)\s*+\{#[^{}]*+\}\s*+$")
SYMBOLS = re.compile(r"[<>{}=|\\$#@\[\]\"]|\.\w+\(|\(\)|(?<!\w)--?\w")
GENERIC = frozenset(
    """introduction overview summary conclusion exercises exercise questions quiz example examples
    syntax description parameters specifications compatibility notes note references reference
    resources lessons chapters contents prerequisites requirements outcome outcomes objectives
    background recap glossary appendix acknowledgements changelog faq details usage more limits
    drawbacks next setup todo about index value attributes methods properties solution""".split()
)
GENERIC_PHRASES = frozenset(
    """see also|further reading|next steps|what's next|what you will learn|what you need|try it|
    before you start|lessons in this chapter|key takeaways|return value|browser compatibility|
    learning objectives|table of contents|going further|before you begin|in this chapter|
    instance methods|instance properties|static methods|how the lessons fit together|
    the code|a worked example|known issues|release notes|test your skills|the objective""".replace(
        "\n", ""
    ).split("|")
)
ASKING = re.compile(r"(?:how|why|what|when|where|which|who|whose)\b", re.IGNORECASE)
# What stands behind a verb, and hardly behind a noun or adjective of the same form.
OBJECT_BEGINS = frozenset(
    """a an the your my this that these those its their our it them to with from in on at by for
    into onto about over up down out off between against before after when where how what if and
    or""".split()
)
VERBS = frozenset(
    """add adjust allow analyse analyze apply ask avoid build calibrate call change check choose
    clean close collect combine compare compile compute configure connect control convert copy
    create customize debug declare define delete deploy describe design detect disable download
    draw enable estimate evaluate execute export find fix format generate get give go handle import
    improve include increase insert inspect install keep know launch learn limit link load log make
    manage measure meet merge migrate monitor move name open optimize organize parse pass pick plan
    play prepare prevent protect publish put read recognize record reduce register remove rename
    replace report reset restore return run save schedule search select send separate serve set
    share show simulate sort split start stop store style switch teach test track train translate
    tune understand uninstall update upgrade upload use validate verify view visualize wait watch
    work wrap write""".split()
)
NOT_GERUNDS = frozenset("during morning evening nothing something anything everything".split())
NO_SUBJECT = frozenset(
    """it this that these those there they he she we you i one what which who here such each all
    some both another other others everything nothing something anything first second third last
    next good result results reason answer problem drawback advantage difference idea goal point
    rule trick example default following only same latter former rest most many few exception price
    main best simplest easiest usual common because since although unlike""".split()
)
NO_TERM = frozenset(
    """must not only always never note warning important tip caution danger info do don't don’t
    required optional default deprecated new old yes no true false all any every both either
    before after now today here answer example remember breaking correct incorrect good
    bad""".split()
)
DEFINITION = re.compile(
    r"(?:(?P<article>An?|The)\s++)?(?P<term>[^\s.,;:()!?][^.,;:()!?]*?)(?<!\s)\s++(?P<verb>is|are)\s++"
    r"(?:an?|the|any|one|another|a kind of|how|what|where|when|all|every)\s+\w+"
)
# What follows a phrase that is over.
BEHIND = re.compile(
    r"[.,;:)!?]|\s(?:is|are|was|were|that|which|has|have|can|in|of|on|to|and|or|from|for|with|at|"
    r"by|as|does|do|will|must|may|holds|needs)\b"
)
NUMBERS = frozenset("two three four five six seven eight nine ten".split())
# A term is introduced: at the beginning, with an article, as what something is called. Elsewhere
# bold type is for emphasis.
INTRODUCED = re.compile(
    r"(?:^\s*+(?:(?:[-*+]|\d++[.)])\s*+)?|\b(?:[Aa]n?|called|named|as) |^The )"
    r"\*\*(?P<term>[A-Za-z][^*\n]{2,60})\*\*|\*\*(?P<other>[A-Za-z][^*\n]{2,60})\*\*(?= \()"
)


@dataclass(frozen=True)
class Wording:
    """A question for a heading. A heading that names a `thing` is asked what that is; it depends on
    the thing whether a person would. One that is `stiff` nobody would ask so."""

    question: str
    thing: str = ""
    stiff: bool = False


@dataclass
class Dictionary:
    """How a book writes its words, and which phrases have an article in it."""

    words: Counter[str] = field(default_factory=Counter)
    text: str = ""

    @classmethod
    def of(cls, texts: Iterable[str]) -> Dictionary:
        counts: Counter[str] = Counter()
        prose: list[str] = []
        for text in texts:
            for piece in pieces_of(text):
                if piece.kind in ("sentence", "item"):
                    said = plain_text(text[piece.start : piece.end])
                    prose.append(said)
                    # The first word is capital whatever it is.
                    counts.update(PLAIN_WORD.findall(said)[1:])
        return cls(counts, f" {' '.join(prose)} ".casefold())

    def as_written(self, word: str) -> str:
        """The word as it stands within sentences: small unless it is a name there."""
        lower = word.lower()
        if not word[:1].isupper() or word[1:] != lower[1:]:
            return word
        if self.base_of(word):  # "Choosing" is capital in titles only
            return lower
        return lower if self.words[lower] >= self.words[word] else word

    def phrase(self, text: str) -> str:
        """A heading or term as it would stand in a sentence. In one that has small words a capital
        within it is a name."""
        count = 0

        def written(found: re.Match[str]) -> str:
            nonlocal count
            count += 1
            return self.as_written(found[0]) if count == 1 or titled else found[0]

        titled = is_titled(text)
        return PLAIN_WORD.sub(written, text)

    def with_article(self, phrase: str) -> str:
        """The phrase with the article that the book mostly puts before it, if any."""
        first = phrase.split()[0].lower()
        if first in ("a", "an", "the", "your", "its"):
            return phrase
        small = phrase.casefold()
        total = self._count(small)
        for article in ("a", "an", "the"):
            if total and 2 * self._count(f"{article} {small}") >= total:
                return f"{article} {phrase}"
        return phrase

    def _count(self, phrase: str) -> int:
        """How often the book uses the phrase by itself, not as the beginning of a longer one."""
        found = 0
        at = self.text.find(phrase)
        while at >= 0:
            over = BEHIND.match(self.text, at + len(phrase))
            found += over is not None and not self.text[at - 1].isalnum()
            at = self.text.find(phrase, at + len(phrase))
        return found

    def what_is(self, phrase: str) -> str:
        """The question for a thing, without its mark."""
        first = phrase.split()[0].lower()
        if first in NUMBERS:
            phrase = f"the {phrase}"
        head = re.split(r"\s(?:of|that|which)\s", phrase)[0].split()[-1]
        plural = re.search(r"[^\Wsui]s$", head) is not None
        if head.endswith("as"):  # cameras, but not canvas
            plural = self.words[head[:-1].lower()] > 0
        return f"What {'are' if plural and first not in ('a', 'an') else 'is'} {phrase}"

    def base_of(self, gerund: str) -> str | None:
        """The verb of "choosing", if it is one and the book uses it."""
        lower = gerund.lower()
        stem = lower.removesuffix("ing")
        if stem == lower or lower in NOT_GERUNDS or not re.search(r"[aeiouy]", stem):
            return None
        forms = [f"{stem}e", stem]
        if len(stem) > 2 and stem[-1] == stem[-2]:
            forms = [stem[:-1], stem]
        known = [form for form in forms if form in VERBS] or [
            form for form in forms if self.words[form]
        ]
        return max(known, key=lambda form: self.words[form]) if known else None


def plain_text(marked: str) -> str:
    """Words without links, emphasis and code marks."""
    return EMPHASIS.sub("", ANCHOR.sub("", readable(marked))).replace("`", "").strip()


def clean_heading(heading: str) -> str:
    text = re.sub(r"^[^\w-]+", "", plain_text(heading.lstrip("# \t")))
    return NUMBERING.sub("", text).strip(" :.–—")


def is_titled(text: str) -> bool:
    """Whether it Has Capitals Throughout."""
    later = [word for word in PLAIN_WORD.findall(text)[1:] if word.lower() not in STOP_WORDS]
    return all(word[:1].isupper() for word in later)


def worded(heading: str, words: Dictionary) -> Wording | None:
    """What a reader who wants this section would ask."""
    text = clean_heading(heading)
    count = len(text.split())
    if not 0 < count <= MOST_HEADING_WORDS or SYMBOLS.search(text) or not _has_content(text):
        return None
    if text.casefold() in GENERIC_PHRASES | GENERIC or re.match(r"(?:before|after) ", text, re.I):
        return None
    return Wording(text) if text.endswith("?") else _asked(text, words)


def heading_question(heading: str, words: Dictionary, page_title: str | None = None) -> str | None:
    """The question alone; `page_title` is given where the heading could stand on any page."""
    wording = worded(heading, words)
    if wording is None:
        return None
    if page_title is None:
        return wording.question
    title = clean_heading(page_title)
    if not title or SYMBOLS.search(title) or title.casefold() in GENERIC_PHRASES | GENERIC:
        return None
    first, _, rest = wording.question.partition(" ")
    named = words.phrase(title)
    if title.split()[0].lower() in VERBS:
        named = f"“{title}”"
    return f"About {named}: {words.as_written(first)} {rest}".strip()


def _asked(text: str, words: Dictionary) -> Wording:
    phrase = words.phrase(text)
    if question := _natural(text, phrase, words):
        return Wording(f"{question}?")
    if stiff := _stiff(text, phrase):
        return Wording(f"{stiff}?", stiff=True)
    thing = words.with_article(phrase)
    return Wording(f"{words.what_is(thing)}?", thing)


def _natural(text: str, phrase: str, words: Dictionary) -> str | None:
    first, _, rest = text.partition(" ")
    if re.match(r"how to\b", text, re.IGNORECASE):
        return f"How do I {words.phrase(text[7:])}"
    if found := re.fullmatch(r"(when|where|what) to (.+)", phrase, re.IGNORECASE):
        return f"{found[1].capitalize()} should I {found[2]}"
    if found := re.search(r"(?<=.) (?:vs\.?|versus) (?=.)", phrase, re.IGNORECASE):
        one, other = phrase[: found.start()], phrase[found.end() :]
        return f"What is the difference between {one} and {other}"
    if found := re.fullmatch(r"what (.+) (is|are)", phrase, re.IGNORECASE):
        return f"What {found[2]} {found[1]}"
    if found := re.fullmatch(r"(how|why) (.+) (works?|matters?)", phrase, re.IGNORECASE):
        does = "does" if found[3].endswith("s") else "do"
        return f"{found[1].capitalize()} {does} {found[2]} {found[3].rstrip('s')}"
    if (
        not rest
        or ASKING.match(text)
        or re.match(r"if\b", text, re.I)
        or ":" in text
        or "," in text
    ):
        return None
    verb = words.base_of(first) if _is_gerund(first) else first.lower()
    if _is_gerund(first) or first.lower() in VERBS:
        done = _done(verb, phrase.partition(" ")[2], words)
        return f"How do I {done}" if done else None
    return None


def _stiff(text: str, phrase: str) -> str | None:
    first, _, rest = text.partition(" ")
    if re.match(r"(?:when|if)\b", text, re.IGNORECASE):
        return f"What should I do {phrase}"
    if ASKING.match(text):
        return f"Can you explain {phrase}"
    if ":" in text or "," in text:
        return f"What does the book say about {phrase}"
    if rest and not _is_gerund(first) and first.lower() in VERBS:
        return f"What does the book say about “{phrase}”"
    if (rest and _is_gerund(first)) or _is_joined(text):
        return f"What should I know about {phrase}"
    return None


def _is_gerund(word: str) -> bool:
    stem = word.lower().removesuffix("ing")
    return stem != word.lower() and re.fullmatch(r"(?=\w*?[aeiouy])\w++", stem) is not None


def _done(verb: str | None, rest: str, words: Dictionary) -> str | None:
    """What follows "How do I", where it is clear that the heading says what to do: "Installing and
    running a launch file" gives "install and run a launch file"; "Training data" is a thing."""
    if verb is None or re.search(r"\byou\b", rest, re.IGNORECASE):
        return None
    second, _, others = rest.partition(" ")
    if second in ("and", "or"):
        also, _, behind = others.partition(" ")
        base = words.base_of(also) or (also if also.lower() in VERBS else None)
        return f"{verb} {second} {base} {behind}".strip() if base else None
    begins = second.lower() in OBJECT_BEGINS or second[:1].isupper()
    return re.sub(r"\byour\b", "my", f"{verb} {rest}") if begins else None


def _is_joined(text: str) -> bool:
    """Whether it names more than one simple thing."""
    small = text.lower().split()
    joins = {"and", "or", "with", "versus", "vs", "from", "in", "for", "as", "on", "to", "without"}
    hangs = len(small) > 2 and re.search(r"(?:ing|ed|ly)$", small[-1]) is not None
    return hangs or len(small) > SIMPLE_WORDS + 2 or bool(joins & set(small))


def definition_question(sentence: str, words: Dictionary) -> str | None:
    """The question that a sentence "A node is a participant …" answers."""
    text = plain_text(sentence)
    found = DEFINITION.match(text)
    if not found:
        return None
    term, article = found["term"].strip(), found["article"]
    if len(term.split()) > MOST_TERM_WORDS or not _is_term(term):
        return None
    bold = f"**{term}**" in sentence
    if article == "The" and not bold:  # "The drawback is a …" defines nothing
        return None
    if not article and found["verb"] == "is" and not bold and words.phrase(term).islower():
        return None  # a name stands without an article, hardly anything else
    lowered = words.phrase(term)
    named = f"{article.lower()} {lowered}" if article else lowered
    return f"What {found['verb']} {named}?"


def term_questions(text: str, words: Dictionary) -> list[tuple[str, str]]:
    """Bold terms of a passage, each with the question for it."""
    found: dict[str, str] = {}
    for bold in INTRODUCED.finditer(text):
        term = plain_text(bold["term"] or bold["other"]).strip(" .:;,–—-")
        if len(term.split()) < MOST_TERM_WORDS and _is_term(term):
            lowered = words.phrase(term)
            found.setdefault(lowered, f"What does “{lowered}” mean?")
    return list(found.items())


def _is_term(term: str) -> bool:
    small = term.lower().split()
    return (
        bool(small)
        and small[0] not in NO_SUBJECT
        and not NO_TERM.intersection(small)
        and not SYMBOLS.search(term)
        and _has_content(term)
        and not (STOP_WORDS - {"of"}).intersection(small)
    )


def _has_content(text: str) -> bool:
    found = (word.lower() for word in PLAIN_WORD.findall(text))
    return any(word not in STOP_WORDS and len(word) > 1 for word in found)
