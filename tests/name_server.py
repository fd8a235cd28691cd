"""A network of one's own, and its name server, which says nothing until it is told to.

Real name resolution that hangs: the C library asks the name server of /etc/resolv.conf. So a test runs itself once more
in new namespaces, where both are its own; `run_in_own_network` and `NameServer` are the two sides of that.
"""

from __future__ import annotations

import fcntl
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import Self

import pytest

UNSHARE = ["unshare", "--map-root-user", "--mount", "--net"]
GET_FLAGS, SET_FLAGS, UP = 0x8913, 0x8914, 0x1  # of ioctl, for network interfaces


def run_in_own_network(file: str, prefix: str) -> str:
    """Run the functions with that prefix of a test file in new namespaces, as tests; gives pytest's output."""
    try:
        subprocess.run([*UNSHARE, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this system does not permit new namespaces")
    command = [
        *UNSHARE,
        sys.executable,
        "-m",
        "pytest",
        file,
        "-o",
        f"python_functions={prefix}*",
        "-p",
        "no:cacheprovider",
    ]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class NameServer:
    """Answers with 127.0.0.1 whatever is asked, once it may.

    Attributes:
        asked: Set by the first question.
        answers: Set it, and answers are given.
    """

    def __init__(self, folder: Path) -> None:
        configuration = folder / "resolv.conf"
        configuration.write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:30\n")
        subprocess.run(["mount", "--bind", configuration, "/etc/resolv.conf"], check=True)
        self.asked = threading.Event()
        self.answers = threading.Event()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        request = struct.pack("16sh", b"lo", 0)
        flags = struct.unpack("16sh", fcntl.ioctl(self._socket, GET_FLAGS, request))[1]
        fcntl.ioctl(self._socket, SET_FLAGS, struct.pack("16sh", b"lo", flags | UP))
        self._socket.bind(("127.0.0.1", 53))
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.sendto(b"", ("127.0.0.1", 53))
        self._thread.join()
        self._socket.close()
        subprocess.run(["umount", "/etc/resolv.conf"], check=True)

    def _serve(self) -> None:
        while True:
            question, client = self._socket.recvfrom(4096)
            if not question:
                return
            self.asked.set()
            if self.answers.is_set():
                self._socket.sendto(answer(question), client)


def answer(question: bytes) -> bytes:
    """The answer to a question for addresses: one of version 4, none of version 6."""
    end = question.index(b"\0", 12) + 5  # of the name, and of type and class
    wants_version_4 = question[end - 4 : end - 2] == b"\0\1"
    record = b"\xc0\x0c\0\1\0\1" + struct.pack(">IH4B", 60, 4, 127, 0, 0, 1) if wants_version_4 else b""
    return question[:2] + struct.pack(">5H", 0x8180, 1, wants_version_4, 0, 0) + question[12:end] + record
