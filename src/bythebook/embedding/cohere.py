"""Embeddings of Cohere."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Self

from bythebook.embedding.remote import Purpose, RemoteEmbedder, Sleep
from bythebook.errors import ConfigurationError
from bythebook.settings import Settings


class CohereEmbedder(RemoteEmbedder):
    """POST {base}/v2/embed; a question and a passage are embedded differently."""

    service = "Cohere"
    key_variable = "COHERE_API_KEY"
    url_variable = "COHERE_BASE_URL"
    model_variable = "COHERE_MODEL"
    dimensions = {  # noqa: RUF012
        "embed-english-v3.0": 1024,
        "embed-multilingual-v3.0": 1024,
        "embed-english-light-v3.0": 384,
        "embed-multilingual-light-v3.0": 384,
        "embed-v4.0": 1536,
    }
    texts_per_request = 96

    @classmethod
    def from_settings(cls, settings: Settings, *, sleep: Sleep = asyncio.sleep) -> Self:
        if settings.cohere_api_key is None:
            raise ConfigurationError(
                "The embedder cohere needs a key.",
                action="Set COHERE_API_KEY, or set BYTHEBOOK_EMBEDDER to built-in.",
            )
        return cls(
            model=settings.cohere_model,
            key=settings.cohere_api_key,
            url=settings.cohere_base_url.rstrip("/") + "/v2/embed",
            timeout=settings.embedding_timeout,
            sleep=sleep,
        )

    def _body(self, texts: Sequence[str], purpose: Purpose) -> dict[str, Any]:
        return {
            "model": self.name,
            "texts": list(texts),
            "input_type": f"search_{purpose}",
            "embedding_types": ["float"],
            "truncate": "END",
        }

    def _vectors(self, answer: Any) -> Any:
        return answer["embeddings"]["float"]
