"""A chat behind FastAPI: an endpoint that streams a turn, and ends it when the client goes away.

pip install kova-sdk fastapi uvicorn
export OPENAI_API_KEY=…
uvicorn --app-dir examples fastapi_chat:app
curl -N http://127.0.0.1:8000/chats/1 --json '{"text": "Tell me a story"}'
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field
from starlette.types import Receive, Scope, Send

import kova

TIMEOUT = 120.0  # seconds for an answer

# One agent for all: it keeps what belongs to a turn apart, and makes no connection before it is asked.
agent = kova.AsyncAgent(os.environ.get("CHAT_MODEL", "openai:gpt-5"), system_prompt="Be brief.")


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with agent:  # closes its connections when the server ends
        yield


app = FastAPI(lifespan=lifespan)


class Question(BaseModel):
    text: str = Field(min_length=1, max_length=8_000, pattern=r"\S")


class EventStream(StreamingResponse):
    """Server-Sent Events. What makes them is closed before the response is over, even where the client has left."""

    media_type = "text/event-stream"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self.body_iterator):
            await super().__call__(scope, receive, send)


# An id that can be guessed lets anybody read on: take it from your users' sessions, or check whose it is.
@app.post("/chats/{conversation}")
async def chat(conversation: str, question: Question) -> EventStream:
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return EventStream(events(conversation, question.text), headers=headers)


async def events(conversation: str, text: str) -> AsyncGenerator[str]:
    """The turn as Server-Sent Events. It is over when this is closed, and then nothing of it is stored."""
    try:
        async with agent.chat_events(conversation, text, timeout=TIMEOUT) as stream:
            async for event in stream:
                match event:
                    case kova.TextDelta(text=piece):
                        yield frame("text", text=piece)
                    case kova.TurnCompleted(response=response):
                        yield frame("completed", text=response.text)
    except kova.KovaError as error:
        logging.getLogger(__name__).exception("a turn has failed")
        yield frame("error", error=type(error).__name__, is_retryable=error.is_retryable)


def frame(name: str, **data: object) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"  # JSON has no line ends, whatever the text has
