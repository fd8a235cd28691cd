"""Each work with kova, as its users write it."""

from types import TracebackType
from typing import Self

import kova

from .decode_by_hand import Decoded
from .scenario import KEY, MODEL, QUESTION, exchanges, look_up, look_up_async


class Blocking:
    """The works with `kova.Agent`."""

    def __init__(self, url: str) -> None:
        self._model = kova.OpenAICompatibleProvider(MODEL, api_key=KEY, base_url=f"{url}/v1")
        self._agent = kova.Agent(self._model)
        self._tool_agent = kova.Agent(self._model, tools=[kova.tool(look_up)])
        self._history: list[kova.ConversationMessage] = []

    def turn(self) -> str:
        """Ask the question, and return the answer."""
        return self._agent.run(QUESTION).text

    def stream(self) -> str:
        """Ask the question, and put the answer together from its pieces."""
        pieces = []
        with self._agent.run_stream(QUESTION) as stream:
            for event in stream:
                if isinstance(event, kova.TextDelta):
                    pieces.append(event.text)
        return "".join(pieces)

    def tool_loop(self) -> str:
        """Ask the question, run the tools that are called, and ask again, until there is an answer."""
        return self._tool_agent.run(QUESTION).text

    def load_history(self, count: int) -> None:
        """Begin a history of so many exchanges."""
        self._history = history(count)

    def answer_history(self) -> str:
        """The model's answer to the history."""
        return self._agent.run(self._history).text

    def decode(self, provider: str, pieces: list[bytes]) -> Decoded:
        """What a stream comes to that is there already."""
        from .decode_with_kova import decode  # loads all five formats, which nothing else here needs

        return decode(provider, pieces)

    def history_loop(self) -> str:
        """The same, after tools were run."""
        return self._tool_agent.run(self._history).text

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._model.close()


class Async:
    """The works with `kova.AsyncAgent`."""

    def __init__(self, url: str) -> None:
        self._model = kova.AsyncOpenAICompatibleProvider(MODEL, api_key=KEY, base_url=f"{url}/v1")
        self._agent = kova.AsyncAgent(self._model)
        self._tool_agent = kova.AsyncAgent(self._model, tools=[kova.tool(name="look_up")(look_up_async)])
        self._history: list[kova.ConversationMessage] = []

    async def turn(self) -> str:
        """Ask the question, and return the answer."""
        return (await self._agent.run(QUESTION)).text

    async def stream(self) -> str:
        """Ask the question, and put the answer together from its pieces."""
        pieces = []
        async with self._agent.run_stream(QUESTION) as stream:
            async for event in stream:
                if isinstance(event, kova.TextDelta):
                    pieces.append(event.text)
        return "".join(pieces)

    async def tool_loop(self) -> str:
        """Ask the question, run the tools that are called, and ask again, until there is an answer."""
        return (await self._tool_agent.run(QUESTION)).text

    def load_history(self, count: int) -> None:
        """Begin a history of so many exchanges."""
        self._history = history(count)

    async def answer_history(self) -> str:
        """The model's answer to the history."""
        return (await self._agent.run(self._history)).text

    async def history_loop(self) -> str:
        """The same, after tools were run."""
        return (await self._tool_agent.run(self._history)).text

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._model.close()


def history(count: int) -> list[kova.ConversationMessage]:
    """So many exchanges, and a last question."""
    messages: list[kova.ConversationMessage] = []
    for exchange in exchanges(count):
        call = kova.ToolUseBlock(exchange.call_id, "look_up", {"town": exchange.town})
        result = kova.ToolResultBlock(exchange.call_id, exchange.result)
        messages += [
            kova.user_message(exchange.question),
            kova.ConversationMessage(kova.Role.ASSISTANT, [call]),
            kova.ConversationMessage(kova.Role.TOOL, [result]),
            kova.assistant_message(exchange.answer),
        ]
    return [*messages, kova.user_message(QUESTION)]
