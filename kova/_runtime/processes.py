"""Processes for tools: run to their end, or killed with all that they have started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from subprocess import TimeoutExpired

from ..cancellation import CancellationToken

__all__ = ["TimeoutExpired", "run_process"]

_OWN_GROUP = sys.platform != "win32"  # elsewhere only the process itself can be killed


def run_process(
    argv: Sequence[str],
    *,
    stop: CancellationToken,
    input: str | bytes | None = None,
    timeout: float | None = None,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a process, and kill its group when the token is cancelled or the time is over.

    Raises:
        TurnCancelledError: The token was cancelled.
        TimeoutExpired: The process took too long.
        OSError: It could not be started.
    """
    stop.raise_if_cancelled()
    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL if input is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env=env,
        start_new_session=_OWN_GROUP,
    )
    forget = stop.add_callback(lambda: kill_group(process))
    try:
        data = input.encode() if isinstance(input, str) else input
        out, err = process.communicate(data, timeout)
    finally:
        forget()
        kill_group(process)  # also what it has left behind in its group
        _reap(process)
    stop.raise_if_cancelled()
    return subprocess.CompletedProcess(argv, process.returncode, _text(out), _text(err))


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process with all processes of its group."""
    try:
        if _OWN_GROUP:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except (ProcessLookupError, PermissionError):
        pass  # nothing of it is left


def _reap(process: subprocess.Popen[bytes]) -> None:
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _text(data: bytes) -> str:
    return data.decode(errors="replace")
