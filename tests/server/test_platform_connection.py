"""What has to be set and installed for a platform."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from bythebook.cli.doctor import examine
from bythebook.errors import ConfigurationError
from bythebook.server.platforms.chats import NEEDS, books_asked, is_configured
from bythebook.settings import Settings
from server.conftest import Serve
from server.conversing import SECRET, SETTINGS, TOKEN


def test_a_platform_needs_all_of_its_settings() -> None:
    assert not any(is_configured(Settings(), platform) for platform in NEEDS)
    assert all(is_configured(Settings(**SETTINGS), platform) for platform in NEEDS)
    for platform, names in NEEDS.items():
        for name in names:
            half = Settings(**{**SETTINGS, name: None})
            with pytest.raises(ConfigurationError, match="only partly") as problem:
                is_configured(half, platform)
            assert str(Settings.model_fields[name].validation_alias) in str(problem.value)


def test_nothing_is_imported_that_is_not_configured() -> None:
    code = "import sys, bythebook.server.app; print('slack_sdk' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


async def test_a_service_does_not_start_with_half_of_it(serve: Serve) -> None:
    with pytest.raises(ConfigurationError, match="BYTHEBOOK_SLACK_BOT_TOKEN is missing"):
        async with serve(slack_signing_secret=SECRET):
            pass


def test_which_books_are_asked() -> None:
    settings = Settings(slack_book="C1=history, physics,C2=history")
    assert books_asked(settings, "slack") == ["history", "physics"]
    assert books_asked(settings, "discord") == []


async def test_the_doctor_looks_at_them(
    sample_home: Any, own_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BYTHEBOOK_HOME", str(sample_home))
    monkeypatch.setenv("DATABASE_URL", own_database)
    monkeypatch.setenv("BYTHEBOOK_SLACK_SIGNING_SECRET", SECRET)
    monkeypatch.setenv("BYTHEBOOK_SLACK_BOT_TOKEN", TOKEN)
    monkeypatch.setenv("BYTHEBOOK_SLACK_BOOK", "C1=physical-ai-robotics,no-such-book")
    monkeypatch.setenv("BYTHEBOOK_DISCORD_APPLICATION_ID", "1")
    report = await examine()
    told = {check.name: check for check in report.checks}
    assert not told["slack"].ok and "no-such-book" in told["slack"].message
    assert not told["discord"].ok and "only partly" in told["discord"].message
    said = str(report.checks)
    assert SECRET not in said and TOKEN not in said
