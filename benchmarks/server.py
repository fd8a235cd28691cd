"""A model server that is never the bottleneck: a program of its own, whose answers are made once and kept.

It speaks as much of OpenAI's chat completions as the works need. What it answers is chosen by the first parts of the
path, so that a client says it with its base URL; a request that does not ask for a stream gets plain text there:

    /text                     an answer, at once
    /delayed/MS               the same after so many milliseconds
    /tools/N                  a tool call until the request holds N results, then text
    /stream/EVENTS/PER_CHUNK  all events at once, so many of them in each chunk of the body
    /paced/EVENTS             one event a millisecond, as from a fast model: each arrives alone

It prints its ports as JSON, and ends when its standard input does.
"""

import argparse
import asyncio
import functools
import json
import re
import ssl
import sys

END_OF_HEAD = b"\r\n\r\n"
CONTENT_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
WANTS_STREAM = re.compile(rb'"stream": ?true')
STREAM_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
STREAM_END = b"0\r\n\r\n"
PACE = 0.001  # seconds
BACKLOG = 1024
USAGE = {"prompt_tokens": 12, "completion_tokens": 8, "total_tokens": 20}


def complete(message: dict[str, object], finish_reason: str) -> bytes:
    """A whole answer, as a response."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish_reason}
    answer = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1_700_000_000, "model": "m"}
    body = json.dumps({**answer, "choices": [choice], "usage": USAGE}).encode()
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)


def event(choices: list[dict[str, object]], **more: object) -> bytes:
    """An event of a streamed answer."""
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "m"}
    return b"data: %b\n\n" % json.dumps({**head, "choices": choices, **more}).encode()


def chunk(data: bytes) -> bytes:
    """A chunk of a body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


TEXT = complete({"content": "Rain, and 4 degrees."}, "stop")
TEXT_EVENT = event([{"index": 0, "delta": {"content": "rain "}, "finish_reason": None}])
LAST_EVENTS = [
    event([{"index": 0, "delta": {}, "finish_reason": "stop"}]),
    event([], usage=USAGE),
    b"data: [DONE]\n\n",
]


@functools.cache
def tool_call(number: int) -> bytes:
    """An answer that calls the tool."""
    function = {"name": "look_up", "arguments": json.dumps({"town": f"Town {number}"})}
    call = {"id": f"call_{number}", "type": "function", "function": function}
    return complete({"content": None, "tool_calls": [call]}, "tool_calls")


@functools.cache
def whole_stream(events: int, per_chunk: int) -> bytes:
    """A streamed answer, as a response."""
    full, rest = divmod(events, per_chunk)
    body = chunk(TEXT_EVENT * per_chunk) * full + (chunk(TEXT_EVENT * rest) if rest else b"")
    return b"".join([STREAM_HEAD, body, *map(chunk, LAST_EVENTS), STREAM_END])


class Connection(asyncio.Protocol):
    """One client's connection; its requests are answered one after the other."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._received = bytearray()

    def data_received(self, data: bytes) -> None:
        self._received += data
        end = self._received.find(END_OF_HEAD)
        if end < 0:
            return
        length = CONTENT_LENGTH.search(self._received, 0, end)
        size = end + len(END_OF_HEAD) + (int(length[1]) if length else 0)
        if len(self._received) < size:
            return
        request = bytes(self._received[:size])
        del self._received[:size]
        _, kind, *numbers = request.split(b" ", 2)[1].split(b"/v1/")[0].decode().split("/")
        self._answer(kind, [int(number) for number in numbers], request)

    def _answer(self, kind: str, numbers: list[int], request: bytes) -> None:
        if kind == "delayed":
            self._loop.call_later(numbers[0] / 1000, self._send, TEXT)
        elif kind == "tools":
            results = request.count(b'"tool_call_id"')
            self._send(tool_call(results) if results < numbers[0] else TEXT)
        elif not WANTS_STREAM.search(request):
            self._send(TEXT)
        elif kind == "stream":
            self._send(whole_stream(*numbers))
        else:
            self._send(STREAM_HEAD)
            self._send_paced([*[TEXT_EVENT] * numbers[0], *LAST_EVENTS][::-1])

    def _send(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)

    def _send_paced(self, events: list[bytes]) -> None:
        """Send the last of the events, and go on with the others in a moment."""
        self._send(chunk(events.pop()))
        if events:
            self._loop.call_later(PACE, self._send_paced, events)
        else:
            self._send(STREAM_END)


async def serve(certificate: str | None) -> None:
    """Serve until the standard input ends."""
    loop = asyncio.get_running_loop()
    ports = {"http": await _listen(None)}
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        ports["https"] = await _listen(context)
    print(json.dumps(ports), flush=True)
    over = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), over.set)
    await over.wait()


async def _listen(context: ssl.SSLContext | None) -> int:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Connection, "127.0.0.1", 0, backlog=BACKLOG, ssl=context)
    port: int = server.sockets[0].getsockname()[1]
    return port


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Serve a fake model.")
    parser.add_argument("--certificate", help="PEM file with key and certificate: serve TLS as well")
    asyncio.run(serve(parser.parse_args().certificate))
