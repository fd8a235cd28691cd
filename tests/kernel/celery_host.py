"""A real Redis, and real Celery workers of each pool."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LIMIT = 60.0  # seconds
ROOT = Path(__file__).parents[2]
POOLS = {"prefork": 3, "threads": 8, "gevent": 50}  # with how many tasks at once


@contextmanager
def running_redis(folder: Path) -> Iterator[str]:
    """A Redis that keeps nothing; gives its URL."""
    folders = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    program = shutil.which("redis-server", path=folders)
    assert program, "there is no redis-server: `make test-hosts` installs one"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(folder)]
    process = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL)
    try:
        wait_for_port(port, process)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.terminate()
        process.wait(LIMIT)


def wait_for_port(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + LIMIT
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            assert process.poll() is None, "redis-server did not start"
            assert time.monotonic() < end, "redis-server does not listen"
            time.sleep(0.02)
        else:
            return


class Worker:
    """A running Celery worker; what it says is in its log.

    Args:
        pool: How it runs tasks.
        log: The file for what it says.
        environment: For it.
    """

    def __init__(self, pool: str, log: Path, environment: dict[str, str]) -> None:
        self._log = log
        command = [sys.executable, "-m", "celery", "-A", "tests.kernel.host_tasks", "worker", "--pool", pool]
        options = ["--concurrency", str(POOLS[pool]), "--loglevel", "info", "--without-gossip", "--without-mingle"]
        with log.open("w") as file:
            self._process = subprocess.Popen(
                [*command, *options],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        end = time.monotonic() + LIMIT
        while " ready." not in self.log:
            assert self._process.poll() is None and time.monotonic() < end, self.log  # noqa: PT018
            time.sleep(0.05)

    @property
    def log(self) -> str:
        """What it has said so far."""
        return self._log.read_text()

    def stop(self) -> float:
        """Ask it to end when its tasks have ended, as a deployment does; gives the seconds that it took."""
        at = time.monotonic()
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(LIMIT)
        return time.monotonic() - at

    def close(self) -> None:
        """End it, with its children."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(LIMIT)
