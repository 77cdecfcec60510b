"""What went wrong with a language model, for a person: the cause, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agents import ModelBehaviorError
from aiohttp import (
    ClientConnectorDNSError,
    ClientConnectorError,
    ClientResponseError,
    ClientSSLError,
    ConnectionTimeoutError,
)
from openai import APIConnectionError, APIError, APIStatusError

from bythebook.agent.scheduling import OutOfTime
from bythebook.errors import ModelError
from bythebook.models.values import retry_after

QUOTE_INSTEAD = "or set BYTHEBOOK_ANSWERER=built-in to have the book quoted instead."
# An answer that is not HTTP surfaces as the second, a stream that is not what it should be as one
# of the last three.
FAILURES = (
    APIError,
    ClientResponseError,
    TimeoutError,
    ModelBehaviorError,
    ValueError,
    AttributeError,
    TypeError,
)


def out_of_time(problem: OutOfTime) -> ModelError:
    return ModelError(problem.what, action=f"Ask again, raise {problem.setting}, {QUOTE_INSTEAD}")


@dataclass(frozen=True)
class ModelPlace:
    """Where a model is, and who chose it: for who can do something about it. Readers are told the
    cause of a failure alone."""

    where: str
    on_page: bool = False

    @property
    def address(self) -> str:
        return f"{self._of('OPENAI_BASE_URL', 'the address chosen')} ({self.where})"

    @property
    def key(self) -> str:
        return self._of("OPENAI_API_KEY", "the key given")

    @property
    def model(self) -> str:
        return self._of("OPENAI_MODEL", "the model chosen")

    def _of(self, variable: str, chosen: str) -> str:
        return f"{chosen} on the page /admin of `bythebook serve`" if self.on_page else variable


def explain(problem: Exception, name: str, place: ModelPlace) -> ModelError:
    """`name` is the model's."""
    if isinstance(problem, OutOfTime):
        return out_of_time(problem)
    if unconnected := why_unconnected(problem):
        return ModelError(
            f"The language model can't be reached: {unconnected}.",
            action=f"Check {place.address} and whether the server runs, {QUOTE_INSTEAD}",
        )
    if isinstance(problem, APIConnectionError):
        return ModelError(
            "The language model can't be reached, or ends the connection.",
            action=f"Check {place.address} and the network, {QUOTE_INSTEAD}",
        )
    if isinstance(problem, APIStatusError):
        return _explain_status(problem, name, place)
    return ModelError(
        "The language model sent something that is not a chat completion.",
        action=f"Check {place.address}, {QUOTE_INSTEAD}",
    )


def _explain_status(problem: APIStatusError, name: str, place: ModelPlace) -> ModelError:
    status = problem.status_code
    if status == 429:
        wait = asked_pause(problem)
        soon = f"in {wait:.0f} seconds" if wait else "later"
        return ModelError("The language model is over its rate limit.", action=f"Ask again {soon}.")
    if status in (401, 403):
        return ModelError(
            "The language model's server refused the key.", action=f"Check {place.key}."
        )
    if status == 404:
        return ModelError(
            f"The language model's server has no model {name!r}, or is not OpenAI-compatible.",
            action=f"Check {place.model} and {place.address}.",
        )
    if status >= 500:
        return ModelError(
            f"The language model failed (HTTP {status}).",
            action=f"Ask again later, {QUOTE_INSTEAD}",
        )
    return ModelError(
        f"The language model did not accept the request (HTTP {status}).",
        action=f"Check {place.model} and its limits (MODEL_CONTEXT_TOKENS), {QUOTE_INSTEAD}",
    )


def why_unconnected(problem: BaseException) -> str:
    """Why there was no connection at all; nothing where there was one."""
    for cause in _causes(problem):
        if isinstance(cause, ClientConnectorDNSError):
            return "the server's name is not known"
        if isinstance(cause, ClientSSLError):
            return "no secure connection can be made"
        if isinstance(cause, ConnectionTimeoutError):
            return "nothing answers there"
        if isinstance(cause, ClientConnectorError):
            refused = isinstance(cause.os_error, ConnectionRefusedError)
            return "the connection was refused" if refused else "there is no way to it"
    return ""


def timed_out(problem: BaseException) -> bool:
    """Told by the causes: the client takes every lost connection for one out of time."""
    return any(isinstance(cause, TimeoutError) for cause in _causes(problem))


def is_passing(problem: Exception) -> bool:
    """Whether the same request may succeed a little later."""
    if isinstance(problem, APIStatusError):
        return problem.status_code in (408, 409, 429) or problem.status_code >= 500
    return True


def asked_pause(problem: Exception) -> float:
    """The seconds a server asked to wait, in `Retry-After`."""
    if not isinstance(problem, APIStatusError):
        return 0.0
    return retry_after(problem.response.headers.get("retry-after")) or 0.0


def _causes(problem: BaseException | None) -> Iterator[BaseException]:
    while problem is not None:
        yield problem
        problem = problem.__cause__
