"""Signing in at an MCP server with the browser, and where the tokens are kept until the next time."""

from __future__ import annotations

import hashlib
import os
import sys
import webbrowser
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from .. import OAuth
from .._formats.secrets import mask_url
from .._mcp.oauth_discovery import failure
from .._terminal import plain

__all__ = ["kept_tokens", "signed_in", "token_file"]


def signed_in(url: str) -> OAuth:
    """The tokens for a server; the user is asked in the browser where there are none yet.

    Raises:
        BuildError: The URL is not safe to send tokens to.
        ConnectionError, TimeoutError: Access was not granted.
    """
    auth = OAuth(url, token_file=token_file(url), open_browser=_open_browser)
    auth.authorize()
    return auth


def kept_tokens(url: str) -> OAuth | None:
    """The tokens of an earlier sign-in, which are renewed while that is possible without the user; None without one."""
    file = token_file(url)
    return OAuth(url, token_file=file, open_browser=partial(_ask_for_login, url)) if file.exists() else None


def token_file(url: str) -> Path:
    """Where the tokens for a server are kept: in the platform's folder for the data of programs."""
    name = f"{urlsplit(url).hostname}-{hashlib.sha256(url.encode()).hexdigest()[:16]}.json"
    return _data_folder() / "kova" / "mcp" / name


def _data_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    given = Path(os.environ.get("XDG_DATA_HOME", ""))
    return given if given.is_absolute() else Path.home() / ".local" / "share"


def _ask_for_login(server: str, url: str) -> None:
    """Instead of the browser, which nobody expects to open by itself."""
    raise failure(f"the sign-in at {mask_url(server)} is over: sign in again with kova mcp check URL --login")


def _open_browser(url: str) -> None:
    """Also say the URL: this machine may have no browser, or one that nobody sees."""
    print(f"Sign in here: {plain(url)}", file=sys.stderr, flush=True)
    webbrowser.open(url)
