"""Every setting in one place; each can be given as an environment variable or in a `.env` file."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from platformdirs import user_data_path
from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from bythebook.errors import ConfigurationError

EmbedderName = Literal["built-in", "openai", "cohere"]


class Settings(BaseSettings):
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
    max_file_mb: int = Field(
        default=5,
        ge=1,
        le=20,
        validation_alias="BYTHEBOOK_MAX_FILE_MB",
        description="A larger file of a book is reported and skipped.",
    )
    openai_api_key: SecretStr | None = Field(
        default=None,
        validation_alias="OPENAI_API_KEY",
        description="Key for the OpenAI-compatible server.",
    )
    openai_base_url: str = Field(
        default="https://api.openai.com/v1",
        validation_alias="OPENAI_BASE_URL",
        description="Address of any OpenAI-compatible server.",
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
        description="Database for state and jobs; without it SQLite in the home folder.",
    )

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
