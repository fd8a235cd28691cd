"""An agent on a small model of this machine uses the tools of a real MCP server: blocking, then async.

The server is the protocol's own example (npm `@modelcontextprotocol/server-everything`), started by npx; `make mcp-demo`
runs this. Another server is another transport: `kova.StreamableHTTPTransport("https://…")` for one behind a URL.
"""

from __future__ import annotations

import asyncio

import kova

MODEL = "local:smollm2"
SERVER = kova.StdioTransport("npx", ["-y", "@modelcontextprotocol/server-everything"], start_timeout=120)
QUESTION = "What is the sum of 17 and 25?"


def ask() -> kova.AgentResponse:
    with kova.MCPClient(SERVER) as server, kova.Agent(MODEL, tools=server.tools(include=["get-sum", "echo"])) as agent:
        introduce(server.server_info["name"], server.protocol_version)
        return agent.run(QUESTION)


async def ask_async() -> kova.AgentResponse:
    async with kova.AsyncMCPClient(SERVER) as server:
        tools = await server.tools(include=["get-sum", "echo"])
        introduce(server.server_info["name"], server.protocol_version)
        async with kova.AsyncAgent(MODEL, tools=tools) as agent:
            return await agent.run(QUESTION)


def introduce(name: object, version: str) -> None:
    print(f"  connected to {name}, which speaks MCP {version}")


def show(response: kova.AgentResponse) -> None:
    for message in response.new_messages:
        for block in message.content:
            match block:
                case kova.ToolUseBlock(name=name, input=arguments):
                    print(f"  calls {name} with {dict(arguments)}")
                case kova.ToolResultBlock(content=content):
                    print(f"  the server answers: {content}")
    print(f"  {response.text}")


if __name__ == "__main__":
    print(f"Blocking: kova.MCPClient and kova.Agent\n> {QUESTION}")
    show(ask())
    print(f"\nAsync: kova.AsyncMCPClient and kova.AsyncAgent\n> {QUESTION}")
    show(asyncio.run(ask_async()))
