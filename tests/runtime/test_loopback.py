"""The tiny web server that waits for the user's browser, and files that only their owner can read."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from kova._runtime.loopback import LoopbackListener
from kova._runtime.private_file import read_private, write_private
from kova.cancellation import CancellationToken


@pytest.fixture
def listener() -> Iterator[LoopbackListener]:
    running = LoopbackListener("/callback")
    yield running
    running.close()


class Waiting(threading.Thread):
    """Waits for the visit whose `x` is 1, in a thread of its own."""

    def __init__(self, listener: LoopbackListener) -> None:
        super().__init__()
        self._listener = listener
        self.stop = CancellationToken()
        self.result: object = "none yet"

    def run(self) -> None:
        self.result = self._listener.wait(lambda query: "welcome" if query.get("x") == "1" else None, self.stop)


def visit(url: str) -> str:
    try:
        with urlopen(url, timeout=10) as page:
            text: str = page.read().decode()
            return text
    except HTTPError as error:
        with error:
            return str(error.code)


def test_the_visit_that_is_accepted_ends_the_wait(listener: LoopbackListener) -> None:
    port = int(listener.url.split(":")[2].partition("/")[0])
    assert listener.url == f"http://127.0.0.1:{port}/callback"
    waiting = Waiting(listener)
    waiting.start()
    silent = socket.create_connection(("127.0.0.1", port))  # as browsers open some in advance
    with silent, socket.create_connection(("127.0.0.1", port)) as rude:
        rude.sendall(b"\x16\x03\x01 no HTTP\r\n\r\n")
        assert visit(listener.url.replace("callback", "favicon.ico")) == "404"
        assert visit(listener.url + "?x=2") == "404"
        assert visit(listener.url + "?x=1&y=%20z&empty=") == "welcome"
    waiting.join(10)
    assert waiting.result == {"x": "1", "y": " z", "empty": ""}


def test_many_connections_and_long_requests_do_not_hold_it_up(listener: LoopbackListener) -> None:
    waiting = Waiting(listener)
    waiting.start()
    port = int(listener.url.split(":")[2].partition("/")[0])
    flood = [socket.create_connection(("127.0.0.1", port)) for _ in range(100)]
    flood[-1].sendall(b"GET /" + b"a" * 200_000)
    assert visit(listener.url + "?x=1") == "welcome"
    waiting.join(10)
    assert waiting.result == {"x": "1"}
    for connection in flood:
        connection.close()


def test_connections_that_are_dropped_with_something_to_read(listener: LoopbackListener) -> None:
    waiting = Waiting(listener)
    waiting.start()
    port = int(listener.url.split(":")[2].partition("/")[0])
    flood: list[socket.socket] = []
    for _ in range(200):
        flood.append(socket.create_connection(("127.0.0.1", port)))
        for connection in flood[-40:]:  # more than are kept open, so that many are dropped
            with contextlib.suppress(OSError):
                connection.sendall(b"G")
    assert visit(listener.url + "?x=1") == "welcome"
    waiting.join(10)
    assert waiting.result == {"x": "1"}
    for connection in flood:
        connection.close()


def test_it_stops_when_it_is_told_to(listener: LoopbackListener) -> None:
    waiting = Waiting(listener)
    waiting.start()
    waiting.stop.cancel()
    waiting.join(10)
    assert waiting.result is None


def test_closing_it_ends_the_wait_before_its_sockets_are_gone(listener: LoopbackListener) -> None:
    for _ in range(50):
        listener = LoopbackListener("/callback")
        waiting = Waiting(listener)
        waiting.start()
        listener.close()
        listener.close()
        waiting.join(10)
        assert waiting.result is None
        with pytest.raises(OSError):
            visit(listener.url)
    assert listener.wait(lambda query: "welcome", CancellationToken()) is None


def test_a_port_that_is_taken_is_an_error(listener: LoopbackListener) -> None:
    with pytest.raises(OSError, match="in use"):
        LoopbackListener("/callback", int(listener.url.split(":")[2].partition("/")[0]))


def test_a_private_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    file = tmp_path / "new" / "file"
    assert read_private(file) is None
    write_private(file, b"one")
    os.chmod(file, 0o644)
    write_private(file, b"two")
    assert read_private(file) == b"two"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert os.listdir(file.parent) == ["file"]


def test_a_private_file_that_cannot_be_written_leaves_no_draft(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_private(tmp_path / "file", b"x")
    assert os.listdir(tmp_path) == ["file"]
