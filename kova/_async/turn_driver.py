"""Driving the turns of an agent: provider calls and tools, within the turn's limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen

from .._runtime import aio as rt
from .._runtime.scope import Deadline, deadline_after
from .._turn import Turn
from ..cancellation import CancellationToken
from ..config import RetryConfig
from ..errors import KovaError
from ..messages import ToolUseBlock
from ..responses import AgentResponse, StreamEvent
from ..telemetry.switch import watch_turn
from ..telemetry.watch import TurnWatch
from ..tool_policy import ToolPolicy
from .agent_stream import AsyncAgentStream
from .model_call import complete, open_stream
from .provider import AsyncLLMProvider
from .tool_runner import AsyncToolRound, AsyncToolRunner
from .turn_frame import AsyncTurnFrame

if TYPE_CHECKING:
    from ..telemetry.metrics import MetricsCollector

__all__ = ["AsyncTurnDriver", "TurnOptions", "check_timeout"]


@frozen
class TurnOptions:
    """What the caller says about one turn.

    Attributes:
        cancel: Ends the turn when it is cancelled.
        timeout: Seconds for the whole turn.
        state: For the tools.
        session: For what the approval handler's lasting decisions hold.
    """

    cancel: CancellationToken | None
    timeout: float | None
    state: object
    session: str | None

    def __attrs_post_init__(self) -> None:
        if self.cancel is not None and not isinstance(self.cancel, CancellationToken):
            raise TypeError(f"cancel must be a CancellationToken, not {type(self.cancel).__name__}")
        session: object = self.session
        if session is not None and not isinstance(session, str):
            raise TypeError(f"session must be a str, not {type(session).__name__}")
        if session == "":
            raise ValueError("session must not be empty: all who forget to give one would share its approvals")
        check_timeout(self.timeout)


def check_timeout(timeout: object) -> None:
    """Refuse what is no time limit.

    Raises:
        ValueError: It is neither None nor a positive number.
    """
    if timeout is None:
        return
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not timeout > 0:
        raise ValueError(f"timeout must be a positive number of seconds, got {timeout!r}")


class AsyncTurnDriver:
    """Drives the turns of one agent.

    Args:
        provider: The model.
        retries: How its failures are treated.
        policy: How tools are run.
        name: The agent's name.
        metrics: Where turns are counted.

    Attributes:
        last_input_tokens: Whole prompt of the last call of the turn that was completed last, in tokens.
    """

    def __init__(
        self,
        provider: AsyncLLMProvider,
        retries: RetryConfig,
        policy: ToolPolicy,
        name: str | None,
        metrics: MetricsCollector | None,
    ) -> None:
        self.last_input_tokens = 0
        self._provider = provider
        self._retries = retries
        self._policy = policy
        self._name = name
        self._metrics = metrics

    async def run(
        self,
        turn: Turn,
        frame: AsyncTurnFrame,
        options: TurnOptions,
        check: Callable[[AgentResponse], bool] = lambda answer: True,
    ) -> AgentResponse:
        """Drive a turn until its answer is there, and the check has nothing against it."""
        turn.log.begin()
        watch = self._watch(turn, options)
        with watch:
            return await self._run(turn, frame, options, check, watch)

    async def _run(
        self,
        turn: Turn,
        frame: AsyncTurnFrame,
        options: TurnOptions,
        check: Callable[[AgentResponse], bool],
        watch: TurnWatch,
    ) -> AgentResponse:
        runner = self._runner(turn, options, watch)
        deadline = deadline_after(options.timeout, "the turn", is_retryable=False)
        try:
            with rt.entry(), rt.cancel_on(options.cancel), rt.fail_at(deadline):
                await frame.begin(turn)
                with frame.work():
                    while not (turn.is_over and check(turn.response())):
                        request = turn.next_request()
                        answer = await complete(self._provider, request, self._retries, turn.log, watch)
                        calls = turn.take_answer(answer)
                        if calls:
                            tool_round = self._round(runner, calls, options.cancel, deadline)
                            await _run_round(tool_round)
                            turn.take_results(calls, tool_round.all_results())
                if options.cancel is not None:
                    options.cancel.raise_if_cancelled()  # of which the loop may not know yet
                await frame.complete(turn)
        except KovaError as error:
            error.partial = turn.partial()
            raise
        finally:
            await frame.end()
        return self._completed(turn)

    def stream(
        self, turn: Turn, frame: AsyncTurnFrame, options: TurnOptions, tap: Callable[[StreamEvent], Any] | None = None
    ) -> AsyncAgentStream:
        """The turn as a stream, which drives itself.

        Args:
            turn: The turn.
            frame: What stands around it.
            options: Its limits.
            tap: Is called with each of the provider's events.
        """
        watch = self._watch(turn, options)
        runner = self._runner(turn, options, watch)
        return AsyncAgentStream(
            turn,
            frame,
            watch,
            open_stream=lambda request: open_stream(self._provider, request, self._retries, turn.log, watch),
            start_round=lambda calls, token, deadline: self._round(runner, calls, token, deadline),
            completed=self._completed,
            tap=tap,
            token=options.cancel,
            timeout=options.timeout,
        )

    def _completed(self, turn: Turn) -> AgentResponse:
        response = turn.response()
        if response.last_input_tokens is not None:
            self.last_input_tokens = response.last_input_tokens
        return response

    def _watch(self, turn: Turn, options: TurnOptions) -> TurnWatch:
        return watch_turn(
            turn, agent=self._name, provider=self._provider, session=options.session, metrics=self._metrics
        )

    def _runner(self, turn: Turn, options: TurnOptions, watch: TurnWatch) -> AsyncToolRunner:
        return AsyncToolRunner(turn.tools, self._policy, options.state, options.session, turn.log, watch)

    def _round(
        self,
        runner: AsyncToolRunner,
        calls: Sequence[ToolUseBlock],
        token: CancellationToken | None,
        deadline: Deadline | None,
    ) -> AsyncToolRound:
        return AsyncToolRound(runner, calls, token=token, deadline=deadline, limit=self._policy.max_concurrent)


async def _run_round(tool_round: AsyncToolRound) -> None:
    if len(tool_round.calls) == 1:
        await tool_round.next_ended(None)
        return
    async with rt.TaskGroup() as group:
        try:
            while await tool_round.next_ended(group) is not None:
                pass
        except BaseException as error:
            if error is not tool_round.failure:
                if not isinstance(error, Exception):
                    raise
                await tool_round.stop()
                tool_round.failure = error  # a signal's handler has raised it
    if tool_round.failure is not None:
        raise tool_round.failure  # outside, where the group does not make an ExceptionGroup of it
