"""Every setting in one place; each can be given as an environment variable or in a `.env` file."""

from __future__ import annotations

from ipaddress import ip_network
from pathlib import Path
from typing import Literal

from platformdirs import user_data_path
from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import SettingsConfigDict

from bythebook.errors import ConfigurationError
from bythebook.settings.fetching import FetchSettings
from bythebook.settings.language_model import LanguageModelSettings
from bythebook.settings.platforms import PlatformSettings
from bythebook.settings.tracing import TracingSettings
from bythebook.settings.workers import WorkerSettings

EmbedderName = Literal["built-in", "openai", "cohere"]
AnswererName = Literal["auto", "built-in", "openai"]
ReaderName = Literal["built-in", "off"]

# Said when the book does not; a sentence of S1, here and nowhere else.
REFUSAL = "I don't have information about that in the book content"


class Settings(
    FetchSettings, LanguageModelSettings, PlatformSettings, TracingSettings, WorkerSettings
):
    """What an operator may choose. Names follow the variables the field's users already know."""

    model_config = SettingsConfigDict(
        # Fields may be given by name in code; without a prefix $HOME would then be our home.
        populate_by_name=True,
        env_prefix="BYTHEBOOK_",
        env_file=".env",
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
    )

    home: Path = Field(
        default_factory=lambda: user_data_path("bythebook"),
        validation_alias="BYTHEBOOK_HOME",
        description="Folder that holds the embedded index, the database and locks.",
    )
    book_id: str | None = Field(
        default=None,
        validation_alias="BYTHEBOOK_BOOK",
        description="Book to use when a command names none and there are several.",
    )
    embedder: EmbedderName = Field(
        default="built-in",
        validation_alias="BYTHEBOOK_EMBEDDER",
        description="What turns text into vectors: built-in, openai or cohere.",
    )
    embedding_threads: int = Field(
        default=0,
        ge=0,
        validation_alias="BYTHEBOOK_EMBEDDING_THREADS",
        description="Threads the built-in embedder uses; 0 means one for each core.",
    )
    reader: ReaderName = Field(
        default="built-in",
        validation_alias="BYTHEBOOK_READER",
        description="The model that reads the passages found: built-in or off. Off saves memory; "
        "nothing judges whether a passage answers, marks where, or checks what a sentence means.",
    )
    max_file_mb: int = Field(
        default=5,
        ge=1,
        le=20,
        validation_alias="BYTHEBOOK_MAX_FILE_MB",
        description="A larger file of a book is reported and skipped.",
    )
    openai_embedding_model: str = Field(
        default="text-embedding-3-small",
        validation_alias="OPENAI_EMBEDDING_MODEL",
        description="Embedding model when the embedder is openai.",
    )
    cohere_api_key: SecretStr | None = Field(
        default=None,
        validation_alias="COHERE_API_KEY",
        description="Key for Cohere when the embedder is cohere.",
    )
    cohere_base_url: str = Field(
        default="https://api.cohere.com",
        validation_alias="COHERE_BASE_URL",
        description="Address of the Cohere API.",
    )
    cohere_model: str = Field(
        default="embed-english-v3.0",
        validation_alias="COHERE_MODEL",
        description="Embedding model when the embedder is cohere.",
    )
    embedding_timeout: float = Field(
        default=30.0,
        gt=0,
        validation_alias="EMBEDDING_TIMEOUT",
        description="Seconds one request to an embedding service may take.",
    )
    qdrant_url: str | None = Field(
        default=None,
        validation_alias="QDRANT_URL",
        description="Address of a Qdrant server; without it the embedded engine is used.",
    )
    qdrant_api_key: SecretStr | None = Field(
        default=None,
        validation_alias="QDRANT_API_KEY",
        description="Key for the Qdrant server.",
    )
    collection: str = Field(
        default="textbook_chunks",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$",
        validation_alias="QDRANT_COLLECTION_NAME",
        description="Name of the Qdrant collection; one collection holds one embedder's vectors.",
    )
    search_timeout: float = Field(
        default=30.0,
        gt=0,
        validation_alias="SEARCH_TIMEOUT",
        description="Seconds one request to the Qdrant server may take.",
    )
    database_url: str | None = Field(
        default=None,
        validation_alias="DATABASE_URL",
        description="Database for state, jobs, conversations and keys, such as "
        "postgresql://user:password@host/name; without it SQLite in the home folder.",
    )

    answerer: AnswererName = Field(
        default="auto",
        validation_alias="BYTHEBOOK_ANSWERER",
        description="Who writes: built-in quotes the book, openai is a language model; auto takes "
        "the model when OPENAI_API_KEY or OPENAI_BASE_URL is set.",
    )
    refusal: str = Field(
        default=REFUSAL,
        min_length=1,
        validation_alias="BYTHEBOOK_REFUSAL",
        description="What a reader is told when the book does not say.",
    )
    tool_name: str = Field(
        default="search_textbook",
        pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$",
        validation_alias="AGENT_TOOL_NAME",
        description="Name of the retrieval tool that the model sees.",
    )
    top_k: int = Field(
        default=5,
        ge=1,
        le=10,
        validation_alias="AGENT_TOP_K",
        description="Passages to retrieve for a question.",
    )
    score_threshold: float = Field(
        default=0.7,
        ge=0,
        le=1,
        validation_alias="AGENT_SCORE_THRESHOLD",
        description="Passages that score less are not given to the model.",
    )
    max_turns: int = Field(
        default=50,
        ge=1,
        validation_alias="AGENT_MAX_TURNS",
        description="Questions one conversation may have.",
    )
    history_turns: int = Field(
        default=10,
        ge=0,
        le=20,
        validation_alias="AGENT_HISTORY_TURNS",
        description="Turns of the conversation that the model is given.",
    )

    host: str = Field(
        default="127.0.0.1",
        min_length=1,
        validation_alias="BYTHEBOOK_HOST",
        description="Address the service listens on; other than loopback it needs a key.",
    )
    port: int = Field(
        default=8000,
        ge=0,
        le=65535,
        validation_alias="BYTHEBOOK_PORT",
        description="Port the service listens on; 0 takes a free one.",
    )
    rate_limit: int = Field(
        default=100,
        ge=0,
        validation_alias="BYTHEBOOK_RATE_LIMIT",
        description="Requests a key may make in a minute; 0 means as many as it likes.",
    )
    reader_rate_limit: int = Field(
        default=30,
        ge=0,
        validation_alias="BYTHEBOOK_READER_RATE_LIMIT",
        description="Requests that one address may make in a minute with a publishable key, which "
        "all readers of a site share; 0 means no such limit.",
    )
    key_guesses: int = Field(
        default=20,
        ge=0,
        validation_alias="BYTHEBOOK_KEY_GUESSES",
        description="Wrong keys that one address may try in a minute; 0 means as many as it likes.",
    )
    trusted_proxies: str = Field(
        default="",
        validation_alias="BYTHEBOOK_TRUSTED_PROXIES",
        description="Addresses or networks of the proxies before the service, with commas between; "
        "who they say a request is from (X-Forwarded-For) is believed.",
    )
    redis_url: SecretStr | None = Field(
        default=None,
        validation_alias="BYTHEBOOK_REDIS_URL",
        description="Redis that several services share to count requests; else each counts.",
    )
    max_body_kb: int = Field(
        default=10,
        ge=1,
        le=1000,
        validation_alias="BYTHEBOOK_MAX_BODY_KB",
        description="Largest request body the service takes, but for webhooks.",
    )
    max_concurrent: int = Field(
        default=200,
        ge=1,
        validation_alias="BYTHEBOOK_MAX_CONCURRENT",
        description="Requests the service works on at once; more are asked to come back.",
    )
    cors_origins: str = Field(
        default="",
        validation_alias="BYTHEBOOK_CORS_ORIGINS",
        description="Sites whose pages may call the service, with commas between: "
        "https://book.example.org. None by default.",
    )
    books_folder: Path | None = Field(
        default=None,
        validation_alias="BYTHEBOOK_BOOKS_FOLDER",
        description="Folder below which the service may ingest new books; without it only books "
        "that the index knows.",
    )
    webhook_secret: SecretStr | None = Field(
        default=None,
        validation_alias="GITHUB_WEBHOOK_SECRET",
        description="Secret that GitHub signs its webhooks with; without it they are refused.",
    )
    webhook_pull: bool = Field(
        default=True,
        validation_alias="BYTHEBOOK_WEBHOOK_PULL",
        description="Whether a webhook runs `git pull` where the book's folder is a checkout.",
    )
    heartbeat: float = Field(
        default=15.0,
        gt=0,
        validation_alias="BYTHEBOOK_HEARTBEAT",
        description="Seconds between signs of life in a stream that has nothing to say.",
    )
    shutdown_seconds: float = Field(
        default=20.0,
        ge=0,
        validation_alias="BYTHEBOOK_SHUTDOWN_SECONDS",
        description="Seconds that running answers get to finish when the service is stopped.",
    )
    thread_idle_minutes: float = Field(
        default=60.0,
        gt=0,
        validation_alias="BYTHEBOOK_THREAD_IDLE_MINUTES",
        description="A conversation idle for longer is archived; it comes back when used.",
    )
    keep_questions_days: int = Field(
        default=90,
        ge=0,
        le=36_500,
        validation_alias="BYTHEBOOK_KEEP_QUESTIONS_DAYS",
        description="Days that questions asked over HTTP are kept for the admin page and "
        "`bythebook gaps`, with what became of them and readers' ratings; 0 keeps none.",
    )
    log_format: Literal["auto", "text", "json"] = Field(
        default="auto",
        validation_alias="BYTHEBOOK_LOG_FORMAT",
        description="How the service logs: json is an object a line, text is for people; auto is "
        "text on a terminal and json elsewhere.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info",
        validation_alias="BYTHEBOOK_LOG_LEVEL",
        description="Least weight of what the service logs.",
    )
    log_questions: bool = Field(
        default=False,
        validation_alias="BYTHEBOOK_LOG_QUESTIONS",
        description="Whether the log may hold what people ask.",
    )

    @field_validator("trusted_proxies")
    @classmethod
    def _are_addresses(cls, given: str) -> str:
        """Only these: with a name, or with `*`, anybody could say to be anybody."""
        for part in filter(None, map(str.strip, given.split(","))):
            try:
                ip_network(part)
            except ValueError as problem:
                raise ValueError(f"{part!r} is neither an address nor a network") from problem
        return given.strip()

    @property
    def uses_language_model(self) -> bool:
        """Whether a language model writes, or the built-in answerer quotes."""
        if self.answerer != "auto":
            return self.answerer == "openai"
        return self.openai_api_key is not None or "openai_base_url" in self.model_fields_set

    @property
    def database(self) -> str:
        """SQLAlchemy address of the database."""
        return self.database_url or f"sqlite+aiosqlite:///{self.home / 'bythebook.db'}"


def load_settings() -> Settings:
    """Read the environment; a bad value is named with its variable and what was expected."""
    try:
        return Settings()
    except ValidationError as problem:
        first = problem.errors()[0]
        name = str(first["loc"][0])
        raise ConfigurationError(
            f"The setting {name} is not usable: {first['msg']}.",
            action=f"Change or unset {name} in the environment or in .env.",
        ) from problem
