"""Web servers in processes of their own, as people start them, and visitors of the example site."""

from __future__ import annotations

import atexit
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Self

import httpx

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "django_chat"
LIMIT = 30.0  # seconds

GUNICORN = ["gunicorn", "--no-control-socket", "--graceful-timeout", "20", "--bind", "{address}"]
UVICORN = ["uvicorn", "--no-access-log", "--timeout-graceful-shutdown", "20", "--host", "127.0.0.1", "--port", "{port}"]
THREADS = ["--worker-class", "gthread", "--threads", "40"]

# By the name of the server: its command, and the page whose form its view answers.
COMMANDS: dict[str, tuple[list[str], str]] = {
    "gthread": ([*GUNICORN, *THREADS, "chat.wsgi"], "/"),
    "gevent": ([*GUNICORN, "--worker-class", "gevent", "chat.wsgi"], "/"),
    "gthread, async view": ([*GUNICORN, *THREADS, "chat.wsgi"], "/async/"),
    "uvicorn": ([*UVICORN, "chat.asgi:application"], "/"),
}


class WebServer:
    """A running server.

    Args:
        command: Its module and arguments.
        environment: What it finds in its environment.
        ready: What can be got from it as soon as it is ready.
    """

    def __init__(self, command: list[str], environment: dict[str, str], ready: str = "/static/chat.css") -> None:
        self._ready = ready
        # A file: a pipe that nobody reads would hold the server up.
        self._output = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed in __exit__
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        words = [word.format(address=f"127.0.0.1:{self.port}", port=self.port) for word in command]
        self._process = subprocess.Popen(
            [sys.executable, "-m", *words],
            env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{EXAMPLE}", **environment},
            cwd=environment.get("TMPDIR", str(ROOT)),
            stdout=self._output,
            stderr=subprocess.STDOUT,
        )

    def __enter__(self) -> Self:
        until = time.monotonic() + LIMIT
        while self._process.poll() is None and time.monotonic() < until:
            try:
                httpx.get(self.url + self._ready, timeout=LIMIT)
            except httpx.TransportError:
                time.sleep(0.05)
            else:
                return self
        self._process.kill()
        raise AssertionError(f"the server does not start:\n{self.end()[1]}")

    def __exit__(self, *exc_info: object) -> None:
        self._process.kill()
        print(self.end()[1])  # pytest shows it when a test fails
        self._output.close()

    def counts(self) -> tuple[int, int]:
        """How many threads, and files and sockets, it has: itself, not its workers."""
        process = Path("/proc", str(self._process.pid))
        return len(list(process.joinpath("task").iterdir())), len(list(process.joinpath("fd").iterdir()))

    def terminate(self) -> None:
        self._process.send_signal(signal.SIGTERM)

    def end(self) -> tuple[int, str]:
        """Wait for its end: the exit status, and what it has written."""
        status = self._process.wait(LIMIT)
        self._output.seek(0)
        return status, self._output.read()


@contextmanager
def django_server(command: list[str], folder: Path, model: str, **environment: str) -> Iterator[WebServer]:
    """The example site on a server, with a new database.

    Args:
        command: The server's module and arguments.
        folder: For the database.
        model: Base URL of the model's server.
        environment: What the server finds in its environment besides.
    """
    given = {
        "ALLOWED_HOSTS": "127.0.0.1",
        "CHAT_DATABASE": str(folder / "chat.sqlite3"),
        "DEBUG": "0",
        "DJANGO_SETTINGS_MODULE": "tests.web.site.settings",
        "OPENAI_API_KEY": "key of the tests",
        "OPENAI_BASE_URL": model,
        "PYTHONWARNINGS": "default",
        "SECRET_KEY": "secret of the tests",
        "TMPDIR": str(folder),
        **environment,
    }
    shutil.copyfile(_migrated_database(), given["CHAT_DATABASE"])
    with WebServer(command, given) as server:
        yield server


@cache
def _migrated_database() -> Path:
    """A database with the tables of the example site, and nothing in them."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    given = {"CHAT_DATABASE": str(folder / "chat.sqlite3"), "DJANGO_SETTINGS_MODULE": "tests.web.site.settings"}
    migrate = [sys.executable, str(EXAMPLE / "manage.py"), "migrate", "--verbosity", "0"]
    subprocess.run(migrate, env={**os.environ, "PYTHONPATH": str(ROOT), "SECRET_KEY": "any", **given}, check=True)
    return folder / "chat.sqlite3"


class Visitor:
    """Somebody with a browser: keeps cookies, opens the page, asks.

    Args:
        server: The site.
        page: The page that is opened.
    """

    def __init__(self, server: WebServer, page: str = "/", **headers: str) -> None:
        self.client = httpx.Client(base_url=server.url, timeout=LIMIT, headers=headers)
        self._page = page
        self.open()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.client.close()

    def open(self) -> str:
        """Open the page, or look at it again; gives its HTML."""
        html = self.client.get(self._page).raise_for_status().text
        self.token = _only(r'name="csrfmiddlewaretoken" value="(\w+)"', html)
        self.action = _only(r'<form id="question" method="post" action="([^"]+)"', html)
        return html

    @contextmanager
    def asking(self, text: str, **fields: str) -> Iterator[Iterator[tuple[str, Any]]]:
        """The events of an answer, as they come."""
        data = {"csrfmiddlewaretoken": self.token, "text": text, **fields}
        with self.client.stream("POST", self.action, data=data) as response:
            response.raise_for_status()
            assert response.headers["Content-Type"] == "text/event-stream"
            yield _events(response.iter_lines())

    def ask(self, text: str, **fields: str) -> list[tuple[str, Any]]:
        """All events of an answer."""
        with self.asking(text, **fields) as events:
            return list(events)

    def answer(self, text: str, **fields: str) -> str:
        """The text of an answer."""
        name, data = self.ask(text, **fields)[-1]
        assert name == "completed", data
        return str(data["text"])


def _events(lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
    for line in lines:
        if line:
            name, data = line, next(lines)
            yield name.removeprefix("event: "), json.loads(data.removeprefix("data: "))


def _only(pattern: str, html: str) -> str:
    found = set(re.findall(pattern, html))
    assert len(found) == 1, html
    return str(found.pop())
