# pyright: strict
# ruff: noqa: T201
"""How users let several agents work together in async code, and look at timelines; type checkers must understand it."""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

import kova

writer = kova.AsyncAgent("openai:gpt-5", system_prompt="Write.")
editor = kova.AsyncAgent("openai:gpt-5", system_prompt="Edit.")
orchestrator = kova.AsyncOrchestrator({"writer": writer, "editor": editor}, timeout=60)
team = orchestrator.as_agent(kova.Sequential(["writer", "editor"]))
office = kova.AsyncOrchestrator({"team": team, "editor": editor}, timeout=None)
PATTERN: kova.Pattern = kova.Parallel(["writer", "editor"])


async def execute() -> None:
    single = await orchestrator.execute(kova.Sequential(["writer", "editor"]), "Write.", namespace="user 1")
    assert_type(single, kova.SingleOutput)
    assert_type(single.text, str)
    assert_type(single.usage, kova.UsageStats)
    routed = await orchestrator.execute(kova.Router(router="editor", downstream=["writer"]), kova.user_message("Hi"))
    assert_type(routed.responses, tuple[kova.AgentResponse, ...])
    parallel = await orchestrator.execute(
        kova.Parallel(agents=["writer", "editor"]), "Hi", cancel=kova.CancellationToken(), state={"user": 1}
    )
    assert_type(parallel.successes, dict[str, kova.AgentResponse])
    assert_type(parallel.failures, dict[str, Exception])
    response = await team.run("Write.", timeout=30)
    assert_type(response, kova.OrchestratedResponse)
    assert_type(response.output, kova.SingleOutput | kova.ParallelOutput)
    assert_type(office.to_mermaid(PATTERN), str)
    boss = kova.AsyncAgent("openai:gpt-5", tools=[team.as_tool("team", "Writes texts.")])
    await boss.run("Hi")


async def watch() -> str:
    async with orchestrator.execute_stream(kova.Sequential(["writer"]), "Write.") as stream:
        assert_type(stream, kova.AsyncOrchestrationStream[kova.SingleOutput])
        async for event in stream:
            match event:
                case kova.AgentStarted(path=path):
                    assert_type(path, tuple[str, ...])
                case kova.AgentProgress(path=("writer",), event=kova.TextDelta(text=text)):
                    print(text)
                case kova.AgentProgress():
                    pass
                case kova.AgentFinished(response=response, error=error):
                    assert_type(response, kova.AgentResponse | None)
                    assert_type(error, Exception | None)
                case kova.OrchestrationCompleted(output=output):
                    assert_type(output, kova.SingleOutput | kova.ParallelOutput)
        return stream.output.text


async def collect(stream: kova.AsyncOrchestrationStream[kova.ParallelOutput]) -> list[kova.OrchestrationEvent]:
    async with stream:
        events = [event async for event in stream]
    assert_type(stream.output.failures, dict[str, Exception])
    return events


async def look() -> None:
    response = await writer.run("Hi")
    timeline: kova.Timeline = response.timeline
    for entry in timeline:
        assert_type(entry, kova.TimelineEntry)
        print(entry.kind, entry.name, entry.duration, entry.error)
        assert_type(entry.usage, kova.UsageStats | None)
        assert_type(entry.attempts, tuple[kova.TimelineAttempt, ...])
        assert_type([inner.name for inner in entry.nested], list[str])
    timeline.save(Path("turn.html"), title="A turn")
    assert_type(timeline.to_svg(width=700) + timeline.to_html(), str)
    try:
        await writer.run("Hi", timeout=1)
    except kova.KovaError as error:
        if error.partial is not None:
            assert_type(error.partial.timeline.duration, float)
