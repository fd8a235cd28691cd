# pyright: strict
# ruff: noqa: B008, T201
"""How users write blocking code with kova; type checkers must understand all of it, and what comes out."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, assert_type

import kova

# ---- tools


@kova.tool
def get_weather(city: str, unit: Literal["C", "F"] = "C") -> str:
    """Current weather for a city.

    Args:
        city: Name of the city.
    """
    return f"{city}: 20 {unit}"


@kova.tool(name="search_book", timeout=5, errors="report")
def search(query: str, context: kova.ToolContext) -> list[str]:
    """Search the book."""
    context.cancel.raise_if_cancelled()
    left: float | None = context.remaining()
    context.run_process(["true"], timeout=left)
    return [query, str(left), str(context.state)]


def plain(a: int, b: int = 2) -> int:
    """Add."""
    return a + b


class Lookup(kova.Tool):
    """A tool as a class."""

    name = "lookup"
    description = "Look something up."

    def execute(self, arguments: dict[str, Any], context: kova.ToolContext) -> object:
        if "key" not in arguments:
            raise kova.ToolError("no key")
        return kova.ToolResult("found", is_error=False)


assert_type(get_weather("Tokyo"), str)
assert_type(get_weather("Tokyo", unit="F"), str)
assert_type(search("x", kova.ToolContext()), list[str])
assert_type(get_weather.definition, kova.ToolDefinition)

registry = kova.ToolRegistry()
registry.register(get_weather)
registry.register(plain)
assert_type(registry.get("plain"), kova.Tool | None)
assert_type(registry.list(), list[kova.Tool])

# ---- providers

provider = kova.OpenAICompatibleProvider(
    "gpt-5",
    api_key=lambda: "key",
    base_url="https://example.org",
    timeout=30,
    verify=ssl.create_default_context(),
    default_headers={"x-team": "a"},
    extra_body={"user": "u"},
)
config = kova.OpenAIProviderConfig(model="gpt-5", api_key="key")
from_config: kova.OpenAICompatibleProvider = kova.OpenAICompatibleProvider.from_config(config)
copy: kova.OpenAICompatibleProvider = provider.with_options(model="gpt-5-mini")
as_protocol: kova.LLMProvider = provider


class OwnProvider:
    """A provider of the user's: a generator of events is enough."""

    def chat_completion(
        self,
        messages: Sequence[kova.ConversationMessage],
        tools: Sequence[kova.ToolDefinition] = (),
        config: kova.InferenceConfig = kova.InferenceConfig(),
    ) -> kova.ModelResponse:
        return provider.chat_completion(messages, tools, config)

    def chat_completion_stream(
        self,
        messages: Sequence[kova.ConversationMessage],
        tools: Sequence[kova.ToolDefinition] = (),
        config: kova.InferenceConfig = kova.InferenceConfig(),
    ) -> Iterator[kova.StreamEvent]:
        yield kova.TextDelta("Hello")
        yield kova.UsageEvent(kova.UsageStats(input_tokens=1))
        yield kova.StopEvent(kova.StopReason.END_TURN)


own: kova.LLMProvider = OwnProvider()


def ask_the_model() -> None:
    messages = [kova.system_message("Be brief."), kova.user_message("Hi")]
    answer = provider.chat_completion(messages, [get_weather.definition], kova.InferenceConfig(temperature=0))
    assert_type(answer, kova.ModelResponse)
    assert_type(answer.text, str)
    for call in answer.tool_calls:
        assert_type(call, kova.ToolUseBlock)
    with provider.chat_completion_stream(messages) as stream:
        for event in stream:
            assert_type(event, kova.StreamEvent)
        assert_type(stream.response, kova.ModelResponse)
    assert_type(provider.list_models(), list[kova.ModelInfo])
    provider.close()


# ---- agents


def approve(call: kova.ToolUseBlock, context: kova.ToolContext) -> kova.ApprovalDecision:
    if call.name == "search_book":
        return kova.ApprovalDecision.APPROVED_FOR_SESSION
    return kova.ApprovalDecision.denied(f"not {context.tool_name}")


class Hook:
    """Sees the calls that run."""

    def on_tool_start(self, call: kova.ToolUseBlock, context: kova.ToolContext, /) -> None:
        print(call.name, context.tool_use_id)

    def on_tool_end(self, call: kova.ToolUseBlock, result: kova.ToolResult, context: kova.ToolContext, /) -> None:
        print(call.name, result.is_error)


hook: kova.LifecycleHook = Hook()


def instructions(context: kova.RunContext) -> str:
    return f"You serve {context.state}."


agent = kova.Agent(
    provider,
    name="weather",
    system_prompt=instructions,
    tools=[get_weather, plain, Lookup(), search],
    tool_registry=registry,
    inference_config=kova.InferenceConfig(
        max_tokens=100, stop_sequences=["END"], response_format=kova.ResponseFormat({"type": "object"}, name="answer")
    ),
    max_iterations=3,
    max_concurrent_tools=2,
    max_tool_result_chars=10_000,
    tool_errors="report",
    retry_config=kova.RetryConfig(max_retries=1),
    context_budget=100_000,
    approval_handler=approve,
    lifecycle_hook=hook,
    metrics=kova.MetricsCollector(),
)
built: kova.Agent = kova.AgentBuilder().provider("openai:gpt-5").system_prompt("Be brief.").tool(plain).build()
of_own = kova.Agent(OwnProvider())
of_string = kova.Agent("ollama:qwen3")
team = kova.Agent(provider, tools=[agent.as_tool("weather", "Knows the weather.")])


@dataclass
class City:
    name: str
    population: int


def run_turns() -> None:
    token = kova.CancellationToken()
    token.cancel_after(10)
    response = agent.run(
        "Hi", cancel=token, timeout=30, state={"user": 1}, session="s", config=kova.InferenceConfig(seed=1)
    )
    assert_type(response, kova.AgentResponse)
    assert_type(response.text, str)
    assert_type(response.usage.total_tokens, int | None)
    assert_type(response.stop_reason, kova.StopReason)
    history = [kova.user_message("Hi", kova.ImageBlock(media_type="image/png", data=b"...")), *response.new_messages]
    assert_type(history, list[kova.ConversationMessage])
    agent.run(history)
    agent.run(kova.user_message("Hi"))
    city, answer = agent.run_structured("The largest city?", City, max_corrections=2)
    assert_type(city, City)
    assert_type(answer, kova.AgentResponse)
    with kova.Agent(provider) as closing:
        closing.run("Hi")


def stream_turns() -> str:
    with agent.run_stream("Hi", timeout=30) as stream:
        for event in stream:
            match event:
                case kova.TextDelta(text=text):
                    assert_type(text, str)
                case kova.ThinkingDelta():
                    pass
                case kova.ToolCallStarted(name=name, input=arguments):
                    assert_type(name, str)
                    print(arguments)
                case kova.ToolCallFinished(result=result, is_error=is_error):
                    assert_type(is_error, bool)
                    print(result)
                case kova.TurnCompleted(response=response):
                    assert_type(response, kova.AgentResponse)
        assert_type(stream.response, kova.AgentResponse)
        stream.close()
    with agent.run_stream("Hi") as stream:
        return "".join(stream.text_deltas())


def handle_errors() -> None:
    try:
        agent.run("Hi")
    except kova.ProviderError as error:
        assert_type(error.provider_class, kova.ProviderErrorClass)
        assert_type(error.retry_after, float | None)
    except (kova.ConnectionError, kova.TimeoutError) as error:
        assert_type(error.is_retryable, bool)
    except kova.TurnCancelledError as error:
        assert_type(error.partial, kova.Partial | None)
    except kova.KovaError as error:
        assert_type(error.message, str)


def show(events: Sequence[kova.AgentEvent | kova.StreamEvent]) -> None:
    for event in events:
        if isinstance(event, kova.ToolUseDelta):
            print(event.name, event.input_delta)
        elif isinstance(event, kova.ContentDelta):
            print(event.text)


def collect(stream: kova.AgentStream) -> list[kova.AgentEvent]:
    return list(stream)


# ---- histories

HISTORY = [
    kova.system_message("Be brief."),
    kova.user_message("Hi"),
    kova.ConversationMessage(kova.Role.ASSISTANT, (kova.ToolUseBlock("1", "search", {"query": "x"}),)),
    kova.tool_message("1", "nothing", is_error=True),
    kova.assistant_message("Nothing."),
]
BLOCKS: list[kova.ContentBlock] = [block for message in HISTORY for block in message.content]


def keep_histories(history: list[kova.ConversationMessage]) -> None:
    text: str = kova.messages_to_json(history)
    assert_type(kova.messages_from_json(text), list[kova.ConversationMessage])
    assert_type(kova.check_history(history), list[str])
    assert_type(kova.repair_history(history), list[kova.ConversationMessage])
    assert_type(kova.trim_history(history, 10), list[kova.ConversationMessage])
    assert_type(kova.estimate_tokens(history), int)
    for message in history:
        for block in message.content:
            match block:
                case kova.TextBlock(text=said):
                    assert_type(said, str)
                case kova.ToolUseBlock(input=arguments):
                    print(arguments)
                case kova.ToolResultBlock() | kova.ThinkingBlock() | kova.ImageBlock():
                    pass


# ---- telemetry


def redact(text: str) -> str:
    return text.replace("4711", "****")


CONSOLE = kova.TelemetryConfig(exporter=kova.ConsoleExporter())
OTLP = kova.TelemetryConfig(
    service_name="shop",
    log_level="WARNING",
    exporter=kova.OTLPExporter("https://collector:4318", "http", headers={"x-key": "k"}),
    sampling_rate=0.1,
    capture_content=True,
    redact=redact,
)


def see() -> None:
    with OTLP.init() as telemetry:
        assert_type(telemetry, kova.Telemetry)
        telemetry.flush(timeout=2)
    CONSOLE.init().shutdown()


def count(metrics: kova.MetricsCollector) -> None:
    kova.AgentBuilder().metrics(metrics)
    now = metrics.snapshot()
    assert_type(now, kova.MetricsSnapshot)
    assert_type(now.llm_requests, int)
    assert_type(now.llm_latency, kova.HistogramSnapshot)
    assert_type(now.llm_latency.counts, tuple[int, ...])
    assert_type(metrics.to_prometheus(), str)
    metrics.reset()
