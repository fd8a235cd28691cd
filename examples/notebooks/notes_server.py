"""A small MCP server over standard input and output, for the notebook about MCP: it keeps notes, and needs nothing."""

from __future__ import annotations

import json
import sys
from typing import Any

NOTES = {"key": "The key is under the mat.", "cat": "The cat is fed at eight."}
TOOLS = [
    {
        "name": "read_note",
        "description": "Read the note about something.",
        "inputSchema": {
            "type": "object",
            "properties": {"about": {"type": "string", "enum": [*NOTES]}},
            "required": ["about"],
        },
    }
]


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    match method:
        case "initialize":
            info = {"name": "notes", "version": "1"}
            return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
        case "ping":
            return {}
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call":
            note = NOTES.get(params.get("arguments", {}).get("about", ""))
            return {"content": [{"type": "text", "text": note or "no such note"}], "isError": note is None}
    return None


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue  # a notification
        result = answer(request["method"], request.get("params", {}))
        reply = {"error": {"code": -32601, "message": "no such method"}} if result is None else {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)


if __name__ == "__main__":
    main()
