"""Where spans can go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlsplit

from attrs import field, frozen

from ..errors import BuildError

__all__ = ["ConsoleExporter", "OTLPExporter"]


@frozen
class ConsoleExporter:
    """Writes each span to stdout when it ends, as JSON; to see what there is."""


@frozen
class OTLPExporter:
    """Sends spans to an OpenTelemetry collector, or to whatever else speaks its protocol, in batches.

    Attributes:
        endpoint: URL of the receiver, such as "http://localhost:4317" (gRPC) or "http://localhost:4318" (HTTP, where
            "/v1/traces" is added to a URL without a path). Connections to an "https" URL are encrypted.
        protocol: "grpc" or "http".
        headers: Sent with each batch, for receivers that want a key. They are not in the repr.

    Raises:
        BuildError: An argument is wrong.
    """

    endpoint: str
    protocol: Literal["grpc", "http"] = "grpc"
    headers: Mapping[str, str] | None = field(default=None, repr=False, hash=False)

    def __attrs_post_init__(self) -> None:
        endpoint: object = self.endpoint
        parts = urlsplit(endpoint) if isinstance(endpoint, str) else None
        if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
            raise BuildError(f"endpoint must be a URL that begins with http:// or https://, got {endpoint!r:.100}")
        if parts.username or parts.password:
            raise BuildError("endpoint must not hold a password: it would be seen in the repr; use headers")
        if self.protocol not in ("grpc", "http"):
            raise BuildError(f'protocol must be "grpc" or "http", got {self.protocol!r}')
        headers: object = self.headers
        if headers is None:
            return
        if not isinstance(headers, Mapping) or not all(
            isinstance(part, str) for item in headers.items() for part in item
        ):
            raise BuildError("headers must map names to values, all of them str")
