"""The response that streams a turn, under WSGI and ASGI."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import closing
from contextvars import copy_context

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db import connections
from django.http import HttpRequest, StreamingHttpResponse

from ..._async.agent_stream import AsyncAgentStream
from ..._sync.agent_stream import AgentStream
from ...cancellation import CancellationToken
from ...errors import BuildError
from .clients import cancel_when_gone
from .events import event_stream

__all__ = ["EventStreamResponse"]


class EventStreamResponse(StreamingHttpResponse):
    """A turn as Server-Sent Events. The turn ends when the client goes away, and then stores nothing.

        def chat(request):
            return EventStreamResponse(
                request, lambda cancel: agent().chat_events("conversation", request.POST["text"], cancel=cancel)
            )

    Both kinds of agents work under WSGI; under ASGI it takes an async one. Under ASGI the server tells Django when the
    client has gone. Under gunicorn's WSGI workers kova sees it within a moment (0.2 s); under other WSGI servers it is
    seen when the next event cannot be sent.

    Args:
        request: The request that is answered.
        open_stream: Is called at once, with a token, and gives the stream of a turn that the token cancels.
        status: The HTTP status.

    Raises:
        BuildError: The stream is a blocking one, and the request came by ASGI.
    """

    def __init__(
        self,
        request: HttpRequest,
        open_stream: Callable[[CancellationToken], AgentStream | AsyncAgentStream],
        *,
        status: int = 200,
    ) -> None:
        cancel = CancellationToken()
        content = _content(request, open_stream(cancel), cancel)
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # the latter tells nginx to pass it on
        super().__init__(content, status=status, content_type="text/event-stream", headers=headers)


def _content(
    request: HttpRequest, stream: AgentStream | AsyncAgentStream, cancel: CancellationToken
) -> Iterator[bytes] | AsyncIterator[bytes]:
    if isinstance(request, ASGIRequest):
        if isinstance(stream, AgentStream):
            raise BuildError(
                "open_stream: a blocking stream would hold up the event loop: use async_agent() under ASGI"
            )
        return event_stream(stream)
    frames = event_stream(stream) if isinstance(stream, AgentStream) else _in_a_loop(event_stream(stream))
    return _watched(frames, request.META.get("gunicorn.socket"), cancel)


def _watched(frames: Iterator[bytes], client: object, cancel: CancellationToken) -> Iterator[bytes]:
    with closing(frames), cancel_when_gone(client, cancel):  # type: ignore[type-var,arg-type]
        yield from frames


def _in_a_loop(frames: AsyncGenerator[bytes]) -> Iterator[bytes]:
    """Frames for a server that knows no event loops: one of their own runs in its thread while the next is awaited.

    Blocking code of the turn, such as a store's, gets a thread of its own too, as it would under ASGI.
    """
    context = copy_context()
    threads = ThreadSensitiveContext()
    with asyncio.Runner() as runner:
        runner.run(threads.__aenter__(), context=context)
        try:
            while (frame := runner.run(_next(frames), context=context)) is not None:
                yield frame
        finally:
            runner.run(_end(frames, threads), context=context)


async def _next(frames: AsyncGenerator[bytes]) -> bytes | None:
    return await anext(frames, None)


async def _end(frames: AsyncGenerator[bytes], threads: ThreadSensitiveContext) -> None:
    try:
        await frames.aclose()
        await sync_to_async(connections.close_all)()  # those of the thread that ends now
    finally:
        await threads.__aexit__(None, None, None)
