"""Whatever a model answers, a turn is the same streamed or not, and its messages are a history."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kova
from tests import server as play
from tests.server import Answer, ModelServer

pytestmark = pytest.mark.anyio

ARGUMENTS = st.one_of(
    st.fixed_dictionaries({"a": st.integers(), "b": st.integers()}),
    st.sampled_from([{"a": "one", "b": 2}, {}, {"a": 1, "b": 2, "c": 3}, '{"a": 1, "b"', "[1, 2]", "", "null"]),
)
CALLS = st.lists(st.tuples(st.sampled_from(["add", "fail", "nothing"]), ARGUMENTS), max_size=4)
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20)
USAGE = st.one_of(st.none(), st.just(play.USAGE))
FINISHES = st.sampled_from(["stop", "tool_calls", "length", "content_filter"])
ANSWERS = st.builds(
    lambda text, calls, finish, usage: play.message(text, tuple(calls), finish, usage), TEXTS, CALLS, FINISHES, USAGE
)
SCRIPTS = st.lists(ANSWERS, min_size=1, max_size=3)


@kova.tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@kova.tool
def fail(a: int = 0, b: int = 0) -> str:
    """Fail."""
    raise ValueError(f"{a}, {b}")


async def run(agent: kova.AsyncAgent) -> Any:
    try:
        return await agent.run("go")
    except kova.KovaError as error:
        return described(error)


async def run_stream(agent: kova.AsyncAgent) -> Any:
    try:
        async with agent.run_stream("go") as stream:
            async for _ in stream:
                pass
            return stream.response
    except kova.KovaError as error:
        return described(error)


def described(error: kova.KovaError) -> Any:
    if isinstance(error, (kova.ToolExecutionError, kova.ToolNotFoundError)):
        return "a tool", error.partial  # of several calls that fail at once, either may be the first
    return type(error), str(error), error.partial


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(script=SCRIPTS, errors=st.sampled_from(["raise", "report"]))
async def test_run_and_run_stream_give_the_same(script: list[Answer], errors: Any) -> None:
    """L7: equal responses, or equal errors with equal partials."""
    with ModelServer() as server:
        async with kova.AsyncOpenAICompatibleProvider("m", base_url=server.url) as model:
            agent = kova.AsyncAgent(model, tools=[add, fail], tool_errors=errors)
            server.always(play.text("That is all."))
            server.play(*script)
            plain = await run(agent)
            asked = len(server.exchanges)
            server.forget()
            server.play(*script)
            streamed = await run_stream(agent)
            assert len(server.exchanges) == 2 * asked
    assert streamed == plain
    if isinstance(plain, kova.AgentResponse):
        assert kova.check_history([kova.user_message("go"), *plain.new_messages]) == []
