"""Agents by `settings.KOVA`."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import override_settings

import kova
from kova.contrib.django import AsyncDjangoStore, DjangoStore, agent, async_agent
from kova.testing import ModelServer, call

pytestmark = pytest.mark.usefixtures("database")


@kova.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def deny(tool_call: kova.ToolUseBlock, context: kova.ToolContext) -> kova.ApprovalDecision:
    return kova.ApprovalDecision.denied("not on Mondays")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Any:
    with ModelServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "key of the tests")
        yield server


PATH = "tests.web.test_django_agents"
KOVA = {"model": "openai:gpt-5", "system_prompt": "Be brief.", "tools": [f"{PATH}.add"]}


def test_both_twins_share_a_conversation(server: ModelServer) -> None:
    server.play(call("add", a=2, b=3), "5", "You asked me to add.")
    with override_settings(KOVA=KOVA):
        assert agent().chat("ada", "2 + 3?") == "5"
        assert async_to_sync(async_agent().chat)("ada", "What did I ask?") == "You asked me to add."
    texts = [message["content"] for message in server.requests[-1].json()["messages"]]
    assert texts == ["Be brief.", "2 + 3?", None, "5", "5", "What did I ask?"]
    assert len(DjangoStore().load("ada")[0]) == 6


def test_the_database_and_a_handler_by_its_path(server: ModelServer) -> None:
    server.play(call("add", a=2, b=3), "I may not.")
    options = {**KOVA, "database": "other", "max_messages": 4, "approval_handler": f"{PATH}.deny", "max_iterations": 3}
    with override_settings(KOVA=options):
        agent().chat("ada", "2 + 3?")
    messages, _ = DjangoStore("other").load("ada")
    assert "not on Mondays" in str(messages[2])
    assert async_to_sync(AsyncDjangoStore().load)("ada")[0] == []


def test_there_is_one_agent_of_each_twin(server: ModelServer) -> None:
    """T6."""
    with override_settings(KOVA=KOVA):
        made: list[kova.Agent] = []
        threads = [threading.Thread(target=lambda: made.append(agent())) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(map(id, made)) == {id(agent())}
        assert async_agent() is async_agent()
        first = agent()
    with override_settings(KOVA={**KOVA, "system_prompt": "Be kind."}):
        assert agent() is not first
    assert server.connections == 0


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (None, r"settings\.KOVA must be a dict"),
        ({}, r"settings\.KOVA: model is missing"),
        ({"model": "openai:gpt-5", "modle": 1, "memory": 2}, r"settings\.KOVA: unknown memory, modle; known are appr"),
        ({"model": "nobody:gpt-5"}, "provider must be one of openai:MODEL"),
        ({"model": "openai:gpt-5", "tools": ["nowhere.add"]}, r"settings\.KOVA: tools: No module named 'nowhere'"),
        ({"model": "openai:gpt-5", "approval_handler": f"{PATH}.no"}, r"settings\.KOVA: approval_handler: .*\"no\""),
        ({"model": "openai:gpt-5", "database": "nowhere"}, "using must be one of"),
    ],
)
def test_what_is_wrong_is_named(server: ModelServer, options: Any, complaint: str) -> None:
    with override_settings(KOVA=options):
        for make in (agent, async_agent):
            with pytest.raises(kova.BuildError, match=complaint):
                make()


def test_in_a_running_loop(server: ModelServer) -> None:
    """T1: the blocking agent answers; only what it would have to store is refused, by Django, and so said."""
    server.play("Hello", "Hello")

    async def view() -> str:
        with pytest.raises(kova.MemoryStoreError, match="cannot call this from an async context"):
            agent().chat("ada", "Hi")
        return agent().run("Hi").text

    with override_settings(KOVA=KOVA):
        assert asyncio.run(view()) == "Hello"
        assert agent().chat("ada", "Hi") == "Hello"
