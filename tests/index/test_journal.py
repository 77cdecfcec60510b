"""The journal of a pending switch: what is read is what the engine would have been given."""

from __future__ import annotations

import json
import tempfile
from array import array
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from bythebook.index.edge_recovery import read_journal, write_journal
from bythebook.index.qdrant_models import PointStruct, SparseVector
from index.index_samples import point_id, sample


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), max_size=8))
def test_a_vector_comes_back_as_the_engine_keeps_it(vector: list[float]) -> None:
    point = PointStruct(id=point_id(1), vector={"dense": vector}, payload={"text": "ä"})
    with tempfile.TemporaryDirectory() as folder:
        write_journal(Path(folder), [point], [point_id(2)])
        assert read_journal(Path(folder)) == ([point], [point_id(2)])


def test_digits_the_engine_drops_are_not_kept(tmp_path: Path) -> None:
    write_journal(tmp_path, [sample(1)], [])
    found = read_journal(tmp_path)
    assert found
    ((point,), _) = found
    given_vector = sample(1).vector["dense"]
    assert not isinstance(given_vector, SparseVector)
    assert point.vector["dense"] == array("f", given_vector).tolist()
    assert point.vector["bm25"] == sample(1).vector["bm25"]


def test_what_an_earlier_version_left_is_read(tmp_path: Path) -> None:
    left = {
        "points": [
            {
                "id": point_id(1),
                "vector": {"dense": [0.5, -1], "bm25": {"indices": [3], "values": [1.5]}},
                "payload": {"text": "left"},
            }
        ],
        "stale": [point_id(2)],
    }
    (tmp_path / "pending.json").write_text(json.dumps(left), encoding="utf-8")
    words = SparseVector(indices=[3], values=[1.5])
    point = PointStruct(
        id=point_id(1), vector={"dense": [0.5, -1], "bm25": words}, payload={"text": "left"}
    )
    assert read_journal(tmp_path) == ([point], [point_id(2)])
