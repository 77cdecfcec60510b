from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from bythebook.index.qdrant_server import ServerStore
from bythebook.index.shared_store import SharedStore
from bythebook.index.store import make_store
from bythebook.settings import Settings


def settings(**values: Any) -> Settings:
    return Settings(**{"_env_file": None, **values})


def test_without_an_address_the_index_is_embedded(tmp_path: Path) -> None:
    store = make_store(settings(home=tmp_path, collection="mine"))
    assert isinstance(store, SharedStore)
    assert list(tmp_path.iterdir()) == []


def test_an_address_names_a_server(tmp_path: Path) -> None:
    store = make_store(settings(home=tmp_path, qdrant_url="http://127.0.0.1:1"))
    assert isinstance(store, ServerStore)


def test_the_embedded_index_loads_nothing_heavy() -> None:
    """The client takes most of a second to import; a search must not pay for it."""
    code = (
        "import sys; import bythebook.index.store; "
        "assert not {'qdrant_edge', 'qdrant_client', 'numpy'} & set(sys.modules); "
        "import bythebook.index.shared_store; "
        "assert not {'qdrant_client', 'grpc', 'httpx', 'numpy', 'pydantic'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
