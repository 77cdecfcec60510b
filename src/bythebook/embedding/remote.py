"""Embeddings of OpenAI and Cohere, and what such services have in common."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from array import array
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import httpx
import numpy as np
from numpy.typing import NDArray
from pydantic import SecretStr

from bythebook.embedding.embedder import Recent
from bythebook.embedding.onnx_model import encodable
from bythebook.errors import ConfigurationError, EmbeddingError
from bythebook.models.values import retry_after
from bythebook.settings import Settings

if TYPE_CHECKING:
    from bythebook.runtime import Processes

Purpose = Literal["document", "query"]
Sleep = Callable[[float], Awaitable[None]]

PAUSES = (1.0, 2.0, 4.0, 8.0, 16.0)
LONGEST_PAUSE = 60.0
IN_FLIGHT = 4
# A token is at least one byte, so bytes bound what services count in tokens.
BYTES_PER_TEXT = 8_000
BYTES_PER_REQUEST = 200_000


class RemoteEmbedder(ABC):
    """An embedder behind HTTP; a subclass says what a request and its answer look like."""

    service: ClassVar[str]
    path: ClassVar[str]
    # The settings go by the same names in lower case.
    key_variable: ClassVar[str]
    url_variable: ClassVar[str]
    model_variable: ClassVar[str]
    dimensions: ClassVar[dict[str, int]]
    texts_per_request: ClassVar[int]

    def __init__(self, settings: Settings, *, sleep: Sleep = asyncio.sleep) -> None:
        """Raises ConfigurationError if the key is missing or the model unknown."""
        key: SecretStr | None = getattr(settings, self.key_variable.lower())
        if key is None:
            raise ConfigurationError(
                f"The embedder {self.service.lower()} needs a key.",
                action=f"Set {self.key_variable}, or set BYTHEBOOK_EMBEDDER to built-in.",
            )
        model: str = getattr(settings, self.model_variable.lower())
        if model not in self.dimensions:
            known = ", ".join(self.dimensions)
            raise ConfigurationError(
                f"{self.service} embeddings are not prepared for the model {model}.",
                action=f"Set {self.model_variable} to one of: {known}.",
            )
        self.name = model
        self.dimension = self.dimensions[model]
        self.texts_embedded = 0
        base: str = getattr(settings, self.url_variable.lower())
        self._url = base.rstrip("/") + self.path
        self._timeout = settings.embedding_timeout
        self._sleep = sleep
        self._free = asyncio.Semaphore(IN_FLIGHT)
        self._recent = Recent(self._embed_query)
        self._client = httpx.AsyncClient(headers=self._authorization(key), timeout=self._timeout)

    @abstractmethod
    def _body(self, texts: Sequence[str], purpose: Purpose) -> dict[str, Any]:
        """The JSON to send."""

    @abstractmethod
    def _vectors(self, answer: Any) -> Any:
        """The rows in the JSON that came back, in the order of the texts."""

    async def embed_documents(self, texts: Sequence[str]) -> list[array[float]]:
        batches = list(self._batches(texts))
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._embed(batch, "document")) for batch in batches]
        except ExceptionGroup as problems:
            first = problems.exceptions[0]
            raise first from first.__cause__
        return [vector for task in tasks for vector in task.result()]

    async def embed_query(self, text: str) -> array[float]:
        return await self._recent.get(text)

    async def _embed_query(self, text: str) -> array[float]:
        [vector] = await self._embed([_sendable(text)], "query")
        return vector

    def stay_in(self, processes: Processes) -> None:
        """Nothing to do: the service embeds."""
        return

    async def check(self) -> None:
        """Embed one word in a single attempt, ahead of what waits; raises what is wrong."""
        word = ["book"]
        self._rows(await self._post(self._body(word, "query"), pauses=()), len(word))

    async def close(self) -> None:
        await self._client.aclose()

    def _authorization(self, key: SecretStr) -> dict[str, str]:
        value = key.get_secret_value().strip()
        # Checked here because the HTTP library would quote the whole key in its complaint.
        if not value or not all("!" <= character <= "~" for character in value):
            raise ConfigurationError(
                f"The key in {self.key_variable} contains characters that no key has.",
                action=f"Set {self.key_variable} again, without spaces or line breaks.",
            )
        return {"Authorization": f"Bearer {value}"}

    def _batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
        batch: list[str] = []
        size = 0
        for text in map(_sendable, texts):
            length = len(text.encode())
            if batch and (
                len(batch) == self.texts_per_request or size + length > BYTES_PER_REQUEST
            ):
                yield batch
                batch, size = [], 0
            batch.append(text)
            size += length
        if batch:
            yield batch

    async def _embed(self, texts: Sequence[str], purpose: Purpose) -> list[array[float]]:
        async with self._free:
            response = await self._post(self._body(texts, purpose))
        rows = self._rows(response, len(texts))
        if purpose == "document":
            self.texts_embedded += len(texts)
        return [array("f", row.tobytes()) for row in rows]

    def _rows(self, response: httpx.Response, count: int) -> NDArray[np.float32]:
        """The vectors in an answer, normalised; raises if they are not what was asked for."""
        try:
            rows = np.array(self._vectors(response.json()), np.float64)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as problem:
            raise self._unusable() from problem
        if rows.shape != (count, self.dimension) or not np.isfinite(rows).all():
            raise self._unusable()
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        if not lengths.all():
            raise self._unusable()
        return np.asarray(rows / lengths, np.float32)

    async def _post(self, body: dict[str, Any], pauses: Sequence[float] = PAUSES) -> httpx.Response:
        attempts = len(pauses) + 1
        for pause in (*pauses, None):
            response: httpx.Response | None = None
            try:
                # Around the whole exchange: the client's own limit starts again with every byte.
                async with asyncio.timeout(self._timeout):
                    response = await self._client.post(self._url, json=body)
            except (httpx.TransportError, TimeoutError) as problem:
                if pause is None:
                    raise self._failed(
                        "could not be reached, or did not answer", attempts
                    ) from problem
            except (httpx.InvalidURL, httpx.HTTPError) as problem:
                raise self._misplaced() from problem
            if response is not None:
                if response.is_success:
                    return response
                self._raise_if_final(response)
                if pause is None:
                    status = response.status_code
                    raise self._failed(f"failed with status {status}", attempts)
            if pause is not None:
                asked = (
                    retry_after(response.headers.get("retry-after"))
                    if response is not None
                    else None
                )
                await self._sleep(max(pause, min(asked or 0.0, LONGEST_PAUSE)))
        raise AssertionError("the last attempt returns or raises")

    def _raise_if_final(self, response: httpx.Response) -> None:
        """Raise unless trying again may help. What the service says is not quoted: it may hold
        the text or parts of the key."""
        status = response.status_code
        if status in (401, 403):
            raise ConfigurationError(
                f"{self.service} refused the key, or no key was given (status {status}).",
                action=f"Set {self.key_variable} to a valid key.",
            )
        if status == 404:
            raise self._misplaced()
        if status == 429 and b"insufficient_quota" in response.content:
            raise EmbeddingError(
                f"The {self.service} account has no credit left.",
                action=f"Add credit, or set {self.key_variable} to another account's key.",
            )
        if status != 429 and status != 408 and status < 500:
            raise EmbeddingError(
                f"{self.service} rejected a request for embeddings (status {status}).",
                action=f"Check {self.model_variable} and {self.url_variable}.",
                details={"status": status},
            )

    def _misplaced(self) -> ConfigurationError:
        return ConfigurationError(
            f"The address of {self.service} is wrong or it has no model {self.name}.",
            action=f"Check {self.url_variable} and {self.model_variable}.",
        )

    def _failed(self, what: str, attempts: int) -> EmbeddingError:
        how_often = f" in {attempts} attempts" if attempts > 1 else ""
        return EmbeddingError(
            f"{self.service} embeddings {what}{how_often}.",
            action="Try again later; what was stored before is kept.",
        )

    def _unusable(self) -> EmbeddingError:
        return EmbeddingError(
            f"{self.service} answered with something other than the vectors asked for.",
            action=f"Check that {self.url_variable} points to a server that has {self.name}.",
        )


def _sendable(text: str) -> str:
    """The text as services accept it: never blank, and cut to their limit."""
    if not text.strip():
        return "."
    return encodable(text).encode()[:BYTES_PER_TEXT].decode(errors="ignore")


class OpenAIEmbedder(RemoteEmbedder):
    """POST {base}/embeddings."""

    service = "OpenAI"
    path = "/embeddings"
    key_variable = "OPENAI_API_KEY"
    url_variable = "OPENAI_BASE_URL"
    model_variable = "OPENAI_EMBEDDING_MODEL"
    dimensions = {  # noqa: RUF012
        "text-embedding-3-small": 1536,
        "text-embedding-3-large": 3072,
        "text-embedding-ada-002": 1536,
    }
    texts_per_request = 128

    def _body(self, texts: Sequence[str], purpose: Purpose) -> dict[str, Any]:
        return {"model": self.name, "input": list(texts), "encoding_format": "float"}

    def _vectors(self, answer: Any) -> Any:
        rows = sorted(answer["data"], key=lambda row: int(row["index"]))
        if [row["index"] for row in rows] != list(range(len(rows))):
            raise ValueError("positions are missing or named twice")
        return [row["embedding"] for row in rows]


class CohereEmbedder(RemoteEmbedder):
    """POST {base}/v2/embed; a question and a passage are embedded differently."""

    service = "Cohere"
    path = "/v2/embed"
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
