"""What the tests of links to MCP servers share."""

from __future__ import annotations

import itertools
import os
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


def children() -> list[int]:
    """Processes that kova has started here and that are not reaped: each leads a session of its own."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        pid, parent, session = stat.parent.name, int(fields[1]), fields[3]
        if parent == os.getpid() and session == pid:
            found.append(int(pid))
    return found


def is_dead(pid: int) -> bool:
    """One that nobody has waited for yet is dead too."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
