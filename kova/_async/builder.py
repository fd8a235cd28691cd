"""An agent by chained calls; the same arguments and checks as the constructor's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self

from ..config import InferenceConfig, RetryConfig
from ..errors import BuildError
from ..streaming import StreamingHandler
from ..tool_policy import LifecycleHook
from ..tool_registry import ToolRegistry
from ..tools import RunContext, Tool
from .agent import AsyncAgent
from .memory import AsyncMemoryStore
from .provider import AsyncLLMProvider

__all__ = ["AsyncAgentBuilder"]


class AsyncAgentBuilder:
    """Collects the arguments of an `AsyncAgent`; each call returns the builder, and `build` makes the agent:
    `AsyncAgentBuilder().provider("openai:gpt-5").tool(search).max_iterations(5).build()`.
    """

    def __init__(self) -> None:
        self._arguments: dict[str, Any] = {}
        self._tools: list[Tool | Callable[..., Any]] = []

    def provider(self, provider: AsyncLLMProvider | str) -> Self:
        """The model, as a provider or a model string."""
        return self._with(provider=provider)

    def name(self, name: str) -> Self:
        """The agent's name in logs and traces."""
        return self._with(name=name)

    def system_prompt(self, system_prompt: str | Callable[[RunContext], Any]) -> Self:
        """Instructions to the model, or a function that gives them for each turn."""
        return self._with(system_prompt=system_prompt)

    def tool(self, tool: Tool | Callable[..., Any]) -> Self:
        """One more tool."""
        self._tools.append(tool)
        return self

    def tool_registry(self, tool_registry: ToolRegistry) -> Self:
        """Tools that are shared with other agents."""
        return self._with(tool_registry=tool_registry)

    def inference_config(self, inference_config: InferenceConfig) -> Self:
        """How the model is asked."""
        return self._with(inference_config=inference_config)

    def max_iterations(self, max_iterations: int) -> Self:
        """Tool rounds in a turn."""
        return self._with(max_iterations=max_iterations)

    def max_concurrent_tools(self, max_concurrent_tools: int) -> Self:
        """Tool calls that may run at once."""
        return self._with(max_concurrent_tools=max_concurrent_tools)

    def max_tool_result_chars(self, max_tool_result_chars: int) -> Self:
        """Characters that a text of a tool's result may have."""
        return self._with(max_tool_result_chars=max_tool_result_chars)

    def tool_errors(self, tool_errors: Literal["raise", "report"]) -> Self:
        """What an exception of a tool means."""
        return self._with(tool_errors=tool_errors)

    def retry_config(self, retry_config: RetryConfig) -> Self:
        """How provider calls that fail for a passing reason are repeated."""
        return self._with(retry_config=retry_config)

    def context_budget(self, context_budget: int) -> Self:
        """Tokens that a prompt may have."""
        return self._with(context_budget=context_budget)

    def memory(self, memory: AsyncMemoryStore) -> Self:
        """Store of the conversations of the `chat` methods."""
        return self._with(memory=memory)

    def streaming_handler(self, streaming_handler: StreamingHandler) -> Self:
        """Is told of answers while they are made."""
        return self._with(streaming_handler=streaming_handler)

    def approval_handler(self, approval_handler: Callable[..., Any]) -> Self:
        """Is asked before a tool runs."""
        return self._with(approval_handler=approval_handler)

    def lifecycle_hook(self, lifecycle_hook: LifecycleHook) -> Self:
        """Sees the calls that are run."""
        return self._with(lifecycle_hook=lifecycle_hook)

    async def build(self) -> AsyncAgent:
        """The agent.

        Raises:
            BuildError: An argument is wrong, or there is no provider.
        """
        if "provider" not in self._arguments:
            raise BuildError("provider is missing: an agent needs a model")
        return AsyncAgent(**self._arguments, tools=self._tools)

    def _with(self, **arguments: Any) -> Self:
        self._arguments.update(arguments)
        return self
