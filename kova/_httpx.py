"""The one place that imports httpx, or httpx2, its maintained fork with the same API.

kova speaks HTTP/1.1 by itself. httpx decides which certificate authorities are trusted, and a client of httpx or
httpx2 that the user has configured can be given to a provider.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ssl

LIBRARIES = ("httpx2", "httpx")  # in order of preference


def library() -> ModuleType:
    """httpx2 where it is installed, else httpx."""
    try:
        return importlib.import_module(LIBRARIES[0])
    except ImportError:
        return importlib.import_module(LIBRARIES[1])


def ssl_context(verify: bool | ssl.SSLContext) -> ssl.SSLContext:
    """The context for TLS connections: the given one, or with the certificate authorities that httpx trusts."""
    if not isinstance(verify, bool):
        return verify
    context: ssl.SSLContext = library().create_ssl_context(verify=verify)
    context.set_alpn_protocols(["http/1.1"])
    return context


def library_of(client: object, class_name: str) -> Any:
    """The library whose client of that class name (or a subclass of it) this is; None for anything else."""
    for base in type(client).__mro__:
        root = base.__module__.partition(".")[0]
        if base.__name__ == class_name and root in LIBRARIES:
            return sys.modules[root]
    return None
