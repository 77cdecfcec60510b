"""How the agent is set up: S1's AgentConfiguration and S2's AgentConfig.

Both are the seeds' views; an operator's choices are read in `settings`. The instructions have no
default here, because all prompts are in one file of the agent.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    model_validator,
)

from bythebook.errors import ConfigurationError
from bythebook.models.search import MAX_RESULTS
from bythebook.models.text import not_blank

DEFAULT_MODEL = "gpt-4o-mini"
OPENAI_URL = "https://api.openai.com/v1"
KEY_BEGINS = "sk-"
LEAST_KEY = 40

# Any server's models: "gpt-4o-mini", "ft:gpt-4o-mini:acme::7p4", "qwen/qwen2.5-coder:1.5b".
ModelName = Annotated[str, Field(max_length=200, pattern=r"^[\w./:@+-]+$")]


class ServerAccess(BaseModel):
    """Where the language model is, and the key for it.

    S1's form of a key is OpenAI's own. Other servers give keys of any form or want none, so it is
    demanded only where it is true: there a mistyped key is a clear error before the first call.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    openai_api_key: SecretStr | None = None
    openai_base_url: str = Field(default=OPENAI_URL, pattern=r"^https?://")

    @model_validator(mode="after")
    def _key_fits_the_server(self) -> Self:
        if urlsplit(self.openai_base_url).hostname != urlsplit(OPENAI_URL).hostname:
            return self
        key = self.openai_api_key.get_secret_value() if self.openai_api_key else ""
        if not key.startswith(KEY_BEGINS) or len(key) < LEAST_KEY:
            raise ValueError(
                f"openai_api_key is not a key of OpenAI: those begin with {KEY_BEGINS} and have at "
                f"least {LEAST_KEY} characters"
            )
        return self


class AgentConfiguration(ServerAccess):
    """S1's configuration. Its default model is the contract's, not S1's older one."""

    model: ModelName = DEFAULT_MODEL
    system_prompt: Annotated[str, AfterValidator(not_blank)]
    temperature: float = Field(default=0.0, ge=0, le=1)
    max_tokens: int | None = Field(default=None, ge=1)


class AgentConfig(ServerAccess):
    """S2's configuration."""

    openai_model: ModelName = DEFAULT_MODEL
    top_k: int = Field(default=5, ge=1, le=MAX_RESULTS)
    score_threshold: float = Field(default=0.0, ge=0, le=1)
    max_conversation_turns: int = Field(default=50, ge=1)

    @classmethod
    def from_env(cls, environment: Mapping[str, str] | None = None) -> Self:
        """An empty variable counts as not set."""
        given = os.environ if environment is None else environment
        values = {field: given[name] for field, name in VARIABLES.items() if given.get(name)}
        try:
            return cls.model_validate(values)
        except ValidationError as problem:
            first = problem.errors()[0]
            field = str(first["loc"][0]) if first["loc"] else "openai_api_key"
            raise ConfigurationError(
                f"The setting {VARIABLES[field]} is not usable: {first['msg']}.",
                action=f"Change {VARIABLES[field]} in the environment or in .env.",
            ) from problem


VARIABLES = {
    "openai_api_key": "OPENAI_API_KEY",
    "openai_base_url": "OPENAI_BASE_URL",
    "openai_model": "OPENAI_MODEL",
    "top_k": "AGENT_TOP_K",
    "score_threshold": "AGENT_SCORE_THRESHOLD",
    "max_conversation_turns": "AGENT_MAX_TURNS",
}
