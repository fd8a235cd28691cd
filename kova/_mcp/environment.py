"""What a server that runs as a process is given of this process's environment."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["server_environment"]

# What programs need to find their files and to speak the user's language. Nothing of it is secret.
_SAFE = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM"),
        *("LANG", "LANGUAGE", "TZ"),
        *("TMPDIR", "TEMP", "TMP"),
        *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"),
        *("SSL_CERT_DIR", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"),
    }
)


def server_environment(ours: Mapping[str, str], env: Mapping[str, str], *, inherit: bool) -> dict[str, str]:
    """The environment of a server.

    Args:
        ours: The environment of this process.
        env: What is added for the server.
        inherit: Whether all of ours is the server's as well; else only what is known to hold no secret.
    """
    kept = ours if inherit else {name: value for name, value in ours.items() if _is_safe(name, value)}
    return {**kept, **env}


def _is_safe(name: str, value: str) -> bool:
    is_function = value.startswith("()")  # which a shell would run
    return (name in _SAFE or name.startswith("LC_")) and not is_function
