"""The loop of a chat: read, run a turn and show it, again."""

from __future__ import annotations

import time

from .. import (
    Agent,
    AgentBuilder,
    AgentResponse,
    ConversationMessage,
    KovaError,
    Role,
    SQLiteStore,
    TextBlock,
    TextDelta,
    ThinkingDelta,
    ToolCallFinished,
    ToolCallStarted,
    TurnCancelledError,
    TurnCompleted,
)
from ..errors import BuildError
from .history_file import first_words, new_conversation
from .screen import Screen
from .slash_commands import COMMANDS, SlashCommand, help_text, parse
from .turn_thread import Ended, Idle, Question, TurnEvent, Turns

__all__ = ["ChatLoop", "texts_of", "usage_line"]

LISTED = 10  # conversations


class ChatLoop:
    """A chat with one model after the other, in one conversation after the other.

    Args:
        screen: Shows it.
        turns: Runs the turns; the approval handler of the builder's agents.
        builder: Makes the agents.
        store: Keeps the conversations.
        conversation: The id of the one to begin with.
        model: The model to begin with.

    Raises:
        BuildError: The model cannot be used.
    """

    def __init__(
        self, screen: Screen, turns: Turns, builder: AgentBuilder, store: SQLiteStore, conversation: str, model: str
    ) -> None:
        self._screen = screen
        self._turns = turns
        self._builder = builder
        self._store = store
        self.conversation = conversation
        self._model = model
        self._agent = self._new_agent(model)

    def run(self) -> None:
        """Chat until the user leaves."""
        try:
            while True:
                self._screen.show_status(f"/help · {self._model} · {self.conversation}")
                said = self._screen.read()
                if said is None:
                    return
                command = parse(said)
                if command is not None and command.name == "quit":
                    return
                if command is not None:
                    self._obey(command)
                elif said.strip():
                    self._turn(said.strip())
        finally:
            self._agent.close()

    def _new_agent(self, model: str) -> Agent:
        return self._builder.provider(model).memory(self._store).build()

    # ---- a turn

    def _turn(self, said: str) -> None:
        begun = time.monotonic()
        response: AgentResponse | None = None
        error: BaseException | None = None
        self._screen.begin_turn()
        try:
            for event in self._turns.events(
                lambda token: self._agent.chat_events(self.conversation, said, cancel=token), self._screen.idle_after
            ):
                if isinstance(event, TurnCompleted):
                    response = event.response
                elif isinstance(event, Ended):
                    error = event.error
                else:
                    self._show(event)
        finally:
            self._screen.end_turn()
        self._sum_up(response, error, time.monotonic() - begun)

    def _show(self, event: TurnEvent) -> None:
        match event:
            case TextDelta(text=text):
                self._screen.text(text)
            case ThinkingDelta(text=text):
                self._screen.thinking(text)
            case ToolCallStarted(id=call_id, name=name, input=arguments):
                self._screen.call(call_id, name, arguments)
            case ToolCallFinished(id=call_id, name=name, result=result, is_error=is_error):
                self._screen.result(call_id, name, result, is_error)
            case Question(call=call):
                decision = self._screen.ask(call)
                if decision is None:
                    self._turns.stop()
                else:
                    event.answer(decision)
            case Idle():
                self._screen.refresh()

    def _sum_up(self, response: AgentResponse | None, error: BaseException | None, seconds: float) -> None:
        match error:
            case None:
                if response is not None:
                    self._screen.note(usage_line(response, seconds))
            case TurnCancelledError():
                self._screen.note("stopped; this turn is not kept")
            case KovaError():
                self._screen.problem(f"{type(error).__name__}: {error}")
            case _:
                raise error

    # ---- commands

    def _obey(self, command: SlashCommand) -> None:
        match command.name:
            case "help":
                self._screen.note(help_text())
            case "history":
                self._screen.note(self._history())
            case "model":
                self._switch(command.argument)
            case "new":
                self.conversation = new_conversation()
                self._screen.note(f"conversation {self.conversation}")
            case name:
                self._screen.problem(f"there is no /{name}; there are {', '.join(f'/{known}' for known in COMMANDS)}")

    def _history(self) -> str:
        listed = self._store.list_conversations()[:LISTED]
        lines = [f"{each}  {first_words(self._store.load(each)[0], 60)}" for each in listed]
        return "\n".join(lines) or "no conversations yet"

    def _switch(self, model: str) -> None:
        if model:
            try:
                agent = self._new_agent(model)
            except BuildError as error:
                self._screen.problem(str(error))
                return
            self._agent.close()
            self._agent, self._model = agent, model
        self._screen.note(self._model)


def usage_line(response: AgentResponse, seconds: float) -> str:
    """What a turn has cost."""
    usage = response.usage
    parts = [f"{_count(usage.prompt_tokens)} in", f"{_count(usage.output_tokens)} out", f"{seconds:.1f} s"]
    if response.llm_calls > 1:
        parts.append(f"{response.llm_calls} calls of the model")
    if response.stop_reason.value not in ("end_turn", "tool_use"):
        parts.append(response.stop_reason.value)
    return " · ".join(parts)


def texts_of(messages: list[ConversationMessage], role: Role) -> list[str]:
    """The texts of one side of a conversation, without those that are empty."""
    texts = [
        "".join(block.text for block in message.content if isinstance(block, TextBlock))
        for message in messages
        if message.role is role
    ]
    return [text for text in texts if text]


def _count(tokens: int | None) -> str:
    return "?" if tokens is None else f"{tokens:,}"
