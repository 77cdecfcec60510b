"""What an operator sets up with a browser: the language model, and keys for web sites."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

from fastapi import APIRouter, Request
from fastapi import Path as InPath
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from bythebook.errors import BusyError, InputError, NotAllowed
from bythebook.keys import ApiKey
from bythebook.models.examples import PIECES, example
from bythebook.models.service_health import DoctorReport
from bythebook.models.values import shown_address
from bythebook.server.auth import Admin, Serving
from bythebook.server.caller import Caller
from bythebook.server.error_responses import keyed
from bythebook.server.logs import hide_secrets
from bythebook.server.service import Service
from bythebook.settings import Settings
from bythebook.settings.chosen_model import (
    ChosenModel,
    built_in,
    chosen_elsewhere,
    forget_choice,
    keep_choice,
)
from bythebook.sites import checked_server, script_tag

router = APIRouter(prefix="/admin", tags=["admin"])

LINE = script_tag("https://ask.example.org", key="btbp_…", book="physics")

_testing = asyncio.Lock()


class ModelInUse(BaseModel):
    """Who writes the answers. A key is never shown."""

    model_config = ConfigDict(json_schema_extra=example("model_in_use"))

    address: str | None = Field(description="null: the built-in answerer quotes the book.")
    model: str | None
    has_key: bool
    chosen_by: Literal["environment", "page", "nobody"]
    variables: list[str] = Field(
        description="Variables of the environment that say so; they win over the choice here."
    )


class ModelChoice(BaseModel):
    """An OpenAI-compatible server, and a model that it has."""

    model_config = ConfigDict(
        extra="forbid",
        hide_input_in_errors=True,
        json_schema_extra={"examples": PIECES["model_choice"]},
    )

    address: str = Field(min_length=1, max_length=500)
    model: str = Field(max_length=200, pattern=r"^\S+$")
    key: SecretStr | None = Field(
        default=None,
        max_length=500,
        description="Without it the key that is kept stays, as long as the address does; an empty "
        "one is none.",
    )


class ModelCheck(BaseModel):
    """One finding, as `bythebook doctor` prints it. What works may still need doing something
    about: `action`."""

    name: str
    ok: bool
    message: str
    action: str


class ModelTest(BaseModel):
    """What a test of a model found."""

    model_config = ConfigDict(json_schema_extra=example("model_test"))

    ok: bool
    checks: list[ModelCheck]


class NewKey(BaseModel):
    """A publishable key: it may only chat, about these books, from pages of these sites."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=example("new_key"))

    name: str = Field(min_length=1, max_length=100, description="Who or what will use it.")
    books: list[str] = Field(min_length=1, max_length=100)
    origins: list[str] = Field(
        min_length=1, max_length=100, description="Scheme, host and port of each site."
    )
    server: str | None = Field(
        default=None,
        max_length=500,
        description="Where readers reach the service, for the widget's line; where this request "
        "was sent to without it.",
    )


class MadeKey(BaseModel):
    """A new key. Its text is shown this once."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {"key": PIECES["key"], "text": "btbp_…", "line": LINE, "admin_key": None}
        }
    )

    key: ApiKey
    text: str = Field(description="The key to send.")
    line: str = Field(description="What puts the widget on a page.")
    admin_key: str | None = Field(
        description="With the first key of a service that had none: a secret key for everything, "
        "since the service asks for one from now on."
    )


@router.get("/model", summary="Which model writes", responses=keyed())
async def model(service: Serving, caller: Admin) -> ModelInUse:
    """The environment wins over what was chosen here."""
    _check_whole(caller)
    return _in_use(service)


@router.put("/model", summary="Choose the model", responses=keyed())
async def choose(request: ModelChoice, service: Serving, caller: Admin) -> ModelInUse:
    """Kept in BYTHEBOOK_HOME, in a file that only the service's user may read, and used from the
    next question on. Other processes take it up when they are started again."""
    _check_whole(caller)
    _check_free(service)
    chosen = _chosen(request, service)
    await asyncio.to_thread(keep_choice, service.settings.home, chosen)
    _use(service, chosen.settings(service.settings))
    return _in_use(service)


@router.delete("/model", summary="Use no language model", responses=keyed())
async def use_none(service: Serving, caller: Admin) -> ModelInUse:
    """The built-in answerer quotes the book from the next question on; the key is deleted."""
    _check_whole(caller)
    _check_free(service)
    await asyncio.to_thread(forget_choice, service.settings.home)
    _use(service, built_in(service.settings))
    return _in_use(service)


@router.post("/model/test", summary="Test a model", responses=keyed(409))
async def test(service: Serving, caller: Admin, request: ModelChoice | None = None) -> ModelTest:
    """What `bythebook doctor` finds out of a model, with a question to a book: whether it answers,
    calls tools and streams, how fast it is, and how many of its sentences hold. Nothing is kept.
    Without a body the model in use is tested. This may take minutes."""
    _check_whole(caller)
    settings = service.library.settings
    if request is not None:
        _check_free(service)
        settings = _chosen(request, service).settings(settings)
    elif not settings.uses_language_model:
        raise InputError(
            "There is no language model to test.", action="Give its address and its name."
        )
    if _testing.locked():
        raise BusyError("A model is being tested already.", action="Try again in a minute.")
    from bythebook.evaluation.examine_model import examine_model  # with the Agents SDK

    async with _testing:
        report = DoctorReport()
        await examine_model(report, service.library, await _question(service), settings)
    checks = [ModelCheck.model_validate(one, from_attributes=True) for one in report.checks]
    return ModelTest(ok=all(one.ok for one in checks), checks=checks)


@router.get("/keys", summary="The keys", responses=keyed())
async def keys(service: Serving, caller: Admin) -> list[ApiKey]:
    """Newest first, without their secrets."""
    _check_whole(caller)
    return await service.keys.list()


@router.post("/keys", summary="Make a key for web sites", status_code=201, responses=keyed(404))
async def make_key(made: NewKey, request: Request, service: Serving, caller: Admin) -> MadeKey:
    """Publishable keys only; others are made with `bythebook keys create`."""
    _check_whole(caller)
    server = checked_server(made.server or str(request.base_url))
    books = [(await caller.book(service.library, book)).book_id for book in made.books]
    is_first = not await service.keys.exist()
    key, text = await service.keys.create(made.name, ("chat",), books, origins=made.origins)
    admin_key = None
    if is_first:  # who asks without one would be shut out from now on
        _, admin_key = await service.keys.create("admin", ("read", "chat", "admin"))
    line = script_tag(server, key=text, book=books[0] if len(books) == 1 else None)
    return MadeKey(key=key, text=text, line=line, admin_key=admin_key)


@router.delete("/keys/{key_id}", summary="Revoke a key", responses=keyed(404))
async def revoke(
    key_id: Annotated[str, InPath(pattern=r"^[0-9a-f]{12}$", description="Id of the key.")],
    service: Serving,
    caller: Admin,
) -> ApiKey:
    """It stops working at once. A revoked key can't be restored."""
    _check_whole(caller)
    if key_id == caller.id:
        raise InputError(
            "This is the key that you are using now.",
            action="Revoke it with another admin's key, or with `bythebook keys revoke`.",
            details={"field": "key_id"},
        )
    return await service.keys.revoke(key_id)


def _check_whole(caller: Caller) -> None:
    """A key for certain books must not reach the others through the service's own settings."""
    if caller.is_bound:
        raise NotAllowed(
            "This key is for certain books, and this concerns the whole service.",
            action="Use an admin's key for all books.",
        )


def _check_free(service: Service) -> None:
    if variables := chosen_elsewhere(service.settings):
        raise NotAllowed(
            f"The language model is set in the environment ({', '.join(variables)}).",
            action="Unset it there and start the service again, then choose here.",
        )


def _chosen(request: ModelChoice, service: Service) -> ChosenModel:
    """With the key that is kept only where it was meant for: another server must not get it."""
    now = service.library.settings
    if request.key is not None:
        key = request.key.get_secret_value()
    else:
        same = now.uses_language_model and now.openai_base_url == request.address.strip()
        key = now.openai_api_key.get_secret_value() if same and now.openai_api_key else ""
    return ChosenModel.checked(request.address, request.model, key)


def _in_use(service: Service) -> ModelInUse:
    settings = service.library.settings
    variables = chosen_elsewhere(service.settings)
    uses = settings.uses_language_model
    return ModelInUse(
        address=shown_address(settings.openai_base_url) if uses else None,
        model=settings.openai_model if uses else None,
        has_key=uses and settings.openai_api_key is not None,
        chosen_by="environment" if variables else "page" if uses else "nobody",
        variables=variables,
    )


def _use(service: Service, settings: Settings) -> None:
    service.library.settings = settings
    hide_secrets(settings)
    service.assistant.use(settings)


async def _question(service: Service) -> tuple[str, str] | None:
    """A book, and a question that it answers."""
    for book in await service.catalog_cache.books(await service.library.books()):
        if book.suggestions:
            return book.book_id, book.suggestions[0]
    return None
