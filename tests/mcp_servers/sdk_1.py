"""A server on version 1 of the Python SDK (FastMCP), over the transport that its arguments name.

python sdk_1.py stdio | sse PORT | streamable-http PORT
"""

from __future__ import annotations

import sys

import anyio
from mcp.server.fastmcp import Context, FastMCP, Image
from pydantic import BaseModel

server = FastMCP("sdk-1", "Add with add.", port=int(sys.argv[2]) if len(sys.argv) > 2 else 0)
cancelled: list[str] = []


class Weather(BaseModel):
    """What a tool with a schema for its output gives."""

    city: str
    degrees: float


class Name(BaseModel):
    """What a user is asked for."""

    name: str


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def weather(city: str) -> Weather:
    """The weather of a city."""
    return Weather(city=city, degrees=21.5)


@server.tool()
def picture() -> Image:
    """A picture."""
    return Image(data=b"\x89PNG", format="png")


@server.tool()
def fail() -> str:
    """Fail."""
    raise RuntimeError("out of cheese")


@server.tool()
async def steps(count: int, context: Context) -> str:
    """Tell of progress."""
    for step in range(count):
        await context.report_progress(step + 1, count, f"step {step + 1}")
    return "done"


@server.tool()
async def wait() -> str:
    """Wait for long."""
    try:
        await anyio.sleep(300)
    except BaseException:
        cancelled.append("wait")
        raise
    return "too late"


@server.tool()
def how_many_were_cancelled() -> int:
    """How often the client has cancelled `wait`."""
    return len(cancelled)


@server.tool()
async def greet(context: Context) -> str:
    """Ask the user for a name, and greet."""
    answer = await context.elicit("Who are you?", Name)
    return f"Hello {answer.data.name}" if answer.action == "accept" else answer.action


@server.tool()
async def grow(name: str, context: Context) -> str:
    """Offer one tool more."""
    server.add_tool(lambda: name, name=name, description="A new tool.")
    await context.session.send_tool_list_changed()
    return "grown"


if __name__ == "__main__":
    server.run(sys.argv[1])
