"""Checks before every write and query: nothing malformed may reach an engine.

The embedded engine panics on a malformed sparse vector and can't open the store again, so these
checks are what stands between a bug and a lost index. Texts and numbers also come from strangers:
from files that are imported, and from the filters of a request.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from operator import mul
from typing import Any

from bythebook.errors import InputError
from bythebook.index.qdrant_models import (
    FieldCondition,
    Filter,
    HasIdCondition,
    MatchExcept,
    MatchValue,
    PointStruct,
    QueryRequest,
    SearchParams,
    SparseVector,
    Vector,
)
from bythebook.index.store import DENSE, SPARSE

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*")
_U32 = 2**32
_I64 = 2**63
_FLOAT32 = 3.4028234663852886e38
_DEPTH = 32
_MOST = 1_000_000


def check_points(points: Sequence[PointStruct], stale: Sequence[str], dimension: int) -> None:
    """Refuse a write if any part of it is malformed."""
    ids = [point.id for point in points]
    check_ids(ids)
    check_ids(stale)
    if len(set(ids)) != len(ids):
        raise InputError("The same id appears twice in one write.")
    if not set(ids).isdisjoint(stale):
        raise InputError("An id is to be written and removed in one step.")
    for point in points:
        if not point.vector:
            raise InputError("A point needs a vector.")
        for name, vector in point.vector.items():
            _check_vector(name, vector, dimension)
        if not isinstance(point.payload, dict | None):
            raise InputError("A payload must be an object.")
        _check_json(point.payload or {}, 0)


def check_ids(ids: Iterable[str]) -> None:
    """Refuse ids that are not UUIDs in their usual lower-case form."""
    for value in ids:
        if not isinstance(value, str) or not _UUID.fullmatch(value):
            raise InputError(f"A point id must be a UUID, not {value!r}.")


def check_request(request: QueryRequest, dimension: int) -> None:
    """Refuse a query if any part of it is malformed."""
    check_limit(request.limit)
    check_filter(request.filter)
    if request.params is not None:
        _check_params(request.params)
    _check_vector(request.using, request.query, dimension)


def check_limit(limit: int) -> None:
    if type(limit) is not int or not 1 <= limit <= _MOST:
        raise InputError(f"The limit must be a whole number from 1 to {_MOST}.")


def check_filter(value: Filter | None, *, selective: bool = False) -> None:
    """Refuse malformed conditions; if `selective`, also a filter that has none."""
    if selective and not (value and value.must):
        raise InputError("A filter without conditions would match every book.")
    for condition in value.must if value else ():
        if isinstance(condition, HasIdCondition):
            check_ids(condition.has_id)
        else:
            _check_field(condition)


def check_key(key: str) -> None:
    """Refuse what can't name a payload field. Dots lead into objects."""
    if not isinstance(key, str) or not _FIELD.fullmatch(key):
        raise InputError(f"{key!r} is not the name of a payload field.")


def _check_params(params: SearchParams) -> None:
    if params.idf is not None:
        check_filter(params.idf.corpus)
    if params.quantization is not None and params.quantization.oversampling is not None:
        oversampling = params.quantization.oversampling
        _check_numbers([oversampling], "The search parameter oversampling")
        if oversampling < 1:
            raise InputError("The search parameter oversampling must be at least 1.")


def _check_vector(name: str, vector: Vector, dimension: int) -> None:
    if name == SPARSE and isinstance(vector, SparseVector):
        _check_sparse(vector)
    elif name == DENSE and not isinstance(vector, SparseVector):
        _check_dense(vector, dimension)
    else:
        raise InputError(f"There is no vector named {name!r}, or it is of another kind.")


def _check_dense(vector: Sequence[float], dimension: int) -> None:
    _check_numbers(vector, "A dense vector")
    if len(vector) != dimension:
        raise InputError(f"A vector has {len(vector)} numbers instead of {dimension}.")
    # The engine normalises in single precision; an overflow there would store a vector of zeros.
    if sum(map(mul, vector, vector)) > _FLOAT32:
        raise InputError("A dense vector is too long to be normalised.")


def _check_sparse(vector: SparseVector) -> None:
    indices = vector.indices
    _check_numbers(vector.values, "A sparse vector")
    if not isinstance(indices, list | tuple) or len(indices) != len(vector.values):
        raise InputError("A sparse vector must have as many indices as values.")
    if not all(type(index) is int and 0 <= index < _U32 for index in indices):
        raise InputError("A sparse vector has an index that is not a number of 32 bits.")
    if len(set(indices)) != len(indices):
        raise InputError("A sparse vector names an index twice.")


def _check_numbers(values: Sequence[float], what: str) -> None:
    # NaN is not between any two numbers.
    if not isinstance(values, list | tuple) or not all(
        type(value) in (float, int) and -_FLOAT32 <= value <= _FLOAT32 for value in values
    ):
        raise InputError(f"{what} must be made of finite numbers of single precision.")


def _check_field(condition: FieldCondition) -> None:
    check_key(condition.key)
    if (condition.match is None) is (condition.range is None):
        raise InputError(f"The condition on {condition.key} needs a match or a range.")
    if (span := condition.range) is not None:
        bounds = [bound for bound in (span.lt, span.lte, span.gt, span.gte) if bound is not None]
        if not bounds:
            raise InputError(f"The range of {condition.key} has no bound.")
        _check_numbers(bounds, "A range")
    elif isinstance(condition.match, MatchValue):
        _check_terms([condition.match.value])
    elif isinstance(condition.match, MatchExcept):
        _check_terms(condition.match.except_)
    elif condition.match is not None:
        _check_terms(condition.match.any)


def _check_terms(values: Sequence[str | int]) -> None:
    kinds = set(map(type, values))
    if kinds != {str} and kinds != {int}:
        raise InputError("A match needs texts or whole numbers, and at least one.")
    for value in values:
        _check_json(value, 0)


def _check_json(value: Any, depth: int) -> None:
    if depth > _DEPTH:
        raise InputError("A payload is nested too deeply.")
    kind = type(value)
    if kind is str:
        try:
            value.encode()
        except UnicodeEncodeError as problem:
            raise InputError("A text holds half of a character.") from problem
    elif kind is int:
        if not -_I64 <= value < _I64:
            raise InputError(f"The number {value} is too large to be stored.")
    elif kind is float:
        if not math.isfinite(value):
            raise InputError(f"A payload can't hold {value}.")
    elif kind is list:
        for part in value:
            _check_json(part, depth + 1)
    elif kind is dict:
        for key, part in value.items():
            if type(key) is not str:
                raise InputError(f"A payload can't have the key {key!r}.")
            _check_json(key, depth + 1)
            _check_json(part, depth + 1)
    elif value is not None and kind is not bool:
        raise InputError(f"A payload can't hold a {kind.__name__}.")
