"""Many processes and threads on one Django database."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from asgiref.sync import async_to_sync
from django.db import connections

import kova
from kova.contrib.django import AsyncDjangoStore, DjangoStore
from kova.history import check_history
from kova.testing import AsyncScriptedProvider, ScriptedProvider, call

pytestmark = [
    pytest.mark.usefixtures("database"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]

PROCESSES, TURNS = 4, 12


@kova.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def chat(number: int, conversation_id: str, is_async: bool) -> Counter[str]:
    """Chat in a process of its own, and count what comes of it."""
    script = [call("add", a=1, b=2), "3"] * TURNS
    outcomes: Counter[str] = Counter()
    if is_async:
        chats = async_to_sync(
            kova.AsyncAgent(AsyncScriptedProvider(*script), tools=[add], memory=AsyncDjangoStore()).chat
        )
    else:
        chats = kova.Agent(ScriptedProvider(*script), tools=[add], memory=DjangoStore()).chat
    for turn in range(TURNS):
        try:
            chats(conversation_id, f"{number}.{turn}")
            outcomes["stored"] += 1
        except kova.MemoryStoreError as error:
            outcomes["conflict" if error.is_conflict else str(error)] += 1
    connections.close_all()
    return outcomes


@pytest.mark.parametrize("is_async", [False, True])
def test_turns_of_several_processes_never_mix(is_async: bool) -> None:
    """C1, C2, L5: on one conversation each turn is stored whole or refused; on their own ones none is lost."""
    connections.close_all()
    with multiprocessing.get_context("fork").Pool(PROCESSES) as pool:
        shared = pool.starmap(chat, [(number, "shared", is_async) for number in range(PROCESSES)])
        own = pool.starmap(chat, [(number, f"own {number}", is_async) for number in range(PROCESSES)])
    assert own == [Counter(stored=TURNS)] * PROCESSES
    outcomes = sum(shared, Counter())
    assert outcomes.keys() <= {"stored", "conflict"}
    assert outcomes.total() == PROCESSES * TURNS
    store = DjangoStore()
    messages, _ = store.load("shared")
    assert len(messages) == 4 * outcomes["stored"]
    assert check_history(messages) == []
    assert [message.text for message in messages[3::4]] == ["3"] * outcomes["stored"]
    assert len(store.list_conversations()) == PROCESSES + 1


def test_turns_of_one_process_queue() -> None:
    """C1, T3: in threads."""
    model = ScriptedProvider()
    model.always("Hello")
    store = DjangoStore()
    agent = kova.Agent(model, memory=store)

    def ask(number: int) -> str:
        try:
            return agent.chat("shared", str(number))
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as threads:
        texts = list(threads.map(ask, range(40)))
    assert texts == ["Hello"] * 40
    assert sorted(int(message.text) for message in store.load("shared")[0][::2]) == list(range(40))
