"""The settings of a Bedrock provider."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from attrs import field, frozen
from attrs.validators import optional

from ...errors import BuildError
from ..base_config import BaseConfig, a_json_object, a_url, an_optional_text, shown_url, stripped
from .endpoints import regional_endpoint

__all__ = ["BedrockProviderConfig", "check_extra", "environment_config", "is_region"]

REGION_VARIABLES = ("AWS_REGION", "AWS_DEFAULT_REGION")  # Lambda sets both; boto3 reads only the second
ENDPOINT_VARIABLES = ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ENDPOINT_URL")
BEARER_VARIABLE = "AWS_BEARER_TOKEN_BEDROCK"


def is_region(name: str) -> bool:
    """Whether this may be a region's name; it becomes part of a host's."""
    return re.fullmatch(r"[a-z0-9][a-z0-9-]{0,62}", name) is not None


def _region_or_default(value: Any) -> Any:
    return _first_set(os.environ, REGION_VARIABLES) if value is None else stripped(value)


def _region(instance: object, attribute: Any, value: Any) -> None:
    an_optional_text(instance, attribute, value)
    if value is not None and not is_region(value):
        raise BuildError(f"{attribute.name} must be the name of a region, such as us-east-1, got {value!r}")


def _key_or_none(value: Any) -> Any:
    return stripped(value) or None


def _key(instance: object, attribute: Any, value: object) -> None:
    if value is None:
        return
    if not isinstance(value, str):
        raise BuildError(f"{attribute.name} must be a str, not {type(value).__name__}")
    if not value.isascii() or not value.isprintable():
        raise BuildError(f"{attribute.name} has characters that cannot be sent in a header")


@frozen
class BedrockProviderConfig(BaseConfig):
    """The settings of a `BedrockProvider`.

    Credentials that are not given are those of the named profile, and without one those that AWS's default chain
    finds: environment, shared files, SSO, containers, instance roles.

    Attributes:
        region: The AWS region. None is what `AWS_REGION` or `AWS_DEFAULT_REGION` says, and without them what the
            profile says.
        profile: A profile of AWS's shared files.
        access_key_id: Explicit credentials: the id of the access key.
        secret_access_key: The secret that belongs to it.
        session_token: The token that belongs to temporary credentials.
        endpoint_url: Where the API is, in place of the region's endpoint.
        additional_model_request_fields: What only the model knows, such as `{"thinking": {…}}`; sent with every request
            for an answer.
    """

    region: str | None = field(default=None, converter=_region_or_default, validator=_region, kw_only=True)
    profile: str | None = field(default=None, validator=an_optional_text, kw_only=True)
    access_key_id: str | None = field(default=None, converter=_key_or_none, validator=_key, repr=False, kw_only=True)
    secret_access_key: str | None = field(
        default=None, converter=_key_or_none, validator=_key, repr=False, kw_only=True
    )
    session_token: str | None = field(default=None, converter=_key_or_none, validator=_key, repr=False, kw_only=True)
    endpoint_url: str | None = field(
        default=None,
        converter=stripped,
        validator=optional(a_url),
        repr=lambda url: repr(url) if url is None else shown_url(url),
        kw_only=True,
    )
    additional_model_request_fields: Mapping[str, Any] | None = field(
        default=None, validator=a_json_object, kw_only=True
    )

    def __attrs_post_init__(self) -> None:
        if (self.access_key_id is None) != (self.secret_access_key is None):
            raise BuildError("access_key_id and secret_access_key belong together: give both or neither")
        if self.session_token is not None and self.access_key_id is None:
            raise BuildError("session_token belongs to an access_key_id and a secret_access_key: give them as well")

    @property
    def api_key(self) -> None:
        """None: requests are signed."""
        return None

    @property
    def base_url(self) -> str:
        """Where the API is; empty while the region is not known."""
        if self.endpoint_url is not None:
            return self.endpoint_url
        return regional_endpoint(self.region) if self.region is not None else ""


def check_extra() -> None:
    """Refuse to go on without botocore, which knows AWS's credentials, signatures and streams.

    Raises:
        BuildError: It is not installed.
    """
    if find_spec("botocore") is None:
        raise BuildError("Bedrock needs the extra of this name: pip install 'kova-sdk[bedrock]'")


def environment_config(model: str, environ: Mapping[str, str]) -> BedrockProviderConfig:
    """The settings that the usual environment variables give; credentials are looked for by the first request.

    They are those of AWS's own SDKs: region, endpoint, and `AWS_BEARER_TOKEN_BEDROCK`, which stands for credentials.

    Args:
        model: The model to ask.
        environ: The environment.

    Raises:
        BuildError: A variable makes no sense.
    """
    token = environ.get(BEARER_VARIABLE)
    return BedrockProviderConfig(
        model,
        region=_first_set(environ, REGION_VARIABLES),
        endpoint_url=_first_set(environ, ENDPOINT_VARIABLES),
        default_headers={"authorization": f"Bearer {token}"} if token else None,
    )


def _first_set(environ: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((environ[name] for name in names if environ.get(name)), None)
