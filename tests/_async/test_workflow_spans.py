"""An orchestration is one trace: a span of its own, and the turns of its agents below it."""

from __future__ import annotations

import pytest

import kova
from kova.testing import AsyncScriptedProvider, provider_error
from tests.spans import recorded

pytestmark = pytest.mark.anyio


def agent(name: str, *script: str | kova.KovaError) -> kova.AsyncAgent:
    return kova.AsyncAgent(AsyncScriptedProvider(*script), name=name)


def desk() -> tuple[kova.AsyncOrchestrator, kova.Router]:
    readers = kova.AsyncOrchestrator(
        {"facts": agent("facts", "True."), "style": agent("style", provider_error(400, "too long"))}
    )
    members = {"triage": agent("triage", "review"), "review": readers.as_agent(kova.Parallel(["facts", "style"]))}
    return kova.AsyncOrchestrator(members), kova.Router(router="triage", downstream=["review"])


@pytest.mark.parametrize("streamed", [False, True])
async def test_the_turns_of_all_agents_are_below_it(streamed: bool) -> None:
    """O3, and O2: in threads too."""
    orchestrator, pattern = desk()
    with recorded() as spans:
        if streamed:
            async with orchestrator.execute_stream(pattern, "Hi") as stream:
                async for _ in stream:
                    pass
        else:
            await orchestrator.execute(pattern, "Hi")
    assert spans.open == 0
    assert spans.edges() == [
        ("chat", "invoke_agent facts"),
        ("chat", "invoke_agent style"),
        ("chat", "invoke_agent triage"),
        ("invoke_agent facts", "invoke_workflow review"),
        ("invoke_agent style", "invoke_workflow review"),
        ("invoke_agent triage", "invoke_workflow"),
        ("invoke_workflow", ""),
        ("invoke_workflow review", "invoke_workflow"),
    ]
    assert spans.one("invoke_workflow").attributes == {
        "gen_ai.operation.name": "invoke_workflow",
        "status.description": None,
    }
    assert spans.one("invoke_workflow review").attributes["gen_ai.agent.name"] == "review"


async def test_what_ends_it_is_noted() -> None:
    """O3."""
    orchestrator = kova.AsyncOrchestrator({"editor": agent("editor", provider_error(401, "the secret key"))})
    with recorded() as spans:
        with pytest.raises(kova.ProviderError):
            await orchestrator.execute(kova.Sequential(["editor"]), "Hi")
    span = spans.one("invoke_workflow")
    assert (span.attributes["error.type"], span.attributes["http.response.status_code"]) == ("ProviderError", 401)
    assert span.attributes["status.description"] == "auth_invalid"


async def test_a_stream_that_is_left_early_leaves_no_span_open() -> None:
    """O2."""
    orchestrator, pattern = desk()
    with recorded() as spans:
        async with orchestrator.execute_stream(pattern, "Hi") as stream:
            async for _ in stream:
                break
    assert spans.open == 0
    assert len({span.trace_id for span in spans.all}) <= 1
