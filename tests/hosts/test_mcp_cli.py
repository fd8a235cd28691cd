"""`python -m kova mcp`, as a shell runs it: hostile servers, broken pipes, wrong usage, signing in (S2, S5)."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.script import ROOT
from tests.mcp_http_server import MCPHTTPServer
from tests.mcp_links import FAULTY
from tests.mcp_modern import WEATHER, be_old
from tests.oauth_server import AuthorizationServer

LIMIT = 60.0  # seconds
ESCAPES = "a\x1b[31mb\x9b2J\u202e\ud800\x1b]0;title\x07c\x7f"
HOSTILE = {
    "name": "paint" + ESCAPES,
    "title": ESCAPES,
    "description": "Paints. " + ESCAPES,
    "inputSchema": {
        "properties": {
            "p" + ESCAPES: {"type": ["string", 5], "description": {"a": 1}},
            "q": {"type": {"a": 1}},
            "r": 5,
        },
        "required": ["q", 5],
    },
}


def kova(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), **options.pop("env", {})}
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    command = [sys.executable, "-m", "kova", "mcp", *arguments]
    return subprocess.run(command, text=True, env=env, timeout=LIMIT, check=False, **options)


def of(server: MCPHTTPServer, *tools: dict[str, Any]) -> str:
    be_old(server)
    server.on("tools/list", lambda exchange: exchange.answer({"tools": list(tools)}))
    return server.url


def is_harmless(text: str) -> bool:
    return not any(sign in text for sign in "\x1b\x9b\x07\x7f\u202e") and "Traceback" not in text


@pytest.mark.parametrize("command", ["list", "check"])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_s5_what_a_server_says_moves_no_cursor(mcp_server: MCPHTTPServer, command: str, encoding: str) -> None:
    url = of(mcp_server, HOSTILE, WEATHER, {"name": "größe"})
    for options in ([], ["--json"]):
        ran = kova(command, url, *options, env={"PYTHONIOENCODING": encoding})
        assert (ran.returncode, ran.stderr) == (0, "")
        assert is_harmless(ran.stdout)
    told = json.loads(ran.stdout)
    assert (told[0]["name"] if command == "list" else told["tools"][0]) == HOSTILE["name"]


def test_s5_neither_do_results_and_errors(mcp_server: MCPHTTPServer) -> None:
    url = of(mcp_server, WEATHER)
    mcp_server.on("tools/call", lambda exchange: exchange.answer({"content": [{"type": "text", "text": ESCAPES}]}))
    ran = kova("call", url, "weather")
    assert (ran.returncode, ran.stderr, is_harmless(ran.stdout)) == (0, "", True)
    mcp_server.on("tools/call", lambda exchange: exchange.refuse(200, -32000, ESCAPES))
    ran = kova("call", url, "weather")
    assert (ran.returncode, ran.stdout, is_harmless(ran.stderr)) == (1, "", True)


def test_output_that_nobody_takes(mcp_server: MCPHTTPServer) -> None:
    """A pipe that was closed, and a device that is full."""
    url = of(mcp_server, {"name": "long", "description": "x " * 1_000_000})
    read, write = os.pipe()
    os.close(read)
    try:
        ran = kova("list", url, stdout=write)
    finally:
        os.close(write)
    assert (ran.returncode, ran.stderr) == (1, "")
    if Path("/dev/full").exists():
        with open("/dev/full", "w") as full:
            ran = kova("list", url, stdout=full)
        assert (ran.returncode, ran.stderr) == (1, "kova: cannot write the output: No space left on device\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["list", ""], "command must name a program"),
        (["list", "'"], "not a command"),
        (["list", "server", "--header", "A: b"], "--header, --sse and --login are for a URL"),
        (["list", "server", "--login"], "--header, --sse and --login are for a URL"),
        (["list", "http://127.0.0.1/", "--env", "A=b"], "--env is for a command"),
        (["list", "http://me:secret@127.0.0.1/"], "must not hold a user name or password"),
        (["list", "http://["], "url is not a URL"),
        (["list", "http://example.com/", "--login"], "url must be an https URL"),
        (["list", "server", "--timeout", "nan"], "start_timeout must be a positive number"),
        (["call", "server", "tool", "[" * 20_000], "the arguments are not JSON"),
        (["call", "server", "tool", '{"a": NaN}'], "the arguments are not JSON"),
        (["call", "server", ""], "TOOL must be the name of a tool"),
    ],
)
def test_wrong_usage_is_named(arguments: list[str], message: str) -> None:
    ran = kova(*arguments)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert message in ran.stderr
    assert is_harmless(ran.stderr)


def test_a_server_that_is_not_there_or_dies() -> None:
    ran = kova("list", "http://127.0.0.1:1/mcp?key=verysecret")
    assert (ran.returncode, "verysecret" in ran.stderr) == (3, False)
    ran = kova("call", f"{sys.executable} -S {FAULTY}", "tell_secret", "--env", "API_KEY=verysecret")
    assert ran.returncode == 3
    assert "it said last: bad key: ***" in ran.stderr


def test_signing_in_with_the_browser(mcp_server: MCPHTTPServer, tmp_path: Path) -> None:
    """Once: the tokens are kept in a file that only its owner can read."""
    with AuthorizationServer() as issuer:
        issuer.guard(mcp_server)
        be_old(mcp_server)
        issuer.guard(mcp_server)
        browser = tmp_path / "browser.py"
        browser.write_text("import sys\nfrom tests.oauth_server import browse\nbrowse(sys.argv[1])\n")
        env = {"BROWSER": f"{sys.executable} {browser} %s", "XDG_DATA_HOME": str(tmp_path / "data")}
        env["HOME"] = str(tmp_path)
        first = kova("check", mcp_server.url, "--login", env=env)
        assert "Sign in here: http://127.0.0.1:" in first.stderr
        second = kova("check", mcp_server.url, "--login", env=env)
        assert second.stderr == ""
        issuer.expire()
        config = tmp_path / "servers.json"
        config.write_text(json.dumps({"mcpServers": {"weather": {"url": mcp_server.url}}}))
        for named in ([mcp_server.url], ["weather", "--mcp-config", str(config)]):
            ran = kova("call", *named[:1], "any_tool", *named[1:], env=env)
            assert (ran.returncode, ran.stderr) == (0, ""), "what is kept serves without --login too"
        issuer.expire()
        issuer.revoke()
        last = kova("call", mcp_server.url, "any_tool", env=env)
        assert last.returncode == 3
        assert "sign in again with kova mcp check URL --login" in last.stderr
    assert len(issuer.asked) == 1
    assert issuer.grants == ["authorization_code", "refresh_token", "refresh_token"]
    (file,) = tmp_path.rglob("kova/mcp/127.0.0.1-*.json")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert issuer.token in file.read_text()
    for shown in (first, second, last):
        assert issuer.token not in shown.stdout + shown.stderr
