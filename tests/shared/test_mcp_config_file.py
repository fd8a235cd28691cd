"""The configuration files of other MCP clients, and what is said of a wrong one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import kova
from kova.mcp import HTTPSSETransport, StdioTransport, StreamableHTTPTransport


def write(folder: Path, content: object) -> Path:
    path = folder / "mcp.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def read_one(folder: Path, entry: object) -> Any:
    return kova.mcp_servers_from_config(write(folder, {"mcpServers": {"one": entry}}))["one"]


def test_a_file_of_claude_desktop(tmp_path: Path) -> None:
    args = ["-y", "@modelcontextprotocol/server-filesystem", "."]
    path = write(
        tmp_path, {"theme": "dark", "mcpServers": {"files": {"command": "npx", "args": args, "env": {"A": "b"}}}}
    )
    assert kova.mcp_servers_from_config(path) == {"files": StdioTransport("npx", args, {"A": "b"})}


def test_a_file_of_vs_code(tmp_path: Path) -> None:
    servers = {
        "here": {"type": "stdio", "command": "python", "args": ["server.py"], "cwd": "/srv"},
        "there": {"type": "http", "url": "https://example.com/mcp", "headers": {"X-Key": "k"}},
        "old": {"type": "sse", "url": "https://example.com/sse"},
    }
    assert kova.mcp_servers_from_config(str(write(tmp_path, {"inputs": [], "servers": servers}))) == {
        "here": StdioTransport("python", ["server.py"], cwd="/srv"),
        "there": StreamableHTTPTransport("https://example.com/mcp", {"X-Key": "k"}),
        "old": HTTPSSETransport("https://example.com/sse"),
    }


@pytest.mark.parametrize(
    "entry",
    [
        {"url": "https://example.com/mcp", "alwaysAllow": ["search"], "timeout": 60},
        {"serverUrl": "https://example.com/mcp"},
        {"httpUrl": "https://example.com/mcp"},
        {"transport": "streamable-http", "url": "https://example.com/mcp"},
        {"type": "streamableHttp", "url": "https://example.com/mcp", "disabled": False},
    ],
)
def test_the_spellings_of_a_url(tmp_path: Path, entry: object) -> None:
    assert read_one(tmp_path, entry) == StreamableHTTPTransport("https://example.com/mcp")


def test_what_is_disabled_is_left_out(tmp_path: Path) -> None:
    servers = {"off": {"command": "x", "disabled": True}, "on": {"command": "y"}}
    assert list(kova.mcp_servers_from_config(write(tmp_path, {"mcpServers": servers}))) == ["on"]


def test_variables_of_the_environment_are_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "a${B}")
    monkeypatch.setenv("EMPTY", "")
    monkeypatch.delenv("UNSET", raising=False)
    monkeypatch.setenv("HOME", "/home/me")
    entry = {
        "command": "${UNSET:-npx}",
        "args": ["--key=${KEY}", "${env:KEY}", "$KEY", "<${EMPTY:-x}>", "${UNSET:-}", "${userHome}/x"],
        "env": {"TOKEN": "${env:KEY}"},
    }
    server = read_one(tmp_path, entry)
    assert server.command == "npx"
    assert server.args == ("--key=a${B}", "a${B}", "$KEY", "<>", "", "/home/me/x")
    assert server.env == {"TOKEN": "a${B}"}
    server = read_one(
        tmp_path, {"url": "https://${UNSET:-example.com}/", "headers": {"Authorization": "Bearer ${KEY}"}}
    )
    assert server == StreamableHTTPTransport("https://example.com/", {"Authorization": "Bearer a${B}"})


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("npx", "must be an object, not str"),
        ({}, "it has neither command nor url"),
        ({"type": "ftp", "url": "ftp://x"}, "type must be one of stdio, sse, http, .*, not 'ftp'"),
        ({"type": "stdio"}, "command is missing"),
        ({"type": "http", "command": "x"}, "url is missing"),
        ({"command": 3}, "command must be a text, not int"),
        ({"command": " "}, "command must name a program, not ' '"),
        ({"command": "x", "args": "y"}, "args must be a list of texts"),
        ({"command": "x", "args": [1]}, "args must be a list of texts"),
        ({"command": "x", "env": {"PORT": 80}}, r"env\.PORT must be a text, not int"),
        ({"command": "x", "env": []}, "env must be an object, not list"),
        ({"command": "x", "cwd": 1}, "cwd must be a text, not int"),
        ({"command": "x", "envFile": ".env"}, "envFile is not read: give the variables in env"),
        ({"url": "example.com"}, "url must be an http or https URL, not 'example.com'"),
        ({"url": None}, "url must be a text, not NoneType"),
        (
            {"command": "x", "env": {"KEY": "${NOT_SET_ANYWHERE}"}},
            r"env\.KEY: the environment variable NOT_SET_ANYWHERE is not",
        ),
        (
            {"command": "x", "args": ["${input:key}"]},
            r"args: only the program that the file is for knows \$\{input:key\}",
        ),
        ({"command": "x", "cwd": "${workspaceFolder}"}, r"cwd: only the program .* knows \$\{workspaceFolder\}"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, entry: object, reason: str) -> None:
    """The file, the server and the key."""
    with pytest.raises(kova.BuildError, match=rf"mcp\.json: server 'one':? {reason}"):
        read_one(tmp_path, entry)


@pytest.mark.parametrize("content", [{}, [], {"mcp": {}}])
def test_a_file_without_servers_is_refused(tmp_path: Path, content: object) -> None:
    with pytest.raises(kova.BuildError, match=r"mcp\.json has neither mcpServers nor servers"):
        kova.mcp_servers_from_config(write(tmp_path, content))
    with pytest.raises(kova.BuildError, match=r"mcp\.json: mcpServers must be an object, not list"):
        kova.mcp_servers_from_config(write(tmp_path, {"mcpServers": []}))


def test_a_file_that_is_not_json_or_not_there(tmp_path: Path) -> None:
    with pytest.raises(kova.SerializationError, match=r"mcp\.json is not JSON"):
        kova.mcp_servers_from_config(write(tmp_path, '{"mcpServers": {,}}'))
    with pytest.raises(kova.KovaOSError, match=r"cannot read .*other\.json: No such file"):
        kova.mcp_servers_from_config(tmp_path / "other.json")
