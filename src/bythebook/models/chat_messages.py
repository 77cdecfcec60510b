"""A request to a chat or to the agent and its response, as they enter and leave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    AliasChoices,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

from bythebook.models.answer import (
    ABOUT_STATUS,
    MAX_NEAREST,
    Answer,
    Citation,
    CitationEntry,
    NextStep,
    Sentence,
    Status,
)
from bythebook.models.chunk import now
from bythebook.models.passage import (
    NO_TITLES,
    TOLERANCE,
    ConfidenceLevel,
    ConfidenceMetrics,
    Passage,
    excerpt,
    path_of,
)
from bythebook.models.retrieval_tool import ToolCall
from bythebook.models.search_messages import SearchFilters
from bythebook.models.values import (
    MAX_QUESTION,
    AnyUuid,
    ClosedModel,
    IsoMoment,
    Uuid4,
    WrittenMoment,
    iso,
    new_id,
    not_blank,
    or_null,
)

MAX_MESSAGE = 1000
MAX_TOP_K = 10
MAX_SOURCE_TEXT = 500
MAX_ADDRESS = 2000


# `POST /search` calls a question its text.
MESSAGE_OR_TEXT = AliasChoices("message", "text")

# The limits count what was sent, so they come before the white space goes.
Question = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_MESSAGE,
        description="The question about the book. Text quoted below it (an empty line, then `> …`) "
        "is what it is about: “What does this mean?” is searched for with its words.",
    ),
    AfterValidator(not_blank),
]


Label = Annotated[str, Field(min_length=1, max_length=200)]


class ThreadMetadata(BaseModel):
    """What a site knows of a conversation; it is saved with it and returned."""

    model_config = ConfigDict(extra="forbid", strict=True)

    user_id: Label | None = Field(default=None, description="Who asks, in the site's own words.")
    tags: list[Label] | None = Field(default=None, max_length=20)

    def given(self) -> dict[str, Any]:
        """Only what was said."""
        return self.model_dump(exclude_none=True)


class ChatRequest(BaseModel):
    """A question. An unknown field is an error, never ignored."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={"example": {"message": "When should I use an action?", "top_k": 5}},
    )

    message: Question = Field(validation_alias=MESSAGE_OR_TEXT)
    session_id: Uuid4 = Field(
        default_factory=new_id,
        json_schema_extra=or_null,
        description="Of an earlier response, to continue its session; default: a new session.",
    )
    stream: bool = Field(default=False, description="Answer as Server-Sent Events.")
    top_k: int | None = Field(
        default=None,
        ge=1,
        le=MAX_TOP_K,
        description="Passages to answer from; without it the setting `AGENT_TOP_K`, 5.",
    )
    similarity_threshold: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Passages that score less are not used (from .7 on the book answers); "
        "without it the setting `AGENT_SCORE_THRESHOLD`, 0.7.",
    )
    html: bool = Field(default=False, description="Send the answer as safe HTML as well.")
    book_id: str | None = Field(
        default=None, min_length=1, description="Default: the only book, or the configured one."
    )
    filters: SearchFilters = Field(
        default_factory=SearchFilters,
        json_schema_extra=or_null,
        description="Parts of the book to look in; all of it without them.",
    )
    page: str | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_ADDRESS,
        description="Address of the page that the reader has open: it is looked in first, and the "
        "whole book where it does not answer. An address that is not in the book changes nothing.",
    )
    metadata: ThreadMetadata = Field(
        default_factory=ThreadMetadata,
        json_schema_extra=or_null,
        description="Kept with the session; a later question of it may change what was said.",
    )

    @field_validator("session_id", mode="before")
    @classmethod
    def _none_is_a_new_session(cls, session_id: Any) -> Any:
        return new_id() if session_id is None else session_id

    @field_validator("filters", "metadata", mode="before")
    @classmethod
    def _none_is_nothing_said(cls, given: Any) -> Any:
        return {} if given is None else given


class Source(ClosedModel):
    """A cited passage, shortened for display around what was quoted."""

    chunk_text: str = Field(min_length=1, max_length=MAX_SOURCE_TEXT)
    similarity_score: float = Field(ge=0, le=1)
    chapter: str
    section: str
    url: str
    chunk_index: int = Field(ge=0)

    @classmethod
    def of(cls, citation: Citation) -> Self:
        passage, place = citation.passage, citation.passage.metadata
        return cls(
            chunk_text=excerpt(passage.text, MAX_SOURCE_TEXT, citation.parts[0]),
            similarity_score=passage.score,
            chapter=place.chapter_title or place.title,
            section=place.section_at(citation.start) or place.title,
            url=citation.url,
            chunk_index=place.chunk_index,
        )


class NearSection(ClosedModel):
    """A section near a question that was refused. It does not answer the question."""

    title: str
    section: str | None
    url: str
    passage_id: str
    path: list[str]

    @classmethod
    def of(cls, passage: Passage, modules: Mapping[str, str] = NO_TITLES) -> Self:
        place = passage.metadata
        return cls(
            title=place.title,
            section=place.section_title,
            url=place.url,
            passage_id=passage.id,
            path=path_of(place, modules),
        )


class ChatResponse(ClosedModel):
    """The answer with its sources and confidence, then how it was made.

    `should_answer` is the decision before anybody wrote: it always follows from `metrics`.
    `refused` says what became of it: it is also true when retrieval was good enough and yet no
    sentence could be verified. `sources[n - 1]` is the passage `[n]` points to.
    """

    response: str = Field(min_length=1)
    confidence: float = Field(ge=0, le=1)
    sources: list[Source]
    session_id: Uuid4
    timestamp: IsoMoment = Field(default_factory=lambda: iso(now()))
    confidence_level: ConfidenceLevel
    should_answer: bool

    refused: bool
    status: Status = Field(description=ABOUT_STATUS)
    citations: list[CitationEntry]
    sentences: list[Sentence]
    notes: list[str]
    removed_sentences: int = Field(ge=0)
    model: str
    tokens_used: int = Field(ge=0)
    metrics: ConfidenceMetrics
    searched: str = Field(description="What was searched for; empty where nothing was asked.")
    nearest: list[NearSection] = Field(
        default_factory=list,
        max_length=MAX_NEAREST,
        description="Of a refusal: the sections that come closest, although they don't answer.",
    )
    next_step: NextStep | None = Field(
        default=None,
        description="Of a refusal, if the service has one set; `response` ends with it as a link.",
    )
    answer_id: Uuid4 | None = Field(
        default=None,
        description="Id of the answer for `POST /feedback`; null if questions are not kept.",
    )
    html: str | None = Field(
        default=None,
        description="The response as safe HTML, if requested; each marker `[n]` is a button with "
        "the class `cite` and n in `data-n`.",
    )

    @model_validator(mode="after")
    def _matches_the_metrics(self) -> Self:
        if abs(self.confidence - self.metrics.average_similarity) > TOLERANCE:
            raise ValueError("confidence is not the average similarity")
        if self.confidence_level != self.metrics.confidence_level:
            raise ValueError("confidence_level is not that of the metrics")
        if self.should_answer != self.metrics.should_answer:
            raise ValueError("should_answer is not that of the metrics")
        return self

    @model_validator(mode="after")
    def _rests_on_its_sources(self) -> Self:
        answered = not self.refused
        if answered and not self.should_answer:
            raise ValueError("answered without sufficient confidence")
        if answered != bool(self.sources):
            raise ValueError("an answer has sources, a refusal has none")
        if [citation.number for citation in self.citations] != [*range(1, len(self.sources) + 1)]:
            raise ValueError("citations are not numbered as the sources")
        for sentence in self.sentences:
            if not sentence.start < sentence.end <= len(self.response):
                raise ValueError("a sentence is not part of the response")
            if not all(1 <= number <= len(self.sources) for number in sentence.citations):
                raise ValueError("a sentence cites what is not in the list")
        return self

    @classmethod
    def of(
        cls,
        answer: Answer,
        session_id: str,
        *,
        answer_id: str | None = None,
        html: str | None = None,
        modules: Mapping[str, str] = NO_TITLES,
    ) -> Self:
        near: dict[tuple[str, ...], NearSection] = {}
        for passage in answer.nearest:
            section = NearSection.of(passage, modules)
            near.setdefault((section.url, *section.path), section)
        return cls(
            response=answer.text,
            confidence=answer.confidence.average_similarity,
            sources=[Source.of(citation) for citation in answer.citations],
            session_id=session_id,
            timestamp=iso(answer.created_at),
            confidence_level=answer.confidence.confidence_level,
            should_answer=answer.confidence.should_answer,
            refused=answer.refused,
            status=answer.status,
            citations=[CitationEntry.of(citation) for citation in answer.citations],
            sentences=list(answer.sentences),
            notes=list(answer.notes),
            removed_sentences=answer.removed,
            model=answer.model,
            tokens_used=answer.tokens_used,
            metrics=answer.confidence,
            searched="; ".join(answer.queries),
            nearest=list(near.values())[:MAX_NEAREST],
            next_step=answer.next_step,
            answer_id=answer_id,
            html=html,
        )


AgentMessage = Annotated[
    str, Field(min_length=1, max_length=MAX_QUESTION), AfterValidator(not_blank)
]


class AgentMetadata(BaseModel):
    """Anything the caller wants to find again; it is saved with the question and returned."""

    model_config = ConfigDict(extra="allow", strict=True)

    book_id: str | None = Field(
        default=None, min_length=1, description="Default: the only book, or the configured one."
    )


class AgentRequest(BaseModel):
    """A question. An unknown field is an error, never ignored."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"example": {"message": "What is a node?"}}
    )

    id: AnyUuid = Field(default_factory=new_id)
    message: AgentMessage = Field(validation_alias=MESSAGE_OR_TEXT)
    timestamp: WrittenMoment = Field(default_factory=now)
    metadata: AgentMetadata = Field(default_factory=AgentMetadata)


class AgentQuestion(ChatRequest):
    """Its question as those of chats are passed on; the agent takes longer ones."""

    message: AgentMessage = Field(validation_alias=MESSAGE_OR_TEXT)


class AgentResponse(ClosedModel):
    """The answer to one request."""

    id: AnyUuid = Field(default_factory=new_id)
    request_id: AnyUuid
    content: str = Field(min_length=1)
    citations: list[CitationEntry] = Field(default_factory=list)
    tool_calls: list[ToolCall] = Field(default_factory=list)
    timestamp: AwareDatetime = Field(default_factory=now)
    status: Status = Field(description=ABOUT_STATUS)
    metadata: dict[str, Any] = Field(
        default_factory=dict, description="That of the request, as it was kept."
    )

    @classmethod
    def of(
        cls, answer: Answer, request: AgentRequest, metadata: dict[str, Any] | None = None
    ) -> Self:
        """Taking the request itself is what makes `request_id` one that exists."""
        return cls(
            id=answer.id,
            request_id=request.id,
            content=answer.text,
            citations=[CitationEntry.of(citation) for citation in answer.citations],
            tool_calls=list(answer.tool_calls),
            timestamp=answer.created_at,
            status=answer.status,
            metadata=metadata or {},
        )
