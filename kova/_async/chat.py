"""Conversations: turns whose messages are kept in a store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from .._log import log
from .._memory.arguments import checked_id
from .._runtime import aio as rt
from .._signals import raise_if_from_a_signal
from .._turn import Turn
from ..cancellation import CancellationToken
from ..config import InferenceConfig
from ..errors import BuildError
from ..history import check_history
from ..messages import ConversationMessage, Role
from ..responses import AgentResponse, TextDelta, ThinkingDelta
from ..streaming import StreamingHandler
from .agent_stream import AsyncAgentStream
from .memory import AsyncMemoryStore
from .turn_driver import AsyncTurnDriver, TurnOptions
from .turn_frame import AsyncConversationFrame, AsyncPromptFrame

__all__ = ["AsyncChat"]


class AsyncChat(ABC):
    """The part of an agent that converses.

    The history is read from the agent's `memory`. The user's message and all that the turn produces are written when
    the turn has succeeded, in one step; a turn that fails or is cancelled changes nothing. Two turns of one
    conversation wait for one another; of two in different processes, one gets a `MemoryStoreError` whose
    `is_conflict` is true.
    """

    _driver: AsyncTurnDriver
    _memory: AsyncMemoryStore
    _streaming_handler: StreamingHandler | None

    @abstractmethod
    def _new_turn(self, messages: Any, config: InferenceConfig | None) -> Turn:
        """A turn that begins with these messages."""

    @abstractmethod
    def _prompt_frame(self, options: TurnOptions) -> AsyncPromptFrame:
        """What makes the turn's system prompt."""

    async def chat(
        self,
        conversation_id: str,
        text: str | ConversationMessage,
        *,
        config: InferenceConfig | None = None,
        cancel: CancellationToken | None = None,
        timeout: float | None = None,
        state: object = None,
    ) -> str:
        """Say something in a conversation, and get the answer's text. See `chat_response`."""
        response = await self.chat_response(
            conversation_id, text, config=config, cancel=cancel, timeout=timeout, state=state
        )
        return response.text

    async def chat_response(
        self,
        conversation_id: str,
        text: str | ConversationMessage,
        *,
        config: InferenceConfig | None = None,
        cancel: CancellationToken | None = None,
        timeout: float | None = None,
        state: object = None,
    ) -> AgentResponse:
        """Say something in a conversation, and get the whole response.

        Thinking is replayed to the agent's streaming handler, when the turn is stored; what that raises is logged.

        Args:
            conversation_id: The conversation, which may be a new one.
            text: What the user says: a string, or a message of the user's with further blocks.
            config: How the model is asked in this turn; what it leaves open is the agent's.
            cancel: Ends the turn when it is cancelled.
            timeout: Seconds for the whole turn.
            state: Anything; tools find it in their context.

        Raises:
            MemoryStoreError: The conversation cannot be read or written, or was changed in the meantime.
            KovaError: All that `run` raises.
        """
        options = TurnOptions(cancel, timeout, state, checked_id(conversation_id))
        turn, frame = self._conversation(conversation_id, text, config, options)
        response = await self._driver.run(turn, frame, options)
        if self._streaming_handler is not None and response.thinking:
            await _tell(self._streaming_handler.on_chunk, ThinkingDelta(response.thinking))
            await _tell(self._streaming_handler.on_chunk, TextDelta(""))
        return response

    def chat_events(
        self,
        conversation_id: str,
        text: str | ConversationMessage,
        *,
        config: InferenceConfig | None = None,
        cancel: CancellationToken | None = None,
        timeout: float | None = None,
        state: object = None,
    ) -> AsyncAgentStream:
        """Say something in a conversation, and see what happens: the stream of `run_stream` over a stored history.

        The turn is stored before `TurnCompleted` comes. Arguments and errors are those of `chat_response`.
        """
        options = TurnOptions(cancel, timeout, state, checked_id(conversation_id))
        turn, frame = self._conversation(conversation_id, text, config, options)
        return self._driver.stream(turn, frame, options)

    async def chat_stream(
        self,
        conversation_id: str,
        text: str | ConversationMessage,
        *,
        handler: StreamingHandler | None = None,
        config: InferenceConfig | None = None,
        cancel: CancellationToken | None = None,
        timeout: float | None = None,
        state: object = None,
    ) -> str:
        """Say something in a conversation; a handler is told of the provider's events as they come.

        What its `on_chunk` raises ends the turn, of which nothing is stored, and is raised here. What `on_complete` and
        `on_error` raise is logged: the turn is over by then.

        The other arguments and errors are those of `chat_response`.

        Args:
            conversation_id: The conversation, which may be a new one.
            text: What the user says.
            handler: Is told of the events, in place of the agent's `streaming_handler`.

        Returns:
            The answer's text.

        Raises:
            BuildError: Neither the call nor the agent has a handler.
        """
        told = self._streaming_handler if handler is None else handler
        if told is None:
            raise BuildError("handler is missing: give one to chat_stream, or streaming_handler to the agent")
        check_streaming_handler(told, "handler")
        options = TurnOptions(cancel, timeout, state, checked_id(conversation_id))
        turn, frame = self._conversation(conversation_id, text, config, options)

        async def tap(event: Any) -> None:
            await rt.call(told.on_chunk, event)

        try:
            async with self._driver.stream(turn, frame, options, tap) as stream:
                async for _ in stream:
                    pass
        except Exception as error:
            await _tell(told.on_error, error)
            raise
        await _tell(told.on_complete)
        return stream.response.text

    @property
    def last_turn_input_tokens(self) -> int:
        """Whole prompt of the last call of the turn that was completed last, in tokens; 0 before."""
        return self._driver.last_input_tokens

    def _conversation(
        self,
        conversation_id: str,
        text: str | ConversationMessage,
        config: InferenceConfig | None,
        options: TurnOptions,
    ) -> tuple[Turn, AsyncConversationFrame]:
        message = _users_message(text)
        prompt = self._prompt_frame(options)
        return self._new_turn(message, config), AsyncConversationFrame(
            self._memory, conversation_id, message, prompt.begin
        )


async def _tell(method: Callable[..., Any], *args: object) -> None:
    """Call a handler about a turn that is over, on which its exceptions have no effect any more."""
    try:
        await rt.call(method, *args)
    except Exception as error:
        raise_if_from_a_signal(error)
        log.exception("the streaming handler raised", method=getattr(method, "__name__", "method"))


def check_streaming_handler(handler: object, argument: str) -> None:
    """Refuse what is no handler of this twin.

    Raises:
        BuildError: A method is missing, or is of the other twin.
    """
    for method in ("on_chunk", "on_complete", "on_error"):
        rt.check_callable(getattr(handler, method, None), f"{argument}.{method}")


def _users_message(text: object) -> ConversationMessage:
    if isinstance(text, ConversationMessage):
        if text.role is not Role.USER:
            raise ValueError(f"text must be a message of the user's, not of role {text.role}")
        if check_history([text]):
            raise ValueError(f"text cannot be stored: {check_history([text])[0]}")
        return text
    if not isinstance(text, str):
        raise TypeError(f"text must be a str or a message, not {type(text).__name__}")
    if not text.strip():
        raise ValueError("text is blank: there is nothing to answer")
    return ConversationMessage(Role.USER, text)
