"""What the tests of links to MCP servers share."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kova._mcp.calls import Call, Patience
from kova.mcp import StdioTransport

FAULTY = Path(__file__).parent / "mcp_servers" / "faulty.py"
_ids = itertools.count(5)


def faulty(*faults: str, **options: Any) -> StdioTransport:
    """The server with faults, as a process."""
    return StdioTransport(sys.executable, ["-S", str(FAULTY), *faults], **options)


def a_call(method: str, params: Mapping[str, Any] | None = None) -> Call:
    """A call of a server."""
    return Call(next(_ids), method, params, Patience(method, 30, 30))
