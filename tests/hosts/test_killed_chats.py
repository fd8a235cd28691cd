"""L5: a process that is killed in the middle of conversations leaves none of them broken."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

import kova
from tests import server as play
from tests.server import Exchange, ModelServer

TALK = """
import asyncio, sys
import kova

@kova.tool
def add(a: int, b: int) -> int:
    "Add two numbers."
    return a + b

url, path, twin = sys.argv[1:]

def talk():
    agent = kova.Agent(kova.OpenAICompatibleProvider("m", base_url=url), memory=kova.SQLiteStore(path), tools=[add])
    for turn in range(1000):
        agent.chat(f"c{turn % 5}", f"turn {turn}")

async def talk_async():
    model = kova.AsyncOpenAICompatibleProvider("m", base_url=url)
    agent = kova.AsyncAgent(model, memory=kova.AsyncSQLiteStore(path), tools=[add])
    async def one(conversation):
        for turn in range(200):
            await agent.chat(conversation, f"turn {turn}")
    await asyncio.gather(*[one(f"c{number}") for number in range(5)])

if twin == "blocking":
    talk()
else:
    asyncio.run(talk_async())
"""
KILLS = 8  # of each twin; about 25 turns are made between two of them


def answer(exchange: Exchange) -> None:
    """Two calls, and when their results are there, a text."""
    last = exchange.json()["messages"][-1]
    wanted = play.calls(("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4}))
    (play.text("It is done.") if last["role"] == "tool" else wanted)(exchange)


@pytest.mark.parametrize("twin", ["blocking", "async"])
def test_no_turn_is_half_stored_when_the_process_is_killed(server: ModelServer, tmp_path: Path, twin: str) -> None:
    server.always(answer)
    path = tmp_path / "chats.db"
    chance = random.Random(twin)
    stored = 0
    for _ in range(KILLS):
        before = len(server.exchanges)
        process = subprocess.Popen([sys.executable, "-c", TALK, server.url, str(path), twin])
        while len(server.exchanges) < before + chance.randint(30, 70):
            assert process.poll() is None, "the process ended by itself"
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.wait()
        stored_now = check_conversations(path)
        assert stored_now >= stored
        stored = stored_now
    assert stored > KILLS


def check_conversations(path: Path) -> int:
    """The number of stored turns, each of which is whole."""
    turns = 0
    with kova.SQLiteStore(path) as store:
        for conversation in store.list_conversations():
            history, _ = store.load(conversation)
            assert kova.check_history(history) == []
            roles = [message.role.value for message in history]
            turn = ["user", "assistant", "tool", "tool", "assistant"]
            assert roles == turn * (len(roles) // len(turn))
            turns += len(roles) // len(turn)
    with sqlite3.connect(path) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()
    return turns
