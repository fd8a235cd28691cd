"""An agent by chained calls; the same arguments and checks as the constructor's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from .._runtime import aio as rt
from ..config import InferenceConfig, RetryConfig
from ..errors import BuildError
from ..messages import ToolUseBlock
from ..streaming import StreamingHandler
from ..tool_policy import ToolEndHook, ToolStartHook
from ..tool_registry import ToolRegistry
from ..tools import RunContext, Tool, ToolContext
from .agent import AsyncAgent
from .memory import AsyncMemoryStore
from .provider import AsyncLLMProvider

if TYPE_CHECKING:
    from ..telemetry.metrics import MetricsCollector
    from .mcp.client import AsyncMCPClient

__all__ = ["AsyncAgentBuilder"]

# An MCP client, what its server is called, and which of its tools are wanted.
Server: TypeAlias = "tuple[AsyncMCPClient, str, str | None, Iterable[str] | None, Iterable[str] | None]"


class AsyncAgentBuilder:
    """Collects the arguments of an `AsyncAgent`; each call returns the builder, and `build` makes the agent:
    `AsyncAgentBuilder().provider("openai:gpt-5").tool(search).max_iterations(5).build()`.
    """

    def __init__(self) -> None:
        self._arguments: dict[str, Any] = {}
        self._tools: list[Tool | Callable[..., Any]] = []
        self._servers: list[Server] = []

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

    def mcp_client(
        self,
        client: AsyncMCPClient,
        name: str,
        *,
        prefix: str | None = None,
        include: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
    ) -> Self:
        """The tools of an MCP server, which is asked for them by `build`.

        Args:
            client: The server's client. It stays yours to close.
            name: What the server is called in messages.
            prefix: Put before the names that the model sees, to keep servers apart.
            include: The server's names of the tools that are wanted; without it, all.
            exclude: The server's names of tools that are not.

        Raises:
            BuildError: It is no MCP client, or one of the other twin.
        """
        if not callable(getattr(client, "named_tools", None)):
            raise BuildError(f"mcp_client must be an MCP client, not {type(client).__name__}")
        rt.check_native(client.named_tools, "mcp_client")
        given: object = name
        if not isinstance(given, str) or not given:
            raise BuildError(f"name must say what the server is called, not {given!r}")
        self._servers.append((client, name, prefix, include, exclude))
        return self

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

    def approval_handler(self, approval_handler: Callable[[ToolUseBlock, ToolContext], Any]) -> Self:
        """Is asked before a tool runs."""
        return self._with(approval_handler=approval_handler)

    def lifecycle_hook(self, lifecycle_hook: ToolStartHook | ToolEndHook) -> Self:
        """Sees the calls that are run."""
        return self._with(lifecycle_hook=lifecycle_hook)

    def metrics(self, metrics: MetricsCollector) -> Self:
        """Counts provider calls, tools, tokens and errors."""
        return self._with(metrics=metrics)

    async def build(self) -> AsyncAgent:
        """The agent.

        Raises:
            BuildError: An argument is wrong, or there is no provider.
            MCPError, ConnectionError, TimeoutError: An MCP server could not be asked for its tools.
        """
        if "provider" not in self._arguments:
            raise BuildError("provider is missing: an agent needs a model")
        tools = list(self._tools)
        for client, name, prefix, include, exclude in self._servers:
            tools += await client.named_tools(name, prefix, include, exclude)
        return AsyncAgent(**self._arguments, tools=tools)

    def _with(self, **arguments: Any) -> Self:
        self._arguments.update(arguments)
        return self
