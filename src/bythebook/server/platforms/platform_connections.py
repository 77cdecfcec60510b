"""The platforms that the service is connected to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bythebook.errors import ConfigurationError
from bythebook.server.conversations import Conversations
from bythebook.server.platforms.chats import Chats, Platform
from bythebook.server.rate import RateLimits
from bythebook.settings import Settings

if TYPE_CHECKING:
    from bythebook.server.platforms.discord import Discord
    from bythebook.server.platforms.slack import Slack


# The settings that each platform needs.
NEEDS: dict[Platform, tuple[str, ...]] = {
    "slack": ("slack_signing_secret", "slack_bot_token"),
    "discord": ("discord_public_key", "discord_application_id"),
}


@dataclass(frozen=True)
class Platforms:
    """What is connected; None where nothing is configured."""

    chats: Chats
    slack: Slack | None = None
    discord: Discord | None = None


def is_configured(settings: Settings, platform: Platform) -> bool:
    """Raises where only some of its settings are set."""
    names = NEEDS[platform]
    missing = [name for name in names if getattr(settings, name) is None]
    if len(missing) == len(names):
        return False
    title = platform.capitalize()
    if missing:
        variable = Settings.model_fields[missing[0]].validation_alias
        raise ConfigurationError(
            f"{title} is only partly configured: {variable} is missing.",
            action=f"Set {variable}, or unset the other settings of {title}.",
        )
    return True


def books_asked(settings: Settings, platform: Platform) -> list[str]:
    """The books that the platform's setting names."""
    setting = settings.slack_book if platform == "slack" else settings.discord_book
    entries = (entry.rpartition("=")[2].strip() for entry in setting.split(","))
    return [*dict.fromkeys(filter(None, entries))]


@asynccontextmanager
async def connected(
    settings: Settings, conversations: Conversations, rate: RateLimits
) -> AsyncIterator[Platforms]:
    """The configured platforms; at the end, running answers are waited for."""
    async with AsyncExitStack() as stack:
        slack: Slack | None = None
        discord: Discord | None = None
        if is_configured(settings, "slack"):
            from bythebook.server.platforms.slack import Slack

            secret, token = settings.slack_signing_secret, settings.slack_bot_token
            assert secret and token
            slack = Slack(secret.get_secret_value(), token.get_secret_value())
            stack.push_async_callback(slack.close)
        if is_configured(settings, "discord"):
            from bythebook.server.platforms.discord import Discord

            key, application_id = settings.discord_public_key, settings.discord_application_id
            assert key and application_id
            discord = Discord(key, application_id)
            stack.push_async_callback(discord.close)
        chats = Chats(settings, conversations, rate)
        stack.push_async_callback(chats.close)
        yield Platforms(chats, slack, discord)
