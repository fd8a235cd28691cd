"""Several agents together: what each is asked, what comes out, and what is kept apart."""

from __future__ import annotations

from typing import Any

import pytest

import kova
from kova.testing import AsyncScriptedProvider, call, provider_error
from tests.observe import failing_agents

pytestmark = pytest.mark.anyio


def agent(*answers: Any, **options: Any) -> kova.AsyncAgent:
    options = {"retry_config": kova.RetryConfig.disabled()} | options
    return kova.AsyncAgent(AsyncScriptedProvider(*answers), **options)


def asked(of: kova.AsyncAgent) -> list[list[str]]:
    """The texts of each request that the agent's model has got."""
    provider: Any = of._provider
    return [
        [block.text for message in request.messages for block in message.content if isinstance(block, kova.TextBlock)]
        for request in provider.requests
    ]


async def carry_out(
    orchestrator: kova.AsyncOrchestrator, pattern: Any, text: str, streamed: bool, **options: Any
) -> Any:
    if not streamed:
        return await orchestrator.execute(pattern, text, **options)
    async with orchestrator.execute_stream(pattern, text, **options) as stream:
        async for _ in stream:
            pass
        return stream.output


# ---- the patterns


@pytest.mark.parametrize("streamed", [False, True])
async def test_each_output_feeds_the_next(streamed: bool) -> None:
    agents = {
        "writer": agent(["A draft.", kova.UsageStats(10, 5)]),
        "editor": agent(["A better draft.", kova.UsageStats(20, 6)], ["The text.", kova.UsageStats(30, 7)]),
    }
    pattern = kova.Sequential(["writer", "editor", "editor"])
    output = await carry_out(kova.AsyncOrchestrator(agents), pattern, "Write.", streamed)
    assert isinstance(output, kova.SingleOutput)
    assert output.text == "The text."
    assert [response.text for response in output.responses] == ["A draft.", "A better draft.", "The text."]
    assert output.usage == kova.UsageStats(60, 18)
    assert asked(agents["writer"]) == [["Write."]]
    assert asked(agents["editor"]) == [["A draft."], ["A better draft."]]


@pytest.mark.parametrize("streamed", [False, True])
async def test_all_get_the_same_input_and_a_failure_is_a_value(streamed: bool) -> None:
    """O1: it stands under the agent's name, stops nobody, and is nobody's input."""

    def broken() -> str:
        """Fail."""
        raise ValueError("no such book")

    agents = {
        "one": agent(["One.", kova.UsageStats(10, 5)]),
        "refused": agent(provider_error(400, "not like this")),
        "broken": agent([call("broken"), kova.UsageStats(7, 3)], tools=[broken]),
        "two": agent(["Two.", kova.UsageStats(20, 6)]),
    }
    output = await carry_out(kova.AsyncOrchestrator(agents), kova.Parallel([*agents]), "Say.", streamed)
    assert isinstance(output, kova.ParallelOutput)
    assert {name: response.text for name, response in output.successes.items()} == {"one": "One.", "two": "Two."}
    assert {name: type(error) for name, error in output.failures.items()} == {
        "refused": kova.ProviderError,
        "broken": kova.ToolExecutionError,
    }
    assert output.usage == kova.UsageStats(37, 14)
    assert all(asked(each)[0] == ["Say."] for each in agents.values())


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("word", ["billing", "  Billing\n", '"BILLING"', "`billing`", "« billing »"])
async def test_the_router_names_who_gets_the_original_input(word: str, streamed: bool) -> None:
    agents = {
        "router": agent([word, kova.UsageStats(1, 1)]),
        "sales": agent(),
        "billing": agent(["You owe us nothing.", kova.UsageStats(2, 2)]),
    }
    pattern = kova.Router(router="router", downstream=["sales", "billing"])
    output = await carry_out(kova.AsyncOrchestrator(agents), pattern, "What do I owe?", streamed)
    assert output.text == "You owe us nothing."
    assert [response.text for response in output.responses] == [word, "You owe us nothing."]
    assert output.usage == kova.UsageStats(3, 3)
    assert asked(agents["billing"]) == [["What do I owe?"]]


@pytest.mark.parametrize("word", ["none", "billing and sales", "", "bill"])
async def test_a_router_that_names_nobody_is_an_error_that_lists_the_names(word: str) -> None:
    """L10: what the router said, and what it cost, is in the error's partial."""
    agents = {"router": agent([word, kova.UsageStats(1, 1)]), "sales": agent(), "billing": agent()}
    with pytest.raises(kova.OrchestrationError, match="'sales', 'billing'") as caught:
        await kova.AsyncOrchestrator(agents).execute(kova.Router("router", ["sales", "billing"]), "Hm?")
    assert caught.value.partial is not None
    assert caught.value.partial.usage == kova.UsageStats(1, 1)
    assert [message.role for message in caught.value.partial.messages] == [kova.Role.ASSISTANT]


async def test_a_failure_ends_a_sequence_with_what_there_was() -> None:
    """L10, O1: the next agent is not asked about an error."""
    agents = {
        "first": agent(["Well.", kova.UsageStats(10, 5)]),
        "second": agent(provider_error(401, "who are you?")),
        "third": agent(),
    }
    with pytest.raises(kova.ProviderError, match="who are you") as caught:
        await kova.AsyncOrchestrator(agents).execute(kova.Sequential(["first", "second", "third"]), "go")
    assert caught.value.partial is not None
    assert (caught.value.partial.usage, caught.value.partial.llm_calls) == (kova.UsageStats(10, 5), 2)
    assert caught.value.partial.messages == [kova.assistant_message("Well.")]
    assert failing_agents(caught.value) == ["second"]
    assert asked(agents["third"]) == []


async def test_an_agent_without_an_answer_has_nothing_to_hand_on() -> None:
    """L12."""
    agents = {"first": agent(""), "second": agent()}
    with pytest.raises(kova.OrchestrationError, match="'second' has nothing to go on from"):
        await kova.AsyncOrchestrator(agents).execute(kova.Sequential(["first", "second"]), "go")


async def test_a_message_with_an_image_and_the_callers_state_reach_every_agent() -> None:
    def who(context: kova.ToolContext) -> str:
        """Say who asks."""
        return str(context.state)

    agents = {"a": agent(call("who"), "done", tools=[who]), "b": agent(call("who"), "done", tools=[who])}
    message = kova.user_message("What is it?", kova.ImageBlock(media_type="image/png", data=b"png"))
    output = await kova.AsyncOrchestrator(agents).execute(kova.Parallel(["a", "b"]), message, state="Ada")
    for name, each in agents.items():
        provider: Any = each._provider
        assert provider.requests[0].messages == (message,)
        assert output.successes[name].new_messages[1] == kova.tool_message("call_1", "Ada")


# ---- isolation and namespaces


@pytest.mark.parametrize("streamed", [False, True])
async def test_executions_know_nothing_of_each_other_unless_they_share_a_namespace(streamed: bool) -> None:
    store = kova.AsyncInMemoryStore()
    agents = {"a": agent(*["text"] * 6, memory=store), "b": agent(*["text"] * 6, memory=store)}
    orchestrator = kova.AsyncOrchestrator(agents)
    pattern = kova.Sequential(["a", "b"])
    await carry_out(orchestrator, pattern, "alone", streamed)
    await carry_out(orchestrator, pattern, "alone too", streamed)
    assert asked(agents["a"]) == [["alone"], ["alone too"]]
    assert await store.list_conversations() == []

    await carry_out(orchestrator, pattern, "first", streamed, namespace="Ada")
    await carry_out(orchestrator, pattern, "other", streamed, namespace="Grace")
    await carry_out(orchestrator, pattern, "second", streamed, namespace="Ada")
    assert asked(agents["a"])[2:] == [["first"], ["other"], ["first", "text", "second"]]
    assert sorted(await store.list_conversations()) == ["Ada/a", "Ada/b", "Grace/a", "Grace/b"]


async def test_approvals_of_one_namespace_are_not_those_of_another() -> None:
    """S1."""
    answers: list[str] = []

    def approve(wanted: kova.ToolUseBlock, context: kova.ToolContext) -> kova.ApprovalDecision:
        answers.append(context.tool_use_id)
        return kova.ApprovalDecision.APPROVED_FOR_SESSION

    def act() -> str:
        """Act."""
        return "done"

    one = agent(*[call("act"), "done"] * 5, tools=[act], approval_handler=approve)
    orchestrator = kova.AsyncOrchestrator({"one": one})
    asked_for = []
    for namespace in ("Ada", "Ada", "Grace", None, None):
        before = len(answers)
        await orchestrator.execute(kova.Sequential(["one"]), "go", namespace=namespace)
        asked_for.append(len(answers) - before)
    assert asked_for == [1, 0, 1, 1, 1]


# ---- nesting


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_pattern_stands_in_the_place_of_an_agent(streamed: bool) -> None:
    """O1: what failed inside is a value in the output, and not in the text that the next agent gets."""
    readers = {
        "facts": agent(["True.", kova.UsageStats(1, 1)]),
        "style": agent(["Stiff.", kova.UsageStats(2, 2)]),
        "law": agent(provider_error(400, "not allowed to say")),
    }
    team = kova.AsyncOrchestrator(readers).as_agent(kova.Parallel([*readers]))
    agents = {"review": team, "writer": agent(["Done.", kova.UsageStats(4, 4)])}
    store = kova.AsyncInMemoryStore()
    readers["facts"]._memory = store
    output = await carry_out(
        kova.AsyncOrchestrator(agents), kova.Sequential(["review", "writer"]), "Read.", streamed, namespace="n"
    )
    review = output.responses[0]
    assert isinstance(review, kova.OrchestratedResponse)
    assert review.text == "## facts\n\nTrue.\n\n## style\n\nStiff."
    assert isinstance(review.output, kova.ParallelOutput)
    assert review.output.failures.keys() == {"law"}
    assert asked(agents["writer"]) == [[review.text]]  # type: ignore[arg-type]
    assert (output.text, output.usage) == ("Done.", kova.UsageStats(7, 7))
    assert await store.list_conversations() == ["n/review/facts"]


async def test_nothing_but_failures_is_a_failure_of_the_pattern_in_an_agents_place() -> None:
    """O1."""
    team = kova.AsyncOrchestrator({"a": agent(provider_error(400, "private"))}).as_agent(kova.Parallel(["a"]))
    output = await kova.AsyncOrchestrator({"team": team}).execute(kova.Parallel(["team"]), "go")
    error = output.failures["team"]
    assert isinstance(error, kova.OrchestrationError)
    assert "'a' (ProviderError)" in str(error)
    assert "private" not in str(error)


@pytest.mark.async_tools
async def test_a_pattern_as_a_tool_counts_into_the_turn() -> None:
    agents = {"writer": agent(["Draft.", kova.UsageStats(1, 1)]), "editor": agent(["Text.", kova.UsageStats(2, 2)])}
    pattern = kova.AsyncOrchestrator(agents).as_agent(kova.Sequential(["writer", "editor"]))
    boss = agent(
        [call("office", message="Write."), kova.UsageStats(4, 4)],
        ["There.", kova.UsageStats(8, 8)],
        tools=[pattern.as_tool("office", "Writes.")],
    )
    response = await boss.run("go")
    assert response.new_messages[1] == kova.tool_message("call_1", "Text.")
    assert response.usage == kova.UsageStats(15, 15)
    assert [entry.name for entry in response.timeline[1].nested] == ["writer", "editor"]


async def test_a_pattern_in_an_agents_place_answers_alone_too() -> None:
    agents = {"writer": agent(["Draft.", kova.UsageStats(1, 1)]), "editor": agent("Text.")}
    pattern = kova.AsyncOrchestrator(agents).as_agent(kova.Sequential(["writer", "editor"]))
    response = await pattern.run("go")
    assert (response.text, response.llm_calls, response.usage.total_tokens) == ("Text.", 2, 2)
    assert response.new_messages == [kova.assistant_message("Text.")]
