"""Whose credentials sign, and in which region: what is not given is looked up, by botocore.

Explicit credentials come first, then a named profile, then AWS's default chain. Looking up reads files, runs programs
and asks other servers; all of it is plain blocking code, to be called where waiting does no harm.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import attrs

from ...errors import ConnectionError, KovaError, ProviderError, ProviderErrorClass
from ..secrets import mask
from ..wire import WireRequest
from .config import is_region
from .errors import PROVIDER
from .sign import Credentials, signed

if TYPE_CHECKING:
    from .config import BedrockProviderConfig

__all__ = ["Account"]

NO_CREDENTIALS = (
    "no AWS credentials were found: give access_key_id and secret_access_key, or a profile, or set up one of the "
    "places in which AWS's default chain looks"
)
NO_REGION = "the AWS region is not known: give region, set AWS_REGION, or name one in the profile"


class Account:
    """Credentials and region of a provider.

    A look-up that fails is made again by the next request: credentials may be there by then.

    Args:
        config: The provider's settings.

    Attributes:
        look_ups: How often something was looked up; who waited while that number grew need not look up again.
        region: The region, once it is known.
        signs: Whether requests are signed at all: with an `authorization` of the user's own, such as that of a Bedrock
            API key, they are not.
    """

    def __init__(self, config: BedrockProviderConfig) -> None:
        self.look_ups = 0
        self.region = config.region
        self._profile = config.profile
        self._explicit = _explicit_credentials(config)
        self.signs = all(name.lower() != "authorization" for name in config.default_headers or {})
        self._source: Any = None  # botocore's credentials, which renew themselves
        self._failure: Callable[[], KovaError] | None = None

    @property
    def is_known(self) -> bool:
        """Whether the last look-up found everything; there may not have been any."""
        return self.look_ups > 0 and self._failure is None

    @property
    def is_fresh(self) -> bool:
        """Whether credentials that were found can be had at once, as they need not be renewed."""
        needs_refresh = getattr(self._source, "refresh_needed", None)
        return needs_refresh is None or not needs_refresh()

    def look_up(self) -> None:
        """Find credentials and region. May take seconds; what goes wrong is for `check` to raise."""
        import botocore.auth
        import botocore.eventstream  # noqa: F401  # what signing and streams need takes a fifth of a second to load

        try:
            self._find()
            self._failure = None
        except Exception as error:  # whatever files, programs and servers come to
            self._failure = _failure(error)
        self.look_ups += 1

    def check(self) -> None:
        """Raise what went wrong in the last look-up, an error of its own for each caller.

        Raises:
            ProviderError: There are no credentials, or no region.
            ConnectionError: A server that gives credentials cannot be reached.
        """
        if self._failure is not None:
            raise self._failure()

    def signed(self, request: WireRequest) -> WireRequest:
        """The request with its signature; credentials are renewed first where they must be, which may take seconds.

        Raises:
            ProviderError: They cannot be renewed.
            ConnectionError: The server that renews them cannot be reached.
        """
        assert self.region is not None, "the look-up comes first"
        return signed(request, self._credentials(), self.region, datetime.now(UTC))

    def configured(self, config: BedrockProviderConfig) -> BedrockProviderConfig:
        """The settings with the region that was found."""
        return config if config.region is not None else attrs.evolve(config, region=self.region)

    def _credentials(self) -> Credentials:
        if self._explicit is not None:
            return self._explicit
        try:
            frozen = self._source.get_frozen_credentials()  # renewed by botocore, in its own time
        except Exception as error:
            raise _failure(error)() from None
        return Credentials(frozen.access_key, frozen.secret_key, frozen.token)

    def _find(self) -> None:
        needs_credentials = self.signs and self._explicit is None
        if self.region is not None and not needs_credentials:
            return
        from botocore.session import Session

        session = Session(profile=self._profile)
        if self.region is None:
            self.region = _checked_region(session.get_config_variable("region"))
        if needs_credentials:
            self._source = session.get_credentials()
            if self._source is None:
                raise _auth_error(NO_CREDENTIALS)
            self._source.get_frozen_credentials()  # those of an assumed role are asked for only now


def _explicit_credentials(config: BedrockProviderConfig) -> Credentials | None:
    if config.access_key_id is None or config.secret_access_key is None:
        return None
    return Credentials(config.access_key_id, config.secret_access_key, config.session_token)


def _checked_region(found: Any) -> str:
    if isinstance(found, str) and is_region(found):
        return found
    message = NO_REGION if not found else f"the AWS region of the profile cannot be one: {found!r}"
    raise ProviderError(message, provider_class=ProviderErrorClass.INVALID_REQUEST, provider=PROVIDER)


def _auth_error(message: str) -> ProviderError:
    return ProviderError(message, provider_class=ProviderErrorClass.AUTH_INVALID, provider=PROVIDER)


def _failure(error: Exception) -> Callable[[], KovaError]:
    """Makes kova's error of one that came up among credentials, as often as it is needed."""
    from botocore import exceptions

    message = error.message if isinstance(error, KovaError) else mask(f"AWS credentials: {error}")
    if isinstance(error, ProviderError):
        kind = error.provider_class or ProviderErrorClass.OTHER
        return lambda: ProviderError(message, provider_class=kind, provider=PROVIDER)
    if isinstance(error, (exceptions.ConnectionError, exceptions.HTTPClientError)):
        return lambda: ConnectionError(message)
    return lambda: _auth_error(message)
