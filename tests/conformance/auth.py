"""Credentials for the scenarios that are about them: what a user of kova would set up for such a server."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import kova

# The document that the suite's servers expect as the id of clients that have one.
CLIENT_METADATA_URL = "https://conformance-test.local/client-metadata.json"


def visit(url: str) -> None:
    """Be the user's browser: the suite's servers grant access at once, and send it back."""
    with urlopen(url, timeout=10) as page:
        page.read()


def issuer_of(url: str) -> str:
    """The authorization server of a server, which a user with credentials for it knows."""
    parts = urlsplit(url)
    for path in (parts.path, ""):
        try:
            with urlopen(f"{parts.scheme}://{parts.netloc}/.well-known/oauth-protected-resource{path}") as document:
                issuer: str = json.loads(document.read())["authorization_servers"][0]
                return issuer
        except OSError:
            pass  # it is at the other place
    raise SystemExit(f"{url} has no metadata")


def credentials(url: str, context: Mapping[str, Any], *, is_async: bool) -> kova.TokenProvider | None:
    """The token provider for the present scenario, if it is about authorization."""
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    if not scenario.startswith("auth/"):
        return None
    own: dict[str, Any] = {}
    if "client_id" in context:
        own["client_id"] = context["client_id"]
    if "client_secret" in context:
        own |= {"client_secret": context["client_secret"], "issuer": context.get("issuer") or issuer_of(url)}
    if scenario.startswith("auth/client-credentials"):
        if "private_key_pem" in context:
            own |= {"private_key": context["private_key_pem"], "algorithm": context["signing_algorithm"]}
        return (kova.AsyncOAuthClientCredentials if is_async else kova.OAuthClientCredentials)(url, **own)
    own |= {"client_metadata_url": CLIENT_METADATA_URL, "open_browser": visit}
    return (kova.AsyncOAuth if is_async else kova.OAuth)(url, **own)
