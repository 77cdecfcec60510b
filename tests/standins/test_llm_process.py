"""The scripted model of the load test keeps to the same rules as the other."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from standins.llm_process import llm_process, quotes
from standins.llm_server import Json

ASKED: list[Json] = [{"role": "user", "content": "What is Gazebo?"}]


def test_it_quotes_what_stands_below_the_headings() -> None:
    texts = ["## Gazebo\n\n:::note\nIt simulates. It runs.", "Plain text", "Third. 3", "Fourth. 4"]
    found = [{"chunk_text": text, "cite": number} for number, text in enumerate(texts, 1)]
    assert quotes(found).text == "It simulates. [1] Plain text. [2] Third. [3]"


async def test_it_refuses_and_goes_on() -> None:
    with llm_process(pause=0.001) as url:
        async with AsyncOpenAI(base_url=url, api_key="any", max_retries=0) as client:
            chat: Any = client.chat.completions
            wrongs: list[Json] = [{"messages": []}, {"messages": ASKED, "stream": False}]
            for wrong in wrongs:
                with pytest.raises(openai.BadRequestError):
                    await chat.create(**{"model": "m", "stream": True, **wrong})
            with pytest.raises(openai.BadRequestError):
                await client.embeddings.create(model="m", input="x")
            tool: Json = {"type": "function", "function": {"name": "search", "parameters": {}}}
            told = await chat.create(model="m", messages=ASKED, tools=[tool], stream=True)
            chunks = [chunk async for chunk in told]
    assert chunks[-1].choices[0].finish_reason == "tool_calls"
