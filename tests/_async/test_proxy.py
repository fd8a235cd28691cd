"""R8: proxies, as the environment variables name them, act alike in both twins."""

from __future__ import annotations

import pytest

import kova
from tests import server as play
from tests.proxy_server import ProxyServer
from tests.server import ModelServer

pytestmark = pytest.mark.anyio

HI = [kova.user_message("Hi")]


@pytest.fixture(autouse=True)
def _no_proxies_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


async def test_a_plain_request_goes_through_the_proxy(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.always(play.text("Hello"))
    with ProxyServer() as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://user:p%40ss@{proxy.address}")
        async with kova.AsyncOpenAICompatibleProvider("m", base_url=server.url) as model:
            assert (await model.chat_completion(HI)).text == "Hello"
            assert (await model.chat_completion(HI)).text == "Hello"
    assert proxy.asked == [f"POST {server.url}/v1/chat/completions HTTP/1.1"]  # and the second on the same connection
    assert proxy.authorizations == ["basic dxnlcjpwqhnz"]  # the test's proxy writes it in lower case
    assert server.last.headers["host"] == server.url.removeprefix("http://")


async def test_tls_goes_through_a_tunnel(monkeypatch: pytest.MonkeyPatch) -> None:
    """At its other end is no TLS, which the handshake through the tunnel finds out."""
    with play.greeter() as port, ProxyServer() as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy.address}")
        async with kova.AsyncOpenAICompatibleProvider("m", base_url=f"https://127.0.0.1:{port}") as model:
            with pytest.raises(kova.ConnectionError, match=f"no TLS connection to 127.0.0.1:{port}"):
                await model.chat_completion(HI)
    assert proxy.asked == [f"CONNECT 127.0.0.1:{port} HTTP/1.1"]


async def test_a_proxy_that_refuses(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with ProxyServer(refuse=True) as proxy:
        monkeypatch.setenv("ALL_PROXY", proxy.address)
        url = server.url.replace("http://", "https://")
        async with kova.AsyncOpenAICompatibleProvider("m", base_url=url) as model:
            with pytest.raises(kova.ConnectionError, match="refused to connect: HTTP 407"):
                await model.chat_completion(HI)


async def test_no_proxy_names_hosts_that_are_reached_directly(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.always(play.text("Hello"))
    with ProxyServer() as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://{proxy.address}")
        monkeypatch.setenv("NO_PROXY", "example.org,127.0.0.1")
        async with kova.AsyncOpenAICompatibleProvider("m", base_url=server.url) as model:
            assert (await model.chat_completion(HI)).text == "Hello"
    assert proxy.asked == []


async def test_a_proxy_of_another_kind_is_named(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1080")
    async with kova.AsyncOpenAICompatibleProvider("m", base_url=server.url) as model:
        with pytest.raises(kova.ConnectionError, match="'socks5'"):
            await model.chat_completion(HI)
