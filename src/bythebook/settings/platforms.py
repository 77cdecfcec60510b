"""What connects the service to chat platforms."""

from __future__ import annotations

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings

# `book`, or `CHANNEL=book` for certain channels, with commas between.
_BOOKS = r"^(\s*([A-Za-z0-9]+\s*=\s*)?[^\s,=]+\s*(,|$))*$"


class PlatformSettings(BaseSettings):
    """Part of the settings: nothing of it is needed, and a platform needs all of its own."""

    slack_signing_secret: SecretStr | None = Field(
        default=None,
        validation_alias="BYTHEBOOK_SLACK_SIGNING_SECRET",
        description="Signing secret of the Slack app; with the token it connects the service.",
    )
    slack_bot_token: SecretStr | None = Field(
        default=None,
        validation_alias="BYTHEBOOK_SLACK_BOT_TOKEN",
        description="Bot token of the Slack app (xoxb-…), with which answers are posted.",
    )
    slack_book: str = Field(
        default="",
        pattern=_BOOKS,
        validation_alias="BYTHEBOOK_SLACK_BOOK",
        description="Book that Slack asks, or CHANNEL=BOOK for certain channels, with commas "
        "between; without it the only book, or that of BYTHEBOOK_BOOK.",
    )
    discord_public_key: str | None = Field(
        default=None,
        pattern=r"^[0-9a-fA-F]{64}$",
        validation_alias="BYTHEBOOK_DISCORD_PUBLIC_KEY",
        description="Public key of the Discord application; with the id it connects the service.",
    )
    discord_application_id: str | None = Field(
        default=None,
        pattern=r"^[0-9]{1,20}$",
        validation_alias="BYTHEBOOK_DISCORD_APPLICATION_ID",
        description="Id of the Discord application.",
    )
    discord_book: str = Field(
        default="",
        pattern=_BOOKS,
        validation_alias="BYTHEBOOK_DISCORD_BOOK",
        description="The same as BYTHEBOOK_SLACK_BOOK, for Discord.",
    )
