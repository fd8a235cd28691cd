"""One side of the MCP benchmark, in a process of its own: `python -m benchmarks.mcp_sides SIDE WORK [PORT]`.

A side is `by-hand`, `kova` or `official`, each `-blocking` or `-async`; a work is `one` (calls one after the other) or
`many` (50 at once), over stdio, or over HTTP where there is a port. Prints the CPU seconds of a call, the least of many
batches, without what the server needs.
"""

import asyncio
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kova import MCPTransport

COMMAND = [sys.executable, "-m", "benchmarks.mcp_server", "stdio"]
BATCH = 200
BATCHES = 40
AT_ONCE = 50
ARGUMENTS = {"a": 1}


def least(work: Callable[[], object]) -> float:
    """The least CPU time of a call."""
    samples = []
    for _ in range(BATCHES):
        begun = time.process_time()
        work()
        samples.append((time.process_time() - begun) / BATCH)
    return min(samples)


async def least_async(work: Callable[[], Awaitable[object]]) -> float:
    """The same, awaited."""
    samples = []
    for _ in range(BATCHES):
        begun = time.process_time()
        await work()
        samples.append((time.process_time() - begun) / BATCH)
    return min(samples)


def measure(call: Callable[[], object], work: str) -> float:
    """Calls one after the other, or from many threads."""
    if work == "one":
        return least(lambda: [call() for _ in range(BATCH)])
    with ThreadPoolExecutor(AT_ONCE) as threads:
        return least(lambda: list(threads.map(lambda _: call(), range(BATCH))))


async def measure_async(call: Callable[[], Awaitable[object]], work: str) -> float:
    """Calls one after the other, or from many tasks."""

    async def some(count: int) -> None:
        for _ in range(count):
            await call()

    if work == "one":
        return await least_async(lambda: some(BATCH))
    return await least_async(lambda: asyncio.gather(*(some(BATCH // AT_ONCE) for _ in range(AT_ONCE))))


# ---- by hand: what a program would do that needs one tool, and expects no faults


def message(number: int, method: str, params: object) -> bytes:
    """A request as a line."""
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


def text_of(line: bytes, number: int) -> str:
    """The text in the answer to a call."""
    answer = json.loads(line)
    if answer["id"] != number:
        raise RuntimeError("the answer to another call")
    text: str = answer["result"]["content"][0]["text"]
    return text


def by_hand_blocking(work: str) -> float:
    """Over pipes."""
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        stdin, stdout, numbers = server.stdin, server.stdout, itertools.count(1)

        def call() -> str:
            number = next(numbers)
            stdin.write(message(number, "tools/call", {"name": "echo", "arguments": ARGUMENTS}))
            stdin.flush()
            return text_of(stdout.readline(), number)

        result = measure(call, work)
        stdin.close()
        return result


async def by_hand_async(work: str) -> float:
    """Over asyncio's pipes."""
    pipe = asyncio.subprocess.PIPE
    server = await asyncio.create_subprocess_exec(*COMMAND, stdin=pipe, stdout=pipe)
    assert server.stdin is not None
    assert server.stdout is not None
    stdin, stdout, numbers = server.stdin, server.stdout, itertools.count(1)

    async def call() -> str:
        number = next(numbers)
        stdin.write(message(number, "tools/call", {"name": "echo", "arguments": ARGUMENTS}))
        await stdin.drain()
        return text_of(await stdout.readline(), number)

    result = await measure_async(call, work)
    stdin.close()
    await server.wait()
    return result


# ---- kova


def kova_blocking(work: str, port: str | None) -> float:
    """kova.MCPClient."""
    import kova

    with kova.MCPClient(_transport(port), protocol="legacy") as client:
        return measure(lambda: client.call_tool("echo", ARGUMENTS).text, work)


async def kova_async(work: str, port: str | None) -> float:
    """kova.AsyncMCPClient."""
    import kova

    async with kova.AsyncMCPClient(_transport(port), protocol="legacy") as client:
        return await measure_async(lambda: client.call_tool("echo", ARGUMENTS), work)


def _transport(port: str | None) -> "MCPTransport":
    import kova

    if port is not None:
        return kova.StreamableHTTPTransport(f"http://127.0.0.1:{port}/mcp")
    return kova.StdioTransport(COMMAND[0], COMMAND[1:])


# ---- the official client


async def official_async(work: str, port: str | None) -> float:
    """PyPI's `mcp`."""
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamable_http_client

    streams = (
        stdio_client(StdioServerParameters(command=COMMAND[0], args=COMMAND[1:]))
        if port is None
        else streamable_http_client(f"http://127.0.0.1:{port}/mcp")
    )
    async with streams as (reader, writer, *_), ClientSession(reader, writer) as session:
        await session.initialize()
        return await measure_async(lambda: session.call_tool("echo", ARGUMENTS), work)


def main() -> None:
    """Measure."""
    side, work, *rest = sys.argv[1:]
    port = rest[0] if rest else None
    match side:
        case "by-hand-blocking":
            print(by_hand_blocking(work))
        case "by-hand-async":
            print(asyncio.run(by_hand_async(work)))
        case "kova-blocking":
            print(kova_blocking(work, port))
        case "kova-async":
            print(asyncio.run(kova_async(work, port)))
        case "official-async":
            print(asyncio.run(official_async(work, port)))


if __name__ == "__main__":
    main()
