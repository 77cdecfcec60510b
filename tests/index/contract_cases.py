"""Filters with the rule they mean, and queries, for the contract of every store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bythebook.index.qdrant_models import (
    FieldCondition,
    Filter,
    HasIdCondition,
    MatchAny,
    MatchExcept,
    MatchValue,
    QuantizationSearchParams,
    QueryRequest,
    Range,
    SearchParams,
    SparseVector,
)
from index.index_samples import dense, point_id, sparse, where

FILTERS: dict[str, tuple[Filter, Callable[[dict[str, Any]], bool]]] = {
    "book": (where("book_id", "atlas"), lambda p: p["book_id"] == "atlas"),
    "no such book": (where("book_id", "zoo"), lambda p: False),
    "tier at most": (
        Filter(must=[FieldCondition(key="hardware_tier", range=Range(lte=2))]),
        lambda p: p["hardware_tier"] <= 2,
    ),
    "chapter range": (
        Filter(must=[FieldCondition(key="chapter", range=Range(gte=1, lte=2))]),
        lambda p: 1 <= p["chapter"] <= 2,
    ),
    "open range": (
        Filter(must=[FieldCondition(key="chapter", range=Range(gt=0, lt=3))]),
        lambda p: 0 < p["chapter"] < 3,
    ),
    "any proficiency": (
        Filter(
            must=[FieldCondition(key="proficiency_level", match=MatchAny(any=["A2", "B1"]))],
        ),
        lambda p: p["proficiency_level"] in {"A2", "B1"},
    ),
    "any number": (
        Filter(must=[FieldCondition(key="lesson", match=MatchAny(any=[1, 4]))]),
        lambda p: p["lesson"] in {1, 4},
    ),
    "except": (
        Filter(must=[FieldCondition(key="layer", match=MatchExcept(except_=["L1"]))]),
        lambda p: p["layer"] != "L1",
    ),
    "number": (where("lesson", 3), lambda p: p["lesson"] == 3),
    "lesson": (
        where("parent_doc_id", point_id("lesson 2")),
        lambda p: p["parent_doc_id"] == point_id("lesson 2"),
    ),
    "file": (where("source_file", "part/3.md"), lambda p: p["source_file"] == "part/3.md"),
    "all together": (
        Filter(
            must=[
                FieldCondition(key="book_id", match=MatchValue(value="botany")),
                FieldCondition(key="hardware_tier", range=Range(lte=3)),
                FieldCondition(key="chapter", range=Range(gte=0, lte=2)),
                FieldCondition(key="proficiency_level", match=MatchAny(any=["A2", "B1", "B2"])),
                FieldCondition(key="layer", match=MatchValue(value="L2")),
            ]
        ),
        lambda p: (
            p["book_id"] == "botany"
            and p["hardware_tier"] <= 3
            and p["chapter"] <= 2
            and p["proficiency_level"] in {"A2", "B1", "B2"}
            and p["layer"] == "L2"
        ),
    ),
    "inside an object": (where("extra.object.a", "b"), lambda p: True),
    "ids": (
        Filter(must=[HasIdCondition(has_id=[point_id(3), point_id(4), point_id("none")])]),
        lambda p: p["content_hash"] in {f"{3:064x}", f"{4:064x}"},
    ),
    "no ids": (Filter(must=[HasIdCondition(has_id=[])]), lambda p: False),
}

REQUESTS = {
    "dense": QueryRequest(query=dense("q"), using="dense", limit=7, with_payload=True),
    "dense filtered": QueryRequest(
        query=dense("q"), using="dense", limit=5, filter=where("book_id", "atlas")
    ),
    "dense exact": QueryRequest(
        query=dense("r"), using="dense", limit=5, params=SearchParams(exact=True)
    ),
    "dense rounded": QueryRequest(
        query=dense("r"),
        using="dense",
        limit=5,
        params=SearchParams(
            exact=True, quantization=QuantizationSearchParams(rescore=True, oversampling=2.0)
        ),
    ),
    "sparse": QueryRequest(query=sparse("q"), using="bm25", limit=7),
    "sparse filtered": QueryRequest(
        query=sparse("q"), using="bm25", limit=7, filter=where("chapter", 2)
    ),
    "sparse unknown word": QueryRequest(
        query=SparseVector(indices=[4_000_000_000], values=[1.0]), using="bm25", limit=7
    ),
    "sparse without words": QueryRequest(
        query=SparseVector(indices=[], values=[]), using="bm25", limit=7
    ),
}
