"""A server over stdio with the faults that its arguments name; plain Python without any library, to be run with -S.

    python faulty.py [fault ...]

It speaks just enough of MCP for a client: every method below is a tool as well.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

FAULTS = frozenset(sys.argv[1:])
MIB = 1024 * 1024
OUT = sys.stdout.buffer
SAID: list[dict[str, Any]] = []  # all notifications, for the method `said`
ANSWERS: list[dict[str, Any]] = []  # to what it has asked
TOOL_CALLS: set[str] = set()  # ids of requests that call a tool


def write(line: bytes) -> None:
    OUT.write(line + b"\n")
    OUT.flush()


def say(message: dict[str, Any]) -> None:
    write(json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode())


def answer(id: object, value: object = "done") -> None:
    """The value as the result of a method, or as the text of a tool."""
    text = value if isinstance(value, str) else json.dumps(value)
    result = {"content": [{"type": "text", "text": text}]} if str(id) in TOOL_CALLS else {"value": value}
    say({"id": id, "result": result})


def touch() -> None:
    """Tell the test, if it wants to know, that the server does nothing from now on."""
    if "TOUCH" in os.environ:
        with open(os.environ["TOUCH"], "w"):
            pass


def sleeper() -> subprocess.Popen[bytes]:
    """A process that holds what this one has open."""
    return subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(300)"])


def begin() -> None:
    if "dies_at_start" in FAULTS:
        sys.stderr.write("\x1b[31mno configuration\x1b[0m\n")
        sys.exit(3)
    if "dies_at_second_start" in FAULTS:
        with open(os.environ["STARTS"], "a+") as starts:
            starts.write("x")
            starts.seek(0)
            if starts.read() == "xx":
                sys.exit(4)
    if "banner" in FAULTS:
        write(b"Welcome to the server!")
        write(b"")
        write(b"[1, 2]")
        write(b"\xff\xfe not UTF-8 \xff")
        write(b'{"text": "\xe9"}')
    if "floods_stderr" in FAULTS:
        sys.stderr.write("".join(f"line {number} {'x' * 100}\n" for number in range(50_000)))
        sys.stderr.flush()
    if "stays" in FAULTS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "never_reads" in FAULTS:
        time.sleep(300)


def serve(message: dict[str, Any]) -> None:
    """Answer one message; the method says in what way."""
    id, method, params = message.get("id"), message.get("method"), message.get("params", {})
    match method:
        case "server/discover":
            if "dies_on_probe" in FAULTS:
                sys.exit(1)
            if "ignores_probe" not in FAULTS:
                say({"id": id, "error": {"code": -32601, "message": "Method not found"}})
        case "initialize":
            info = {"name": "faulty", "version": "1"}
            result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
            say({"id": id, "result": result})
        case "tools/list":
            say({"id": id, "result": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}})
        case "tools/call":
            TOOL_CALLS.add(str(id))
            serve({"id": id, "method": params["name"], "params": params.get("arguments", {})})
        case "die":
            sys.stderr.write("out of cheese\n")
            sys.stderr.flush()
            os._exit(7)
        case "be_killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "leave":  # another process, which keeps all pipes open, and is named to the caller
            answer(id, sleeper().pid)
        case "be_silent":
            touch()
        case "close_output":
            os.close(1)
        case "text_id":
            answer(str(id))
        case "late":  # what was never asked for, what is not an id at all, and then the answer, twice
            for other in (id + 1000, None, True, [], {}, 1.5, "x", "٣"):
                answer(other, "foreign")
            answer(id)
            answer(id, "again")
        case "progress":
            for step in range(3):
                token = {"progressToken": id, "progress": step}
                say({"method": "notifications/progress", "params": token})
            say({"method": "notifications/progress", "params": {"progressToken": "another"}})
            say({"method": "notifications/progress", "params": []})
            answer(id)
        case "ask":
            say({"id": 1, "method": "roots/list"})
            say({"method": "notifications/tools/list_changed"})
            answer(id)
        case "ask_often":
            for number in range(params["times"]):
                say({"id": f"s{number}", "method": params["method"], "params": {"messages": []}})
            answer(id)
        case "ask_nonsense":
            for asked in ("roots/list", "sampling/createMessage", "elicitation/create", "ping", [], 5):
                say({"id": "s", "method": asked, "params": [1]})
                say({"method": asked, "params": "x"})
            answer(id)
        case "report_without_end":
            while True:
                say({"method": "notifications/progress", "params": {"progressToken": id, "progress": 1}})
        case "no_result":
            say({"id": id})
        case "not_a_number":
            say({"id": id, "result": {"value": float("nan")}})
        case "point_zero":
            TOOL_CALLS.add(str(float(id)))
            answer(float(id))
        case "tell_secret":
            sys.stderr.write(f"bad key: {os.environ['API_KEY']}\n")
            sys.stderr.flush()
            os._exit(7)
        case "batch":
            write(json.dumps([{"jsonrpc": "2.0", "method": "note"}, {"id": id, "result": {"value": "done"}}]).encode())
        case "separators":
            answer(id, "a\u2028b\u2029c\x85d\x0be")
        case "long":
            answer(id, "x" * params["size"])
        case "long_without_id":
            write(b'{"result": {"value": "' + b"x" * params["size"] + b'"}, "id": %d}' % id)
        case "echo_later":
            time.sleep(params["seconds"])
            answer(id, params["text"])
        case "size":
            answer(id, len(params["data"]))
        case "pid":
            answer(id, os.getpid())
        case "environment":
            answer(id, dict(os.environ))
        case "folder":
            answer(id, os.getcwd())
        case "answers":
            answer(id, ANSWERS)
        case None:
            ANSWERS.append(message)
        case "said":
            answer(id, SAID)
        case _ if id is not None:
            answer(id)


def main() -> None:
    begin()
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" not in message:
            SAID.append(message)
        serve(message)
    if "stays" in FAULTS:
        touch()
        time.sleep(300)


if __name__ == "__main__":
    main()
