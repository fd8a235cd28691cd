"""Ctrl-C at each of the moments at which Python sees it: after a call into C, and where a function begins.

What it ends may be lost; what comes afterwards, in the same thread and with the same objects, works.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

import kova
from kova._runtime.thread_scope import current
from tests import server as play
from tests.mcp_links import faulty
from tests.server import Exchange, ModelServer

# What hits a finalizer is reported, and goes no further.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

PACKAGE = str(Path(kova.__file__).parent)
LIMIT = 10.0  # seconds


class Interruption(KeyboardInterrupt):
    """Ctrl-C."""


def moments(work: Callable[[], object], interrupt_at: int | None = None) -> int:
    """Do some work, interrupted at one of its moments if it has that many; how many there were."""
    count = 0

    def look(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        if event in ("call", "c_return") and frame.f_code.co_filename.startswith(PACKAGE):
            count += 1
            if count == interrupt_at:
                sys.setprofile(None)
                raise Interruption

    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.fixture
def turn(server: ModelServer) -> Callable[[], object]:
    """A turn with limits and a tool."""

    @kova.tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    agent = kova.Agent(kova.OpenAICompatibleProvider("m", base_url=server.url), tools=[add])

    def answer(exchange: Exchange) -> object:
        is_first = exchange.json()["messages"][-1]["role"] == "user"
        return (play.calls(("add", {"a": 1, "b": 2})) if is_first else play.text("3"))(exchange)

    server.always(answer)

    def run() -> object:
        return agent.run("1 + 2", timeout=LIMIT, cancel=kova.CancellationToken()).text

    return run


def test_t10_a_turn(turn: Callable[[], object]) -> None:
    turn()
    outside, all_moments = current.get(), moments(turn)
    for moment in range(1, all_moments, 3):
        with contextlib.suppress(Interruption):
            moments(turn, moment)
        assert current.get() is outside, f"a limit was left behind at moment {moment} of {all_moments}"
        assert turn() == "3", f"after an interruption at moment {moment} of {all_moments}"


@pytest.mark.parametrize(
    "limits", [{}, {"timeout": LIMIT, "cancel": kova.CancellationToken()}], ids=["free", "limited"]
)
def test_t10_a_call_of_an_mcp_server(limits: dict[str, object]) -> None:
    with kova.MCPClient(faulty(), timeout=LIMIT, protocol="legacy") as client:

        def call() -> object:
            return client.call_tool("echo", {}, **limits).text  # type: ignore[arg-type]

        text = call()
        outside, all_moments = current.get(), moments(call)
        for moment in range(1, all_moments):
            with contextlib.suppress(Interruption):
                moments(call, moment)
            assert current.get() is outside, f"a limit was left behind at moment {moment} of {all_moments}"
            assert call() == text, f"after an interruption at moment {moment} of {all_moments}"
