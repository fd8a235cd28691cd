"""AWS's Signature Version 4, by botocore, as a function of nothing but its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import attrs
from attrs import field, frozen

from ..secrets import secret_headers
from ..wire import WireRequest

__all__ = ["Credentials", "signature_headers", "signed"]

SERVICE = "bedrock"  # of both endpoints
TIME_FORMAT = "%Y%m%dT%H%M%SZ"


@frozen
class Credentials:
    """Who signs, under the names that botocore's signer asks for.

    Attributes:
        access_key: Id of the access key.
        secret_key: Its secret.
        token: What makes temporary credentials valid.
    """

    access_key: str = field(repr=False)
    secret_key: str = field(repr=False)
    token: str | None = field(default=None, repr=False)


def signed(request: WireRequest, credentials: Credentials, region: str, now: datetime) -> WireRequest:
    """The request with its signature; what must not be shown of it is now known.

    Args:
        request: The request, complete in all else.
        credentials: Who signs.
        region: The region that the request goes to.
        now: The time, in UTC; AWS takes a signature for five minutes before and after.
    """
    added = signature_headers(request.method, request.url, request.headers, request.body, credentials, region, now)
    secrets = [credentials.access_key, credentials.secret_key, *secret_headers(added), *request.secrets]
    return attrs.evolve(request, headers={**request.headers, **added}, secrets=tuple(secrets))


def signature_headers(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    credentials: Credentials,
    region: str,
    now: datetime,
) -> dict[str, str]:
    """The headers that sign a request.

    All given headers are signed except those that proxies change, and the host in any case. The path is encoded once
    more for the signature, as for every service but S3: the `%3A` of a model id is `%253A` there.
    """
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest

    added = {"x-amz-date": now.strftime(TIME_FORMAT)}
    if credentials.token:
        added["x-amz-security-token"] = credentials.token
    signer: Any = SigV4Auth(credentials, SERVICE, region)
    request = AWSRequest(method=method, url=url, headers={**headers, **added}, data=body)
    request.context["timestamp"] = added["x-amz-date"]
    canonical = signer.canonical_request(request)
    signature = signer.signature(signer.string_to_sign(request, canonical), request)
    names = signer.signed_headers(signer.headers_to_sign(request))
    scope = signer.scope(request)
    added["authorization"] = f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders={names}, Signature={signature}"
    return added
