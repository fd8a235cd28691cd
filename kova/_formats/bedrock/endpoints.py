"""Where requests go: from the region, or from an endpoint that the user has given.

    https://bedrock-runtime.REGION.amazonaws.com/model/MODEL/converse           answers, and with -stream as events
    https://bedrock.REGION.amazonaws.com/foundation-models                      the list of models: the control plane

An endpoint of AWS's own for answers, such as that of FIPS, means the control plane beside it; any other one, such as a
gateway, has both.
"""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import quote, urlsplit, urlunsplit

__all__ = ["converse_url", "models_url", "regional_endpoint"]

RUNTIME = "bedrock-runtime"
CONTROL_PLANE = "bedrock"

# By the beginning of the region: AWS's partitions, as botocore's partitions.json has them.
DNS_SUFFIXES = {
    "cn-": "amazonaws.com.cn",
    "eusc-": "amazonaws.eu",
    "us-iso-": "c2s.ic.gov",
    "us-isob-": "sc2s.sgov.gov",
    "eu-isoe-": "cloud.adc-e.uk",
    "us-isof-": "csp.hci.ic.gov",
}
DNS_SUFFIX = "amazonaws.com"


@lru_cache(maxsize=64)
def regional_endpoint(region: str) -> str:
    """The endpoint for answers in a region."""
    suffix = next((suffix for start, suffix in DNS_SUFFIXES.items() if region.startswith(start)), DNS_SUFFIX)
    return f"https://{RUNTIME}.{region}.{suffix}"


@lru_cache(maxsize=256)
def converse_url(endpoint: str, model: str, *, stream: bool) -> str:
    """Where a model's answers come from.

    The model is one segment of the path, whatever is in it: ids have colons, ARNs have slashes as well.
    """
    action = "converse-stream" if stream else "converse"
    return _below(endpoint, f"/model/{quote(model, safe='')}/{action}")


@lru_cache(maxsize=64)
def models_url(endpoint: str) -> str:
    """Where the list of models is, from the endpoint for answers."""
    parts = urlsplit(endpoint)
    first, dot, rest = parts.netloc.partition(".")
    if first.startswith(RUNTIME):
        parts = parts._replace(netloc=first.replace(RUNTIME, CONTROL_PLANE, 1) + dot + rest)
    return _below(urlunsplit(parts), "/foundation-models")


def _below(endpoint: str, path: str) -> str:
    parts = urlsplit(endpoint)
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/") + path, parts.query, ""))
