"""How a server is reached: what is wrong with an argument is named at once, and what is secret is not shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kova
from kova._mcp.jsonrpc import answered_id, error_of
from kova._mcp.last_words import LastWords


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"args": 5}, "args must be a sequence of texts"),
        ({"args": None}, "args must be a sequence of texts"),
        ({"args": b"x"}, "args must be a sequence of texts"),
        ({"args": ["a\0"]}, "args must be a sequence of texts"),
        ({"env": 5}, "env must be a mapping"),
        ({"env": [("A", "b")]}, "env must be a mapping"),
        ({"env": {"A": 5}}, "env: names and values must be texts"),
        ({"env": {"A=B": "c"}}, "env cannot have a variable 'A=B'"),
        ({"env": {"A": "\0"}}, "env cannot have a variable 'A'"),
        ({"cwd": 5}, "cwd must be a path"),
        ({"inherit_env": "yes"}, "inherit_env must be a bool"),
        ({"start_timeout": float("nan")}, "start_timeout must be a positive number"),
        ({"command": "a\0"}, "command must name a program"),
    ],
)
def test_a_process_that_no_system_starts(options: dict[str, Any], message: str) -> None:
    with pytest.raises(kova.BuildError, match=message):
        kova.StdioTransport(**{"command": "x", **options})


@pytest.mark.parametrize("kind", [kova.StreamableHTTPTransport, kova.HTTPSSETransport])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"url": "http://[::1"}, "url is not a URL"),
        ({"url": "http://example.com:99999/"}, "url is not a URL"),
        ({"url": "http://example.com/\r\nX: y"}, "url has characters"),
        ({"url": "http://example.com/a b"}, "url has characters"),
        ({"url": "http://me:verysecret@example.com/"}, "url must not hold a user name or password"),
        ({"url": "htps://example.com/?key=verysecret"}, "url must be an http or https URL"),
        ({"headers": ["A: b"]}, "headers must be a mapping"),
        ({"headers": {"Authorization": b"verysecret"}}, "headers: names and values must be texts"),
    ],
)
def test_a_server_that_cannot_be_there(kind: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(kova.BuildError, match=message) as caught:
        kind(**{"url": "http://example.com/", **options})
    assert "verysecret" not in str(caught.value)


def test_what_is_secret_is_not_shown() -> None:
    transports = [
        kova.StreamableHTTPTransport("https://example.com/?key=verysecret", {"X-Key": "verysecret"}),
        kova.HTTPSSETransport("https://example.com/?key=verysecret", {"X-Key": "verysecret"}),
        kova.StdioTransport("x", env={"KEY": "verysecret"}),
    ]
    for transport in transports:
        assert "verysecret" not in repr(transport) + repr(kova.MCPClient(transport))


def test_a_server_does_not_show_it_either() -> None:
    words = LastWords()
    words.secrets = ("verysecret",)
    words.add(b"the key verysecret is not valid")
    assert words.text == "the key *** is not valid"
    error = error_of({"error": {"code": 1, "message": "Authorization: Bearer abcdefghijklmnopqrst is not valid"}})
    assert error is not None
    assert "abcdef" not in error.message


@pytest.mark.parametrize(("id", "answered"), [("5", 5), (5.0, 5), ("٣", None), ("³", None), (5.5, None), (True, None)])
def test_which_ids_may_be_ours(id: object, answered: int | None) -> None:
    assert answered_id({"id": id}) == answered


def test_a_config_file_whose_name_no_system_has() -> None:
    with pytest.raises(kova.KovaOSError, match="cannot read"):
        kova.mcp_servers_from_config(Path("a\0b"))
