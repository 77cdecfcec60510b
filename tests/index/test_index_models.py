"""Our words are the client's words: same names, same fields, same meaning."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from qdrant_client import models as client

from bythebook.errors import ConfigurationError
from bythebook.index import models
from bythebook.index.client_models import to_client

OURS = [value for value in vars(models).values() if dataclasses.is_dataclass(value)]


@pytest.mark.parametrize("ours", OURS, ids=lambda value: value.__name__)
def test_every_class_has_its_counterpart(ours: Any) -> None:
    theirs = getattr(client, ours.__name__)
    for field in dataclasses.fields(ours):
        counterpart = theirs.model_fields[field.name]
        optional = field.default is not dataclasses.MISSING
        assert optional is not counterpart.is_required(), field.name


def test_fusions_are_the_same() -> None:
    for fusion in models.Fusion:
        assert client.Fusion(str(fusion)).name == fusion.name


def test_a_whole_request_is_said_in_the_clients_words() -> None:
    book = models.Filter(
        must=[
            models.FieldCondition(key="book_id", match=models.MatchValue(value="a")),
            models.FieldCondition(key="layer", match=models.MatchExcept(except_=("L1",))),
            models.HasIdCondition(has_id=[]),
        ]
    )
    vector: Any = np.asarray([1.0, 2.0], dtype=np.float32)
    said = to_client(
        models.QueryRequest(
            prefetch=[
                models.Prefetch(query=vector, using="dense", limit=5, filter=book),
                models.Prefetch(
                    query=models.SparseVector(indices=(1,), values=(2.0,)),
                    using="bm25",
                    params=models.SearchParams(idf=models.IdfCorpusParams(corpus=book)),
                ),
            ],
            query=models.RrfQuery(rrf=models.Rrf(k=60, weights=[1, 2])),
            limit=3,
            with_payload=["text"],
        )
    )
    assert isinstance(said, client.QueryRequest)
    plain = said.model_dump(exclude_unset=True, by_alias=True)
    filter = {
        "must": [
            {"key": "book_id", "match": {"value": "a"}},
            {"key": "layer", "match": {"except": ["L1"]}},
            {"has_id": []},
        ]
    }
    assert plain == {
        "prefetch": [
            {"query": [1.0, 2.0], "using": "dense", "limit": 5, "filter": filter},
            {
                "query": {"indices": [1], "values": [2.0]},
                "using": "bm25",
                "params": {"idf": {"corpus": filter}},
            },
        ],
        "query": {"rrf": {"k": 60, "weights": [1.0, 2.0]}},
        "limit": 3,
        "with_payload": ["text"],
    }


def test_a_client_too_old_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(client, "IdfCorpusParams")
    with pytest.raises(ConfigurationError, match="does not know IdfCorpusParams"):
        to_client(models.IdfCorpusParams(corpus=models.Filter()))
