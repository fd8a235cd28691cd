"""The versions of the protocol, and the errors by which servers speak of them.

Source: https://modelcontextprotocol.io/specification, revisions 2024-11-05 to 2026-07-28.
"""

from __future__ import annotations

from ..errors import MCPError

__all__ = [
    "HANDSHAKE_VERSIONS",
    "HEADER_MISMATCH",
    "MISSING_CAPABILITY",
    "MODERN_VERSION",
    "UNSUPPORTED_VERSION",
    "is_modern_error",
    "versions_offered",
]

HANDSHAKE_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")  # the latest first
MODERN_VERSION = "2026-07-28"

HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022


def is_modern_error(error: MCPError) -> bool:
    """Whether only a server of the stateless protocol reports this error."""
    return error.code in (HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION)


def versions_offered(error: MCPError) -> list[str]:
    """The versions that a server names in refusing another one: in its data, or only in its words."""
    supported = error.data.get("supported") if isinstance(error.data, dict) else None
    if isinstance(supported, list):
        return [version for version in supported if isinstance(version, str)]
    if "version" not in error.message.lower():
        return []
    return [version for version in (MODERN_VERSION, *HANDSHAKE_VERSIONS) if version in error.message]
