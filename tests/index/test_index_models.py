"""Our words are the client's words: same names, same fields, same meaning."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from qdrant_client import models as client

from bythebook.errors import ConfigurationError
from bythebook.index import qdrant_models
from bythebook.index.qdrant_server import to_client

OURS = [value for value in vars(qdrant_models).values() if dataclasses.is_dataclass(value)]


@pytest.mark.parametrize("ours", OURS, ids=lambda value: value.__name__)
def test_every_class_has_its_counterpart(ours: Any) -> None:
    theirs = getattr(client, ours.__name__)
    for field in dataclasses.fields(ours):
        counterpart = theirs.model_fields[field.name]
        if counterpart.is_required():
            assert field.default is dataclasses.MISSING, field.name


def test_a_whole_request_is_said_in_the_clients_words() -> None:
    book = qdrant_models.Filter(
        must=[
            qdrant_models.FieldCondition(key="book_id", match=qdrant_models.MatchValue(value="a")),
            qdrant_models.FieldCondition(
                key="layer", match=qdrant_models.MatchExcept(except_=["L1"])
            ),
            qdrant_models.HasIdCondition(has_id=[]),
        ]
    )
    said = to_client(
        qdrant_models.QueryRequest(
            query=qdrant_models.SparseVector(indices=(1,), values=(2.0,)),
            using="bm25",
            params=qdrant_models.SearchParams(idf=qdrant_models.IdfCorpusParams(corpus=book)),
            filter=book,
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
        "query": {"indices": [1], "values": [2.0]},
        "using": "bm25",
        "params": {"idf": {"corpus": filter}},
        "filter": filter,
        "limit": 3,
        "with_payload": ["text"],
    }


def test_a_client_too_old_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(client, "IdfCorpusParams")
    with pytest.raises(ConfigurationError, match="does not know IdfCorpusParams"):
        to_client(qdrant_models.IdfCorpusParams(corpus=qdrant_models.Filter(must=[])))
