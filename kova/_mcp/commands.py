"""Where the program of a server is."""

from __future__ import annotations

import os
import shutil

from ..errors import ConnectionError

__all__ = ["resolve_command"]


def resolve_command(command: str, path: str, cwd: str | os.PathLike[str] | None) -> str:
    """The path of a program, found as a shell would find it that stands in the folder `cwd`.

    Raises:
        ConnectionError: There is no such program, or no such folder.
    """
    if cwd is not None and not os.path.isdir(cwd):
        raise ConnectionError(f"cannot start the MCP server {command!r}: there is no folder {os.fspath(cwd)!r} (cwd)")
    # A whole command line in place of a program is named as such, unless a program has this name.
    line = "; its arguments belong into args" if len(command.split()) > 1 else ""
    if os.path.dirname(command):
        program = os.path.join(os.path.abspath(cwd or os.curdir), command)
        if os.path.isfile(program) and os.access(program, os.X_OK):
            return program
        reason = "may not be executed" if os.path.exists(program) else "does not exist"
        raise ConnectionError(f"cannot start the MCP server {command!r}: {program!r} {reason}{line}")
    found = shutil.which(command, path=path)
    if found is None:
        raise ConnectionError(
            f"cannot start the MCP server {command!r}: there is no such program on its PATH, {path[:500]!r}{line}"
        )
    return os.path.abspath(found)
