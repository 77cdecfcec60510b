"""Between our words and those of `qdrant_client`: the same names, so one rule serves all."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from qdrant_client import models as client

from bythebook.errors import ConfigurationError
from bythebook.index.models import Record, ScoredPoint, SparseVector, Vector


def to_client(value: Any) -> Any:
    """Our object as the client's; the client's own and plain values pass as they are."""
    if is_dataclass(value) and not isinstance(value, type):
        name = type(value).__name__
        counterpart = getattr(client, name, None)
        if counterpart is None:
            raise ConfigurationError(
                f"The installed qdrant-client is too old: it does not know {name}.",
                action="Run `pip install --upgrade qdrant-client`.",
            )
        given = {field.name: getattr(value, field.name) for field in fields(value)}
        return counterpart(
            **{
                key.rstrip("_"): part if key == "payload" else to_client(part)
                for key, part in given.items()
                if part is not None
            }
        )
    if isinstance(value, dict):
        return {key: to_client(part) for key, part in value.items()}
    if type(value).__name__ == "ndarray":
        return value.tolist()
    if isinstance(value, tuple):
        value = list(value)
    if isinstance(value, list) and not (value and isinstance(value[0], int | float | str)):
        return [to_client(part) for part in value]
    return value


def from_scored(point: Any) -> ScoredPoint:
    """A hit in our words."""
    return ScoredPoint(
        id=str(point.id),
        version=point.version,
        score=point.score,
        payload=point.payload,
        vector=_from_vectors(point.vector),
    )


def from_record(record: Any) -> Record:
    """A stored point in our words."""
    return Record(id=str(record.id), payload=record.payload, vector=_from_vectors(record.vector))


def _from_vectors(vectors: Any) -> dict[str, Vector] | None:
    if not vectors:
        return None
    return {
        name: SparseVector(indices=vector.indices, values=vector.values)
        if isinstance(vector, client.SparseVector)
        else vector
        for name, vector in vectors.items()
    }
