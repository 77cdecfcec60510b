"""Every setting in one place; each can be given as an environment variable or in a `.env` file."""

from __future__ import annotations

from ipaddress import ip_network
from pathlib import Path
from typing import Literal, Self

from platformdirs import user_data_path
from pydantic import Field, SecretStr, field_validator, model_validator

from bythebook.settings.agent import REFUSAL as REFUSAL
from bythebook.settings.agent import AgentConfig, check_openai_key
from bythebook.settings.deployment import DeploymentSettings

EmbedderName = Literal["built-in", "openai", "cohere"]
ReaderName = Literal["built-in", "off"]


class Settings(AgentConfig, DeploymentSettings):
    """What an operator may choose. Names follow the variables the field's users already know."""

    home: Path = Field(
        default_factory=lambda: user_data_path("bythebook"),
        description="Data folder: the embedded index, the database and locks.",
    )
    book_id: str | None = Field(
        default=None,
        validation_alias="BYTHEBOOK_BOOK",
        description="The book to use when there are several and none is named.",
    )
    embedder: EmbedderName = Field(
        default="built-in",
        description="What turns text into vectors: built-in, openai or cohere.",
    )
    embedding_threads: int = Field(
        default=0,
        ge=0,
        description="Threads of the built-in embedder; 0 means one for each core.",
    )
    reader: ReaderName = Field(
        default="built-in",
        description="The reading model, which judges passages and checks sentences: built-in or "
        "off. Off saves memory, but answers get worse.",
    )
    disk_reserve_mb: int = Field(
        default=200,
        ge=0,
        validation_alias="BYTHEBOOK_DISK_RESERVE",
        description="Megabytes that ingests, fetched pages and backups leave free on the disk, so "
        "that conversations can still be saved; on a small disk at most a twentieth of it.",
    )
    max_file_mb: int = Field(
        default=5,
        ge=1,
        le=20,
        description="Largest file of a book, in megabytes; larger ones are reported and skipped.",
    )
    openai_embedding_model: str = Field(
        default="text-embedding-3-small",
        validation_alias="OPENAI_EMBEDDING_MODEL",
        description="Embedding model if the embedder is openai.",
    )
    cohere_api_key: SecretStr | None = Field(
        default=None,
        validation_alias="COHERE_API_KEY",
        description="Cohere's key if the embedder is cohere.",
    )
    cohere_base_url: str = Field(
        default="https://api.cohere.com",
        validation_alias="COHERE_BASE_URL",
        description="Address of the Cohere API.",
    )
    cohere_model: str = Field(
        default="embed-english-v3.0",
        validation_alias="COHERE_MODEL",
        description="Embedding model if the embedder is cohere.",
    )
    embedding_timeout: float = Field(
        default=30.0,
        gt=0,
        validation_alias="EMBEDDING_TIMEOUT",
        description="Seconds that one request to an embedding service may take.",
    )
    qdrant_url: str | None = Field(
        default=None,
        validation_alias="QDRANT_URL",
        description="Address of a Qdrant server; without it, the index is embedded in the data "
        "folder.",
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
        description="Name of the Qdrant collection. Use one collection for each embedder.",
    )
    search_timeout: float = Field(
        default=30.0,
        gt=0,
        validation_alias="SEARCH_TIMEOUT",
        description="Seconds that one request to the Qdrant server may take.",
    )
    database_url: str | None = Field(
        default=None,
        validation_alias="DATABASE_URL",
        description="PostgreSQL database, such as postgresql://user:password@host/name; without "
        "it, SQLite in the data folder.",
    )

    host: str = Field(
        default="127.0.0.1",
        min_length=1,
        description="Address the service listens on. Any address but this machine's own needs a "
        "key.",
    )
    port: int = Field(
        default=8000,
        ge=0,
        le=65535,
        description="Port the service listens on; 0 takes a free one.",
    )
    rate_limit: int = Field(
        default=100,
        ge=0,
        description="Requests a key may make in a minute; 0 means no limit.",
    )
    reader_rate_limit: int = Field(
        default=30,
        ge=0,
        description="Requests one address may make in a minute with a publishable key, which all "
        "readers of a site share; 0 means no limit.",
    )
    key_guesses: int = Field(
        default=20,
        ge=0,
        description="Wrong keys one address may try in a minute; 0 means no limit.",
    )
    trusted_proxies: str = Field(
        default="",
        description="Addresses or networks of the proxies in front of the service, separated by "
        "commas. The X-Forwarded-For header is believed only from these.",
    )
    redis_url: SecretStr | None = Field(
        default=None,
        description="Redis in which several services count requests together; without it, each "
        "counts its own.",
    )
    max_body_kb: int = Field(
        default=10,
        ge=1,
        le=1000,
        description="Largest request body, in kilobytes; webhooks may be larger.",
    )
    max_concurrent: int = Field(
        default=200,
        ge=1,
        description="Requests the service handles at once; further ones are refused with 503.",
    )
    cors_origins: str = Field(
        default="",
        description="Sites whose pages may call the service, separated by commas, such as "
        "https://book.example.org.",
    )
    books_folder: Path | None = Field(
        default=None,
        description="Folder from which new books may be added over HTTP; without it, only known "
        "books can be updated.",
    )
    open_files: str = Field(
        default="",
        validation_alias="BYTHEBOOK_OPEN_FILES",
        description="Books whose PDF files every reader may open beside the chat: ids with commas "
        "between, or all. None by default; without keys, and with an admin key, they always open.",
    )
    webhook_secret: SecretStr | None = Field(
        default=None,
        validation_alias="GITHUB_WEBHOOK_SECRET",
        description="Secret of the GitHub webhook; without it, webhooks are refused.",
    )
    webhook_pull: bool = Field(
        default=True,
        description="Whether a webhook runs `git pull` if the book's folder is a checkout.",
    )
    heartbeat: float = Field(
        default=15.0,
        gt=0,
        description="Seconds between the comment lines that keep a quiet stream open.",
    )
    shutdown_seconds: float = Field(
        default=20.0,
        ge=0,
        description="Seconds that running answers get to finish when the service stops.",
    )
    thread_idle_minutes: float = Field(
        default=60.0,
        gt=0,
        description="Minutes after which an idle conversation is archived; it returns when used.",
    )
    keep_questions_days: int = Field(
        default=90,
        ge=0,
        le=36_500,
        description="Days that questions asked over HTTP are kept for the admin page and "
        "`bythebook gaps`; 0 keeps none.",
    )
    log_format: Literal["auto", "text", "json"] = Field(
        default="auto",
        description="Format of the log: text, json, or auto, which is text on a terminal and json "
        "elsewhere.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info",
        description="Least severe messages to log: debug, info, warning or error.",
    )
    log_questions: bool = Field(
        default=False,
        description="Whether the log may contain readers' questions.",
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

    @model_validator(mode="after")
    def _key_fits_the_embedder(self) -> Self:
        if self.embedder == "openai":
            check_openai_key(self.openai_api_key, self.openai_base_url)
        return self

    @property
    def disk_reserve(self) -> int:
        """In bytes."""
        return self.disk_reserve_mb * 1_000_000

    @property
    def database(self) -> str:
        """SQLAlchemy address of the database."""
        return self.database_url or f"sqlite+aiosqlite:///{self.home / 'bythebook.db'}"


def load_settings() -> Settings:
    """The settings of this process."""
    return Settings.from_env()
