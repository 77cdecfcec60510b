"""The language model that writes: where it is, how much it is given, how long it is waited for."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings


class LanguageModelSettings(BaseSettings):
    """Part of the settings. The defaults suit a small model on two cores with a context of 4,096
    tokens: it reads 30 tokens a second and writes 5."""

    openai_api_key: SecretStr | None = Field(
        default=None,
        validation_alias="OPENAI_API_KEY",
        description="Key for the OpenAI-compatible server.",
    )
    openai_base_url: str = Field(
        default="https://api.openai.com/v1",
        validation_alias="OPENAI_BASE_URL",
        description="Address of any OpenAI-compatible server.",
    )
    openai_model: str = Field(
        default="gpt-4o-mini",
        min_length=1,
        validation_alias="OPENAI_MODEL",
        description="Language model that writes the answers.",
    )
    openai_stream: bool = Field(
        default=True,
        validation_alias="OPENAI_STREAM",
        description="Ask the server to stream; false for servers that can't stream tool calls.",
    )
    openai_max_tokens: int | None = Field(
        default=None,
        ge=16,
        validation_alias="OPENAI_MAX_TOKENS",
        description="Longest answer to ask for, in tokens; the model's own limit when unset.",
    )
    context_tokens: int = Field(
        default=4096,
        ge=1024,
        validation_alias="MODEL_CONTEXT_TOKENS",
        description="Tokens that the language model takes at once, its answer included: passages "
        "and history are cut to fit.",
    )
    model_down: Literal["error", "built-in"] = Field(
        default="built-in",
        validation_alias="BYTHEBOOK_MODEL_DOWN",
        description="When the language model fails or takes too long: built-in quotes the book and "
        "says why, error ends the turn with an error.",
    )
    repair: bool = Field(
        default=True,
        validation_alias="BYTHEBOOK_REPAIR",
        description="Let the language model restate, once in an answer, the sentences that no "
        "passage bears; false leaves them out at once.",
    )
    judge: Literal["reader", "model"] = Field(
        default="reader",
        validation_alias="BYTHEBOOK_JUDGE",
        description="Who judges a sentence of which the reading model is unsure: reader leaves it "
        "out, model asks the language model, one request for all of them.",
    )
    first_token_timeout: float = Field(
        default=180.0,
        gt=0,
        validation_alias="MODEL_FIRST_TOKEN_TIMEOUT",
        description="Seconds until the language model must begin to answer; it reads the passages "
        "meanwhile.",
    )
    silence_timeout: float = Field(
        default=60.0,
        gt=0,
        validation_alias="MODEL_SILENCE_TIMEOUT",
        description="Seconds that may lie between two pieces of its answer.",
    )
    completion_timeout: float = Field(
        default=300.0,
        gt=0,
        validation_alias="COMPLETION_TIMEOUT",
        description="Seconds one request to the language model may take in all.",
    )
    turn_timeout: float = Field(
        default=360.0,
        gt=0,
        validation_alias="TURN_TIMEOUT",
        description="Seconds a whole answer may take, retries and all.",
    )
    retries: int = Field(
        default=5,
        ge=0,
        le=10,
        validation_alias="MODEL_RETRIES",
        description="Further attempts when the language model is busy, failing or cuts the "
        "connection; one that can't be connected to is tried once more.",
    )
    retry_delay: float = Field(
        default=1.0,
        ge=0,
        validation_alias="MODEL_RETRY_DELAY",
        description="Seconds before the first further attempt; each next one waits twice as long.",
    )
    breaker_failures: int = Field(
        default=5,
        ge=1,
        validation_alias="MODEL_BREAKER_FAILURES",
        description="Failures in a row after which the language model is left alone for a while.",
    )
    breaker_seconds: float = Field(
        default=60.0,
        gt=0,
        validation_alias="MODEL_BREAKER_SECONDS",
        description="How long it is left alone.",
    )
