"""Where chat platforms send what people ask there; their signature is the key."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from bythebook.errors import BookNotFound, Overloaded
from bythebook.server.auth import Serving
from bythebook.server.platforms.reply_text import TRY_AGAIN, Outcome, render_outcome

router = APIRouter(tags=["platforms"])


# The platforms say what they send, so that these are no part of the OpenAPI document.
@router.post("/slack/events", include_in_schema=False)
async def slack_events(request: Request, service: Serving) -> JSONResponse:
    """Slack waits three seconds for an answer to this, and sends it again after 503."""
    slack = service.platforms.slack
    if slack is None:
        raise _not_connected(
            "Slack", "BYTHEBOOK_SLACK_SIGNING_SECRET and BYTHEBOOK_SLACK_BOT_TOKEN"
        )
    from bythebook.server.platforms.slack import question_of, read_delivery

    body = await request.body()
    slack.check_signature(request.headers, body)
    request.state.key_id = "slack"
    delivery = read_delivery(body)
    if delivery.type == "url_verification":
        return JSONResponse({"challenge": delivery.challenge})
    if delivery.is_question():

        async def reply(outcome: Outcome) -> None:
            await slack.post(delivery, render_outcome(outcome, slack.dialect, slack.room))

        await service.platforms.chats.take(question_of(delivery), reply)
    return JSONResponse({})


@router.post("/discord/interactions", include_in_schema=False)
async def discord_interactions(request: Request, service: Serving) -> JSONResponse:
    """Discord waits three seconds for an answer to this, which says that one will come."""
    discord = service.platforms.discord
    if discord is None:
        raise _not_connected(
            "Discord", "BYTHEBOOK_DISCORD_PUBLIC_KEY and BYTHEBOOK_DISCORD_APPLICATION_ID"
        )
    from bythebook.server.platforms import discord as api

    body = await request.body()
    discord.check_signature(request.headers, body)
    request.state.key_id = "discord"
    interaction = api.read_interaction(body)
    if interaction.type == api.PING:
        return JSONResponse({"type": api.PONG})
    if interaction.asked is None:
        return JSONResponse(api.ephemeral_message(f"I only know /{api.COMMAND} with a question."))

    async def reply(outcome: Outcome) -> None:
        await discord.post(interaction, render_outcome(outcome, discord.dialect, discord.room))

    try:
        await service.platforms.chats.take(api.question_of(interaction, interaction.asked), reply)
    except Overloaded:
        return JSONResponse(api.ephemeral_message(TRY_AGAIN))
    later: dict[str, Any] = {"type": api.LATER}
    return JSONResponse(later)


def _not_connected(platform: str, settings: str) -> BookNotFound:
    return BookNotFound(
        f"This service is not connected to {platform}.",
        action=f"Set {settings} and start it again.",
    )
