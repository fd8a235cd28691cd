"""The loop: a model, tools, and what comes of them. Real sockets; the server says what each test plays."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import kova
from tests import server as play
from tests.async_tools import double
from tests.canary import KEY
from tests.server import Exchange, ModelServer

pytestmark = pytest.mark.anyio

QUICKLY = 1.5  # seconds: five times the 0.3 in which a cancelled turn must end


@kova.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def provider(server: ModelServer, **options: Any) -> kova.AsyncOpenAICompatibleProvider:
    return kova.AsyncOpenAICompatibleProvider("m", api_key=KEY, base_url=server.url, **options)


@contextlib.contextmanager
def released_at_the_end(event: threading.Event) -> Iterator[threading.Event]:
    """Lets a tool that waits for the event end with the test."""
    try:
        yield event
    finally:
        event.set()


# ---- answers


async def test_a_question_gets_its_answer(server: ModelServer) -> None:
    server.play(play.text("Hello there"))
    async with provider(server) as model:
        response = await kova.AsyncAgent(model, system_prompt="Be brief.").run("Hi")
    assert response.text == "Hello there"
    assert response.stop_reason is kova.StopReason.END_TURN
    assert response.new_messages == [kova.assistant_message("Hello there")]
    assert (response.usage.input_tokens, response.usage.output_tokens, response.last_input_tokens) == (7, 3, 7)
    assert (response.llm_calls, response.model) == (1, "m")
    assert [message["role"] for message in server.last.json()["messages"]] == ["system", "user"]


async def test_a_tool_is_called_and_its_result_goes_back(server: ModelServer) -> None:
    server.play(play.calls(("add", {"a": 2, "b": 3}), content="Let me see."), play.text("5"))
    async with provider(server) as model:
        response = await kova.AsyncAgent(model, tools=[add]).run("2 + 3?")
    assert response.text == "5"
    assert [message.role.value for message in response.new_messages] == ["assistant", "tool", "assistant"]
    assert response.new_messages[1] == kova.tool_message("call_0", "5")
    assert (response.llm_calls, response.usage.total_tokens) == (2, 20)
    assert server.last.json()["messages"][-1] == {"role": "tool", "tool_call_id": "call_0", "content": "5"}


async def test_a_history_goes_in_and_stays_as_it_was(server: ModelServer) -> None:
    server.play(play.text("Nice."))
    history = [kova.user_message("Hi"), kova.assistant_message("Hello"), kova.user_message("I am Ada")]
    before = list(history)
    async with provider(server) as model:
        response = await kova.AsyncAgent(model).run(history)
    assert history == before
    assert [m["content"] for m in server.last.json()["messages"]] == ["Hi", "Hello", "I am Ada"]
    assert response.new_messages == [kova.assistant_message("Nice.")]


@pytest.mark.parametrize("answer", ["", " ", "\n"])
async def test_an_answer_without_a_word_is_stored_in_a_form_that_providers_accept(
    server: ModelServer, answer: str
) -> None:
    """L12."""
    server.play(play.text(answer))
    async with provider(server) as model:
        response = await kova.AsyncAgent(model).run("Hi")
    assert response.text == answer
    assert kova.check_history([kova.user_message("Hi"), *response.new_messages]) == []


# ---- the rules of the loop


async def test_results_are_in_call_order_whatever_the_order_of_completion(server: ModelServer) -> None:
    """L1."""
    gates = [threading.Event() for _ in range(3)]
    finished: list[int] = []

    @kova.tool
    def wait_for_the_next(number: int) -> str:
        """Each call ends after the one that was called after it."""
        gates[number].wait(10)
        finished.append(number)
        if number:
            gates[number - 1].set()
        return f"result {number}"

    gates[2].set()
    server.play(play.calls(*[("wait_for_the_next", {"number": number}) for number in range(3)]), play.text("done"))
    async with provider(server) as model:
        response = await kova.AsyncAgent(model, tools=[wait_for_the_next]).run("go")
    assert finished == [2, 1, 0]
    assert response.new_messages[1:4] == [kova.tool_message(f"call_{n}", f"result {n}") for n in range(3)]


async def test_no_more_tools_than_permitted_run_at_once(server: ModelServer) -> None:
    """L1."""
    lock = threading.Lock()
    running, most = 0, 0

    @kova.tool
    def count() -> str:
        """Count how many run."""
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.02)
        with lock:
            running -= 1
        return "ok"

    server.play(play.calls(*[("count", {})] * 7), play.text("done"))
    async with provider(server) as model:
        response = await kova.AsyncAgent(model, tools=[count], max_concurrent_tools=3).run("go")
    assert len(response.new_messages) == 9
    assert most == 3


async def test_a_call_cut_off_by_the_token_limit_is_never_run(server: ModelServer) -> None:
    """L3: and the conversation goes on."""
    ran: list[int] = []

    @kova.tool
    def delete(path: str) -> str:
        """Delete a file."""
        ran.append(1)
        return "deleted"

    cut = play.message("Deleting.", (("delete", '{"path": "/tm'),), "length", play.USAGE)
    server.play(cut, play.text("Fine."))
    async with provider(server) as model:
        agent = kova.AsyncAgent(model, tools=[delete])
        first = await agent.run("clean up")
        history = [kova.user_message("clean up"), *first.new_messages, kova.user_message("never mind")]
        second = await agent.run(history)
    assert ran == []
    assert first.stop_reason is kova.StopReason.MAX_TOKENS
    assert first.new_messages == [kova.assistant_message("Deleting.")]
    assert second.text == "Fine."


async def test_complete_calls_before_a_cut_one_are_run(server: ModelServer) -> None:
    """L3."""
    wanted = (("add", {"a": 1, "b": 1}), ("add", '{"a": 1'))
    server.play(play.message("", wanted, "length", play.USAGE), play.text("2"))
    async with provider(server) as model:
        response = await kova.AsyncAgent(model, tools=[add]).run("1 + 1?")
    assert response.new_messages[1] == kova.tool_message("call_0", "2")
    assert (response.text, response.llm_calls) == ("2", 2)


async def test_run_and_run_stream_over_one_script_give_equal_responses(server: ModelServer) -> None:
    """L7: text before tool calls included."""
    script = (
        play.calls(("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4}), content="One moment."),
        play.calls(("add", {"a": 3, "b": 7})),
        play.text("It is 10."),
    )
    async with provider(server) as model:
        agent = kova.AsyncAgent(model, tools=[add])
        server.play(*script)
        plain = await agent.run("1 + 2 + 3 + 4?")
        server.play(*script)
        async with agent.run_stream("1 + 2 + 3 + 4?") as stream:
            events = [event async for event in stream]
    assert stream.response == plain
    assert events[-1] == kova.TurnCompleted(plain)
    assert "".join(event.text for event in events if isinstance(event, kova.TextDelta)) == "One moment.It is 10."


async def test_more_rounds_than_permitted_are_an_error(server: ModelServer) -> None:
    server.always(play.calls(("add", {"a": 1, "b": 1})))
    async with provider(server) as model:
        with pytest.raises(kova.MaxIterationsError) as caught:
            await kova.AsyncAgent(model, tools=[add], max_iterations=2).run("go")
    assert len(server.exchanges) == 3
    assert caught.value.partial is not None
    assert caught.value.partial.llm_calls == 3


async def test_the_last_permitted_call_may_answer(server: ModelServer) -> None:
    server.play(play.calls(("add", {"a": 1, "b": 1})), play.text("2"))
    async with provider(server) as model:
        response = await kova.AsyncAgent(model, tools=[add], max_iterations=1).run("go")
    assert response.text == "2"


async def test_without_iterations_a_call_is_an_error_at_once(server: ModelServer) -> None:
    server.play(play.calls(("add", {"a": 1, "b": 1})))
    async with provider(server) as model:
        with pytest.raises(kova.MaxIterationsError):
            await kova.AsyncAgent(model, tools=[add], max_iterations=0).run("go")


async def test_a_forced_tool_is_forced_in_the_first_call_only(server: ModelServer) -> None:
    server.play(play.calls(("add", {"a": 1, "b": 1})), play.text("2"))
    async with provider(server) as model:
        config = kova.InferenceConfig(tool_choice="required")
        await kova.AsyncAgent(model, tools=[add]).run("go", config=config)
    assert server.exchanges[0].json()["tool_choice"] == "required"
    assert "tool_choice" not in server.exchanges[1].json()


# ---- what tools do wrong


async def test_arguments_that_do_not_fit_go_back_to_the_model_and_siblings_run(server: ModelServer) -> None:
    """L2."""
    server.play(
        play.calls(("add", {"a": "one", "b": 2}), ("add", "{broken"), ("add", {"a": 1, "b": 2})), play.text("3")
    )
    async with provider(server) as model:
        response = await kova.AsyncAgent(model, tools=[add]).run("go")
    results = [message.content[0] for message in response.new_messages[1:4]]
    assert all(isinstance(result, kova.ToolResultBlock) for result in results)
    assert [getattr(result, "is_error", None) for result in results] == [True, True, False]
    assert "a:" in str(getattr(results[0], "content", ""))
    assert "not a JSON object" in str(getattr(results[1], "content", ""))


async def test_a_tool_error_goes_back_to_the_model(server: ModelServer) -> None:
    @kova.tool
    def find(city: str) -> str:
        """Find a city."""
        raise kova.ToolError("no such city")

    server.play(play.calls(("find", {"city": "Atlantis"})), play.text("It does not exist."))
    async with provider(server) as model:
        response = await kova.AsyncAgent(model, tools=[find]).run("go")
    assert response.new_messages[1] == kova.tool_message("call_0", "no such city", is_error=True)


async def test_an_exception_ends_the_turn_with_its_cause(server: ModelServer) -> None:
    @kova.tool
    def divide(a: int, b: int) -> float:
        """Divide."""
        return a / b

    server.play(play.calls(("divide", {"a": 1, "b": 0})))
    async with provider(server) as model:
        with pytest.raises(kova.ToolExecutionError, match="'divide' failed: ZeroDivisionError: division") as caught:
            await kova.AsyncAgent(model, tools=[divide]).run("go")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert caught.value.partial is not None
    assert caught.value.partial.usage.total_tokens == 10


async def test_an_exception_without_text_is_named(server: ModelServer) -> None:
    """L4."""

    @kova.tool
    def fail() -> None:
        """Fail."""
        raise ValueError

    server.play(play.calls(("fail", {})))
    async with provider(server) as model:
        with pytest.raises(kova.ToolExecutionError, match=r"ValueError: \(no message\)"):
            await kova.AsyncAgent(model, tools=[fail]).run("go")


async def test_reported_exceptions_and_unknown_tools_go_back_to_the_model(server: ModelServer) -> None:
    @kova.tool
    def fail() -> None:
        """Fail."""
        raise ValueError("bad")

    server.play(play.calls(("fail", {}), ("nothing", {})), play.text("sorry"))
    async with provider(server) as model:
        response = await kova.AsyncAgent(model, tools=[fail], tool_errors="report").run("go")
    assert response.new_messages[1] == kova.tool_message("call_0", "ValueError: bad", is_error=True)
    unknown = "there is no tool 'nothing'; the tools are: fail"
    assert response.new_messages[2] == kova.tool_message("call_1", unknown, is_error=True)


async def test_an_unknown_tool_ends_the_turn(server: ModelServer) -> None:
    server.play(play.calls(("nothing", {})))
    async with provider(server) as model:
        with pytest.raises(kova.ToolNotFoundError, match="nothing"):
            await kova.AsyncAgent(model, tools=[add]).run("go")


async def test_a_failing_tool_stops_its_siblings_before_the_error_is_raised(server: ModelServer) -> None:
    """L4."""
    started, stopped = threading.Event(), threading.Event()

    @kova.tool
    def wait(context: kova.ToolContext) -> None:
        """Wait until told to stop."""
        started.set()
        context.cancel.wait(10)
        stopped.set()

    @kova.tool
    def fail() -> None:
        """Fail when the other has started."""
        started.wait(10)
        raise ValueError("bad")

    server.play(play.calls(("wait", {}), ("fail", {})))
    async with provider(server) as model:
        with pytest.raises(kova.ToolExecutionError, match="bad"):
            await kova.AsyncAgent(model, tools=[wait, fail]).run("go")
    assert stopped.is_set()


async def test_a_tool_that_takes_too_long_tells_the_model(server: ModelServer) -> None:
    with released_at_the_end(threading.Event()) as release:

        @kova.tool(timeout=0.05)
        def wait() -> None:
            """Wait."""
            release.wait(30)

        server.play(play.calls(("wait", {})), play.text("too slow"))
        async with provider(server) as model:
            response = await kova.AsyncAgent(model, tools=[wait]).run("go")
    assert response.new_messages[1] == kova.tool_message("call_0", "wait timed out after 0.05 s", is_error=True)


async def test_a_tool_gets_its_context(server: ModelServer) -> None:
    seen: list[kova.ToolContext] = []

    @kova.tool
    def look(context: kova.ToolContext) -> str:
        """Look at the context."""
        seen.append(context)
        return "ok"

    server.play(play.calls(("look", {})), play.text("done"))
    async with provider(server) as model:
        await kova.AsyncAgent(model, tools=[look]).run("go", state={"user": 7}, timeout=60)
    remaining = seen[0].remaining()
    assert (seen[0].tool_name, seen[0].tool_use_id, seen[0].state) == ("look", "call_0", {"user": 7})
    assert remaining is not None
    assert 30 < remaining <= 60


@pytest.mark.async_tools
async def test_async_tools_work_in_both_twins(server: ModelServer) -> None:
    server.play(
        play.calls(("double", {"n": 4}), ("double", {"n": 5})), play.calls(("double", {"n": 6})), play.text("done")
    )
    async with provider(server) as model:
        response = await kova.AsyncAgent(model, tools=[double]).run("go")
    results = [message for message in response.new_messages if message.role is kova.Role.TOOL]
    assert results == [
        kova.tool_message("call_0", "8"),
        kova.tool_message("call_1", "10"),
        kova.tool_message("call_0_2", "12"),  # ids are unique in a conversation, whatever the server gives
    ]


# ---- streams


async def test_events_come_in_order(server: ModelServer) -> None:
    server.play(play.calls(("add", {"a": 1, "b": 2}), content="Wait."), play.text("It is 3."))
    async with provider(server) as model, kova.AsyncAgent(model, tools=[add]).run_stream("1 + 2?") as stream:
        events = [event async for event in stream]
    assert events[:3] == [
        kova.TextDelta("Wait."),
        kova.ToolCallStarted("call_0", "add", {"a": 1, "b": 2}),
        kova.ToolCallFinished("call_0", "add", "3", False),
    ]
    assert [event.text for event in events[3:-1] if isinstance(event, kova.TextDelta)] == ["It ", "is ", "3."]
    assert isinstance(events[-1], kova.TurnCompleted)


async def test_the_first_event_is_there_before_the_second_is_sent(server: ModelServer) -> None:
    """T7."""
    received = threading.Event()

    def answer(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.send_delta({"content": "first"})
        assert received.wait(10), "the client did not hand over the first event"
        exchange.send_delta({"content": "second"}, "stop")
        exchange.end_stream()

    server.play(answer)
    async with provider(server) as model, kova.AsyncAgent(model).run_stream("Hi") as stream:
        texts = []
        async for text in stream.text_deltas():
            texts.append(text)
            received.set()
    assert texts == ["first", "second"]


async def test_a_finished_call_is_announced_while_another_still_runs(server: ModelServer) -> None:
    announced = threading.Event()

    @kova.tool
    def slow() -> str:
        """End only after the other call was announced."""
        return "seen" if announced.wait(10) else "the other call was not announced in time"

    @kova.tool
    def fast() -> str:
        """End at once."""
        return "ok"

    server.play(play.calls(("slow", {}), ("fast", {})), play.text("done"))
    results = {}
    async with provider(server) as model, kova.AsyncAgent(model, tools=[slow, fast]).run_stream("go") as stream:
        async for event in stream:
            if isinstance(event, kova.ToolCallFinished):
                results[event.name] = event.result
                announced.set()
    assert list(results.items()) == [("fast", "ok"), ("slow", "seen")]


async def test_leaving_the_block_closes_the_connection(server: ModelServer) -> None:
    """T11."""
    gone = threading.Event()

    def answer(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.send_delta({"content": "first"})
        if exchange.wait_for_disconnect():
            gone.set()

    server.play(answer)
    async with provider(server) as model:
        async with kova.AsyncAgent(model).run_stream("Hi") as stream:
            async for _ in stream:
                break
        assert gone.wait(5)


async def test_leaving_the_block_stops_running_tools(server: ModelServer) -> None:
    stopped = threading.Event()

    @kova.tool
    def wait(context: kova.ToolContext) -> None:
        """Wait until told to stop."""
        context.cancel.wait(10)
        stopped.set()

    server.play(play.calls(("wait", {}), ("add", {"a": 1, "b": 2})))
    async with provider(server) as model, kova.AsyncAgent(model, tools=[wait, add]).run_stream("go") as stream:
        async for event in stream:
            if isinstance(event, kova.ToolCallFinished):
                break
    assert stopped.is_set()


async def test_iterating_outside_a_block_raises_at_once(server: ModelServer) -> None:
    """T11."""
    async with provider(server) as model:
        stream = kova.AsyncAgent(model).run_stream("Hi")
        with pytest.raises(kova.StreamError, match="with block"):
            async for _ in stream:
                pass
    assert server.exchanges == []


async def test_an_exception_in_the_block_comes_out_as_it_is(server: ModelServer) -> None:
    server.play(play.text("Hello there"))
    async with provider(server) as model:
        with pytest.raises(KeyError, match="mine"):
            async with kova.AsyncAgent(model).run_stream("Hi") as stream:
                async for _ in stream:
                    raise KeyError("mine")


async def test_the_response_is_known_only_at_the_end(server: ModelServer) -> None:
    server.play(play.text("Hello there"))
    async with provider(server) as model, kova.AsyncAgent(model).run_stream("Hi") as stream:
        with pytest.raises(kova.StreamError, match="not over"):
            _ = stream.response
        async for _ in stream:
            pass
        assert stream.response.text == "Hello there"


# ---- limits


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("where", ["headers", "stream", "tool"])
async def test_a_token_ends_a_turn_wherever_it_is(server: ModelServer, where: str, streamed: bool) -> None:
    """T12."""
    await end_a_turn(server, where, streamed, cancel=kova.CancellationToken())


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("where", ["headers", "stream", "tool"])
async def test_a_timeout_ends_a_turn_wherever_it_is(server: ModelServer, where: str, streamed: bool) -> None:
    """L11."""
    await end_a_turn(server, where, streamed, timeout=0.3)


async def end_a_turn(
    server: ModelServer,
    where: str,
    streamed: bool,
    cancel: kova.CancellationToken | None = None,
    timeout: float | None = None,
) -> None:
    reached = threading.Event()
    gone = threading.Event()

    def silent(exchange: Exchange) -> None:
        if where == "stream":
            exchange.start_stream()
            exchange.send_delta({"content": "first"})
        reached.set()
        if exchange.wait_for_disconnect():
            gone.set()

    with released_at_the_end(threading.Event()) as release:

        @kova.tool
        def block() -> None:
            """Block for long."""
            reached.set()
            release.wait(30)

        server.play(play.calls(("block", {})) if where == "tool" else silent, play.text("again"))
        async with provider(server) as model:
            agent = kova.AsyncAgent(model, tools=[block])
            if cancel is not None:
                threading.Thread(target=lambda: reached.wait(10) and cancel.cancel("enough")).start()
            start = time.monotonic()
            with pytest.raises((kova.TurnCancelledError, kova.TimeoutError)) as caught:
                if streamed:
                    async with agent.run_stream("go", cancel=cancel, timeout=timeout) as stream:
                        async for _ in stream:
                            pass
                else:
                    await agent.run("go", cancel=cancel, timeout=timeout)
            assert time.monotonic() - start < QUICKLY
            assert isinstance(caught.value, kova.TurnCancelledError if cancel else kova.TimeoutError)
            assert caught.value.partial is not None
            assert not caught.value.is_retryable
            assert where == "tool" or gone.wait(5)
            assert (await agent.run("and now?")).text == "again"  # the connections are still good


# ---- arguments


async def test_wrong_arguments_of_a_call_are_refused_before_anything_is_sent(server: ModelServer) -> None:
    async with provider(server) as model:
        agent = kova.AsyncAgent(model)
        with pytest.raises(ValueError, match="messages is empty"):
            await agent.run([])
        with pytest.raises(TypeError, match=r"messages\[1\] must be a ConversationMessage, not str"):
            await agent.run([kova.user_message("Hi"), "you"])  # type: ignore[list-item]
        with pytest.raises(TypeError, match="messages must be"):
            await agent.run(7)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="config must be"):
            await agent.run("Hi", config={"temperature": 1})  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="timeout must be"):
            await agent.run("Hi", timeout=-1)
    assert server.exchanges == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"provider": "gpt-5"}, "provider must be one of openai:MODEL"),
        ({"provider": "nowhere:m"}, "provider must be one of"),
        ({"provider": None}, "provider must be"),
        ({"provider": "openai:gpt-5"}, "OPENAI_API_KEY"),
        ({"tools": [add, add]}, "two tools are named 'add'"),
        ({"tools": add}, "tools must be"),
        ({"tools": [7]}, "tools"),
        ({"max_iterations": -1}, "max_iterations must be"),
        ({"max_concurrent_tools": 0}, "max_concurrent_tools must be"),
        ({"tool_errors": "ignore"}, "tool_errors must be"),
        ({"system_prompt": 7}, "system_prompt must be"),
        ({"inference_config": {}}, "inference_config must be"),
        ({"tool_registry": {}}, "tool_registry must be"),
    ],
)
async def test_each_mistake_in_the_constructor_is_named(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch, arguments: dict[str, Any], message: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(kova.BuildError, match=message):
        kova.AsyncAgent(**{"provider": provider(server), **arguments})
