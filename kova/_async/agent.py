"""The agent: a model, its tools, and the loop between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, overload

from .._memory.store_lines import lines_of
from .._runtime import aio as rt
from .._schema import ArgumentError, SchemaError
from .._turn import Turn, as_history
from ..cancellation import CancellationToken
from ..config import InferenceConfig, ResponseFormat, RetryConfig
from ..errors import BuildError, ProviderError
from ..messages import ConversationMessage, ToolUseBlock
from ..responses import AgentResponse, StopReason
from ..streaming import StreamingHandler
from ..tool_policy import ToolEndHook, ToolPolicy, ToolStartHook
from ..tool_registry import ToolRegistry, as_tools, merge_tools
from ..tools import RunContext, Tool, ToolContext, ToolDefinition, as_tool
from .agent_stream import AsyncAgentStream
from .agent_tool import AsyncAgentTool
from .chat import AsyncChat, check_streaming_handler
from .memory import AsyncInMemoryStore, AsyncMemoryStore
from .provider import AsyncLLMProvider
from .resolve import provider_from_string
from .turn_driver import AsyncTurnDriver, TurnOptions
from .turn_frame import AsyncPromptFrame

if TYPE_CHECKING:
    from .._schema.outputs import OutputSchema
    from ..telemetry.metrics import MetricsCollector

__all__ = ["AsyncAgent"]

T = TypeVar("T")

Messages = str | ConversationMessage | Sequence[ConversationMessage]


class AsyncAgent(AsyncChat):
    """A model with tools, and the loop between them.

    An agent is immutable, and safe to share between threads and tasks: all state of a turn is the turn's own.

    Args:
        provider: The model: a provider, or a string such as "openai:gpt-5" or "local:smollm2", which is resolved
            from the usual environment variables.
        name: Names the agent in logs and traces.
        system_prompt: Instructions to the model, put before every history; or a function that gives them for each
            turn, from the turn's `RunContext`.
        tools: Functions, or tools made by `tool`, that the model may call. They lie over the registry's.
        tool_registry: Further tools; what is registered later is seen from the next turn on.
        inference_config: How the model is asked.
        max_iterations: Tool rounds in a turn; the model is asked once more than that at most.
        max_concurrent_tools: Tool calls that may run at once.
        max_tool_result_chars: Characters that a text of a tool's result may have; a longer one is cut to its head and
            tail, with a note of its size.
        tool_errors: What an exception of a tool means: "raise" ends the turn, "report" tells the model.
        retry_config: How provider calls that fail for a passing reason are repeated.
        context_budget: Tokens that a prompt may have, as estimated offline before each provider call.
        memory: Store of the conversations of the `chat` methods; without one, a store of the agent's own, in memory.
        streaming_handler: Is told of answers by `chat_stream`, and of thinking by the other `chat` methods.
        approval_handler: Is asked before a tool runs, with the call and its context, and gives an
            `ApprovalDecision`. Without one, every tool that the model calls is run.
        lifecycle_hook: Its `on_tool_start` and `on_tool_end` see the calls that are run; what they raise is logged.
        metrics: Counts provider calls, tools, tokens and errors; agents may share one.

    Raises:
        BuildError: An argument is wrong; the message names it.
    """

    def __init__(
        self,
        provider: AsyncLLMProvider | str,
        *,
        name: str | None = None,
        system_prompt: str | Callable[[RunContext], Any] | None = None,
        tools: Iterable[Tool | Callable[..., Any]] = (),
        tool_registry: ToolRegistry | None = None,
        inference_config: InferenceConfig = InferenceConfig(),
        max_iterations: int = 10,
        max_concurrent_tools: int = 10,
        max_tool_result_chars: int | None = None,
        tool_errors: Literal["raise", "report"] = "raise",
        retry_config: RetryConfig = RetryConfig(),
        context_budget: int | None = None,
        memory: AsyncMemoryStore | None = None,
        streaming_handler: StreamingHandler | None = None,
        approval_handler: Callable[[ToolUseBlock, ToolContext], Any] | None = None,
        lifecycle_hook: ToolStartHook | ToolEndHook | None = None,
        metrics: MetricsCollector | None = None,
    ) -> None:
        _check("name", name, (str, type(None)))
        if system_prompt is not None and not isinstance(system_prompt, str):
            if not callable(system_prompt):
                raise BuildError(f"system_prompt must be a text or a function, not {type(system_prompt).__name__}")
            rt.check_callable(system_prompt, "system_prompt")
        _check("tool_registry", tool_registry, (ToolRegistry, type(None)))
        _check("inference_config", inference_config, (InferenceConfig,))
        if metrics is not None:
            _check_metrics(metrics)
        _check("retry_config", retry_config, (RetryConfig,))
        _check_count("max_iterations", max_iterations, least=0)
        _check_count("max_concurrent_tools", max_concurrent_tools, least=1)
        if max_tool_result_chars is not None:
            _check_count("max_tool_result_chars", max_tool_result_chars, least=1)
        if context_budget is not None:
            _check_count("context_budget", context_budget, least=1)
        if tool_errors not in ("raise", "report"):
            raise BuildError(f'tool_errors must be "raise" or "report", not {tool_errors!r}')
        if memory is not None:
            _check_memory(memory)
        if streaming_handler is not None:
            check_streaming_handler(streaming_handler, "streaming_handler")
        if approval_handler is not None:
            rt.check_callable(approval_handler, "approval_handler")
        if lifecycle_hook is not None:
            _check_hook(lifecycle_hook)
        self._name = name
        self._system_prompt = system_prompt
        self._registry = tool_registry
        self._tools = as_tools(tools)
        self._config = inference_config
        self._context_budget = context_budget
        self._max_iterations = max_iterations
        policy = ToolPolicy(
            errors=tool_errors,
            max_concurrent=max_concurrent_tools,
            max_result_chars=max_tool_result_chars,
            approval_handler=approval_handler,
            lifecycle_hook=lifecycle_hook,
        )
        self._fixed_tools = _with_definitions(merge_tools(self._tools)) if tool_registry is None else None
        self._owns_provider = isinstance(provider, str)
        self._provider = provider_from_string(provider) if isinstance(provider, str) else _checked_provider(provider)
        self._driver = AsyncTurnDriver(self._provider, retry_config, policy, name, metrics)
        self._memory = memory if memory is not None else AsyncInMemoryStore()
        self._streaming_handler = streaming_handler

    @property
    def name(self) -> str | None:
        """The agent's name."""
        return self._name

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self._provider!r}, name={self._name!r}, tools={list(self._current_tools()[0])!r})"
        )

    async def run(
        self,
        messages: Messages,
        *,
        config: InferenceConfig | None = None,
        cancel: CancellationToken | None = None,
        timeout: float | None = None,
        state: object = None,
        session: str | None = None,
    ) -> AgentResponse:
        """Run one turn: ask the model, run the tools that it calls, and ask again, until it has answered.

        Nothing is stored; add `new_messages` of the response to your history to go on.

        Args:
            messages: What the user says, or a history that ends with it. It is never changed.
            config: How the model is asked in this turn; what it leaves open is the agent's.
            cancel: Ends the turn when it is cancelled.
            timeout: Seconds for the whole turn.
            state: Anything; tools find it in their context.
            session: For what the approval handler's lasting decisions hold; without it, for this turn.

        Raises:
            ProviderError, ConnectionError, StreamError: The model could not be asked.
            TimeoutError: The turn, or a request, took too long.
            ToolExecutionError: A tool raised.
            ToolNotFoundError: The model called a tool that there is not.
            MaxIterationsError: The model asked for tools again after the last permitted round.
            ContextBudgetExceededError: The prompt is larger than the agent's `context_budget`.
            TurnCancelledError: `cancel` was cancelled.
        """
        options = TurnOptions(cancel, timeout, state, session)
        return await self._driver.run(self._new_turn(messages, config), self._prompt_frame(options), options)

    @overload
    async def run_structured(
        self,
        messages: Messages,
        output_type: type[T],
        *,
        max_corrections: int = 1,
        config: InferenceConfig | None = None,
        cancel: CancellationToken | None = None,
        timeout: float | None = None,
        state: object = None,
        session: str | None = None,
    ) -> tuple[T, AgentResponse]: ...

    @overload
    async def run_structured(
        self,
        messages: Messages,
        output_type: Mapping[str, Any],
        *,
        max_corrections: int = 1,
        config: InferenceConfig | None = None,
        cancel: CancellationToken | None = None,
        timeout: float | None = None,
        state: object = None,
        session: str | None = None,
    ) -> tuple[dict[str, Any], AgentResponse]: ...

    async def run_structured(
        self,
        messages: Messages,
        output_type: Any,
        *,
        max_corrections: int = 1,
        config: InferenceConfig | None = None,
        cancel: CancellationToken | None = None,
        timeout: float | None = None,
        state: object = None,
        session: str | None = None,
    ) -> tuple[Any, AgentResponse]:
        """Run one turn whose answer is an object of a type.

        The other arguments and errors are those of `run`.

        Args:
            messages: What the user says, or a history that ends with it.
            output_type: An attrs class, dataclass, TypedDict or pydantic model; or the JSON schema of an object, for
                which the answer is a dict.
            max_corrections: How often the model is told what is wrong with its answer, and asked again. Each time is
                one of the turn's `max_iterations`.

        Returns:
            The object, and the turn's response, in whose messages wrong answers are left out.

        Raises:
            ProviderError: No answer fitted; the message says what is wrong with the last one.
            TypeError: There is no JSON schema for the type.
        """
        output = _output_schema(output_type)
        _check_corrections(max_corrections)
        wanted = ResponseFormat(output.schema, output.name)
        turn = self._new_turn(messages, (config or InferenceConfig()).replace(response_format=wanted))
        values: list[Any] = []
        left = max_corrections

        def check(answer: AgentResponse) -> bool:
            nonlocal left
            if answer.stop_reason in (StopReason.REFUSAL, StopReason.CONTENT_FILTER):
                raise ProviderError(f"the model gave no answer: {answer.stop_reason}", model=answer.model)
            try:
                values.append(output.read(answer.text))
            except ArgumentError as error:
                left -= 1
                if left < 0 or not turn.correct(str(error)):
                    raise ProviderError(f"the answer does not fit: {error}", model=answer.model) from error
                return False
            return True

        options = TurnOptions(cancel, timeout, state, session)
        response = await self._driver.run(turn, self._prompt_frame(options), options, check)
        return values[0], response

    def run_stream(
        self,
        messages: Messages,
        *,
        config: InferenceConfig | None = None,
        cancel: CancellationToken | None = None,
        timeout: float | None = None,
        state: object = None,
        session: str | None = None,
    ) -> AsyncAgentStream:
        """Run one turn, and see what happens while it does.

        Use the result in a with block and iterate over it there. The arguments and errors are those of `run`, whose
        response comes with the last event. Leaving the block early closes the connection and stops running tools.
        """
        options = TurnOptions(cancel, timeout, state, session)
        return self._driver.stream(self._new_turn(messages, config), self._prompt_frame(options), options)

    def as_tool(self, name: str, description: str) -> Tool:
        """This agent as a tool of another one.

        It obeys the deadline and the token of the turn that calls it, gets that turn's `state`, and its usage counts
        into that turn's.

        Args:
            name: Name of the tool.
            description: What the agent is good for; the other agent's model decides by it.

        Raises:
            BuildError: An argument is wrong.
        """
        return as_tool(AsyncAgentTool(self, name, description))

    async def close(self) -> None:
        """Close what the agent made itself: a provider that was given as a string. May be called twice."""
        close = getattr(self._provider, "close", None)
        if self._owns_provider and close is not None:
            await close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _new_turn(self, messages: Messages, config: InferenceConfig | None) -> Turn:
        if config is not None and not isinstance(config, InferenceConfig):
            raise TypeError(f"config must be an InferenceConfig, not {type(config).__name__}")
        tools, definitions = self._current_tools()
        return Turn(
            as_history(messages),
            system_prompt=self._system_prompt if isinstance(self._system_prompt, str) else None,
            tools=tools,
            definitions=definitions,
            config=self._config.merged_with(config),
            max_iterations=self._max_iterations,
            context_budget=self._context_budget,
        )

    def _prompt_frame(self, options: TurnOptions) -> AsyncPromptFrame:
        make_prompt = self._system_prompt if callable(self._system_prompt) else None
        return AsyncPromptFrame(make_prompt, RunContext(options.state, options.session))

    def _current_tools(self) -> tuple[Mapping[str, Tool], Sequence[ToolDefinition]]:
        """The tools of a turn that begins now; a registry may have got new ones."""
        return self._fixed_tools or _with_definitions(merge_tools(self._tools, self._registry))


def _with_definitions(tools: Mapping[str, Tool]) -> tuple[Mapping[str, Tool], Sequence[ToolDefinition]]:
    return tools, tuple(tool.definition for tool in tools.values())


def _output_schema(output_type: object) -> OutputSchema:
    from .._schema.outputs import OutputSchema

    try:
        return OutputSchema(output_type)
    except SchemaError as error:
        raise TypeError(f"output_type: {error}") from error


def _check_corrections(number: object) -> None:
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise ValueError(f"max_corrections must be an integer of at least 0, got {number!r}")


def _checked_provider(provider: Any) -> AsyncLLMProvider:
    if isinstance(provider, type):
        raise BuildError(f"provider must be a provider or a model string, not the class {provider.__name__}: make one")
    for method in ("chat_completion", "chat_completion_stream"):
        if not callable(getattr(provider, method, None)):
            kind = type(provider).__name__
            raise BuildError(f"provider must be a provider or a model string; {kind} has no method {method}")
    rt.check_native(provider.chat_completion, f"provider {type(provider).__name__}")
    checked: AsyncLLMProvider = provider
    return checked


def _check_memory(memory: Any) -> None:
    for method in ("load", "append"):
        if not callable(getattr(memory, method, None)):
            raise BuildError(f"memory must be a store of conversations, not {type(memory).__name__}")
        rt.check_native(getattr(memory, method), f"memory {type(memory).__name__}")
    lines_of(memory)  # which a store must be fit for


def _check_hook(hook: object) -> None:
    methods = {name: getattr(hook, name, None) for name in ("on_tool_start", "on_tool_end")}
    if all(method is None for method in methods.values()):
        raise BuildError(f"lifecycle_hook must have on_tool_start or on_tool_end; {type(hook).__name__} has neither")
    for name, method in methods.items():
        if method is not None:
            rt.check_callable(method, f"lifecycle_hook.{name}")


def _check_metrics(metrics: object) -> None:
    from ..telemetry.metrics import MetricsCollector  # which agents without one need not load

    _check("metrics", metrics, (MetricsCollector,))


def _check(argument: str, value: object, types: tuple[type, ...]) -> None:
    if not isinstance(value, types):
        wanted = types[0].__name__
        article = "an" if wanted[0] in "AEIOU" else "a"
        raise BuildError(f"{argument} must be {article} {wanted}, not {type(value).__name__}")


def _check_count(argument: str, value: object, *, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise BuildError(f"{argument} must be an integer of at least {least}, got {value!r}")
