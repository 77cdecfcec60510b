"""Settings come from their own variables and from nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from bythebook.errors import ConfigurationError
from bythebook.settings import Settings, load_settings


def test_variables_of_others_are_not_ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BYTHEBOOK_HOME")
    for name in Settings.model_fields:
        if name.upper() != Settings.model_fields[name].validation_alias:
            monkeypatch.setenv(name.upper(), "somebody's")
    loaded = load_settings()
    assert loaded == Settings.model_construct(**loaded.model_dump())
    assert "somebody's" not in loaded.model_dump_json()
    assert loaded.home.name == "bythebook"


def test_a_dotenv_file_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("QDRANT_COLLECTION_NAME=documentation\nBYTHEBOOK_BOOK=mine\n")
    loaded = load_settings()
    assert (loaded.collection, loaded.book_id) == ("documentation", "mine")


def test_keys_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-" + "x" * 40)
    assert "very-secret" not in repr(load_settings())


@pytest.mark.parametrize(
    ("variable", "value"),
    [("BYTHEBOOK_MAX_FILE_MB", "0"), ("QDRANT_COLLECTION_NAME", "a/b"), ("SEARCH_TIMEOUT", "x")],
)
def test_a_bad_value_names_its_variable(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigurationError, match=variable):
        load_settings()
