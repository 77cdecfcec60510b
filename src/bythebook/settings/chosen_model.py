"""The language model that an operator chose on the admin's page, kept in the home."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from pydantic_core import PydanticCustomError

from bythebook.errors import ConfigurationError, InputError
from bythebook.files import write_atomically
from bythebook.settings import Settings
from bythebook.settings.agent import KEY_BEGINS, LEAST_KEY, AgentConfig, check_openai_key

FILE = "model.json"
# Any of these in the environment wins over the whole choice: parts of both would send the key of
# one server to another.
NAMES = ("answerer", "openai_api_key", "openai_base_url", "openai_model")


@dataclass(frozen=True)
class ChosenModel:
    """A model, where it is, and the key for it."""

    address: str
    model: str
    key: SecretStr | None = None

    @classmethod
    def checked(cls, address: str, model: str, key: str | None) -> ChosenModel:
        """As somebody gave it; raises what is wrong."""
        chosen = cls(address.strip(), model.strip(), SecretStr(key) if key else None)
        if not _is_plain_address(chosen.address):
            raise InputError(
                "The address of the language model is not a plain web address.",
                action="Give one such as https://api.openai.com/v1 or http://localhost:11434/v1.",
                details={"field": "address"},
            )
        try:
            check_openai_key(chosen.key, chosen.address)
        except PydanticCustomError as problem:
            what = "This is no key of OpenAI" if key else "OpenAI wants a key"
            raise InputError(
                f"{what}: its keys begin with {KEY_BEGINS} and have at least {LEAST_KEY} "
                "characters.",
                action="Copy the key once more, or give the address of the server it is for.",
                details={"field": "key"},
            ) from problem
        return chosen

    def settings(self, others: Settings) -> Settings:
        """The settings, with this model to write the answers."""
        changes: dict[str, Any] = {
            "answerer": "openai",
            "openai_base_url": self.address,
            "openai_model": self.model,
            "openai_api_key": self.key,
        }
        return others.model_copy(update=changes).with_choice_on_page(True)


def _is_plain_address(text: str) -> bool:
    """As who connects to it reads it: what is kept and can't be used then would stop the service
    when it starts the next time."""
    from httpx import URL as ClientUrl  # slow to import, and seldom needed
    from httpx import InvalidURL
    from yarl import URL

    try:
        url, same = URL(text), ClientUrl(text)
        is_web = url.scheme in ("http", "https") and same.scheme == url.scheme and same.host
        is_plain = url.raw_user is url.raw_password is None and not url.raw_query_string
        return (
            bool(is_web and url.host and is_plain and not url.raw_fragment) and text.isprintable()
        )
    except (ValueError, LookupError, InvalidURL):
        return False


def chosen_elsewhere(settings: Settings) -> list[str]:
    """The variables that say which model writes, and so win over the choice on the page."""
    given = [name for name in NAMES if name in settings.model_fields_set]
    # With OpenAI's embedder, address and key are those of the embeddings as well.
    embeds = ["embedder"] if settings.embedder == "openai" else []
    return [str(Settings.model_fields[name].validation_alias) for name in (*given, *embeds)]


def with_chosen_model(settings: Settings) -> Settings:
    """The settings, with what was chosen on the page unless the environment says otherwise."""
    if chosen_elsewhere(settings):
        return settings
    chosen = read_choice(settings.home)
    return chosen.settings(settings) if chosen else settings


def read_choice(home: Path) -> ChosenModel | None:
    file = home / FILE
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        key = kept["key"]
        return ChosenModel(
            str(kept["address"]), str(kept["model"]), SecretStr(key) if key else None
        )
    except (FileNotFoundError, NotADirectoryError):  # opening the home says what is wrong with it
        return None
    except (OSError, ValueError, LookupError, TypeError) as problem:
        raise ConfigurationError(
            f"The chosen language model can't be read from {file}.",
            action="Delete the file, and choose the model on /admin again.",
        ) from problem


def keep_choice(home: Path, chosen: ChosenModel) -> None:
    text = json.dumps(
        {
            "address": chosen.address,
            "model": chosen.model,
            "key": chosen.key.get_secret_value() if chosen.key else None,
        }
    )
    write_atomically(home / FILE, text)


def forget_choice(home: Path) -> None:
    (home / FILE).unlink(missing_ok=True)


def built_in(settings: Settings) -> Settings:
    """The settings, with the built-in answerer and no key."""
    changes = {"answerer": "built-in", "openai_api_key": None}
    defaults = {
        name: AgentConfig.model_fields[name].default for name in ("openai_base_url", "openai_model")
    }
    return settings.model_copy(update={**changes, **defaults}).with_choice_on_page(False)
