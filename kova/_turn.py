"""The bookkeeping of one turn, without any I/O: what to send next, which tools to run, when it is over.

Whoever drives a turn asks it for the next request, gives it the model's answer, runs the calls that the answer asks
for, and gives it their results, until an answer asks for none.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import cast

from attrs import evolve, frozen

from ._turn_log import CallRecord, TurnLog
from .config import InferenceConfig
from .errors import ContextBudgetExceededError, MaxIterationsError
from .history import estimate_tokens, repair_history, unique_id, without_blanks
from .messages import (
    ContentBlock,
    ConversationMessage,
    Role,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    checked_messages,
)
from .responses import AgentResponse, ModelResponse, Partial, StopReason, UsageStats
from .tools import Tool, ToolDefinition, ToolResult

__all__ = ["ModelRequest", "Turn", "as_history"]


@frozen
class ModelRequest:
    """The arguments of one provider call.

    Attributes:
        messages: System prompt, history, and what the turn has produced.
        tools: What the model may call.
        config: How it is asked.
    """

    messages: Sequence[ConversationMessage]
    tools: Sequence[ToolDefinition]
    config: InferenceConfig


class Turn:
    """What has happened in a turn so far.

    Args:
        history: The caller's messages, which are never changed.
        system_prompt: Goes before them.
        tools: The tools by name.
        definitions: What the model is told about them.
        config: How the model is asked.
        max_iterations: Tool rounds that are permitted.
        context_budget: Tokens that a prompt may have, as estimated; None for any number.

    Raises:
        ValueError: The tool that is to be called first is none of the tools.

    Attributes:
        tools: The tools by name.
        new_messages: What the turn has produced so far.
        log: What happened when, and what was spent.
        llm_calls: Provider calls begun.
    """

    def __init__(
        self,
        history: Sequence[ConversationMessage],
        *,
        system_prompt: str | None,
        tools: Mapping[str, Tool],
        definitions: Sequence[ToolDefinition],
        config: InferenceConfig,
        max_iterations: int,
        context_budget: int | None = None,
    ) -> None:
        if config.tool_choice not in (None, "auto", "none", "required"):
            _check_choice(config.tool_choice, definitions)
        self.tools = tools
        self.new_messages: list[ConversationMessage] = []
        self.log: TurnLog = TurnLog()
        self._call: CallRecord | None = None  # of the model, as it was begun last
        self._usage = UsageStats()  # of the model's calls
        self.llm_calls: int = 0
        self._system: list[ConversationMessage] = []
        self._history = repair_history(history)  # what is sent; the caller's is never changed
        if system_prompt is not None:
            self.instruct(system_prompt)
        self._definitions = definitions
        self._config = config
        self._max_iterations = max_iterations
        self._context_budget = context_budget
        self._rounds = 0
        self._used_ids: set[str] | None = None
        self._correction: list[ConversationMessage] = []
        self._thinking: list[str] = []
        self._last: ModelResponse | None = None

    def recall(self, history: Sequence[ConversationMessage]) -> None:
        """Put what was said before in front of what the caller has given."""
        self._history = [*repair_history(history), *self._history]

    def instruct(self, system_prompt: str) -> None:
        """Put a system prompt before the history, if it says anything."""
        self._system = [ConversationMessage(Role.SYSTEM, system_prompt)] if system_prompt.strip() else []

    def next_request(self) -> ModelRequest:
        """The next provider call, which counts from now on.

        Raises:
            ContextBudgetExceededError: Its prompt is larger than the budget.
        """
        messages = [*self._system, *self._history, *self.new_messages, *self._correction]
        if self._context_budget is not None:
            measured = self._measured_before + estimate_tokens([*self.new_messages, *self._correction])
            if measured > self._context_budget:
                raise ContextBudgetExceededError(measured, self._context_budget)
        config = self._config
        if self.llm_calls and config.tool_choice not in (None, "none", "auto"):
            config = config.replace(tool_choice=None)  # else a forced call would be forced again and again
        self.llm_calls += 1
        self._call = self.log.call("model", config.model or "")
        return ModelRequest(messages, self._definitions, config)

    @functools.cached_property
    def _measured_before(self) -> int:
        """The size of what every prompt of the turn begins with: it is long, and is measured once."""
        return estimate_tokens([*self._system, *self._history], self._definitions)

    def take_answer(self, answer: ModelResponse) -> Sequence[ToolUseBlock]:
        """Note the model's answer.

        Returns:
            The calls to run next; none when the turn is over, or when the model has only paused and is to be asked
            again, which counts as a round.

        Raises:
            MaxIterationsError: It asks for one round more than is permitted.
        """
        self._last = answer
        self._note(answer.usage, answer.model)
        if answer.thinking:
            self._thinking.append(answer.thinking)
        content = [self._with_unique_id(block) for block in answer.content if not _is_blank(block)]
        self.new_messages.append(ConversationMessage(Role.ASSISTANT, content))
        if not self.is_over:
            if self._rounds >= self._max_iterations:
                raise MaxIterationsError(self._max_iterations)
            self._rounds += 1
        return [block for block in content if isinstance(block, ToolUseBlock)]

    def _with_unique_id(self, block: ContentBlock) -> ContentBlock:
        """A call with an id that no other call of the conversation has: servers begin with call_0 in every answer."""
        if not isinstance(block, ToolUseBlock):
            return block
        if self._used_ids is None:
            calls = [call for message in self._history for call in message.content if isinstance(call, ToolUseBlock)]
            self._used_ids = {call.id for call in calls}
        unique = unique_id(block.id, self._used_ids)
        self._used_ids.add(unique)
        return block if unique == block.id else evolve(block, id=unique)

    def correct(self, problem: str) -> bool:
        """Take the final answer back, and have the model told what is wrong with it.

        Only the newest wrong answer goes back; none of them stays in the messages of the turn.

        Returns:
            Whether there is a call left for it; the turn is then not over.
        """
        if self._rounds >= self._max_iterations:
            return False
        self._rounds += 1
        request = f"This answer cannot be used: {problem}\nGive the whole answer again, as JSON alone."
        self._correction = [self.new_messages.pop(), ConversationMessage(Role.USER, request)]
        self._last = None
        return True

    def take_broken_answer(self, usage: UsageStats, error: Exception) -> None:
        """Note what a stream that broke off has reported as spent."""
        self._note(usage, None).break_off(error)

    def _note(self, usage: UsageStats, model: str | None) -> CallRecord:
        """Note that a provider call is over."""
        call = self._call or self.log.call("model", "")
        call.finish()
        call.name = model or call.name
        call.spent.append(usage)
        self._usage += usage
        return call

    @property
    def iterations(self) -> int:
        """Tool rounds so far, those in which the model was only asked again among them."""
        return self._rounds

    @property
    def usage(self) -> UsageStats:
        """Tokens spent so far."""
        return sum(self.log.spent_by_tools(), self._usage)

    @property
    def is_over(self) -> bool:
        """Whether the last answer was the final one."""
        answer = self._last
        return answer is not None and not answer.tool_calls and answer.stop_reason is not StopReason.PAUSE_TURN

    def take_results(self, calls: Sequence[ToolUseBlock], results: Sequence[ToolResult]) -> None:
        """Note the results of the calls, in the order of the calls."""
        for call, result in zip(calls, results, strict=True):
            block = without_blanks(ToolResultBlock(call.id, result.content, result.is_error))
            self.new_messages.append(ConversationMessage(Role.TOOL, (block,)))

    def response(self) -> AgentResponse:
        """The result of a turn that is over."""
        answer = self._last
        assert answer is not None
        return AgentResponse(
            text=answer.text,
            new_messages=list(self.new_messages),
            stop_reason=answer.stop_reason,
            raw_stop_reason=answer.raw_stop_reason,
            usage=self.usage,
            last_input_tokens=answer.usage.prompt_tokens,
            llm_calls=self.llm_calls,
            thinking="\n\n".join(self._thinking) or None,
            model=answer.model,
            log=self.log,
        )

    def partial(self) -> Partial:
        """What there is of a turn that has failed."""
        self.log.close()
        return Partial(list(self.new_messages), self.usage, self.llm_calls, self.log)


def _is_blank(block: ContentBlock) -> bool:
    """Whether it is text without a word, which providers refuse in a history although models give it."""
    return isinstance(block, TextBlock) and not block.text.strip()


def _check_choice(choice: str, definitions: Sequence[ToolDefinition]) -> None:
    names = [definition.name for definition in definitions]
    if choice not in names:
        known = ", ".join(names) or "there is none"
        raise ValueError(f"tool_choice must be auto, none, required or the name of a tool ({known}), not {choice!r}")


def as_history(messages: str | ConversationMessage | Sequence[ConversationMessage]) -> list[ConversationMessage]:
    """The history that the caller means: a string is what the user says.

    Raises:
        TypeError: It is something else.
        ValueError: There is nothing to answer.
    """
    if isinstance(messages, str):
        if not messages.strip():
            raise ValueError("messages is blank: there is nothing to answer")
        return [ConversationMessage(Role.USER, messages)]
    if isinstance(messages, ConversationMessage):
        return [messages]
    if not isinstance(messages, Sequence):
        raise TypeError(f"messages must be a str, a message or a sequence of messages, not {type(messages).__name__}")
    history = checked_messages(cast("Sequence[ConversationMessage]", messages))
    if not history:
        raise ValueError("messages is empty: there is nothing to answer")
    return history
