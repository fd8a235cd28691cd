"""Carrying a pattern out: which agent is asked what, within the limits of the whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from attrs import evolve, field, frozen

from .._routing import chosen_agent, partial_of
from .._runtime import aio as rt
from .._runtime.scope import Deadline
from .._turn_log import CallRecord, TurnLog
from ..cancellation import CancellationToken
from ..errors import KovaError, OrchestrationError, TimeoutError
from ..messages import ConversationMessage
from ..orchestration import (
    AgentFinished,
    AgentProgress,
    AgentStarted,
    OrchestrationEvent,
    Parallel,
    ParallelOutput,
    Pattern,
    Router,
    Sequential,
    SingleOutput,
)
from ..responses import AgentResponse, Partial, TurnCompleted
from ..telemetry.workflows import watch_workflow
from .agent import AsyncAgent

__all__ = ["AsyncExecution", "AsyncMember", "AsyncNested", "Emit", "Limits"]

Emit: TypeAlias = Callable[[OrchestrationEvent], None]
Request: TypeAlias = str | ConversationMessage

ROUNDING = 0.01  # seconds by which two clocks may differ about the same moment
LAST_RESORT = 0.5  # seconds after the deadline; by then all that can be told to stop has stopped


@frozen
class Limits:
    """What the caller says about one execution.

    Attributes:
        namespace: Goes before the conversation ids of the agents; without one, nothing is stored.
        cancel: Ends the execution when it is cancelled.
        state: For the agents' tools.
        deadline: When the time of the orchestrator is over. What is running then is a failure of a `Parallel`.
        callers: When the time is over that the caller has given. That ends the execution, whatever its pattern.
        name: Under which name it stands in another orchestration.
    """

    namespace: str | None = None
    cancel: CancellationToken | None = None
    state: object = field(default=None, repr=False)
    deadline: Deadline | None = None
    callers: Deadline | None = None
    name: str | None = None

    def __attrs_post_init__(self) -> None:
        if self.cancel is not None and not isinstance(self.cancel, CancellationToken):
            raise TypeError(f"cancel must be a CancellationToken, not {type(self.cancel).__name__}")

    def seconds(self) -> float | None:
        """Until the first of the deadlines."""
        return min((each.remaining() for each in (self.deadline, self.callers) if each is not None), default=None)

    def raise_if_over(self, *deadlines: Deadline | None) -> None:
        """Raise the error of a deadline that has passed."""
        for each in deadlines or (self.callers, self.deadline):
            if each is not None and each.remaining() <= ROUNDING:
                raise each.error()


class AsyncNested(Protocol):
    """An orchestration in the place of an agent."""

    async def respond(self, text: Request, limits: Limits, emit: Emit | None) -> AgentResponse:
        """Carry it out."""


AsyncMember: TypeAlias = AsyncAgent | AsyncNested


class AsyncExecution:
    """One execution of a pattern.

    Args:
        agents: The agents by name.
        limits: The limits of the whole.
        emit: Is told what happens, if somebody wants to know; else the models are not asked for streams.
    """

    def __init__(self, agents: Mapping[str, AsyncMember], limits: Limits, emit: Emit | None) -> None:
        self._agents = agents
        self._limits = limits
        self._emit = emit
        self._log = TurnLog()
        self._done: list[AgentResponse | Partial] = []

    async def carry_out(self, pattern: Pattern, text: Request) -> SingleOutput | ParallelOutput:
        """The output of the pattern.

        Raises:
            KovaError: It has none. What there was, and what it has cost, is in the error's `partial`.
        """
        try:
            with watch_workflow(self._limits.name):
                return await self._output(pattern, text)
        except KovaError as error:
            error.partial = partial_of(self._done, self._log)
            raise

    async def _output(self, pattern: Pattern, text: Request) -> SingleOutput | ParallelOutput:
        limits = self._limits
        if limits.cancel is not None:
            limits.cancel.raise_if_cancelled()
        output: SingleOutput | ParallelOutput
        if isinstance(pattern, Parallel):
            output = await self._parallel(pattern, text)
            limits.raise_if_over(limits.callers)
        else:
            output = await (
                self._sequential(pattern, text) if isinstance(pattern, Sequential) else self._route(pattern, text)
            )
            limits.raise_if_over()
        return output

    async def _sequential(self, pattern: Sequential, text: Request) -> SingleOutput:
        responses: list[AgentResponse] = []
        for name in pattern.agents:
            if isinstance(text, str) and not text.strip():
                raise OrchestrationError(f"{name!r} has nothing to go on from: the agent before it gave no text")
            responses.append(await self._ask(name, text))
            text = responses[-1].text
        return SingleOutput(responses[-1].text, tuple(responses), self._log)

    async def _route(self, pattern: Router, text: Request) -> SingleOutput:
        first = await self._ask(pattern.router, text)
        answer = await self._ask(chosen_agent(first.text, pattern.downstream), text)
        return SingleOutput(answer.text, (first, answer), self._log)

    async def _parallel(self, pattern: Parallel, text: Request) -> ParallelOutput:
        outcomes = await self._ask_all(pattern.agents, text)
        if self._limits.cancel is not None:
            self._limits.cancel.raise_if_cancelled()
        successes: dict[str, AgentResponse] = {}
        failures: dict[str, Exception] = {}
        for name in pattern.agents:
            outcome = outcomes.get(name)
            if isinstance(outcome, AgentResponse):
                successes[name] = outcome
            else:
                failures[name] = outcome or self._overdue()
        return ParallelOutput(successes, failures, self._log)

    async def _ask_all(self, names: Sequence[str], text: Request) -> dict[str, AgentResponse | Exception]:
        """What becomes of each agent; nothing of one that cannot be stopped."""
        outcomes: dict[str, AgentResponse | Exception] = {}

        async def branch(name: str) -> None:
            try:
                outcomes[name] = await self._ask(name, text)
            except Exception as error:
                outcomes[name] = error

        seconds = self._limits.seconds()
        with rt.move_on_after(float("inf") if seconds is None else max(seconds, 0) + LAST_RESORT):
            async with rt.TaskGroup() as group:
                for name in names:
                    group.start_soon(branch, name)
        return dict(outcomes)

    def _overdue(self) -> TimeoutError:
        deadline = self._limits.deadline or self._limits.callers
        assert deadline is not None
        return deadline.error()

    async def _ask(self, name: str, text: Request) -> AgentResponse:
        """The response of an agent, noted and told of."""
        self._tell(AgentStarted((name,)))
        record = self._log.call("agent", name)
        try:
            with record:
                response = await self._respond(name, text)
        except Exception as error:
            partial = error.partial if isinstance(error, KovaError) else None
            if partial is not None:
                self._note(record, partial)
            error.add_note(f"raised by the agent {name!r}")
            self._tell(AgentFinished((name,), error=error))
            raise
        self._note(record, response)
        self._tell(AgentFinished((name,), response=response))
        return response

    async def _respond(self, name: str, text: Request) -> AgentResponse:
        """The response of an agent; a deadline of the whole has its own words."""
        self._limits.raise_if_over()
        try:
            agent = self._agents[name]
            if isinstance(agent, AsyncAgent):
                return await self._turn(agent, name, text)
            return await agent.respond(text, self._limits_inside(name), self._emit_inside(name))
        except TimeoutError as error:
            try:
                self._limits.raise_if_over()
            except TimeoutError as overdue:
                overdue.partial = error.partial
                raise overdue from error
            raise

    async def _turn(self, agent: AsyncAgent, name: str, text: Request) -> AgentResponse:
        limits = self._limits
        options: dict[str, Any] = {"cancel": limits.cancel, "timeout": limits.seconds(), "state": limits.state}
        conversation = None if limits.namespace is None else f"{limits.namespace}/{name}"
        if self._emit is None:
            if conversation is None:
                return await agent.run(text, **options)
            return await agent.chat_response(conversation, text, **options)
        if conversation is None:
            stream = agent.run_stream(text, **options)
        else:
            stream = agent.chat_events(conversation, text, **options)
        async with stream:
            async for event in stream:
                if type(event) is not TurnCompleted:
                    self._emit(AgentProgress((name,), event))
            return stream.response

    def _limits_inside(self, name: str) -> Limits:
        limits, seconds = self._limits, self._limits.seconds()
        return evolve(
            limits,
            namespace=None if limits.namespace is None else f"{limits.namespace}/{name}",
            deadline=None,
            callers=None if seconds is None else Deadline(seconds, "the turn", is_retryable=False),
            name=name,
        )

    def _emit_inside(self, name: str) -> Emit | None:
        emit = self._emit
        if emit is None:
            return None

        def inside(event: Any) -> None:
            emit(evolve(event, path=(name, *event.path)))

        return inside

    def _tell(self, event: OrchestrationEvent) -> None:
        if self._emit is not None:
            self._emit(event)

    def _note(self, record: CallRecord, part: AgentResponse | Partial) -> None:
        self._done.append(part)
        record.spent.append(part.usage)
        if part._log is not None:
            record.nested.append(part._log)
