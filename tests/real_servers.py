"""The public MCP servers that `scripts/mcp_servers.py` installs, over every transport that each has."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

from kova.mcp import HTTPSSETransport, MCPTransport, StdioTransport, StreamableHTTPTransport
from scripts import mcp_servers
from tests.observe import wait_until

__all__ = ["EVERYTHING", "SDKS", "RealServers"]

OURS = Path(__file__).parent / "mcp_servers"
TRANSPORTS = ("stdio", "sse", "http")
EVERYTHING = [f"everything-{transport}" for transport in TRANSPORTS]
SDKS = [f"{version}-{transport}" for version in ("sdk-1", "sdk-2") for transport in TRANSPORTS]


class RealServers:
    """Gives the way to each server; those that speak HTTP are started when they are first wanted, for all tests."""

    def __init__(self) -> None:
        self._running: dict[str, tuple[subprocess.Popen[bytes], int]] = {}

    def __enter__(self) -> Self:
        mcp_servers.install()
        return self

    def __exit__(self, *exc_info: object) -> None:
        for process, _ in self._running.values():
            process.kill()
            process.wait()

    def transport(self, name: str) -> MCPTransport:
        """How a server of EVERYTHING or SDKS is reached."""
        server, _, way = name.rpartition("-")
        if way == "stdio":
            command, env = self._command(server, "stdio", None)
            return StdioTransport(command[0], command[1:], env)
        port = self._port(server, way)
        if way == "sse":
            return HTTPSSETransport(f"http://127.0.0.1:{port}/sse")
        return StreamableHTTPTransport(f"http://127.0.0.1:{port}/mcp")

    def example(self, name: str, *args: str, env: dict[str, str] | None = None) -> StdioTransport:
        """One of the example servers from npm that only speak stdio."""
        return StdioTransport(str(mcp_servers.node()), [str(_example(name)), *args], env)

    def _command(self, server: str, way: str, port: int | None) -> tuple[list[str], dict[str, str]]:
        if server == "everything":
            way = "streamableHttp" if way == "http" else way
            return [str(mcp_servers.node()), str(_example(server)), way], {} if port is None else {"PORT": str(port)}
        script = OURS / f"{server.replace('-', '_')}.py"
        way = "streamable-http" if way == "http" else way
        arguments = [way] if port is None else [way, str(port)]
        return [sys.executable, str(script), *arguments], {"PYTHONPATH": str(mcp_servers.HOME / server)}

    def _port(self, server: str, way: str) -> int:
        name = f"{server}-{way}"
        if name not in self._running:
            self._running[name] = self._start(server, way)
        return self._running[name][1]

    def _start(self, server: str, way: str) -> tuple[subprocess.Popen[bytes], int]:
        port = _free_port()
        command, env = self._command(server, way, port)
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(command, env={**os.environ, **env}, stdin=quiet, stdout=quiet, stderr=quiet)
        wait_until(lambda: _accepts(port) or process.poll() is not None, f"{server} listens", limit=60)
        return process, port


def _example(name: str) -> Path:
    return mcp_servers.HOME / "npm" / "node_modules" / "@modelcontextprotocol" / f"server-{name}" / "dist" / "index.js"


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def _accepts(port: int) -> bool:
    with socket.socket() as sock:
        if sock.connect_ex(("127.0.0.1", port)) == 0:
            return True
    time.sleep(0.05)
    return False
