"""The admin's page: health, books, a job while it runs, usage, and what was not answered."""

from __future__ import annotations

import asyncio
import re
import shutil
from array import array
from collections.abc import Sequence
from pathlib import Path

import pytest
from playwright.async_api import expect

from browser.conftest import NewReader, Serve
from browser.reader import Reader
from bythebook.library import sample_book
from server.running import Running, running

UNANSWERABLE = "How do I bake sourdough bread?"
BOARD = "Can I use a Raspberry Pi instead of a Jetson?"


async def test_books_usage_and_what_was_not_answered(reader: Reader, serve: Serve) -> None:
    page = reader.page
    async with serve() as up:
        for question in ("What is a URDF?", UNANSWERABLE):
            assert (await up.ask(question)).status_code == 200
        await page.goto(f"{up.server.address}/admin")
        await expect(page.get_by_role("region", name="Health", exact=True)).to_contain_text(
            "Version"
        )
        books = page.get_by_role("region", name="Books", exact=True)
        await expect(books).to_contain_text("Physical AI and Robotics")
        usage = page.get_by_role("region", name="Usage", exact=True)
        await expect(usage.locator("dl")).to_contain_text("1 (50 %)")
        questions = page.get_by_role("region", name="Questions", exact=True)
        await expect(questions.locator(".question")).to_have_text([UNANSWERABLE])
        await expect(questions).to_contain_text("Nearest:")
        await questions.get_by_label("Which questions").select_option(label="Answered")
        await expect(questions.locator(".question")).to_have_text(["What is a URDF?"])
        await questions.get_by_label("Which questions").select_option(label="Rated down")
        await expect(questions).to_contain_text("There are none.")
        await books.get_by_role("button", name="Check").click()
        await expect(books.get_by_role("status")).to_have_text(
            "physical-ai-robotics is up to date."
        )


async def test_gaps_are_shown_and_downloaded(reader: Reader, serve: Serve) -> None:
    page = reader.page
    async with serve() as up:
        _, key = await up.service.keys.create("boss", ["admin", "read", "chat"])
        up.http.headers["X-API-Key"] = key
        for question in (UNANSWERABLE, "baking a sourdough bread", BOARD):
            answer = (await up.ask(question)).json()
            assert answer["refused"]
        said = {"answer_id": answer["answer_id"], "rating": "down", "reason": "<b>No price</b>"}
        assert (await up.http.post("/feedback", json=said)).status_code == 204
        await page.goto(f"{up.server.address}/admin")
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("Key", exact=True).fill(key)
        await dialog.get_by_role("button", name="Use this key").click()
        gaps = page.get_by_role("region", name="Gaps", exact=True)
        await expect(gaps.locator(".often")).to_have_text(["2× in 2 sessions", "1× in 1 session"])
        await gaps.get_by_text("1 other wording").click()
        for words in (UNANSWERABLE, "baking a sourdough bread"):
            await expect(gaps.get_by_text(words)).to_be_visible()
        await expect(gaps).to_contain_text("rated 1 down")
        await expect(gaps).to_contain_text("“<b>No price</b>”")
        link = gaps.get_by_role("link").first
        await expect(link).to_have_attribute("href", re.compile("^https://"))
        async with page.expect_download() as download:
            await gaps.get_by_role("button", name="CSV").click()
        file = await download.value
        assert file.suggested_filename == "gaps.csv"
        written = Path(await file.path()).read_text(encoding="utf-8-sig")
        assert written.startswith('"question","asked"') and BOARD in written
        await expect(gaps.locator(".often")).to_have_count(2)
        kind = gaps.get_by_label("Kind of gaps")
        await kind.select_option(label="Uncertain")
        await expect(gaps).to_contain_text("Nothing was answered with low confidence.")
        await kind.select_option(label="Rated down")
        await expect(gaps).to_contain_text("1 question rated down, 1 gap.")
        await expect(gaps).to_contain_text(BOARD)
        await kind.select_option(label="Refused or uncertain")
        await expect(gaps.locator(".often")).to_have_count(2)
        await up.service.questions.forget(answer["answer_id"])
        await gaps.get_by_label("Period of gaps").select_option(label="7 days")
        await expect(gaps.locator(".often")).to_have_count(1)


async def test_a_book_is_added_and_its_job_followed(
    reader: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = shutil.ignore_patterns("module-3-*", "module-4-*")
    shutil.copytree(sample_book(), tmp_path / "shelf" / "robots", ignore=few)
    page = reader.page
    async with running(tmp_path / "home", books_folder=tmp_path / "shelf") as up:
        embedder, seen = up.service.library.embedder, asyncio.Event()
        embed = embedder.embed_documents

        async def embed_once_seen(texts: Sequence[str]) -> list[array[float]]:
            await seen.wait()
            return await embed(texts)

        monkeypatch.setattr(embedder, "embed_documents", embed_once_seen)
        await page.goto(f"{up.server.address}/admin")
        books = page.get_by_role("region", name="Books", exact=True)
        jobs = page.get_by_role("region", name="Jobs", exact=True)
        await expect(books).to_contain_text("There is no book yet.")
        await books.get_by_label("Folder on the server").fill("nowhere")
        await books.get_by_role("button", name="Add this folder").click()
        await expect(books.get_by_role("status")).to_contain_text("does not lead to a folder")
        await books.get_by_label("Folder on the server").fill("robots")
        await books.get_by_role("button", name="Add this folder").click()
        await expect(books.get_by_role("status")).to_have_text(re.compile(r"being read: job \d+"))
        bar = jobs.get_by_role("progressbar", name=re.compile(r"^\d+ of \d+ files$"))
        await expect(bar).to_be_visible()
        seen.set()
        await expect(jobs.locator(".state")).to_have_text("completed")
        await expect(books.get_by_role("list")).to_contain_text("Physical AI and Robotics")
        await expect(page.locator('[aria-live="polite"]').last).to_have_text(
            re.compile(r"Job \d+ is completed\.")
        )


async def test_it_needs_a_key_for_admins(new_reader: NewReader, serve: Serve) -> None:
    reader = await new_reader()
    page = reader.page
    async with serve() as up:
        _, weak = await up.service.keys.create("reader", ["chat", "read"])
        _, strong = await up.service.keys.create("boss", ["admin", "read", "chat"])
        await page.goto(f"{up.server.address}/admin")
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("Key", exact=True).fill(weak)
        await dialog.get_by_role("button", name="Use this key").click()
        usage = page.get_by_role("region", name="Usage", exact=True)
        await expect(usage.get_by_role("alert")).to_contain_text("may not do this")
        await page.get_by_role("button", name="Other key").click()
        await dialog.get_by_label("Key", exact=True).fill(strong)
        await dialog.get_by_role("button", name="Use this key").click()
        await expect(usage.locator("dl")).to_contain_text("Questions")
        await expect(page.get_by_role("alert")).to_have_count(0)


async def test_it_fits_a_phone(new_reader: NewReader, up: Running) -> None:
    reader = await new_reader(viewport={"width": 320, "height": 640})
    await up.ask(UNANSWERABLE)
    await reader.page.goto(f"{up.server.address}/admin")
    await expect(reader.page.get_by_text(UNANSWERABLE).first).to_be_visible()
    await expect(reader.page.get_by_role("button", name="Other key")).to_be_hidden()
    assert await reader.overflow() == []
