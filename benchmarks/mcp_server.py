"""The server of the MCP benchmark: `python -m benchmarks.mcp_server stdio|http`. It does as little as a server can."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

RESULTS: dict[str, dict[str, Any]] = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "bench", "version": "1"},
    },
    "tools/list": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "the answer is forty-two"}]},
}


def answer(request: dict[str, Any]) -> bytes:
    """The answer to a request, as JSON."""
    result = RESULTS.get(request["method"])
    known = {"result": result} if result is not None else {"error": {"code": -32601, "message": "no such method"}}
    return json.dumps({"jsonrpc": "2.0", "id": request["id"], **known}).encode()


def serve_stdio() -> None:
    """Answer each line."""
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if "id" in request:
            sys.stdout.buffer.write(answer(request) + b"\n")
            sys.stdout.buffer.flush()


class Handler(BaseHTTPRequestHandler):
    """Answers each POST with JSON, on connections that stay open."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        body = answer(request) if "id" in request else b""
        self.send_response(200 if body else 202)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def do_GET(self) -> None:
        self.send_response(405)
        self.send_header("content-length", "0")
        self.end_headers()

    do_DELETE = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def serve_http() -> None:
    """Say the port, and serve."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    serve_stdio() if sys.argv[1:] == ["stdio"] else serve_http()
