"""Where an index holds one book only, as most do, its condition selects nothing.

The embedded engine looks at every point for it all the same, which is half of what a search costs.
"""

from __future__ import annotations

from dataclasses import replace

import qdrant_edge as edge

from bythebook.index.collection import TENANT
from bythebook.index.models import FieldCondition, Filter, MatchValue, QueryRequest


def sole_book(engine: edge.EdgeShard) -> str:
    """The book that every point is of, or nothing."""
    books = [hit for hit in engine.facet(edge.FacetRequest(TENANT, exact=True)).hits if hit.count]
    total = engine.count(edge.CountRequest(exact=True))
    return str(books[0].value) if [hit.count for hit in books] == [total] else ""


def without_book(request: QueryRequest, book_id: str) -> QueryRequest:
    """The same request to an index in which every point is of this book."""
    if not isinstance(request, QueryRequest):  # the client's own, which nobody sends often
        return request
    params = request.params
    if params is not None and params.idf is not None:
        corpus = _without(params.idf.corpus, book_id)
        params = replace(params, idf=replace(params.idf, corpus=corpus) if corpus else None)
    return replace(request, filter=_without(request.filter, book_id), params=params)


def _without(filter: Filter | None, book_id: str) -> Filter | None:
    if not isinstance(filter, Filter) or not isinstance(filter.must, list):
        return filter
    needless = FieldCondition(key=TENANT, match=MatchValue(value=book_id))
    must = [condition for condition in filter.must if condition != needless]
    if must or filter.should or filter.must_not:
        return replace(filter, must=must)
    return None
