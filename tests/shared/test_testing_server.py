"""The model server for tests: scripts over a real socket, and what it costs to import all that."""

from __future__ import annotations

import math
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kova
import kova.testing
from kova.testing import Answer, Delay, Exchange, ModelServer, Part, ScriptedProvider, call, provider_error
from tests.canary import KEY

HI = [kova.user_message("Hi")]


@kova.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
def provider(server: ModelServer) -> Iterator[kova.OpenAICompatibleProvider]:
    with kova.OpenAICompatibleProvider("m", api_key=KEY, base_url=server.url, timeout=5.0) as made:
        yield made


def streamed(provider: Any) -> kova.ModelResponse:
    with provider.chat_completion_stream(HI) as stream:
        for _ in stream:
            pass
        response: kova.ModelResponse = stream.response
    return response


def both_ways(provider: kova.OpenAICompatibleProvider) -> list[Callable[[], kova.ModelResponse]]:
    return [lambda: provider.chat_completion(HI), lambda: streamed(provider)]


# ---- answers


def test_an_agent_runs_on_a_script(server: ModelServer, provider: kova.OpenAICompatibleProvider) -> None:
    server.play(["Let me see.", call("add", a=1, b=2)], ["It is 3.", kova.UsageStats(7, 3)])
    response = kova.Agent(provider, tools=[add]).run("1 + 2?")
    assert (response.text, response.model, response.usage.total_tokens) == ("It is 3.", "m", 10)
    assert response.new_messages[1] == kova.tool_message("call_1", "3")
    server.assert_used_up()


def test_the_server_may_be_given_its_script_at_once() -> None:
    with ModelServer("Hello") as server, kova.OpenAICompatibleProvider("m", base_url=server.url) as provider:
        assert provider.chat_completion(HI).text == "Hello"


def test_a_stream_comes_in_words(server: ModelServer, provider: kova.OpenAICompatibleProvider) -> None:
    server.play("It is 3.")
    with kova.Agent(provider).run_stream("1 + 2?") as stream:
        assert list(stream.text_deltas()) == ["It ", "is ", "3."]


def test_requests_and_connections_are_recorded(server: ModelServer, provider: kova.OpenAICompatibleProvider) -> None:
    server.always("Hello")
    for _ in range(2):
        provider.chat_completion(HI)
    (first, _) = server.requests
    assert (first.method, first.target, first.path) == ("POST", "/v1/chat/completions", "/v1/chat/completions")
    assert first.headers["authorization"] == f"Bearer {KEY}"
    assert first.json()["messages"] == [{"role": "user", "content": "Hi"}]
    assert server.connections == 1


def test_models_are_listed_beside_the_script() -> None:
    models = [kova.ModelInfo("a", 1, "me"), kova.ModelInfo("b", raw={"context": 8})]
    with ModelServer("Hello", models=models) as server:
        with kova.OpenAICompatibleProvider("a", base_url=server.url) as provider:
            listed = provider.list_models()
            assert [(info.id, info.created, info.owned_by) for info in listed] == [("a", 1, "me"), ("b", None, None)]
            assert listed[1].raw["context"] == 8
            assert provider.chat_completion(HI).text == "Hello"
        assert [exchange.method for exchange in server.requests] == ["GET", "POST"]


def test_a_server_answers_at_any_path(server: ModelServer) -> None:
    server.play("Hello")
    with kova.OpenAICompatibleProvider("m", base_url=server.url, chat_completions_path="/my/gateway") as provider:
        assert provider.chat_completion(HI).text == "Hello"
    assert server.requests[0].path == "/my/gateway"


TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
COUNTS = st.none() | st.integers(0, 1000)
USAGE = st.builds(kova.UsageStats, st.integers(0, 1000), COUNTS, cache_read_tokens=COUNTS, cache_creation_tokens=COUNTS)
REASONS = [reason for reason in kova.StopReason if reason is not kova.StopReason.PAUSE_TURN]  # OpenAI has none
ANSWERS = st.builds(
    lambda thinking, texts, calls, usage, reason: [*thinking, *texts, *calls, *usage, *reason],
    st.lists(st.builds(kova.ThinkingDelta, TEXTS), max_size=2),
    st.lists(TEXTS, max_size=2),
    st.lists(st.builds(call, st.just("add"), st.dictionaries(TEXTS, st.integers()) | TEXTS), max_size=3),
    st.lists(USAGE, max_size=1),
    st.lists(st.sampled_from(REASONS), max_size=1),
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(answer=ANSWERS)
def test_what_is_scripted_comes_out_of_the_socket(
    server: ModelServer, provider: kova.OpenAICompatibleProvider, answer: list[Any]
) -> None:
    """The same as without a network, streamed and complete; only the model and the API's own words are added."""
    scripted = ScriptedProvider(answer).chat_completion(HI)
    server.play(answer, answer)
    for response in (provider.chat_completion(HI), streamed(provider)):
        assert (response.content, response.thinking) == (scripted.content, scripted.thinking)
        assert (response.stop_reason, response.usage) == (scripted.stop_reason, scripted.usage)


# ---- functions as answers


def test_a_function_sees_the_request_and_gives_an_answer(
    server: ModelServer, provider: kova.OpenAICompatibleProvider
) -> None:
    server.always(lambda exchange: f"You said {exchange.json()['messages'][-1]['content']!r}.")
    assert kova.Agent(provider).run("Hi").text == "You said 'Hi'."


def test_a_generator_is_sent_as_it_comes(server: ModelServer, provider: kova.OpenAICompatibleProvider) -> None:
    """T7."""
    received = threading.Event()

    def answer(exchange: Exchange) -> Iterator[Part]:
        yield "first "
        assert received.wait(10), "the client did not hand over the first event"
        yield "second"

    server.play(answer)
    texts = []
    with kova.Agent(provider).run_stream("Hi") as stream:
        for text in stream.text_deltas():
            texts.append(text)
            received.set()
    assert texts == ["first ", "second"]


def test_a_function_may_write_every_byte(server: ModelServer, provider: kova.OpenAICompatibleProvider) -> None:
    def odd(exchange: Exchange) -> None:
        exchange.start_chunks()
        exchange.send_chunk(b'data: {"choices": [{"index": 0, "delta": {"content": "Hel')
        exchange.send_chunk(b'lo"}, "finish_reason": "stop"}]}\n\n')
        exchange.send_raw(b"7\r\ndata: [\r\n8\r\nDONE]\n\n\n\r\n")
        exchange.end_chunks()

    server.play(odd, lambda exchange: exchange.send_raw(b"HTTP/1.1 200\r\ncontent-length: 2\r\n\r\n[]"))
    assert streamed(provider).text == "Hello"
    with pytest.raises(kova.ProviderError):
        provider.chat_completion(HI)


def test_what_a_function_raises_comes_out_of_the_block() -> None:
    def broken(exchange: Exchange) -> str:
        raise ZeroDivisionError("in the test")

    with pytest.raises(ZeroDivisionError, match="in the test"), ModelServer(broken) as server:
        with kova.OpenAICompatibleProvider("m", base_url=server.url) as provider:
            with pytest.raises(kova.ProviderError, match="ZeroDivisionError: in the test") as caught:
                provider.chat_completion(HI)
        assert not caught.value.is_retryable


def test_the_error_of_the_block_goes_before_those_of_functions() -> None:
    with pytest.raises(kova.ProviderError, match="no answer"), ModelServer() as server:
        with kova.OpenAICompatibleProvider("m", base_url=server.url) as provider:
            provider.chat_completion(HI)


# ---- faults

CLASSES = [*kova.ProviderErrorClass]


@pytest.mark.parametrize("kind", CLASSES)
def test_errors_of_the_api_have_their_class(
    server: ModelServer, provider: kova.OpenAICompatibleProvider, kind: kova.ProviderErrorClass
) -> None:
    error = kova.ProviderError("no", None, kind, retry_after=1.5, request_id="req_1")
    server.play(error, error)
    for ask in both_ways(provider):
        with pytest.raises(kova.ProviderError, match="^no$") as caught:
            ask()
        assert (caught.value.provider_class, caught.value.is_retryable) == (kind, error.is_retryable)
        assert (caught.value.retry_after, caught.value.request_id) == (1.5, "req_1")


@pytest.mark.parametrize("kind", CLASSES)
def test_errors_in_the_middle_of_a_stream_have_their_class(
    server: ModelServer, provider: kova.OpenAICompatibleProvider, kind: kova.ProviderErrorClass
) -> None:
    server.play(["It is ", kova.ProviderError("no", None, kind)])
    with provider.chat_completion_stream(HI) as stream:
        assert next(stream) == kova.TextDelta("It ")
        with pytest.raises(kova.ProviderError, match="^no$") as caught:
            for _ in stream:
                pass
    assert caught.value.provider_class is kind


@pytest.mark.parametrize("detail", ["is_quota_exhausted", "is_context_length"])
def test_errors_of_the_api_keep_what_is_known_of_them(
    server: ModelServer, provider: kova.OpenAICompatibleProvider, detail: str
) -> None:
    options: dict[str, Any] = {detail: True}
    server.play(kova.ProviderError("no", 400, kova.ProviderErrorClass.INVALID_REQUEST, **options))
    with pytest.raises(kova.ProviderError) as caught:
        provider.chat_completion(HI)
    assert getattr(caught.value, detail)


def test_a_status_error_may_have_headers(server: ModelServer, provider: kova.OpenAICompatibleProvider) -> None:
    server.play(
        provider_error(503, "busy", retry_after=2),
        lambda exchange: exchange.send_error(429, "slow down", {"retry-after-ms": "1500"}),
    )
    for status, message, seconds in [(503, "busy", 2), (429, "slow down", 1.5)]:
        with pytest.raises(kova.ProviderError, match=message) as caught:
            provider.chat_completion(HI)
        assert (caught.value.status_code, caught.value.retry_after) == (status, seconds)


@pytest.mark.parametrize("answer", [kova.ConnectionError("lost"), ["It is ", kova.ConnectionError("lost")]])
def test_a_connection_is_lost(server: ModelServer, provider: kova.OpenAICompatibleProvider, answer: Answer) -> None:
    server.play("on this connection", answer, "and on the next", answer)
    for ask in both_ways(provider):
        ask()
        with pytest.raises(kova.ConnectionError):
            ask()
    assert len(server.requests) == 4


def test_a_delay_is_silence(server: ModelServer, provider: kova.OpenAICompatibleProvider) -> None:
    server.play([Delay(0.05), "It ", Delay(0.05), "is 3."], [Delay(0.05), "It ", Delay(0.05), "is 3."])
    for ask in both_ways(provider):
        start = time.monotonic()
        assert ask().text == "It is 3."
        assert time.monotonic() - start >= 0.1


def test_a_server_that_hangs_sees_its_client_leave(
    server: ModelServer, provider: kova.OpenAICompatibleProvider
) -> None:
    """T11, T12."""
    gone = threading.Event()

    def hang(exchange: Exchange) -> Iterator[Part]:
        yield "It "
        try:
            exchange.delay(math.inf)
        except ConnectionError:
            gone.set()
            raise

    server.play(Delay(math.inf), hang)
    agent = kova.Agent(provider)
    with pytest.raises(kova.TimeoutError):
        agent.run("Hi", timeout=0.1)
    with agent.run_stream("Hi") as stream:
        next(stream)
    assert gone.wait(5)


def test_a_server_ends_in_the_middle_of_an_answer() -> None:
    with ThreadPoolExecutor() as pool:
        with ModelServer(Delay(math.inf)) as server:
            provider = kova.OpenAICompatibleProvider("m", base_url=server.url)
            asked = pool.submit(provider.chat_completion, HI)
            while not server.requests:
                time.sleep(0.01)
        with provider, pytest.raises(kova.ConnectionError):
            asked.result(5)


# ---- many at once, and afterwards


def test_many_threads_are_served_at_once(server: ModelServer) -> None:
    """T3."""
    script: list[Answer] = [[Delay(0.01), str(number)] for number in range(64)]
    server.play(*script)
    with kova.OpenAICompatibleProvider("m", base_url=server.url) as provider, ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: kova.Agent(provider).run("Hi").text, range(64)))
    assert sorted(answers, key=int) == [str(number) for number in range(64)]
    assert len(server.requests) == 64
    server.assert_used_up()


def test_nothing_is_left_behind() -> None:
    before = threading.active_count()
    for _ in range(5):
        with ModelServer("Hello") as server, kova.OpenAICompatibleProvider("m", base_url=server.url) as provider:
            provider.chat_completion(HI)
    assert threading.active_count() <= before


# ---- mistakes in tests


def test_one_request_too_many_is_an_error() -> None:
    with pytest.raises(AssertionError, match="no answer to request number 2"), ModelServer("Hello") as server:
        with kova.OpenAICompatibleProvider("m", base_url=server.url) as provider:
            provider.chat_completion(HI)
            with pytest.raises(kova.ProviderError, match="no answer to request number 2"):
                provider.chat_completion(HI)
        with pytest.raises(AssertionError, match="requests after the end of the script: 1"):
            server.assert_used_up()


def test_what_the_server_cannot_do_is_an_error() -> None:
    with pytest.raises(TypeError, match="cannot make its client raise TimeoutError"):
        with ModelServer(kova.TimeoutError("slow", 1.0)) as server:
            with kova.OpenAICompatibleProvider("m", base_url=server.url) as provider:
                with pytest.raises(kova.ProviderError, match="a timeout is a Delay"):
                    provider.chat_completion(HI)


def test_models_that_the_server_was_not_given_are_an_error() -> None:
    with pytest.raises(ValueError, match="/v1/models lists models"), ModelServer("Hello") as server:
        with kova.OpenAICompatibleProvider("m", base_url=server.url) as provider:
            with pytest.raises(kova.ProviderError, match="/v1/models lists models"):
                provider.list_models()


def test_what_is_no_answer_is_refused_at_once() -> None:
    wrong: Any = 42
    with pytest.raises(TypeError, match="not of 42"):
        ModelServer(wrong)


def test_arguments_that_cannot_be_sent_are_refused_at_once() -> None:
    with pytest.raises(TypeError):
        call("add", a=object())
    with pytest.raises(TypeError, match="b cannot be added"):
        call("add", '{"a": 1}', b=2)


def test_the_blocking_provider_takes_no_async_function() -> None:
    async def answer(request: kova.testing.ModelRequest) -> str:
        return "Hello"

    wrong: Any = answer
    with pytest.raises(kova.BuildError, match="an answer is an async function"):
        ScriptedProvider(wrong)


# ---- names, and what they cost


def modules_after(code: str) -> set[str]:
    program = f"import sys\n{code}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_kova_does_not_import_its_testing() -> None:
    assert not {name for name in modules_after("import kova; kova.Agent") if name.startswith("kova.testing")}


def test_blocking_tests_import_no_async_library() -> None:
    code = """if True:
        from kova.testing import ModelServer, ScriptedProvider, call
        assert ScriptedProvider("Hello").chat_completion([]).text == "Hello"
    """
    assert not {"anyio", "asyncio", "trio"} & modules_after(code)


def test_all_names_are_there() -> None:
    assert kova.testing.__all__ == sorted(kova.testing.__all__)
    assert {name for names in kova.testing._HOMES.values() for name in names} == set(kova.testing.__all__)
    assert all(getattr(kova.testing, name) is not None for name in kova.testing.__all__)
    assert set(kova.testing.__all__) <= set(dir(kova.testing))
    with pytest.raises(AttributeError, match="kova.testing"):
        _ = kova.testing.no_such_name
