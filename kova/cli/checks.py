"""Whether an MCP server can be used, and what an agent would stumble over."""

from __future__ import annotations

import time
from typing import Any

from attrs import define, field

from .. import MCPClient
from ..mcp import MCPToolDefinition

__all__ = ["Report", "check_server"]

LONG_DESCRIPTION = 4_000  # characters: each call of the model pays for them
MANY_TOOLS = 40  # more than this, and models begin to choose badly


@define
class Report:
    """What was found.

    Attributes:
        server: What the server says of itself.
        version: The version of the protocol.
        seconds: How long it took to list the tools.
        tools: Their names.
        problems: What keeps a tool from being used.
        remarks: What could be better.
    """

    server: dict[str, Any]
    version: str
    seconds: float
    tools: list[str]
    problems: list[str] = field(factory=list)
    remarks: list[str] = field(factory=list)

    def as_json(self) -> dict[str, Any]:
        """The report for programs."""
        return {
            "server": self.server,
            "protocol_version": self.version,
            "list_seconds": round(self.seconds, 3),
            "tools": self.tools,
            "problems": self.problems,
            "remarks": self.remarks,
        }

    def as_text(self) -> str:
        """The report for people."""
        name = f"{self.server.get('name', 'unnamed')} {self.server.get('version', '')}".strip()
        lines = [
            f"server    {name}",
            f"protocol  {self.version}",
            f"tools     {len(self.tools)}, listed in {self.seconds:.2f} s",
        ]
        lines += [f"problem   {problem}" for problem in self.problems]
        lines += [f"remark    {remark}" for remark in self.remarks]
        return "\n".join(lines if self.problems or self.remarks else [*lines, "nothing to complain about"])


def check_server(client: MCPClient) -> Report:
    """Look at a connected server."""
    begun = time.monotonic()
    tools = client.list_tools()
    seconds = time.monotonic() - begun
    report = Report(dict(client.server_info), client.protocol_version, seconds, [tool.name for tool in tools])
    if not tools:
        report.problems.append("the server has no tools")
    if len(tools) > MANY_TOOLS:
        report.remarks.append(f"{len(tools)} tools are more than models choose well from: use include=")
    for tool in tools:
        _check_tool(tool, report)
    return report


def _check_tool(tool: MCPToolDefinition, report: Report) -> None:
    if tool.input_schema.get("type", "object") != "object":
        report.problems.append(f"{tool.name}: inputSchema must be of type object")
    if not tool.description.strip():
        report.remarks.append(f"{tool.name}: has no description for the model")
    if len(tool.description) > LONG_DESCRIPTION:
        report.remarks.append(f"{tool.name}: the description has {len(tool.description)} characters")
