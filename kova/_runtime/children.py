"""Child processes that are kept and spoken to: servers, whose standard streams are sockets.

Sockets (what libuv gives to the children of every Node program, too) can be waited for by both runtimes in the ways
they have for connections, and every such wait can be ended. What runs to its end within one call is in `processes`.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from ..errors import BuildError
from . import sockets, workers

__all__ = ["Child"]

# Seconds in which a child is to end by itself when its input has ended, and then when it has been told to.
INPUT_ENDED_SECONDS = 2.0
TERMINATED_SECONDS = 1.0
KILLED_SECONDS = 1.0  # in which the system ends a process that is killed, and what was left is read
EXIT_SECONDS = (0.8, 0.7, 0.5)  # the same three for all children together when the interpreter exits


class Child:
    """A process in a group of its own. All methods may be called from any thread, and in any order.

    Whoever reads `stdout` and `stderr` gives each back with `release`; until then nobody closes them.

    Args:
        argv: The program, as a path, and its arguments.
        cwd: The folder it runs in; None for that of this process.
        env: All of its environment.

    Raises:
        OSError: It could not be started.
        BuildError: The system is not a Unix.
    """

    def __init__(
        self, argv: Sequence[str], *, cwd: str | os.PathLike[str] | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        if sys.platform == "win32":
            raise BuildError("servers as processes need a Unix system; on Windows, reach the server over HTTP")
        (self.stdin, their_in), (self.stdout, their_out), (self.stderr, their_err) = (
            sockets.open_pair() for _ in range(3)
        )
        try:
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                list(argv),
                stdin=their_in.fileno(),
                stdout=their_out.fileno(),
                stderr=their_err.fileno(),
                cwd=cwd,
                env=env,
                start_new_session=True,
            )
        except BaseException:
            for ours in (self.stdin, self.stdout, self.stderr):
                ours.close()
            raise
        finally:
            for theirs in (their_in, their_out, their_err):
                theirs.close()
        self._unread = {self.stdout, self.stderr}
        self._read = threading.Event()  # set when both have been given back
        self._reaped = threading.Event()
        self._kept: deque[bytes] = deque()  # what is to be written when the child reads again
        self._is_flushing = False
        self._is_input_over = False
        self._writing = threading.RLock()  # a signal handler may close while it is held
        _remember(self)
        workers.start(self._watch)

    @property
    def pid(self) -> int:
        """Id of the process, and of its group."""
        return self._process.pid

    # ---- input

    def write(self, data: bytes) -> bool:
        """Write without waiting; what the child does not take now is kept.

        Returns:
            Whether the caller is to begin flushing: until all of `take_kept` has been sent.

        Raises:
            OSError: The child takes nothing any more; none of the data was written.
        """
        with self._writing:
            if self._is_input_over:
                raise BrokenPipeError("its input was ended")
            if self._is_flushing:
                self._kept.append(data)
                return False
            try:
                sent = self.stdin.send(data)
            except BlockingIOError:
                sent = 0
            except OSError:
                raise
            except BaseException:  # Ctrl-C: nobody knows how much was written
                self.end_input()
                raise
            if sent == len(data):
                return False
            self._kept.append(data[sent:])
            self._is_flushing = True
            return True

    def take_kept(self) -> bytes:
        """What is to be written next; nothing when that was all."""
        with self._writing:
            if self._kept:
                return self._kept.popleft()
            self._is_flushing = False
            return b""

    def end_flush(self) -> None:
        """Note that nobody is flushing any more; if that is too early, the input is over."""
        with self._writing:
            broken = self._is_flushing
            self._is_flushing = False
            if broken or self._is_input_over:
                self.end_input()
            else:
                self.stdin.setblocking(False)

    def end_input(self) -> None:
        """Let the child find its input at an end."""
        with self._writing:
            self._is_input_over = True
            sockets.wake(self.stdin)  # a forked copy of this process may have the socket as well
            if not self._is_flushing:
                self.stdin.close()

    # ---- end

    def release(self, stream: sockets.Socket) -> None:
        """Give back `stdout` or `stderr`, which nobody reads any more."""
        stream.close()
        self._unread.discard(stream)
        if not self._unread:
            self._read.set()

    def wait(self, seconds: float) -> int | None:
        """Wait for the process's end.

        Returns:
            Its exit code, the negative number of the signal that ended it, or None if it is still running.
        """
        return self._process.returncode if self._reaped.wait(seconds) else None

    def close(self) -> None:
        """End the process and all of its group, gently at first; takes about four seconds at most."""
        self.end_input()
        if not self._reaped.wait(INPUT_ENDED_SECONDS):
            self.signal(signal.SIGTERM)
            if not self._reaped.wait(TERMINATED_SECONDS):
                self.kill()
                self._reaped.wait(KILLED_SECONDS)
        self._read.wait(KILLED_SECONDS)

    def kill(self) -> None:
        """Kill the process and all of its group, without waiting."""
        self.end_input()
        self.signal(signal.SIGKILL)

    def signal(self, number: int) -> None:
        """Send a signal to the group, if it is still there. The system gives its id to nobody else while it is."""
        if not self._reaped.is_set():
            try:
                os.killpg(self._process.pid, number)
            except (ProcessLookupError, PermissionError):
                pass  # nothing of it is left

    def _watch(self) -> None:
        """Wait for the end, so that it is noticed and reaped whatever the readers do, and end what it leaves behind."""
        self._process.wait()
        self.signal(signal.SIGKILL)  # those that it has started, and that may hold its streams
        self._reaped.set()
        if not self._read.wait(KILLED_SECONDS):  # one that has left the group holds them, or nobody reads
            sockets.wake(self.stdout)
            sockets.wake(self.stderr)
        _live.pop(self, None)

    def forget(self) -> None:
        """Leave the process to the one that has started it: this is a forked copy."""
        self._writing = threading.RLock()
        self._is_input_over = True
        self._process.returncode = 0  # else it is waited for, with a warning, when it is collected
        self._reaped.set()
        self._read.set()
        for sock in (self.stdin, self.stdout, self.stderr):
            sock.close()


# ---- all that are running: ended with the interpreter, and left alone by forked copies of it

_live: dict[Child, None] = {}


def _remember(child: Child) -> None:
    if not _live:
        atexit.unregister(_end_all)
        atexit.register(_end_all)
    _live[child] = None


def _end_all() -> None:
    children = list(_live)
    after_input, after_term, after_kill = EXIT_SECONDS
    for child in children:
        child.end_input()
    _wait_for(children, after_input)
    for child in children:
        child.signal(signal.SIGTERM)
    _wait_for(children, after_term)
    for child in children:
        child.kill()
    _wait_for(children, after_kill)


def _wait_for(children: Iterable[Child], seconds: float) -> None:
    end = time.monotonic() + seconds
    for child in children:
        child.wait(max(end - time.monotonic(), 0))


def _forget_all() -> None:
    for child in list(_live):
        child.forget()
    _live.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
