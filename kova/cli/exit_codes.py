"""What the exit codes of the command line mean."""

from __future__ import annotations

__all__ = ["DONE", "FAILED", "INTERRUPTED", "UNREACHABLE", "WRONG_USAGE"]

DONE = 0
FAILED = 1  # the thing asked for
WRONG_USAGE = 2
UNREACHABLE = 3  # a server or model
INTERRUPTED = 130
