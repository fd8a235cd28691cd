"""The orchestrator: several agents together, in patterns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, overload

from attrs import evolve

from .._mermaid import Inside, flowchart
from .._routing import as_response
from .._runtime import aio as rt
from .._runtime.scope import deadline_after
from ..cancellation import CancellationToken
from ..errors import BuildError
from ..messages import ConversationMessage
from ..orchestration import (
    OrchestratedResponse,
    Parallel,
    ParallelOutput,
    Pattern,
    Router,
    Sequential,
    SingleOutput,
    check_pattern,
    check_request,
)
from ..tools import Tool, as_tool
from .agent import AsyncAgent
from .agent_tool import AsyncAgentTool
from .orchestration_run import AsyncExecution, Emit, Limits
from .orchestration_stream import AsyncOrchestrationStream
from .turn_driver import check_timeout

__all__ = ["AsyncOrchestratedAgent", "AsyncOrchestrator"]


class AsyncOrchestrator:
    """Agents by name, and the patterns in which they work together.

    Like an agent it is immutable, and safe to share between threads and tasks. It does not close its agents.

    Args:
        agents: The agents by name, or orchestrations that were made by `as_agent`.
        timeout: Seconds for a whole execution; None for any number.

    Raises:
        BuildError: An argument is wrong; the message names it.
    """

    def __init__(
        self, agents: Mapping[str, AsyncAgent | AsyncOrchestratedAgent], *, timeout: float | None = 120.0
    ) -> None:
        if not isinstance(agents, Mapping):
            raise BuildError(f"agents must be a mapping from names to agents, not {type(agents).__name__}")
        if not agents:
            raise BuildError("agents is empty: there is nobody to ask")
        for name, agent in agents.items():
            _check_name(name)
            _check_agent(name, agent)
        try:
            check_timeout(timeout)
        except ValueError as error:
            raise BuildError(str(error)) from None
        self._agents = dict(agents)
        self._timeout = timeout

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self._agents)!r}, timeout={self._timeout!r})"

    @overload
    async def execute(
        self,
        pattern: Sequential | Router,
        text: str | ConversationMessage,
        *,
        namespace: str | None = None,
        cancel: CancellationToken | None = None,
        state: object = None,
    ) -> SingleOutput: ...

    @overload
    async def execute(
        self,
        pattern: Parallel,
        text: str | ConversationMessage,
        *,
        namespace: str | None = None,
        cancel: CancellationToken | None = None,
        state: object = None,
    ) -> ParallelOutput: ...

    async def execute(
        self,
        pattern: Pattern,
        text: str | ConversationMessage,
        *,
        namespace: str | None = None,
        cancel: CancellationToken | None = None,
        state: object = None,
    ) -> Any:
        """Carry a pattern out.

        Args:
            pattern: Which agents are asked what.
            text: The input: a string, or a message of the user's with further blocks.
            namespace: Makes the agents go on with conversations, each in its own memory, under the id
                "namespace/name of the agent". Without it nothing is read or stored.
            cancel: Ends the execution when it is cancelled.
            state: Anything; the agents' tools find it in their context.

        Returns:
            A `SingleOutput`, or the `ParallelOutput` of a `Parallel`.

        Raises:
            OrchestrationError: The pattern names agents that there are not, or none; or the router named none.
            TimeoutError: The time of the orchestrator was over, in a `Sequential` or `Router`.
            TurnCancelledError: `cancel` was cancelled.
            KovaError: What an agent of a `Sequential` or `Router` has raised.
        """
        limits = self._limits(pattern, text, Limits(namespace, cancel, state))
        return await AsyncExecution(self._agents, limits, None).carry_out(pattern, text)

    @overload
    def execute_stream(
        self,
        pattern: Sequential | Router,
        text: str | ConversationMessage,
        *,
        namespace: str | None = None,
        cancel: CancellationToken | None = None,
        state: object = None,
    ) -> AsyncOrchestrationStream[SingleOutput]: ...

    @overload
    def execute_stream(
        self,
        pattern: Parallel,
        text: str | ConversationMessage,
        *,
        namespace: str | None = None,
        cancel: CancellationToken | None = None,
        state: object = None,
    ) -> AsyncOrchestrationStream[ParallelOutput]: ...

    def execute_stream(
        self,
        pattern: Pattern,
        text: str | ConversationMessage,
        *,
        namespace: str | None = None,
        cancel: CancellationToken | None = None,
        state: object = None,
    ) -> Any:
        """Carry a pattern out, and see what happens while that is done.

        Use the result in a with block and iterate over it there. Arguments and errors are those of `execute`, whose
        output comes with the last event. Leaving the block early cancels the agents that are running.
        """
        return self._stream(pattern, text, Limits(namespace, cancel, state))

    def as_agent(self, pattern: Pattern) -> AsyncOrchestratedAgent:
        """A pattern in the place of an agent: in another orchestrator, or as a tool.

        Raises:
            OrchestrationError: The pattern cannot be carried out with these agents.
        """
        check_pattern(pattern, self._agents)
        return AsyncOrchestratedAgent(self, pattern)

    def to_mermaid(self, pattern: Pattern) -> str:
        """The pattern as a flowchart in Mermaid's language; nested orchestrations are subgraphs.

        Raises:
            OrchestrationError: The pattern cannot be carried out with these agents.
        """
        check_pattern(pattern, self._agents)
        return flowchart(pattern, self._inside())

    def _inside(self) -> dict[str, Inside]:
        return {
            name: Inside(agent._pattern, agent._orchestrator._inside())
            for name, agent in self._agents.items()
            if isinstance(agent, AsyncOrchestratedAgent)
        }

    def _limits(self, pattern: Pattern, text: object, limits: Limits) -> Limits:
        """Check what is asked for; its time begins now."""
        check_pattern(pattern, self._agents)
        check_request(text, limits.namespace)
        return evolve(limits, deadline=deadline_after(self._timeout, "the orchestration", is_retryable=False))

    def _stream(
        self, pattern: Pattern, text: str | ConversationMessage, limits: Limits
    ) -> AsyncOrchestrationStream[Any]:
        self._limits(pattern, text, limits)

        async def carry_out(token: CancellationToken, emit: Emit) -> SingleOutput | ParallelOutput:
            begun = self._limits(pattern, text, evolve(limits, cancel=token))
            return await AsyncExecution(self._agents, begun, emit).carry_out(pattern, text)

        return AsyncOrchestrationStream(carry_out, limits.cancel)


class AsyncOrchestratedAgent:
    """A pattern of an orchestrator in the place of an agent; made by the orchestrator's `as_agent`.

    The orchestrator's timeout holds for it, and so do the deadline and the token of what it runs inside of.
    """

    def __init__(self, orchestrator: AsyncOrchestrator, pattern: Pattern) -> None:
        self._orchestrator = orchestrator
        self._pattern = pattern

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._orchestrator!r}, {self._pattern!r})"

    async def run(
        self,
        text: str | ConversationMessage,
        *,
        namespace: str | None = None,
        cancel: CancellationToken | None = None,
        timeout: float | None = None,
        state: object = None,
    ) -> OrchestratedResponse:
        """Carry the pattern out, and make a response of its output. The arguments are those of `execute`.

        Args:
            text: The input.
            namespace: Makes the agents go on with conversations.
            cancel: Ends the execution when it is cancelled.
            timeout: Seconds for the whole; after them it is a `TimeoutError`, whatever the pattern.
            state: For the agents' tools.

        Raises:
            OrchestrationError: The router named no agent, or all agents of a `Parallel` have failed.
            TimeoutError: The time was over.
            KovaError: All else that `execute` raises.
        """
        return await self.respond(text, self._limits(namespace, cancel, timeout, state), None)

    def run_stream(
        self,
        text: str | ConversationMessage,
        *,
        namespace: str | None = None,
        cancel: CancellationToken | None = None,
        timeout: float | None = None,
        state: object = None,
    ) -> AsyncOrchestrationStream[Any]:
        """Carry the pattern out, and see what happens while that is done: the stream of `execute_stream`."""
        limits = self._limits(namespace, cancel, timeout, state)
        return self._orchestrator._stream(self._pattern, text, limits)

    def as_tool(self, name: str, description: str) -> Tool:
        """The pattern as a tool of an agent. See the `as_tool` of an agent.

        Raises:
            BuildError: An argument is wrong.
        """
        return as_tool(AsyncAgentTool(self, name, description))

    async def respond(self, text: str | ConversationMessage, limits: Limits, emit: Emit | None) -> OrchestratedResponse:
        """Carry the pattern out inside of another one."""
        begun = self._orchestrator._limits(self._pattern, text, limits)
        execution = AsyncExecution(self._orchestrator._agents, begun, emit)
        return as_response(await execution.carry_out(self._pattern, text))

    def _limits(
        self, namespace: str | None, cancel: CancellationToken | None, timeout: float | None, state: object
    ) -> Limits:
        check_timeout(timeout)
        return Limits(namespace, cancel, state, None, deadline_after(timeout, "the turn", is_retryable=False))


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise BuildError(f"agents: a name must be a str, not {name!r}")
    if not name.strip() or name != name.strip():
        raise BuildError(f"agents: a name must not be blank, nor begin or end with a space: {name!r}")
    if "/" in name:
        raise BuildError(f"agents: a name must not have a slash, which parts it from its namespace: {name!r}")


def _check_agent(name: str, agent: Any) -> None:
    if isinstance(agent, (AsyncAgent, AsyncOrchestratedAgent)):
        return
    if hasattr(agent, "run") and hasattr(agent, "run_stream"):
        rt.check_native(agent.run, f"agents[{name!r}]", "Orchestrator")
    raise BuildError(f"agents[{name!r}] must be an agent, or an orchestration as one, not {type(agent).__name__}")
