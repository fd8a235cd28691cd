"""The client that the public conformance suite drives: kova's own, in either twin.

    python tests/conformance/client.py blocking|asyncio|trio URL

The suite says by the environment which scenario it plays, and what the client needs to know for it
(https://github.com/modelcontextprotocol/conformance). In all of them the client lists the server's tools and calls them.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import kova
from tests.conformance.auth import credentials

SAMPLES: dict[object, object] = {"string": "text", "integer": 5, "number": 1.5, "boolean": True, "array": []}
LISTED_ONLY = {"json-schema-ref-no-deref"}  # its server answers no calls
SCHEMA_SOURCE, SCHEMA_ECHO = "json_schema_2020_12_tool", "json_schema_echo"


def sample(schema: Mapping[str, Any]) -> object:
    """A value that fits a simple schema."""
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") != "object":
        return SAMPLES.get(schema.get("type"), "text")
    properties = schema.get("properties", {})
    return {name: sample(properties.get(name, {})) for name in schema.get("required", properties)}


def planned_calls(tools: list[kova.MCPToolDefinition], context: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """What to call, and with which arguments."""
    if "toolCalls" in context:
        return [(call["name"], call["arguments"]) for call in context["toolCalls"]]
    if os.environ.get("MCP_CONFORMANCE_SCENARIO") in LISTED_ONLY:
        return []
    schemas = {tool.name: tool.input_schema for tool in tools}
    if SCHEMA_ECHO in schemas:
        return [(SCHEMA_ECHO, {"schema": schemas[SCHEMA_SOURCE]})]
    return [(name, sample(schema)) for name, schema in schemas.items()]


def transport(url: str, context: Mapping[str, Any], *, is_async: bool) -> kova.StreamableHTTPTransport:
    """The server, with credentials where the scenario is about them."""
    return kova.StreamableHTTPTransport(url, auth=credentials(url, context, is_async=is_async))


def accept(params: dict[str, Any]) -> dict[str, Any]:
    """Accept a form as its defaults fill it in; without defaults, with values that fit."""
    fields = params.get("requestedSchema", {}).get("properties", {})
    return {
        "action": "accept",
        "content": {name: sample(field) for name, field in fields.items() if "default" not in field},
    }


def answer(params: dict[str, Any]) -> dict[str, Any]:
    """A model's answer."""
    return {"role": "assistant", "content": {"type": "text", "text": "Paris"}, "model": "none", "stopReason": "endTurn"}


HANDLERS: dict[str, Any] = {"on_elicitation": accept, "on_sampling": answer, "roots": ["/"], "timeout": 20.0}


def run_blocking(url: str, context: Mapping[str, Any]) -> None:
    """List and call, in the blocking twin."""
    with kova.MCPClient(transport(url, context, is_async=False), **HANDLERS) as client:
        for name, arguments in planned_calls(client.list_tools(), context):
            print(name, client.call_tool(name, arguments).text)


async def run_async(url: str, context: Mapping[str, Any]) -> None:
    """List and call, in the async twin."""
    async with kova.AsyncMCPClient(transport(url, context, is_async=True), **HANDLERS) as client:
        for name, arguments in planned_calls(await client.list_tools(), context):
            print(name, (await client.call_tool(name, arguments)).text)


def main() -> None:
    """Play one scenario."""
    twin, url = sys.argv[1:]
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    if twin == "blocking":
        run_blocking(url, context)
    else:
        import anyio

        anyio.run(run_async, url, context, backend=twin)


if __name__ == "__main__":
    main()
