"""A model's server that writes a token every so often, for hundreds of clients at once: OpenAI's API, in one process.

    python -m benchmarks.programs.slow_model SECONDS TOKENS

Prints its port. `GET /connections` gives the number of open connections. A connection ends with its answer: so those
that are open when nothing goes on were left by mistake.
"""

from __future__ import annotations

import asyncio
import json
import sys

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"


class SlowModel:
    """The server.

    Args:
        pause: Seconds before each token.
        tokens: How many tokens an answer has.
    """

    def __init__(self, pause: float, tokens: int) -> None:
        self._pause = pause
        self._tokens = tokens
        self._open = 0

    async def serve(self) -> None:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, backlog=2_048)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            if head.startswith(b"GET /connections"):
                writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n%d" % (self._open - 1))
            else:
                await reader.readexactly(_length(head))
                await self._answer(writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has gone
        finally:
            self._open -= 1
            writer.close()

    async def _answer(self, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        for number in range(self._tokens):
            await asyncio.sleep(self._pause)
            writer.write(_event({"delta": {"content": f"token {number} "}}))
            await writer.drain()
        writer.write(_event({"delta": {}, "finish_reason": "stop"}) + _chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")


def _length(head: bytes) -> int:
    lines = head.lower().split(b"\r\n")
    return int(next(line for line in lines if line.startswith(b"content-length:"))[15:])


def _event(choice: dict[str, object]) -> bytes:
    return _chunk(
        b"data: %s\n\n" % json.dumps({"id": "1", "model": "slow", "choices": [{"index": 0, **choice}]}).encode()
    )


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


if __name__ == "__main__":
    asyncio.run(SlowModel(float(sys.argv[1]), int(sys.argv[2])).serve())
