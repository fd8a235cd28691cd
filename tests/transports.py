"""A transport of the user's own for clients of httpx and httpx2, of either kind: a file of its own, which has no twin."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio

EVENT = b'data: {"choices": [{"index": 0, "delta": {"content": "first"}}]}\n\n'


def hanging_transport(library: Any, hangs: threading.Event) -> Any:
    """A transport whose answers begin, and then hang until they are closed; there is no socket that could be woken."""

    class Body(library.SyncByteStream, library.AsyncByteStream):  # type: ignore[misc]
        def __init__(self) -> None:
            self.closed = threading.Event()

        def __iter__(self) -> Iterator[bytes]:
            yield EVENT
            hangs.set()
            self.closed.wait(30)

        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield EVENT
            hangs.set()
            await anyio.sleep(30)

        def close(self) -> None:
            self.closed.set()

        async def aclose(self) -> None:
            self.closed.set()

    class Transport(library.BaseTransport, library.AsyncBaseTransport):  # type: ignore[misc]
        def handle_request(self, request: Any) -> Any:
            return library.Response(200, headers={"content-type": "text/event-stream"}, stream=Body())

        async def handle_async_request(self, request: Any) -> Any:
            return self.handle_request(request)

    return Transport()
