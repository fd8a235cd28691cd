"""Finding out which era of the protocol a server speaks, and agreeing on a version: a state machine without I/O.

Whoever drives it makes the `step`, and tells it what came of that; it then has another step, until it is `Agreed`.

Sources: https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning (backward compatibility, also of the
two transports) and https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from attrs import frozen

from ..errors import ConnectionError, KovaError, MCPError
from .failures import Refused
from .jsonrpc import Message, error_of
from .versions import HANDSHAKE_VERSIONS, MODERN_VERSION, UNSUPPORTED_VERSION, is_modern_error, versions_offered

__all__ = ["Agreed", "Discover", "Initialize", "Negotiation", "OlderHTTP", "Protocol", "ServerDescription"]

Protocol = Literal["auto", "legacy", "2026-07-28"]

# Statuses that say nothing about the era: the server, or something in front of it, will not serve this request.
NO_VERDICT = frozenset({401, 403, 407, 408, 425, 429})
# Of `initialize`: here may be a server of 2024-11-05, whose endpoint only takes GET.
MAY_BE_OLDER = frozenset({400, 404, 405})


@frozen
class Discover:
    """Ask in the way of the stateless protocol."""

    version: str


@frozen
class Initialize:
    """Ask in the way of the handshake.

    Attributes:
        anew: The server has to be started again first.
    """

    version: str
    anew: bool = False


@frozen
class OlderHTTP:
    """Connect over HTTP+SSE instead, and initialize."""


@frozen
class ServerDescription:
    """What a server says of itself.

    Attributes:
        info: Its name and version, as it gives them.
        capabilities: What it offers.
        instructions: How its tools are to be used; empty if it does not say.
    """

    info: Mapping[str, Any]
    capabilities: Mapping[str, Any]
    instructions: str


@frozen
class Agreed:
    """The negotiation is over."""

    version: str
    is_modern: bool
    server: ServerDescription


Step = Discover | Initialize | OlderHTTP | Agreed


class Negotiation:
    """The way to a common version.

    Args:
        protocol: "auto", or the era that the user has decided on.
        known_era: What was found out about this server earlier: "modern" or "legacy".
        can_be_older: Whether the server may turn out to speak HTTP+SSE.
    """

    def __init__(self, protocol: Protocol, known_era: str | None = None, *, can_be_older: bool = False) -> None:
        self._protocol = protocol
        self._can_be_older = can_be_older
        self._tried: set[object] = set()
        self._probe_was_silent = False
        begins_old = protocol == "legacy" or (protocol == "auto" and known_era == "legacy")
        self.step: Step = Initialize(HANDSHAKE_VERSIONS[0]) if begins_old else Discover(MODERN_VERSION)
        self._discoveries = 0 if begins_old else 1
        self._tried.add(self.step)

    def answered(self, message: Message) -> None:
        """The server has answered.

        Raises:
            MCPError: There is no version that both sides know, or the server reports another error.
        """
        error = error_of(message)
        if error is not None:
            self._failed(error, error)
        elif isinstance(self.step, Discover):
            self._discovered(_object(message.get("result")))
        else:
            self._initialized(_object(message.get("result")))

    def refused(self, refusal: Refused) -> None:
        """An HTTP server has answered with an error status.

        Raises:
            MCPError: It reports an error that ends the negotiation.
            ConnectionError: It serves nobody, or not this client.
        """
        status = refusal.status_code or 0
        error = error_of(refusal.answer) if refusal.answer is not None else None
        if error is not None and is_modern_error(error):
            self._failed(error, error)
        elif status in NO_VERDICT or status >= 500:
            raise error or refusal
        elif isinstance(self.step, Initialize) and status in MAY_BE_OLDER and self._can_be_older:
            self._can_be_older = False
            self._go(OlderHTTP(), error or refusal)
        else:
            self._failed(error or MCPError(0, refusal.message), error or refusal)

    def silent(self) -> None:
        """The server has not answered the probe in time: it is of the old era, or slow to start."""
        self._probe_was_silent = True
        self._go(Initialize(HANDSHAKE_VERSIONS[0]), ConnectionError("the server does not answer"))

    def ended(self, error: KovaError) -> None:
        """The server has ended at a request that it did not understand, or for a reason of its own.

        Raises:
            KovaError: It would end again.
        """
        if self._protocol == MODERN_VERSION or isinstance(self.step, OlderHTTP):
            raise error
        if isinstance(self.step, Initialize) and not self._probe_was_silent:
            raise error
        self._probe_was_silent = False
        self._go(Initialize(HANDSHAKE_VERSIONS[0], anew=True), error)

    def _failed(self, error: MCPError, reason: KovaError) -> None:
        """An error in answer to the present step: another version, the other era, or the end."""
        offered = versions_offered(error)
        if error.code == UNSUPPORTED_VERSION and not offered and isinstance(self.step, Initialize):
            offered = [MODERN_VERSION]  # which is all that a server with this error can mean
        if is_modern_error(error) or isinstance(self.step, Initialize):
            self._try_offered(offered, reason)
        else:
            self._go(Initialize(HANDSHAKE_VERSIONS[0]), reason)

    def _try_offered(self, offered: list[str], reason: KovaError) -> None:
        """Take the best version that the server names, even one that it has just refused: it may have been asleep."""
        was_silent, self._probe_was_silent = self._probe_was_silent, False
        if self._protocol != "legacy" and (MODERN_VERSION in offered or was_silent) and self._discoveries < 2:
            self.step = Discover(MODERN_VERSION)
            self._discoveries += 1
            return
        for version in HANDSHAKE_VERSIONS:
            if version in offered and Initialize(version) not in self._tried:
                return self._go(Initialize(version), reason)
        raise reason

    def _go(self, step: Step, reason: KovaError) -> None:
        """Take another step, unless it has been tried or the user has ruled it out; then the last error stands."""
        ruled_out = self._protocol == MODERN_VERSION and not isinstance(step, Discover)
        if step in self._tried or ruled_out:
            raise reason
        self._tried.add(step)
        self.step = step

    def _discovered(self, result: Mapping[str, Any]) -> None:
        supported = result.get("supportedVersions")
        if not isinstance(supported, list):
            # Not the answer of a server that knows the question.
            self._go(Initialize(HANDSHAKE_VERSIONS[0]), MCPError(0, "server/discover was answered without versions"))
        elif MODERN_VERSION in supported:
            meta = _object(result.get("_meta"))
            info = _object(meta.get("io.modelcontextprotocol/serverInfo") or result.get("serverInfo"))
            self.step = Agreed(MODERN_VERSION, True, _description(info, result))
        else:
            error = MCPError(UNSUPPORTED_VERSION, f"the server speaks {', '.join(map(str, supported))}")
            self._try_offered([version for version in supported if isinstance(version, str)], error)

    def _initialized(self, result: Mapping[str, Any]) -> None:
        version = result.get("protocolVersion")
        if version not in HANDSHAKE_VERSIONS:
            raise MCPError(UNSUPPORTED_VERSION, f"the server answers in version {version!r}, which kova does not know")
        assert isinstance(version, str)
        self.step = Agreed(version, False, _description(_object(result.get("serverInfo")), result))


def _description(info: Mapping[str, Any], result: Mapping[str, Any]) -> ServerDescription:
    instructions = result.get("instructions")
    text = instructions if isinstance(instructions, str) else ""
    return ServerDescription(info, _object(result.get("capabilities")), text)


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
