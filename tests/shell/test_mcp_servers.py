"""`kova run`, `kova chat` and `kova mcp` with MCP servers: several at once, and those of a file."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from kova.testing import ModelServer, call
from tests.mcp_http_server import MCPHTTPServer
from tests.mcp_modern import be_old
from tests.shell.conftest import Chat
from tests.shell.terminal import KOVA

# Says who it is: its first argument, or what the environment tells it.
SERVER = """
import json, os, sys

def answer(request):
    match request["method"]:
        case "initialize":
            return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s"}}
        case "tools/list":
            return {"tools": [{"name": "who", "inputSchema": {"type": "object"}}]}
        case "tools/call":
            return {"content": [{"type": "text", "text": "I am " + os.environ.get("WHO", sys.argv[-1])}]}

for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        result = answer(request)
        reply = {"result": result} if result else {"error": {"code": -32601, "message": "no such method"}}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)
"""


@pytest.fixture
def server(folder: Path) -> str:
    """The command of a server with one tool."""
    (folder / "server.py").write_text(SERVER)
    return shlex.join([sys.executable, "-S", str(folder / "server.py")])


@pytest.fixture
def kova(folder: Path, env: dict[str, str]):  # type: ignore[no-untyped-def]
    """Runs `kova` with these arguments."""

    def start(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*KOVA, *arguments], input="", cwd=folder, env=env, capture_output=True, text=True, timeout=60
        )

    return start


def write_config(folder: Path, servers: dict[str, object]) -> str:
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    return "mcp.json"


def offered(model: ModelServer) -> list[str]:
    """The tools that the model was offered."""
    return [tool["function"]["name"] for tool in model.requests[-1].json()["tools"]]


def results(model: ModelServer) -> list[str]:
    """The results of tools that the last request told the model."""
    messages = model.requests[-1].json()["messages"]
    return [message["content"] for message in messages if message["role"] == "tool"]


def test_two_servers_whose_tools_have_one_name(model: ModelServer, kova, server: str) -> None:  # type: ignore[no-untyped-def]
    """Without names that is an error that tells of a prefix; with one, each call goes to its own server."""
    done = kova("run", "Go", "--mcp", f"{server} Ada", "--mcp", f"{server} Bob")
    assert (done.returncode, done.stdout) == (2, "")
    assert "two tools are named 'who'" in done.stderr
    assert "prefix" in done.stderr

    model.play([call("who"), call("bob_who")], "Both.")
    done = kova("run", "Go", "--yes", "--mcp", f"{server} Ada", "--mcp", f"bob={server} Bob")
    assert (done.returncode, done.stdout, done.stderr) == (0, "Both.\n", "")
    assert offered(model) == ["who", "bob_who"]
    assert results(model) == ["I am Ada", "I am Bob"]


def test_the_servers_of_a_file(model: ModelServer, kova, server: str, folder: Path, mcp_server: MCPHTTPServer) -> None:  # type: ignore[no-untyped-def]
    """With their environment and headers, which no command line shows; the names in the file are the prefixes."""
    be_old(mcp_server)
    command, *args = shlex.split(server)
    config = write_config(
        folder,
        {
            "ada": {"command": command, "args": args, "env": {"WHO": "Ada"}},
            "sky": {"url": mcp_server.url, "headers": {"Authorization": "Bearer ${SKY_TOKEN:-t0ken}"}},
            "off": {"command": "/nowhere", "disabled": True},
        },
    )
    model.play([call("ada_who"), call("sky_weather", city="Oslo")], "Both.")
    done = kova("run", "Go", "--yes", "--mcp-config", config, "--mcp", f"{server} Bob")
    assert (done.returncode, done.stdout, done.stderr) == (0, "Both.\n", "")
    assert sorted(offered(model)) == ["ada_who", "sky_weather", "who"]
    assert results(model) == ["I am Ada", "sunny"]
    assert {request.headers.get("authorization") for request in mcp_server.of("tools/call")} == {"Bearer t0ken"}


def test_chat_has_them_too(model: ModelServer, chat: Chat, server: str, folder: Path) -> None:
    """The call that is asked for has the server's name in front."""
    command, *args = shlex.split(server)
    config = write_config(folder, {"ada": {"command": command, "args": [*args, "Ada"]}})
    model.play(call("ada_who"), "She is.")
    terminal = chat("--mcp-config", config)
    terminal.say("Who is there?")
    terminal.shows(r"▸ ada_who\(\)\nRun it\?")
    terminal.say("y")
    terminal.shows("She is.")
    assert results(model) == ["I am Ada"]


def test_kova_mcp_reads_the_same_file(kova, server: str, folder: Path, mcp_server: MCPHTTPServer) -> None:  # type: ignore[no-untyped-def]
    be_old(mcp_server)
    command, *args = shlex.split(server)
    config = write_config(
        folder,
        {
            "ada": {"command": command, "args": args, "env": {"WHO": "Ada"}},
            "sky": {"url": mcp_server.url, "headers": {"Authorization": "Bearer t0ken"}},
        },
    )
    assert kova("mcp", "call", "ada", "who", "--mcp-config", config).stdout == "I am Ada\n"
    done = kova("mcp", "list", "sky", "--mcp-config", config)
    assert (done.returncode, done.stdout.partition(" ")[0]) == (0, "weather\n")
    assert {request.headers.get("authorization") for request in mcp_server.of("tools/list")} == {"Bearer t0ken"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "Go", "--mcp", "a=one", "--mcp", "a=two"], "two MCP servers are named 'a'"),
        (["run", "Go", "--mcp", "ada=one", "--mcp-config", "mcp.json"], "two MCP servers are named 'ada'"),
        (["run", "Go", "--mcp", "a="], "command must name a program"),
        (["run", "Go", "--mcp-config", "absent.json"], "cannot read absent.json"),
        (["run", "Go", "--mcp-config", "tools.py"], "tools.py is not JSON"),
        (["mcp", "list", "bob", "--mcp-config", "mcp.json"], "mcp.json has no server 'bob'; it has ada"),
        (["mcp", "list", "ada", "--mcp-config", "mcp.json", "--env", "A=b"], "are for a command or URL"),
    ],
)
def test_wrong_usage(kova, folder: Path, arguments: list[str], said: str) -> None:  # type: ignore[no-untyped-def]
    write_config(folder, {"ada": {"command": "/nowhere"}})
    done = kova(*arguments)
    assert done.returncode in (1, 2)
    assert done.stdout == ""
    assert done.stderr.startswith("kova: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_url_with_a_query_is_no_name(kova) -> None:  # type: ignore[no-untyped-def]
    """It is reached, and not taken for `NAME=`."""
    done = kova("run", "Go", "--mcp", "http://127.0.0.1:1/mcp?key=verysecret")
    assert done.returncode == 3
    assert "127.0.0.1:1" in done.stderr
    assert "verysecret" not in done.stderr
