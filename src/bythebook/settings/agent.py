"""Settings of the agent: who writes and with which key, how it searches, how long it may take."""

from __future__ import annotations

from typing import Literal, Self
from urllib.parse import quote, urlsplit

from pydantic import (
    AliasGenerator,
    Field,
    PrivateAttr,
    SecretStr,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, SettingsConfigDict

from bythebook.errors import ConfigurationError
from bythebook.models.values import ToolName

AnswererName = Literal["auto", "built-in", "openai"]

# Said when the book does not; here and nowhere else.
REFUSAL = "I don't have information about that in the book content"
# Of a question; mail programs and issue forms take about 2,000 characters in all.
LONGEST_IN_LINK = 300
OPENAI_HOST = "api.openai.com"
KEY_BEGINS = "sk-"
LEAST_KEY = 40


PREFIX = "BYTHEBOOK_"


def _variable(field: str) -> str:
    return f"{PREFIX}{field.upper()}"


class FromEnvironment(BaseSettings):
    """Settings that know their variables: BYTHEBOOK_ and the field's name, or the one it gives."""

    model_config = SettingsConfigDict(
        alias_generator=AliasGenerator(validation_alias=_variable),
        # Fields may be given by name in code; without a prefix $HOME would then be our home.
        populate_by_name=True,
        env_prefix=PREFIX,
        env_file=".env",
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        # What was given may be a key.
        hide_input_in_errors=True,
    )

    @classmethod
    def from_env(cls) -> Self:
        """Read the environment; a bad value is named with its variable and what was expected."""
        try:
            return cls()
        except ValidationError as problem:
            first = problem.errors()[0]
            # A rule about several settings says itself which one to change.
            name = str(first["loc"][0] if first["loc"] else first["ctx"]["setting"])
            raise ConfigurationError(
                f"The setting {name} is not usable: {first['msg'].removeprefix('Value error, ')}.",
                action=f"Change or unset {name} in the environment or in .env.",
            ) from problem


class AgentConfig(FromEnvironment):
    """All that the agent goes by; the settings of a service or a command are one of these. The
    defaults suit a small model on two cores with a context of 4,096 tokens: it reads 30 tokens a
    second and writes 5."""

    # No setting: the choice on the admin's page is kept in the home.
    _chosen_on_page: bool = PrivateAttr(default=False)

    answerer: AnswererName = Field(
        default="auto",
        description="Who writes answers: built-in quotes the book; openai is a language model; "
        "auto uses the model if OPENAI_API_KEY or OPENAI_BASE_URL is set.",
    )
    refusal: str = Field(
        default=REFUSAL,
        min_length=1,
        description="What a reader sees when the book has no answer.",
    )
    refusal_link: str | None = Field(
        default=None,
        max_length=1000,
        pattern=r"^(https?://|mailto:)[^\s<>]+$",
        description="Where a refusal sends the reader next: a web address (a forum, an issue form) "
        "or mailto:; {question} in it becomes the question.",
    )
    refusal_link_text: str = Field(
        default="Ask the authors",
        min_length=1,
        max_length=100,
        description="What that link says.",
    )
    tool_name: ToolName = Field(
        default="search_textbook",
        validation_alias="AGENT_TOOL_NAME",
        description="Name of the search tool that the language model sees: letters, digits and "
        "underscores, at most 64, and not a Python keyword.",
    )
    top_k: int = Field(
        default=5,
        ge=1,
        le=10,
        validation_alias="AGENT_TOP_K",
        description="Passages to retrieve for a question.",
    )
    score_threshold: float = Field(
        default=0.7,
        ge=0,
        le=1,
        validation_alias="AGENT_SCORE_THRESHOLD",
        description="Lowest score of a passage to answer from.",
    )
    max_conversation_turns: int = Field(
        default=50,
        ge=1,
        validation_alias="AGENT_MAX_TURNS",
        description="Questions one conversation may have.",
    )
    history_turns: int = Field(
        default=10,
        ge=0,
        le=20,
        validation_alias="AGENT_HISTORY_TURNS",
        description="Earlier turns of the conversation that the language model gets.",
    )
    openai_api_key: SecretStr | None = Field(
        default=None,
        validation_alias="OPENAI_API_KEY",
        description="Key for the language model. OpenAI's own keys begin with sk- and have at "
        "least 40 characters; at OpenAI's address, others are refused at the start.",
    )
    openai_base_url: str = Field(
        default=f"https://{OPENAI_HOST}/v1",
        validation_alias="OPENAI_BASE_URL",
        description="Address of any OpenAI-compatible server.",
    )
    openai_model: str = Field(
        default="gpt-4o-mini",
        max_length=200,
        pattern=r"^\S+$",
        validation_alias="OPENAI_MODEL",
        description="Name of the language model.",
    )
    openai_stream: bool = Field(
        default=True,
        validation_alias="OPENAI_STREAM",
        description="Whether to ask the model for a stream; false for servers that can't stream "
        "tool calls.",
    )
    openai_max_tokens: int | None = Field(
        default=None,
        ge=16,
        validation_alias="OPENAI_MAX_TOKENS",
        description="Longest answer of the model, in tokens; without it, the model's own limit.",
    )
    temperature: float = Field(
        default=0.0,
        ge=0,
        le=1,
        validation_alias="OPENAI_TEMPERATURE",
        description="How freely the language model chooses its words, 0 to 1. With 0 it answers "
        "the same question the same way.",
    )
    context_tokens: int = Field(
        default=4096,
        ge=1024,
        validation_alias="MODEL_CONTEXT_TOKENS",
        description="Tokens the language model can take at once, its answer included. Passages and "
        "history are cut to fit.",
    )
    model_down: Literal["error", "built-in"] = Field(
        default="built-in",
        description="What to do if the language model fails or is too slow: built-in quotes the "
        "book and says why, error returns an error.",
    )
    repair: bool = Field(
        default=True,
        description="Whether the language model may rewrite, once for each answer, the sentences "
        "that no passage supports; false leaves them out at once.",
    )
    judge: Literal["reader", "model"] = Field(
        default="reader",
        description="What to do with sentences of which the reading model is unsure: reader leaves "
        "them out, model asks the language model in one more request.",
    )
    first_token_timeout: float = Field(
        default=180.0,
        gt=0,
        validation_alias="MODEL_FIRST_TOKEN_TIMEOUT",
        description="Seconds until the language model must begin to answer.",
    )
    silence_timeout: float = Field(
        default=60.0,
        gt=0,
        validation_alias="MODEL_SILENCE_TIMEOUT",
        description="Longest pause, in seconds, between two pieces of the model's answer.",
    )
    completion_timeout: float = Field(
        default=300.0,
        gt=0,
        validation_alias="COMPLETION_TIMEOUT",
        description="Seconds that one request to the language model may take in all.",
    )
    turn_timeout: float = Field(
        default=360.0,
        gt=0,
        validation_alias="TURN_TIMEOUT",
        description="Seconds that a whole answer may take, with all retries.",
    )
    retries: int = Field(
        default=5,
        ge=0,
        le=10,
        validation_alias="MODEL_RETRIES",
        description="Retries when the language model is busy, fails or loses the connection. A "
        "refused connection is retried once.",
    )
    retry_delay: float = Field(
        default=1.0,
        ge=0,
        validation_alias="MODEL_RETRY_DELAY",
        description="Seconds before the first retry; each further one waits twice as long.",
    )
    breaker_failures: int = Field(
        default=5,
        ge=1,
        validation_alias="MODEL_BREAKER_FAILURES",
        description="Failures in a row after which the language model is not asked for a while.",
    )
    breaker_seconds: float = Field(
        default=60.0,
        gt=0,
        validation_alias="MODEL_BREAKER_SECONDS",
        description="Seconds it is then not asked.",
    )

    def next_step(self, question: str) -> tuple[str, str] | None:
        """The text and the address of what to do where the book is silent."""
        if self.refusal_link is None:
            return None
        asked = quote(question[:LONGEST_IN_LINK], safe="")
        address = self.refusal_link.replace("{question}", asked)
        # In Markdown a bracket would end it.
        return self.refusal_link_text, address.replace("(", "%28").replace(")", "%29")

    @property
    def chosen_on_page(self) -> bool:
        """Whether the model was chosen on the admin's page, and not by variables."""
        return self._chosen_on_page

    def with_choice_on_page(self, is_chosen: bool) -> Self:
        self._chosen_on_page = is_chosen
        return self

    @property
    def uses_language_model(self) -> bool:
        """Whether a language model writes, or the built-in answerer quotes."""
        if self.answerer != "auto":
            return self.answerer == "openai"
        return self.openai_api_key is not None or "openai_base_url" in self.model_fields_set

    @model_validator(mode="after")
    def _key_fits_the_model(self) -> Self:
        if self.uses_language_model:
            check_openai_key(self.openai_api_key, self.openai_base_url)
        return self


def check_openai_key(key: SecretStr | None, base_url: str) -> None:
    """OpenAI's own keys have a form, and there a mistyped one is told before the first call. Other
    servers give keys of any form or want none."""
    try:
        host = urlsplit(base_url).hostname or ""
    except ValueError:  # whoever connects to it tells
        return
    if host != OPENAI_HOST and not host.endswith(f".{OPENAI_HOST}"):
        return
    given = key.get_secret_value() if key else ""
    if not given.startswith(KEY_BEGINS) or len(given) < LEAST_KEY:
        raise PydanticCustomError(
            "openai_key",
            "{what}: its keys begin with {begins} and have at least {least} characters. For "
            "another server than OpenAI's own set OPENAI_BASE_URL as well",
            {
                "what": "it is no key of OpenAI" if given else "OpenAI wants a key",
                "begins": KEY_BEGINS,
                "least": LEAST_KEY,
                "setting": "OPENAI_API_KEY",
            },
        )
