"""Hundreds of chats at once on the Django example, under each server: errors, times, and what is left afterwards.

    python -m benchmarks.hosts [--chats 500] [--only gevent]

Each server has one process for the chats, and a model of 20 tokens, one every 50 ms, so that no chat takes less than a
second. A first round is played to warm up. Then the counts are taken, a second round is measured, and the counts are
taken again: threads, files and sockets, connections to the model, and Python objects. gunicorn keeps its threads, of
which the second round may need more than the first.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from urllib.parse import urlencode

import httpx
from attrs import frozen

from tests.web.servers import COMMANDS, WebServer, django_server

PAUSE, TOKENS = 0.05, 20  # seconds, tokens
LIMIT = 120.0  # seconds
HEADING = (
    "| server | chats | errors | first token | whole answer | CPU a chat | threads | files | connections | objects |"
)


@frozen
class Chat:
    """One chat: when its first token came and when it was over, in seconds after the question; what went wrong."""

    first: float
    whole: float
    problem: str | None


def main() -> None:
    """Measure, and print a line of the table for each server."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hosts", description=__doc__)
    parser.add_argument("--chats", type=int, default=500, help="how many at once (500)")
    parser.add_argument("--only", action="append", choices=COMMANDS, metavar="NAME", help="repeatable")
    options = parser.parse_args()
    _raise_limit_of_files()
    print(HEADING + "\n" + "|---" * (HEADING.count("|") - 1) + "|", flush=True)
    failed = [name for name in options.only or COMMANDS if not _measure(name, options.chats)]
    sys.exit(f"not as it should be: {', '.join(failed)}" if failed else 0)


def _measure(name: str, chats: int) -> bool:
    words, page = COMMANDS[name]
    command = [str(chats) if word == "40" else word for word in words]  # threads
    if "gunicorn" in command:
        command[1:1] = ["--worker-connections", str(4 * chats)]
    with tempfile.TemporaryDirectory() as folder, _slow_model() as model, redirect_stdout(io.StringIO()):
        with django_server(command, Path(folder), model) as server:  # prints what the server has said
            asyncio.run(_round(server, page, chats))
            before = _settled_counts(server, model)
            results = asyncio.run(_round(server, page, chats))
            after = _settled_counts(server, model)
    problems = sorted({chat.problem for chat in results if chat.problem is not None})
    print(_line(name, results, before, after), flush=True)
    for problem in problems:
        print(f"    {problem}", flush=True)
    threads = (
        before["threads"] if "gthread" not in command else chats + 1
    )  # those that gunicorn may have, and the main one
    is_clean = after["connections"] == 0 and after["files"] <= before["files"] and after["threads"] <= threads
    return is_clean and not problems


def _line(name: str, results: list[Chat], before: dict[str, float], after: dict[str, float]) -> str:
    firsts, wholes = [chat.first for chat in results], [chat.whole for chat in results]
    cells = [
        name,
        str(len(results)),
        str(sum(chat.problem is not None for chat in results)),
        f"{statistics.median(firsts):.2f} s, at most {max(firsts):.2f} s",
        f"{statistics.median(wholes):.2f} s, at most {max(wholes):.2f} s",
        f"{1e3 * (after['cpu'] - before['cpu']) / len(results):.0f} ms",
        *(f"{before[key]:.0f} → {after[key]:.0f}" for key in ("threads", "files", "connections", "objects")),
    ]
    return f"| {' | '.join(cells)} |"


# ---- what is left


def _settled_counts(server: WebServer, model: str) -> dict[str, float]:
    """The counts, when nothing has changed any more for two seconds."""
    last, since, until = _counts(server, model), time.monotonic(), time.monotonic() + 30
    while time.monotonic() < min(since + 2, until):
        time.sleep(0.25)
        now = _counts(server, model)
        if any(now[key] != last[key] for key in ("threads", "files", "connections")):
            since = time.monotonic()
        last = now
    return last


def _counts(server: WebServer, model: str) -> dict[str, float]:
    found: dict[str, float] = httpx.get(f"{server.url}/inside/counts/", timeout=LIMIT).json()
    times = Path("/proc", str(int(found["pid"])), "stat").read_text().rpartition(") ")[2].split()
    found["cpu"] = (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")
    found["connections"] = int(httpx.get(f"{model}/connections", timeout=LIMIT).text)
    return found


# ---- the visitors


async def _round(server: WebServer, page: str, chats: int) -> list[Chat]:
    """All chats at once. Each visitor has opened the page before."""
    forms = [await _open_page(server, page) for _ in range(chats)]
    return await asyncio.gather(*(_chat(server, *form) for form in forms))


async def _open_page(server: WebServer, page: str) -> tuple[str, dict[str, str], str]:
    head, _, html = (await _exchange(server, f"GET {page} HTTP/1.1\r\n\r\n"))[0].partition("\r\n\r\n")
    cookies = "; ".join(re.findall(r"(?m)^set-cookie: ([^;]+)", head, re.IGNORECASE))
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', html)
    action = re.search(r'<form id="question" method="post" action="([^"]+)"', html)
    assert token is not None, head
    assert action is not None
    return action[1], {"csrfmiddlewaretoken": token[1], "text": "Hi"}, cookies


async def _chat(server: WebServer, action: str, form: dict[str, str], cookies: str) -> Chat:
    body = urlencode(form)
    lines = [
        f"POST {action} HTTP/1.1",
        f"Cookie: {cookies}",
        "Content-Type: application/x-www-form-urlencoded",
        f"Content-Length: {len(body)}",
    ]
    started = time.monotonic()
    try:
        answer, first = await asyncio.wait_for(_exchange(server, "\r\n".join(lines) + f"\r\n\r\n{body}"), LIMIT)
    except (OSError, TimeoutError) as error:
        return Chat(LIMIT, LIMIT, f"{type(error).__name__}: {error}")
    ended = time.monotonic()
    is_whole = answer.count("event: text\n") == TOKENS and "event: completed\n" in answer
    return Chat(first - started, ended - started, None if is_whole else answer[-200:])


async def _exchange(server: WebServer, request: str) -> tuple[str, float]:
    """The raw answer to a request, and the time at which its first event came, if it has any."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    head, _, body = request.partition("\r\n\r\n")
    writer.write(f"{head}\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n{body}".encode())
    answer, first = b"", 0.0
    try:
        while data := await reader.read(65_536):
            answer += data
            if not first and b"event: " in answer:
                first = time.monotonic()
    finally:
        writer.close()
    return answer.decode(), first


# ---- the rest


@contextmanager
def _slow_model() -> Iterator[str]:
    program = [sys.executable, "-m", "benchmarks.programs.slow_model", str(PAUSE), str(TOKENS)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


def _raise_limit_of_files() -> None:
    """A chat has a socket at the server and one at the model; many systems allow a process 1,024 files at first."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


if __name__ == "__main__":
    main()
