"""What stands around a turn: its system prompt, and the stored conversation that it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from .._memory.arguments import checked_history
from .._runtime import aio as rt
from .._signals import raise_if_from_a_signal
from .._turn import Turn
from ..errors import BuildError, KovaError, MemoryStoreError
from ..messages import ConversationMessage
from ..tools import RunContext
from .memory import AsyncMemoryStore, conversation_turn

__all__ = ["AsyncConversationFrame", "AsyncPromptFrame", "AsyncTurnFrame"]

COMMIT_SECONDS = 90.0  # a turn that is being stored is not cancelled any more


class AsyncTurnFrame(Protocol):
    """What is done around a turn."""

    async def begin(self, turn: Turn) -> None:
        """Make the turn ready for its first provider call."""

    def work(self) -> AbstractContextManager[None]:
        """A block that calls what belongs to the turn: tools, handlers, the user's own provider."""

    async def complete(self, turn: Turn) -> None:
        """Finish a turn whose answer is there; the caller learns of it afterwards."""

    async def end(self) -> None:
        """Free what `begin` has taken, whatever became of the turn. May be called twice."""


class AsyncPromptFrame:
    """The frame of a turn of which nothing is stored.

    Args:
        system_prompt: Makes the system prompt, where it is not a text that the turn has already.
        context: What it is made from.
    """

    def __init__(self, system_prompt: Callable[[RunContext], Any] | None, context: RunContext) -> None:
        self._system_prompt = system_prompt
        self._context = context

    async def begin(self, turn: Turn) -> None:
        """Make the system prompt."""
        if self._system_prompt is None:
            return
        text = await rt.call(self._system_prompt, self._context)
        if not isinstance(text, str):
            raise BuildError(f"system_prompt must give a str, not {type(text).__name__}")
        turn.instruct(text)

    def work(self) -> AbstractContextManager[None]:
        """A block like any other."""
        return nullcontext()

    async def complete(self, turn: Turn) -> None:
        """Do nothing."""

    async def end(self) -> None:
        """Do nothing."""


class AsyncConversationFrame:
    """The frame of a turn of a stored conversation: it waits for earlier turns, reads, and writes at the end.

    Args:
        store: The store.
        conversation_id: The conversation.
        message: What the user says.
        prompt: Makes the system prompt.
    """

    def __init__(
        self,
        store: AsyncMemoryStore,
        conversation_id: str,
        message: ConversationMessage,
        prompt: Callable[[Turn], Any],
    ) -> None:
        self._store = store
        self._conversation_id = conversation_id
        self._message = message
        self._prompt = prompt
        self._place = conversation_turn(store, conversation_id)
        self._revision = 0

    async def begin(self, turn: Turn) -> None:
        """Wait for earlier turns of the conversation, and read what was said."""
        await self._place.__aenter__()
        history, self._revision = await self._load()
        turn.recall(history)
        with self.work():
            await self._prompt(turn)

    async def _load(self) -> tuple[list[ConversationMessage], int]:
        try:
            return checked_history(await self._store.load(self._conversation_id))
        except KovaError:
            raise
        except Exception as error:
            raise_if_from_a_signal(error)
            raise self._failure("read", error) from error

    def _failure(self, what: str, error: Exception) -> MemoryStoreError:
        return MemoryStoreError(
            f"conversation {self._conversation_id!r} cannot be {what}: {type(error).__name__}: {error}"
        )

    def work(self) -> AbstractContextManager[None]:
        """A block whose calls must not wait for the turn to end, as another turn of the conversation would."""
        return self._place.work()

    async def complete(self, turn: Turn) -> None:
        """Write the user's message and all that the turn has produced, in one step.

        Raises:
            MemoryStoreError: They could not be written, or not in time.
        """
        is_stored = False
        with rt.shield(COMMIT_SECONDS):
            await self._append([self._message, *turn.new_messages])
            is_stored = True
        if not is_stored:
            raise MemoryStoreError(f"the turn could not be stored within {COMMIT_SECONDS:g} s")

    async def _append(self, messages: list[ConversationMessage]) -> None:
        try:
            await self._store.append(self._conversation_id, messages, self._revision)
        except KovaError:
            raise
        except Exception as error:
            raise_if_from_a_signal(error)
            raise self._failure("written", error) from error

    async def end(self) -> None:
        """Let the next turn of the conversation begin."""
        self._place.end()
