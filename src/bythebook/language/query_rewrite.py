"""What a message of a conversation asks for when it is read alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bythebook.index.sparse import TERM, terms
from bythebook.language.coreference import (
    BACK,
    CHANGE,
    CORRECTION,
    FILLER,
    MORE,
    PRONOUN,
    WORD,
    follow_up_kind,
    is_small_talk,
    item_referred_to,
    source_referred_to,
    without_sources,
)
from bythebook.language.segmentation import split_sentences
from bythebook.models.conversation import Turn
from bythebook.models.search_messages import MAX_QUERY, MIN_QUERY, has_words

__all__ = [
    "StandaloneQuestion",
    "Turn",
    "questions_of",
    "rewrite_standalone",
    "searchable",
    "wants_more",
    "without_selection",
]


# "What is a costmap and how do I turn it off?"
PART = re.compile(
    r"(?:,|(?<![\s,]))\s++(?:and|but)\s++(?=(?:also\s+)?(?:what|which|how|when|where|why|who|can|does|do)\b)",
    re.IGNORECASE,
)
QUESTION_WORD = re.compile(
    r"\W*(?:what|which|how|when|where|why|who|whose|is|are|does|do|can|should)\b", re.IGNORECASE
)
# A quotation below the question is what the reader selected: "What does this mean?\n\n> …".
SELECTION = re.compile(r"\n[^\S\n]*+\n>\s?(?P<selected>\S.*)\Z", re.DOTALL)
# "How do I install it?", asked first: what the book is about.
SUBJECT = re.compile(
    r"\bit\b|\b(?:this|that)\b(?=\W*$|\s+(?:about|all|do|does|for|good|used|works?)\b)|"
    r"\bthis\s+(?:app|application|framework|library|package|program|project|software|thing|tool)\b",
    re.IGNORECASE,
)
# Words of a title that name a book, and not what it is about.
OF_A_BOOK = re.compile(
    r"^(?:the|an?)\s++|\b(?:(?:user|reference|developer)['’]?s?\s++)?+(?:book|docs|documentation|"
    r"guide|handbook|manual|reference|tutorial)\b(?:\s++(?:for|of|to)\b)?+",
    re.IGNORECASE,
)
MOST_TOPIC_WORDS = 8
FEW_WORDS = 3


@dataclass(frozen=True)
class StandaloneQuestion:
    """`query` is what to search for; `depends` says whether it needed the conversation; `source`
    is the number of the earlier source that is asked about."""

    query: str
    depends: bool
    source: int | None


@dataclass(frozen=True)
class Topic:
    """What is being talked about: its words, and the question they are from."""

    words: tuple[str, ...] = ()
    question: str = ""


def rewrite_standalone(
    message: str, turns: Sequence[Turn], language: str = "en", title: str = ""
) -> StandaloneQuestion:
    """The message itself if it can be understood alone, else with the topic it leans on: what was
    talked about, or at first what the book is about, of which `title` is the title."""
    topic = Topic()
    turns = [turn for turn in turns if not turn.refused]  # what led nowhere is not the topic
    if not turns and language.startswith("en"):
        message = _about_subject(message, OF_A_BOOK.sub("", title).strip(" :–—-"))
    for at, turn in enumerate(turns):
        _, topic = _resolve(turn.question, turns[:at], topic, language)
    return _resolve(message, turns, topic, language)[0]


def _about_subject(message: str, subject: str) -> str:
    """The message with the subject in place of a pronoun that nothing else explains."""
    question, selected = without_selection(message)
    leans = follow_up_kind(question, _content(question, "en")) == "pronoun"
    if selected or not subject or not leans:
        return message
    return SUBJECT.sub(lambda _: subject, question, count=1)


def without_selection(message: str) -> tuple[str, str]:
    """The question itself, and the text that is quoted below it."""
    found = SELECTION.search(message)
    question = message[: found.start()].strip() if found else ""
    if not found or not question:
        return message, ""
    return question, re.sub(r"\n>\s?", "\n", found["selected"]).strip()


def wants_more(message: str) -> bool:
    """Whether what was said already is to be left out: "tell me more", "what else?"."""
    return bool(MORE.search(message))


def questions_of(message: str) -> tuple[str, ...]:
    """The questions of a message that asks more than one; one that points back ("how do I refresh
    it?") stands behind what it points to. None where there is but one."""
    sentences = [message[start:end] for start, end in split_sentences(message)]
    parts = [part for sentence in sentences for part in PART.split(sentence)]
    if len(parts) == 1:
        return ()
    asked: list[str] = []
    for at, part in enumerate(parts):
        asks = part.rstrip().endswith("?") or bool(QUESTION_WORD.match(part))
        if asks:
            points_back = at > 0 and PRONOUN.search(part)
            asked.append(f"{parts[at - 1].rstrip('?.! ')}? {part}" if points_back else part)
    return tuple(part for part in asked if len(part) >= MIN_QUERY and has_words(part))


def searchable(query: str, language: str) -> str:
    """The query as a search takes it: "C#" becomes a question, one that is too long is cut."""
    query = query.strip()
    if len(query) >= MIN_QUERY or not has_words(query):
        return query[:MAX_QUERY].strip()
    return f"What is {query}?" if language.startswith("en") else f"“{query}”"


def _resolve(
    message: str, turns: Sequence[Turn], topic: Topic, language: str
) -> tuple[StandaloneQuestion, Topic]:
    """What the message asks for, and what is being talked about from then on."""
    message, selected = without_selection(message)
    if selected:
        return _resolve_selection(message, selected, language)
    alone = StandaloneQuestion(message, False, None)
    if is_small_talk(message) or not WORD.search(message):
        return alone, topic
    own = _content(without_sources(message), language)
    turned = _change_of_topic(message, language)
    if turned:
        return turned, Topic(_content(turned.query, language), turned.query)
    if not turns or not language.startswith("en"):
        return alone, Topic(own, message)
    sources = next((turn.sources for turn in reversed(turns) if turn.sources), ())
    source = source_referred_to(message, len(sources))
    if source is not None:
        about = _content(sources[source - 1], language)
        asked = " ".join(_without(_content(without_sources(message), language), about))
        return _with_topic(asked, about, source), Topic(about, sources[source - 1])
    item = item_referred_to(message, turns[-1].answer)
    if item:
        about = _content(item, language)[:MOST_TOPIC_WORDS]
        return _with_topic(" ".join(own), about), Topic(about, item)
    return _resolve_by_words(message, own, turns, topic, language)


def _resolve_selection(
    message: str, selected: str, language: str
) -> tuple[StandaloneQuestion, Topic]:
    """A question that leans on the selected text is asked with its words. One that stands alone is
    asked by its own: the words of the selection are in the book whatever is asked of them."""
    own = _content(message, language)
    about = _content(selected, language)
    english = language.startswith("en")
    if follow_up_kind(message, own) if english else len(own) < FEW_WORDS:
        return _with_topic(message, _without(about, own)), Topic(about, selected)
    return StandaloneQuestion(message, False, None), Topic(own, message)


def _change_of_topic(message: str, language: str) -> StandaloneQuestion | None:
    """A message that first says what it turns to: "Back to actions: …", "Different topic: …"."""
    if back := BACK.match(message):
        rest = back["rest"].strip()
        about = _without(_content(back["topic"], language), _content(rest, language))
        return _with_topic(rest, about)
    if change := CHANGE.match(message):
        return StandaloneQuestion(change["rest"].strip(), True, None)
    return None


def _resolve_by_words(
    message: str, own: tuple[str, ...], turns: Sequence[Turn], topic: Topic, language: str
) -> tuple[StandaloneQuestion, Topic]:
    corrected = CORRECTION.match(message)
    if corrected and topic.question:
        meant = message[corrected.end() :].strip()
        words = _content(meant, language) or own
        rest = () if len(words) >= FEW_WORDS else _without(topic.words, words)
        return _with_topic(meant, rest), Topic((*words, *rest)[:MOST_TOPIC_WORDS], meant)
    how = follow_up_kind(message, own)
    if how is None:
        return StandaloneQuestion(message, False, None), Topic(own, message)
    if not topic.words:
        return StandaloneQuestion(message, True, None), topic
    about = topic.words
    if len(about) < FEW_WORDS:
        about = (*about, *_without(_cited(turns[-1], language), about)[:FEW_WORDS])
    if not own and wants_more(message):
        return StandaloneQuestion(topic.question, True, None), topic
    result = _with_topic(message, _without(about, own))
    if how == "ellipsis":
        return result, Topic((*own, *_without(topic.words, own))[:MOST_TOPIC_WORDS], message)
    return result, topic


def _with_topic(
    message: str, about: Sequence[str], source: int | None = None
) -> StandaloneQuestion:
    asked = FILLER.sub("", message).strip().rstrip("?!. ")
    query = " ".join([asked, *about[:MOST_TOPIC_WORDS]]).strip()
    return StandaloneQuestion(query or message, True, source)


def _content(text: str, language: str) -> tuple[str, ...]:
    """The words that say what a text is about, as written, each once."""
    found: dict[str, str] = {}
    for match in TERM.finditer(text):
        stems = list(terms(match[0], language))
        if stems and stems[0] not in ASKING and stems[0] not in CONVERSING:
            found.setdefault(stems[0], match[0])
    return tuple(found.values())


def _without(words: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    known = {word.lower() for word in others}
    return tuple(word for word in words if word.lower() not in known)


def _cited(turn: Turn, language: str) -> tuple[str, ...]:
    """The words of the section that was cited first."""
    first = re.search(r"\[(\d+)\]", turn.answer)
    number = int(first[1]) if first else 1
    if not 1 <= number <= len(turn.sources):
        return ()
    return _content(turn.sources[number - 1].rpartition("›")[2], language)


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
# Words about the conversation, or about any topic: "drawbacks" of what?
CONVERSING = frozenset(
    terms(
        """more else other another again elaborate further continue go on detail details simple
        simpler word words short shorter summary summarize sure really understand said say says
        mentioned talk talking question answer source citation reference passage first second third
        fourth fifth last next previous former latter ok okay right correct sorry meant point item
        same both each either please thanks thank yes yeah well hmm let got think aren
        isn doesn don didn won wasn couldn shouldn haven hasn""",
        "en",
    )
)
