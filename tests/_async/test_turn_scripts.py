"""Whatever a model answers, tools do, and whoever interrupts it where: a conversation stays whole.

A script is a conversation of several turns: what the model answers, which calls its tools deny, fail or answer, and
where somebody interrupts. It is played twice, plain and streamed.
"""

from __future__ import annotations

import copy
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kova
from kova import ApprovalDecision, StopReason, UsageStats
from kova._assembly import Assembler
from kova._runtime import aio as rt
from kova._script import Delay, steps
from kova.testing import call, provider_error

pytestmark = pytest.mark.anyio


# ---- scripts

ARGUMENTS = st.fixed_dictionaries({"deed": st.sampled_from(["do", "tell", "show", "deny", "raise"])})
CALLS = st.one_of(
    st.builds(call, st.sampled_from(["plain", "waiting"]), ARGUMENTS),
    st.builds(call, st.sampled_from(["plain", "waiting"]), st.sampled_from([{}, {"deed": 7}, '{"deed": "d', "[1]"])),
    st.builds(call, st.just("nothing"), ARGUMENTS),
)
TEXTS = st.sampled_from(["", " ", "Well.", "It is so. "])
USAGE = st.builds(UsageStats, st.none() | st.integers(0, 99), st.none() | st.integers(0, 99))
GOOD_ANSWERS = st.builds(
    lambda text, calls, usage, ending: [text, *calls, *usage, *ending],
    TEXTS,
    st.lists(CALLS, max_size=3),
    st.lists(USAGE, max_size=1),
    st.lists(st.sampled_from([StopReason.END_TURN, StopReason.MAX_TOKENS, StopReason.TOOL_USE]), max_size=1),
)
BAD_ANSWERS = st.one_of(
    st.sampled_from([[provider_error(500)], [provider_error(500)], [provider_error(400)]]),
    st.builds(lambda usage, text: [usage, text, kova.StreamError("broke off")], USAGE, TEXTS),
)
ANSWERS = st.lists(st.integers(0, 4).flatmap(lambda n: GOOD_ANSWERS if n else BAD_ANSWERS), max_size=4)
CANCELLED_AT = ["call", "event", "tool", "approval", "back-off"]
INTERRUPTIONS = st.one_of(
    st.none(),
    st.tuples(st.sampled_from([*CANCELLED_AT, "storing", "leaving"]), st.sampled_from([1, 1, 2, 3])),
)


@attrs.frozen
class Turn:
    """One turn of a script: the model's answers, and where it is interrupted for the how manieth time it is there."""

    answers: list[Any]
    interruption: tuple[str, int] | None


SCRIPTS = st.lists(st.builds(Turn, ANSWERS, INTERRUPTIONS), min_size=1, max_size=3)


class Plan:
    """The interruption of one turn."""

    def __init__(self, interruption: tuple[str, int] | None) -> None:
        self.token = kova.CancellationToken()
        self.has_come = False
        self._place, self._left = interruption or ("", 0)
        self._lock = threading.Lock()

    def reach(self, place: str) -> bool:
        """Whether it happens here and now; where a token is cancelled, it is."""
        with self._lock:
            self._left -= place == self._place
            if place != self._place or self._left:
                return False
        self.has_come = True
        if place in CANCELLED_AT:
            self.token.cancel(place)
        return True


# ---- what plays them


class AsyncPlayer:
    """A model, tools, an approval handler and a store that do what the script says, and remember what was spent."""

    def __init__(self, errors: Any) -> None:
        self.plan = Plan(None)
        self.spent: list[UsageStats] = []  # in answers that were given whole
        self.broken = UsageStats()  # in one that was not
        self.answers: list[Any] = []
        self.calls = 0  # that were begun, retries included
        self._store = kova.AsyncInMemoryStore()
        self.agent = kova.AsyncAgent(
            self,
            tools=[kova.tool(self.plain), kova.tool(self.waiting)],
            memory=self,
            tool_errors=errors,
            approval_handler=self.decide,
            max_iterations=3,
            retry_config=kova.RetryConfig(max_retries=1, initial_backoff=0.001, max_backoff=0.001),
        )

    async def chat_completion(self, messages: Any, tools: Any = (), config: Any = None) -> kova.ModelResponse:
        assembler = Assembler()
        async with rt.closing(self.chat_completion_stream(messages, tools, config)) as events:
            async for event in events:
                assembler.add(event)
        return assembler.response()

    async def chat_completion_stream(
        self, messages: Sequence[kova.ConversationMessage], tools: Any = (), config: Any = None
    ) -> AsyncIterator[Any]:
        assert kova.check_history(messages) == [], "what is sent is acceptable"
        self.broken = UsageStats()
        self.plan.reach("call")
        ids = [block.id for message in messages for block in message.content if isinstance(block, kova.ToolUseBlock)]
        for step in steps(self.answers.pop(0) if self.answers else "The end.", len(ids)):
            self.plan.reach("event")
            await rt.checkpoint()
            if isinstance(step, kova.KovaError):
                raise copy.copy(step)
            assert not isinstance(step, Delay)
            if isinstance(step, kova.UsageEvent):
                self.broken = step.usage
            yield step
        self.spent.append(self.broken)
        self.broken = UsageStats()

    def plain(self, deed: str) -> Any:
        """Do it in a thread."""
        return self._do(deed)

    async def waiting(self, deed: str) -> Any:
        """Do it after a moment."""
        await rt.sleep(0)
        return self._do(deed)

    def _do(self, deed: str) -> Any:
        self.plan.reach("tool")
        if deed == "tell":
            raise kova.ToolError("it cannot be done")
        if deed == "raise":
            raise ValueError("it went wrong")
        return ["Look:", kova.ImageBlock("image/png", b"png")] if deed == "show" else "done"

    async def decide(self, use: kova.ToolUseBlock, context: kova.ToolContext) -> ApprovalDecision:
        self.plan.reach("approval")
        return ApprovalDecision.DENIED if use.input["deed"] == "deny" else ApprovalDecision.APPROVED

    async def load(self, conversation_id: str) -> tuple[list[kova.ConversationMessage], int]:
        return await self._store.load(conversation_id)

    async def append(self, conversation_id: str, messages: Sequence[kova.ConversationMessage], revision: int) -> int:
        if self.plan.reach("storing"):
            raise OSError("disk full")
        return await self._store.append(conversation_id, messages, revision)

    async def clear(self, conversation_id: str) -> None:
        await self._store.clear(conversation_id)

    async def list_conversations(self) -> list[str]:
        return await self._store.list_conversations()

    async def prune(self, older_than: Any) -> int:
        return await self._store.prune(older_than)

    # ---- turns

    async def play(self, turn: Turn, streamed: bool) -> Any:
        """What a turn comes to: a response, an error, or None where its stream was left."""
        self.plan, self.answers, self.spent = Plan(turn.interruption), list(turn.answers), []
        self.broken = UsageStats()
        try:
            with calling_at_back_off(lambda: self.plan.reach("back-off")):
                if streamed:
                    return await self._stream()
                return await self.agent.chat_response("c1", "go", cancel=self.plan.token, timeout=60)
        except kova.KovaError as error:
            return error

    async def _stream(self) -> Any:
        async with self.agent.chat_events("c1", "go", cancel=self.plan.token, timeout=60) as stream:
            async for event in stream:
                if not isinstance(event, kova.TurnCompleted) and self.plan.reach("leaving"):
                    return None
        return stream.response


@contextmanager
def calling_at_back_off(function: Callable[[], object]) -> Iterator[None]:
    """Call a function when a retry is announced, before the pause."""
    logger, level = logging.getLogger("kova"), logging.getLogger("kova").level

    def see(record: logging.LogRecord) -> bool:
        if "retry" in record.msg:
            function()
        return False

    logger.setLevel(logging.WARNING)
    logger.addFilter(see)
    try:
        yield
    finally:
        logger.removeFilter(see)
        logger.setLevel(level)


# ---- what must hold


async def check(player: AsyncPlayer, outcome: Any, before: Any, streamed: bool) -> None:
    messages, revision = await player.load("c1")
    assert kova.check_history(messages) == []
    if isinstance(outcome, kova.AgentResponse):
        assert messages == [*before[0], kova.user_message("go"), *outcome.new_messages]
        assert outcome.usage == sum(player.spent, UsageStats())
        assert not player.plan.token.is_cancelled, "a cancelled turn is no success"
        return
    assert (messages, revision) == before, "a turn that is no success leaves no trace"
    if outcome is None:
        return
    assert outcome.partial is not None
    broken = player.broken if streamed else UsageStats()  # nothing is known of a call that has given no answer
    assert outcome.partial.usage == sum(player.spent, broken)
    if player.plan.token.is_cancelled and not isinstance(outcome, TOOLS_FAILED):
        assert type(outcome) is kova.TurnCancelledError


TOOLS_FAILED = (kova.ToolExecutionError, kova.ToolNotFoundError)  # of several calls that fail at once, either is first


def essence(outcome: Any, plan: Plan) -> Any:
    """What is the same however the turn was driven."""
    if isinstance(outcome, TOOLS_FAILED) or (plan.token.is_cancelled and isinstance(outcome, kova.KovaError)):
        return "ended in its tools" if isinstance(outcome, TOOLS_FAILED) else "cancelled"
    if isinstance(outcome, kova.KovaError):
        assert outcome.partial is not None
        return type(outcome), str(outcome), outcome.partial.messages, outcome.partial.llm_calls
    return outcome


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(script=SCRIPTS, errors=st.sampled_from(["raise", "report"]))
async def test_a_conversation_stays_whole(script: list[Turn], errors: Any) -> None:
    """L5, L7, L9, L10, T12: in every turn of every script, plain and streamed."""
    plain, streamed = AsyncPlayer(errors), AsyncPlayer(errors)
    for turn in script:
        before = await plain.load("c1")
        outcome = await plain.play(turn, streamed=False)
        await check(plain, outcome, before, streamed=False)
        before = await streamed.load("c1")
        other = await streamed.play(turn, streamed=True)
        await check(streamed, other, before, streamed=True)
        if other is None:
            return  # left early, which only a stream can be
        if "in its tools" not in f"{essence(outcome, plain.plan)}{essence(other, streamed.plan)}":
            assert essence(other, streamed.plan) == essence(outcome, plain.plan)
        assert await streamed.load("c1") == await plain.load("c1")
