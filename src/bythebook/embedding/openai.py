"""Embeddings of OpenAI, or of a server that speaks like it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Self

from bythebook.embedding.remote import Purpose, RemoteEmbedder, Sleep
from bythebook.errors import ConfigurationError
from bythebook.settings import Settings


class OpenAIEmbedder(RemoteEmbedder):
    """POST {base}/embeddings."""

    service = "OpenAI"
    key_variable = "OPENAI_API_KEY"
    url_variable = "OPENAI_BASE_URL"
    model_variable = "OPENAI_EMBEDDING_MODEL"
    dimensions = {  # noqa: RUF012
        "text-embedding-3-small": 1536,
        "text-embedding-3-large": 3072,
        "text-embedding-ada-002": 1536,
    }
    texts_per_request = 128

    @classmethod
    def from_settings(cls, settings: Settings, *, sleep: Sleep = asyncio.sleep) -> Self:
        if settings.openai_api_key is None:
            raise ConfigurationError(
                "The embedder openai needs a key.",
                action="Set OPENAI_API_KEY, or set BYTHEBOOK_EMBEDDER to built-in.",
            )
        return cls(
            model=settings.openai_embedding_model,
            key=settings.openai_api_key,
            url=settings.openai_base_url.rstrip("/") + "/embeddings",
            timeout=settings.embedding_timeout,
            sleep=sleep,
        )

    def _body(self, texts: Sequence[str], purpose: Purpose) -> dict[str, Any]:
        return {"model": self.name, "input": list(texts), "encoding_format": "float"}

    def _vectors(self, answer: Any) -> Any:
        rows = sorted(answer["data"], key=lambda row: int(row["index"]))
        if [row["index"] for row in rows] != list(range(len(rows))):
            raise ValueError("positions are missing or named twice")
        return [row["embedding"] for row in rows]
