"""The settings that all providers have, with their checks.

A wrong setting is a `BuildError` that names its argument, raised where the configuration is made.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from attrs import field, frozen

from .. import _json
from ..errors import BuildError
from .secrets import mask_url

if TYPE_CHECKING:
    import ssl

    from .format import APIKey

__all__ = [
    "BaseConfig",
    "KeyedConfig",
    "a_json_object",
    "a_mapping",
    "a_text",
    "a_url",
    "an_optional_text",
    "shown_url",
    "stripped",
]

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


def a_text(instance: object, attribute: Any, value: Any) -> None:
    """Checks that a setting is a text with something in it."""
    if not isinstance(value, str) or not value.strip():
        raise BuildError(f"{attribute.name} must be a non-empty str, got {value!r}")


def an_optional_text(instance: object, attribute: Any, value: object) -> None:
    """Checks that a setting is None or a text with something in it."""
    if value is not None:
        a_text(instance, attribute, value)


def a_mapping(instance: object, attribute: Any, value: object) -> None:
    """Checks that a setting is None or a mapping with names for keys."""
    if value is not None and not (isinstance(value, Mapping) and all(isinstance(name, str) for name in value)):
        raise BuildError(f"{attribute.name} must be a mapping with str keys, got {type(value).__name__}")


def a_json_object(instance: object, attribute: Any, value: object) -> None:
    """Checks that a setting is None or something that JSON has an object for."""
    a_mapping(instance, attribute, value)
    try:
        _json.dumps(value)
    except (TypeError, ValueError) as error:
        raise BuildError(f"{attribute.name} cannot be written as JSON: {error}") from None


def a_url(instance: object, attribute: Any, value: Any) -> None:
    """Checks that a setting is the URL of a server."""
    a_text(instance, attribute, value)
    if not value.isascii() or not value.isprintable() or " " in value:
        raise BuildError(f"{attribute.name} has characters that cannot be in a URL")
    try:
        parts = urlsplit(value)
        host, _ = parts.hostname, parts.port  # either may turn out not to be one
    except ValueError as error:
        raise BuildError(f"{attribute.name} is not a URL: {error}") from None
    if parts.username is not None or parts.password is not None:
        raise BuildError(f"{attribute.name} must not hold a user name or password; use default_headers")
    if parts.scheme not in ("http", "https") or not host:
        shown = mask_url(value)
        raise BuildError(f"{attribute.name} must be a URL with http:// or https:// and a host, got {shown!r}")


def shown_url(url: str) -> str:
    """A URL for a repr."""
    return repr(mask_url(url))


def _seconds(instance: object, attribute: Any, value: Any) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0):
        raise BuildError(f"{attribute.name} must be a positive number of seconds or None, got {value!r}")


def _count(instance: object, attribute: Any, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise BuildError(f"{attribute.name} must be an int of at least 1, got {value!r}")


def _verify(instance: object, attribute: Any, value: object) -> None:
    if isinstance(value, bool):
        return
    import ssl

    if not isinstance(value, ssl.SSLContext):
        raise BuildError(f"{attribute.name} must be a bool or an ssl.SSLContext, not {type(value).__name__}")


def _headers(instance: object, attribute: Any, value: Any) -> None:
    a_mapping(instance, attribute, value)
    for name, text in (value or {}).items():
        if not _HEADER_NAME.fullmatch(name):
            raise BuildError(f"{attribute.name}: {name!r} cannot be the name of a header")
        if not isinstance(text, str) or not _HEADER_VALUE.fullmatch(text):
            raise BuildError(f"{attribute.name}: the value of {name!r} cannot be sent in a header")


def stripped(value: Any) -> Any:
    """A text without the line end that it has when it was read from a file."""
    return value.strip() if isinstance(value, str) else value


def _key_or_none(value: Any) -> Any:
    return stripped(value) or None


def _key(instance: object, attribute: Any, value: object) -> None:
    if value is None or callable(value):
        return
    if not isinstance(value, str):
        raise BuildError(f"{attribute.name} must be a str or a callable that gives one, not {type(value).__name__}")
    if not value.isascii() or not value.isprintable():
        raise BuildError(f"{attribute.name} has characters that cannot be sent in a header")


@frozen
class BaseConfig:
    """What every provider's configuration begins with.

    Attributes:
        model: The model to ask.
        timeout: Seconds for a whole request, and for a stream to begin; None is no limit.
        idle_timeout: Seconds without an event after which a stream is given up; None is no limit.
        connect_timeout: Seconds for connecting; None is no limit.
        max_connections: Requests at once; further ones wait.
        verify: Whether certificates are checked, or the context that says how.
        default_headers: Sent with every request; they win over kova's own.
    """

    model: str = field(validator=a_text)
    timeout: float | None = field(default=600.0, validator=_seconds, kw_only=True)
    idle_timeout: float | None = field(default=300.0, validator=_seconds, kw_only=True)
    connect_timeout: float | None = field(default=10.0, validator=_seconds, kw_only=True)
    max_connections: int = field(default=1000, validator=_count, kw_only=True)
    verify: bool | ssl.SSLContext = field(default=True, validator=_verify, kw_only=True)
    default_headers: Mapping[str, str] | None = field(default=None, validator=_headers, repr=False, kw_only=True)

    def with_default_headers(self, headers: dict[str, str]) -> dict[str, str]:
        """The headers of a request, `default_headers` included."""
        for name, value in (self.default_headers or {}).items():
            headers[name.lower()] = value
        return headers


@frozen
class KeyedConfig(BaseConfig):
    """What the configuration of a provider with an API key begins with.

    Attributes:
        api_key: The key, or a callable that gives one for each request.
        base_url: Where the API is.
    """

    api_key: APIKey | None = field(default=None, converter=_key_or_none, validator=_key, repr=False, kw_only=True)
    base_url: str = field(converter=stripped, validator=a_url, repr=shown_url, kw_only=True)
