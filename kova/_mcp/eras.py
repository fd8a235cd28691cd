"""What was found out about servers in this process, so that the next connection need not probe."""

from __future__ import annotations

from ..mcp.transports import MCPTransport, StdioTransport

__all__ = ["known_era", "remember_era"]

MOST = 1_000  # servers

_eras: dict[tuple[str, ...], str] = {}


def _key(transport: MCPTransport) -> tuple[str, ...]:
    if isinstance(transport, StdioTransport):
        return (transport.command, *transport.args, str(transport.cwd or ""))
    return (transport.url,)


def known_era(transport: MCPTransport) -> str | None:
    """The era that a server was found to speak: "modern" or "legacy"; None if it was not met before."""
    return _eras.get(_key(transport))


def remember_era(transport: MCPTransport, *, is_modern: bool) -> None:
    """Keep what was found out; the oldest knowledge goes."""
    key = _key(transport)
    _eras.pop(key, None)
    _eras[key] = "modern" if is_modern else "legacy"
    while len(_eras) > MOST:
        try:
            del _eras[next(iter(_eras))]
        except (KeyError, RuntimeError, StopIteration):
            break  # another thread was quicker
