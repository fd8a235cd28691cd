"""Running the tool calls of a turn, side by side, and turning what becomes of them into results for the model."""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._log import log
from .._runtime import aio as rt
from .._runtime.scope import Deadline
from .._schema import ArgumentError
from .._signals import raise_if_from_a_signal
from .._turn_log import REPORTED, CallRecord, TurnLog
from ..approvals import ApprovalDecision, SessionApprovals
from ..cancellation import CancellationToken
from ..errors import KovaError, TimeoutError, ToolExecutionError, ToolNotFoundError, TurnCancelledError
from ..messages import ToolUseBlock
from ..telemetry.watch import TurnWatch
from ..tool_policy import ToolPolicy, shortened
from ..tools import FunctionTool, Tool, ToolContext, ToolError, ToolResult, normalize_result
from .turn_in_line import AsyncTurnInLine

__all__ = ["AsyncToolRound", "AsyncToolRunner"]

THIS_TURN = ""  # as the session of a turn that has no other
STRAGGLER_SECONDS = 5.0  # for async tools that clean up after being cancelled


class AsyncToolRunner:
    """Runs the calls of one turn, one at a time for each task that asks.

    Args:
        tools: The tools by name.
        policy: What the agent says about running them.
        state: The object that the caller gave for the tools.
        session: For what the approval handler's lasting decisions hold; None is this turn.
        log: Where the calls are noted.
        watch: Is told of tool runs.
    """

    def __init__(
        self,
        tools: Mapping[str, Tool],
        policy: ToolPolicy,
        state: object,
        session: str | None,
        log: TurnLog,
        watch: TurnWatch,
    ) -> None:
        self._log = log
        self._watch = watch
        self._tools = tools
        self._policy = policy
        self._state = state
        self._session = session or THIS_TURN
        self._own_approvals: SessionApprovals | None = None

    async def run(self, call: ToolUseBlock, token: CancellationToken) -> ToolResult:
        """The result of a call.

        Args:
            call: The call.
            token: The tool is to stop when this is cancelled.

        Raises:
            ToolExecutionError: The tool raised, and exceptions are not reported to the model.
            ToolNotFoundError: There is no such tool, likewise.
        """
        with self._watch.attached(), self._log.call("tool", call.name) as record:
            result = await self._run(call, token, record)
            record.error = REPORTED if result.is_error else None
            return result

    async def _run(self, call: ToolUseBlock, token: CancellationToken, record: CallRecord) -> ToolResult:
        tool = self._tools.get(call.name)
        if tool is None:
            self._watch.refused(call, "not_found")
            return self._not_found(call.name)
        if call.invalid_arguments is not None:
            self._watch.refused(call, "invalid_arguments")
            return _in_band(f"the arguments of {call.name} are not a JSON object: {call.invalid_arguments}")
        own = token if tool.timeout is None else token.child()  # a tool whose time is over is told to stop
        context = self._context(call, own, None, record)
        try:
            _bound(tool, call, context)
        except ArgumentError as error:
            self._watch.refused(call, "invalid_arguments")
            return self._cut(_in_band(str(error)))
        denial = await self._denial(call, context)
        if self._policy.approval_handler is not None:
            record.permit()
        if denial is not None:
            self._watch.refused(call, "denied")
            return denial
        context = self._context(call, own, tool.timeout, record)  # whose time begins now, after the answer of a person
        await self._tell("on_tool_start", call, context)
        with self._watch.tool_run(call) as watch:
            result = self._cut(await self._result(tool, call, context))
            watch.gave(result)
        await self._tell("on_tool_end", call, result, context)
        return result

    async def _result(self, tool: Tool, call: ToolUseBlock, context: ToolContext) -> ToolResult:
        """What the tool gives, and what it raises where that goes back to the model."""
        try:
            return await _execute(_bound(tool, call, context), tool, call, context.cancel)
        except (ToolError, ArgumentError) as error:
            return _in_band(str(error) or type(error).__name__)
        except Exception as error:
            raise_if_from_a_signal(error)
            if (tool.errors or self._policy.errors) == "report" and not _ends_the_turn(error, context):
                return _in_band(describe_exception(error))
            if isinstance(error, KovaError):
                raise
            raise ToolExecutionError(call.name, describe_exception(error)) from error

    def _cut(self, result: ToolResult) -> ToolResult:
        return shortened(result, self._policy.max_result_chars)

    def _context(
        self, call: ToolUseBlock, token: CancellationToken, timeout: float | None, record: CallRecord
    ) -> ToolContext:
        seconds = min(rt.remaining(), math.inf if timeout is None else timeout)
        return ToolContext(
            tool_use_id=call.id,
            tool_name=call.name,
            cancel=token,
            deadline=None if math.isinf(seconds) else Deadline(seconds, call.name).at,
            state=self._state,
            record=record,
        )

    async def _denial(self, call: ToolUseBlock, context: ToolContext) -> ToolResult | None:
        """What the model is told if the call may not run."""
        if self._policy.approval_handler is None:
            return None
        approvals, question = self._approvals, (self._session, call.name)

        def circle() -> ToolExecutionError:
            reason = "its approval handler waits for itself: it began a turn of the same session that calls the tool"
            return ToolExecutionError(call.name, reason)

        async with AsyncTurnInLine(approvals.questions, question, circle) as turn:  # an answer may hold for who waits
            decision = approvals.get(*question)
            if decision is None:
                with turn.work():
                    decision = await self._ask(self._policy.approval_handler, call, context)
                approvals.note(*question, decision)
        if decision.is_approved:
            return None
        return _in_band(f"the call of {call.name} was denied" + (f": {decision.reason}" if decision.reason else ""))

    @property
    def _approvals(self) -> SessionApprovals:
        """Where the decisions are kept: with the agent for a session, else with the turn."""
        if self._session != THIS_TURN:
            return self._policy.approvals
        if self._own_approvals is None:
            self._own_approvals = SessionApprovals()
        return self._own_approvals

    async def _ask(
        self, handler: Callable[[ToolUseBlock, ToolContext], Any], call: ToolUseBlock, context: ToolContext
    ) -> ApprovalDecision:
        """The handler's decision. Without one the call may not run, and neither may the turn go on."""
        try:
            decision = await rt.call(handler, call, context, stop=context.cancel)
        except KovaError:
            raise
        except Exception as error:
            raise_if_from_a_signal(error)
            raise ToolExecutionError(call.name, f"the approval handler raised {describe_exception(error)}") from error
        if not isinstance(decision, ApprovalDecision):
            raise ToolExecutionError(call.name, f"the approval handler gave no ApprovalDecision, but {decision!r}")
        return decision

    async def _tell(self, method: str, *args: object) -> None:
        """Call a method of the lifecycle hook; what it raises is nobody's error but its own."""
        hook = getattr(self._policy.lifecycle_hook, method, None)
        if hook is None:
            return
        try:
            await rt.call(hook, *args)
        except Exception as error:
            raise_if_from_a_signal(error)
            log.exception("a method of the lifecycle hook raised", method=method)

    def _not_found(self, name: str) -> ToolResult:
        if self._policy.errors == "report":
            known = ", ".join(self._tools) or "none"
            return _in_band(f"there is no tool {name!r}; the tools are: {known}")
        raise ToolNotFoundError(name)


def _ends_the_turn(error: Exception, context: ToolContext) -> bool:
    """Whether an error says that the turn itself is over, which no tool may hide."""
    if isinstance(error, TurnCancelledError):
        return context.cancel.is_cancelled
    remaining = context.remaining()
    return isinstance(error, TimeoutError) and remaining is not None and remaining <= 0


def _bound(tool: Tool, call: ToolUseBlock, context: ToolContext) -> Callable[[], Any]:
    """The call as a function without arguments."""
    if isinstance(tool, FunctionTool):
        return functools.partial(tool.fn, **tool.bind(call.input, context))
    return functools.partial(tool.execute, copy.deepcopy(dict(call.input)), context)


async def _execute(function: Callable[[], Any], tool: Tool, call: ToolUseBlock, token: CancellationToken) -> ToolResult:
    if tool.timeout is None:
        return normalize_result(call.name, await rt.call(function, stop=token))
    with rt.move_on_after(tool.timeout):
        return normalize_result(call.name, await rt.call(function, stop=token))
    return _in_band(f"{call.name} timed out after {tool.timeout:g} s")


class AsyncToolRound:
    """The calls of one round.

    Results come out one by one, as each call ends. The first call that ends the turn cancels the others; they have
    stopped, or were abandoned, when its error is raised.

    Args:
        runner: Runs each of them.
        calls: The calls.
        token: The turn's token.
        deadline: The turn's deadline.
        limit: Calls that may run at once.
    """

    def __init__(
        self,
        runner: AsyncToolRunner,
        calls: Sequence[ToolUseBlock],
        *,
        token: CancellationToken | None,
        deadline: Deadline | None,
        limit: int,
    ) -> None:
        self.calls = calls
        self.results: list[ToolResult | None] = [None] * len(calls)
        self.failure: BaseException | None = None  # of a call that has ended the turn
        self._started = False
        self._runner = runner
        self._token = CancellationToken() if token is None else token.child()
        self._deadline = deadline
        self._gate = rt.Semaphore(limit)
        self._running = len(calls)
        self._ended: rt.Channel[tuple[int, ToolResult | BaseException]] = rt.Channel()

    def all_results(self) -> list[ToolResult]:
        """The results in the order of the calls, when all have ended."""
        return [result for result in self.results if result is not None]

    async def next_ended(self, group: rt.TaskGroup | rt.Background | None) -> int | None:
        """The number of the next call that has ended, its result being noted; None when all have.

        Args:
            group: Where the calls run when there are several; a single one runs right here.

        Raises:
            KovaError: The call ends the turn.
        """
        if not self._running:
            return None
        if group is None or len(self.calls) == 1:
            self._running = 0
            self.results[0] = await self._runner.run(self.calls[0], self._token)
            return 0
        if not self._started:
            self._started = True
            for index in range(len(self.calls)):
                group.start_soon(self._run, index)
        index, outcome = await self._ended.get()
        self._running -= 1
        if isinstance(outcome, BaseException):
            await self.stop()
            self.failure = outcome
            raise outcome
        self.results[index] = outcome
        return index

    async def _run(self, index: int) -> None:
        call = self.calls[index]
        outcome: ToolResult | BaseException
        try:
            with rt.cancel_on(self._token), rt.fail_at(self._deadline):
                async with self._gate:
                    outcome = await self._runner.run(call, self._token)
        except BaseException as error:
            if rt.is_cancellation(error):  # of this task; nobody may wait for it in vain
                self._ended.put((index, ToolExecutionError(call.name, describe_exception(error))))
                raise
            outcome = error  # raised where the turn is driven, be it an interrupt or the exit of the program
        self._ended.put((index, outcome))

    async def stop(self) -> None:
        """Tell running calls to stop, and wait until they have."""
        self._token.cancel()
        if not self._started:
            return
        with rt.shield(STRAGGLER_SECONDS):
            while self._running:
                await self._ended.get()
                self._running -= 1


def _in_band(text: str) -> ToolResult:
    return ToolResult(text, is_error=True)


def describe_exception(error: BaseException) -> str:
    """Class and text of an exception; the class says something even where the text does not."""
    return f"{type(error).__name__}: {str(error) or '(no message)'}"
