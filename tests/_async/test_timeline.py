"""`response.timeline`: what happened when in a turn. Its picture is tested with the shared parts."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import pytest

import kova
from kova.testing import AsyncScriptedProvider, Delay, call, provider_error

pytestmark = pytest.mark.anyio

MOMENT = 0.02  # seconds


def agent(*answers: Any, **options: Any) -> kova.AsyncAgent:
    options = {"retry_config": kova.RetryConfig(initial_backoff=MOMENT)} | options
    return kova.AsyncAgent(AsyncScriptedProvider(*answers), **options)


async def run(of: kova.AsyncAgent, streamed: bool, **options: Any) -> kova.AgentResponse:
    if not streamed:
        return await of.run("go", **options)
    async with of.run_stream("go", **options) as stream:
        async for _ in stream:
            pass
        return stream.response


def look(city: str) -> str:
    """Look at the weather."""
    return f"rain in {city}"


def refuse() -> str:
    """Refuse."""
    raise kova.ToolError("not today")


def in_short(timeline: kova.Timeline) -> list[tuple[str, str, str | None, int | None]]:
    return [
        (entry.kind, entry.name, entry.error, entry.usage and entry.usage.total_tokens)  # type: ignore[misc]
        for entry in timeline
    ]


@pytest.mark.parametrize("streamed", [False, True])
async def test_every_call_of_a_turn_is_an_entry(streamed: bool) -> None:
    asking = [call("look", city="Oslo"), call("refuse"), kova.UsageStats(10, 5)]
    one = agent(asking, [Delay(MOMENT), "Rain.", kova.UsageStats(20, 3)], tools=[look, refuse])
    response = await run(one, streamed, config=kova.InferenceConfig(model="m"))
    timeline = response.timeline
    assert sorted(in_short(timeline)[1:3], key=str) == [("tool", "look", None, None), ("tool", "refuse", "error", None)]
    assert [in_short(timeline)[index] for index in (0, 3)] == [("model", "m", None, 15), ("model", "m", None, 23)]
    assert timeline.usage == response.usage
    first, *tools, last = timeline
    assert 0 <= first.start <= first.end
    assert all(first.end <= tool.start <= tool.end <= last.start for tool in tools)
    assert last.duration >= MOMENT
    assert timeline.duration == last.end
    assert (last.first_event is not None) == streamed


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_call_that_is_tried_again_tells_of_each_attempt(streamed: bool) -> None:
    """L7: retries do not make the responses of a turn differ, and neither does time."""
    script = [provider_error(429, "slow down"), kova.ConnectionError("gone"), "Hello"]
    (entry,) = (await run(agent(*script), streamed)).timeline
    assert [attempt.error for attempt in entry.attempts] == ["ProviderError 429", "ConnectionError", None]
    assert entry.error is None
    first, second, third = entry.attempts
    assert entry.start <= first.start <= first.end < second.start <= second.end < third.start <= third.end <= entry.end
    assert second.start - first.end >= MOMENT / 2  # the pause


@pytest.mark.async_tools
@pytest.mark.parametrize("streamed", [False, True])
async def test_an_agent_that_is_a_tool_has_its_entries_inside(streamed: bool) -> None:
    """L9: on the clock of the turn that called it, and counted once."""
    expert = agent([call("look", city="Oslo"), kova.UsageStats(1, 1)], ["Rain.", kova.UsageStats(2, 2)], tools=[look])
    boss = agent(
        [Delay(MOMENT), call("expert", message="Oslo?"), kova.UsageStats(4, 4)],
        ["It rains.", kova.UsageStats(8, 8)],
        tools=[expert.as_tool("expert", "Knows the weather.")],
    )
    response = await run(boss, streamed)
    tool = response.timeline[1]
    assert in_short(response.timeline)[1] == ("tool", "expert", None, 6)
    assert isinstance(tool.nested, kova.Timeline)
    assert in_short(tool.nested) == [("model", "", None, 2), ("tool", "look", None, None), ("model", "", None, 4)]
    assert tool.start >= MOMENT
    assert all(tool.start <= entry.start <= entry.end <= tool.end for entry in tool.nested)
    assert response.timeline.usage == response.usage == kova.UsageStats(15, 15)


@pytest.mark.parametrize("streamed", [False, True])
async def test_the_wait_for_an_approval_is_not_the_tools_time(streamed: bool) -> None:
    def approve(wanted: kova.ToolUseBlock, context: kova.ToolContext) -> kova.ApprovalDecision:
        context.cancel.wait(MOMENT)
        return kova.ApprovalDecision.APPROVED if wanted.input["city"] == "Oslo" else kova.ApprovalDecision.DENIED

    one = agent(call("look", city="Oslo"), call("look", city="Rome"), "done", tools=[look], approval_handler=approve)
    timeline = (await run(one, streamed)).timeline
    approved, denied = (entry for entry in timeline if entry.kind == "tool")
    assert approved.error is None
    assert denied.error == "error"
    assert all(entry.waited >= MOMENT * 0.9 for entry in (approved, denied))
    assert all(entry.waited <= entry.duration for entry in (approved, denied))


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_turn_that_failed_has_one_too(streamed: bool) -> None:
    """L10, S3: with classes of errors, and nothing that was said."""

    def broken() -> str:
        """Fail."""
        raise LookupError("the secret of the book")

    one = agent([call("look", city="Oslo"), kova.UsageStats(1, 1)], call("broken"), tools=[look, broken])
    with pytest.raises(kova.ToolExecutionError) as caught:
        await run(one, streamed)
    assert caught.value.partial is not None
    timeline = caught.value.partial.timeline
    assert in_short(timeline)[-1] == ("tool", "broken", "LookupError", None)
    assert len(timeline) == 4
    assert "secret" not in repr(timeline) + timeline.to_html() + timeline.to_svg()


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (provider_error(503, "the secret"), "ProviderError 503"),
        (Delay(math.inf), None),
        (["word", Delay(math.inf)], None),
    ],
    ids=["refused", "silent", "broken off"],
)
async def test_a_call_that_failed_says_why(answer: Any, error: str | None, streamed: bool) -> None:
    """L10: an answer that was cut off by the end of the turn's time is a failed call."""
    one = agent(answer, retry_config=kova.RetryConfig.disabled())
    with pytest.raises(kova.KovaError) as caught:
        await run(one, streamed, timeout=0.1)
    assert caught.value.partial is not None
    (entry,) = caught.value.partial.timeline
    assert entry.error in ((error,) if error else ("cancelled", "TimeoutError"))
    assert entry.attempts[-1].error == entry.error
    assert error or entry.duration >= 0.09


async def test_it_stays_with_the_response() -> None:
    """It is no part of what makes responses equal, and survives copies and pickles."""
    one = agent("Hello", "Hello")
    first, second = await one.run("go"), await one.run("go")
    assert first == second
    assert "log" not in repr(first)
    for twin in (copy.copy(first), copy.deepcopy(first), pickle.loads(pickle.dumps(first))):
        assert twin == first
        assert twin.timeline == first.timeline


async def test_tools_that_run_agents_themselves_may_hand_in_the_response() -> None:
    expert = agent(["Rain.", kova.UsageStats(2, 2)])

    class Ask(kova.Tool):
        """Asks the expert."""

        name = "ask"
        description = "Ask."

        async def execute(self, arguments: Any, context: kova.ToolContext) -> str:
            response = await expert.run("Oslo?", cancel=context.cancel)
            context.spend(response)
            context.spend(kova.UsageStats(1, 1))
            return response.text

    response = await agent(call("ask"), "done", tools=[Ask()]).run("go")
    assert response.usage == kova.UsageStats(3, 3)
    assert in_short(response.timeline)[1] == ("tool", "ask", None, 6)
    assert len(response.timeline[1].nested) == 1


async def test_orchestrations_have_timelines_of_their_agents() -> None:
    inner = kova.AsyncOrchestrator({"a": agent(["A", kova.UsageStats(1, 1)]), "b": agent(provider_error(400, "no"))})
    agents = {"team": inner.as_agent(kova.Parallel(["a", "b"])), "last": agent([Delay(MOMENT), "Z"])}
    output = await kova.AsyncOrchestrator(agents).execute(kova.Sequential(["team", "last"]), "go")
    assert in_short(output.timeline) == [("agent", "team", None, 2), ("agent", "last", None, None)]
    team, last = output.timeline
    assert isinstance(team.nested, kova.Timeline)
    assert sorted(in_short(team.nested)) == [("agent", "a", None, 2), ("agent", "b", "ProviderError 400", None)]
    assert [entry.kind for entry in last.nested] == ["model"]
    assert team.end <= last.start
    assert last.duration >= MOMENT
