"""The baseline: each work by hand on plain httpx and the standard library's `json`.

This is the code that a good engineer writes who needs just this one thing, and no library for it. It is frozen: what
kova is compared with must not drift, so it changes only where it turns out to be unfair. httpx keeps its own limits of
100 connections, 20 of them idle: with more of them, many requests at once take it longer.
"""

import json
from types import TracebackType
from typing import Any, Self

import httpx

from .decode_by_hand import DECODERS, Decoded
from .scenario import CHAT_PATH, KEY, MODEL, QUESTION, TIMEOUT, exchanges, look_up, look_up_async

HEADERS = {"authorization": f"Bearer {KEY}"}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "look_up",
            "description": "Look up the weather.",
            "parameters": {
                "type": "object",
                "properties": {"town": {"type": "string", "description": "Name of the town."}},
                "required": ["town"],
            },
        },
    }
]

Message = dict[str, Any]


class Blocking:
    """The works on `httpx.Client`."""

    def __init__(self, url: str) -> None:
        self._url = url + CHAT_PATH
        self._client = httpx.Client(headers=HEADERS, timeout=TIMEOUT)
        self._history: list[Message] = []

    def turn(self) -> str:
        """Ask the question, and return the answer."""
        return text_of(self._ask({"model": MODEL, "messages": [user(QUESTION)]}))

    def stream(self) -> str:
        """Ask the question, and put the answer together from its pieces."""
        pieces = []
        body = {"model": MODEL, "messages": [user(QUESTION)], "stream": True}
        with self._client.stream("POST", self._url, json=body) as response:
            response.raise_for_status()
            for line in response.iter_lines():
                if line.startswith("data: "):
                    data = line[6:]
                    if data == "[DONE]":
                        break
                    choices = json.loads(data)["choices"]
                    if choices and (text := choices[0]["delta"].get("content")):
                        pieces.append(text)
        return "".join(pieces)

    def tool_loop(self) -> str:
        """Ask the question, run the tools that are called, and ask again, until there is an answer."""
        return self._loop([user(QUESTION)])

    def history_loop(self) -> str:
        """The same on the history."""
        return self._loop(list(self._history))

    def _loop(self, messages: list[Message]) -> str:
        while True:
            message = self._ask({"model": MODEL, "messages": messages, "tools": TOOLS})
            calls = message.get("tool_calls")
            if not calls:
                return text_of(message)
            messages.append(message)
            for call in calls:
                arguments = json.loads(call["function"]["arguments"])
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": look_up(**arguments)})

    def load_history(self, count: int) -> None:
        """Begin a history of so many exchanges."""
        self._history = history(count)

    def answer_history(self) -> str:
        """The model's answer to the history."""
        return text_of(self._ask({"model": MODEL, "messages": self._history}))

    def decode(self, provider: str, pieces: list[bytes]) -> Decoded:
        """What a stream comes to that is there already."""
        return DECODERS[provider](pieces)

    def _ask(self, body: dict[str, Any]) -> Message:
        response = self._client.post(self._url, json=body)
        response.raise_for_status()
        message: Message = response.json()["choices"][0]["message"]
        return message

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()


class Async:
    """The works on `httpx.AsyncClient`."""

    def __init__(self, url: str) -> None:
        self._url = url + CHAT_PATH
        self._client = httpx.AsyncClient(headers=HEADERS, timeout=TIMEOUT)
        self._history: list[Message] = []

    async def turn(self) -> str:
        """Ask the question, and return the answer."""
        return text_of(await self._ask({"model": MODEL, "messages": [user(QUESTION)]}))

    async def stream(self) -> str:
        """Ask the question, and put the answer together from its pieces."""
        pieces = []
        body = {"model": MODEL, "messages": [user(QUESTION)], "stream": True}
        async with self._client.stream("POST", self._url, json=body) as response:
            response.raise_for_status()
            async for line in response.aiter_lines():
                if line.startswith("data: "):
                    data = line[6:]
                    if data == "[DONE]":
                        break
                    choices = json.loads(data)["choices"]
                    if choices and (text := choices[0]["delta"].get("content")):
                        pieces.append(text)
        return "".join(pieces)

    async def tool_loop(self) -> str:
        """Ask the question, run the tools that are called, and ask again, until there is an answer."""
        return await self._loop([user(QUESTION)])

    async def history_loop(self) -> str:
        """The same on the history."""
        return await self._loop(list(self._history))

    async def _loop(self, messages: list[Message]) -> str:
        while True:
            message = await self._ask({"model": MODEL, "messages": messages, "tools": TOOLS})
            calls = message.get("tool_calls")
            if not calls:
                return text_of(message)
            messages.append(message)
            for call in calls:
                result = await look_up_async(**json.loads(call["function"]["arguments"]))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})

    def load_history(self, count: int) -> None:
        """Begin a history of so many exchanges."""
        self._history = history(count)

    async def answer_history(self) -> str:
        """The model's answer to the history."""
        return text_of(await self._ask({"model": MODEL, "messages": self._history}))

    async def _ask(self, body: dict[str, Any]) -> Message:
        response = await self._client.post(self._url, json=body)
        response.raise_for_status()
        message: Message = response.json()["choices"][0]["message"]
        return message

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.aclose()


def user(text: str) -> Message:
    """What the user says."""
    return {"role": "user", "content": text}


def text_of(message: Message) -> str:
    """The text of an answer."""
    text: str = message["content"]
    return text


def history(count: int) -> list[Message]:
    """So many exchanges, and a last question."""
    messages: list[Message] = []
    for exchange in exchanges(count):
        function = {"name": "look_up", "arguments": json.dumps({"town": exchange.town})}
        call = {"id": exchange.call_id, "type": "function", "function": function}
        messages += [
            user(exchange.question),
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": exchange.call_id, "content": exchange.result},
            {"role": "assistant", "content": exchange.answer},
        ]
    return [*messages, user(QUESTION)]
