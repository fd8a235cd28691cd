"""TLS with real certificates, made for the test: what is trusted, and that nothing else is."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path
from typing import Any

import pytest

import kova
from kova import _httpx
from tests import server as play
from tests.server import Exchange
from tests.tls import TLSModelServer

pytestmark = pytest.mark.anyio

HI = [kova.user_message("Hi")]


def provider(server: TLSModelServer, **options: Any) -> kova.AsyncOpenAICompatibleProvider:
    return kova.AsyncOpenAICompatibleProvider("m", **{"base_url": server.url, "verify": server.trusting(), **options})


async def refusal(model: kova.AsyncOpenAICompatibleProvider) -> str:
    """The message of the error that a question ends with."""
    async with model:
        with pytest.raises(kova.ConnectionError) as whole:
            await model.chat_completion(HI)
        with pytest.raises(kova.ConnectionError) as streamed:
            async with model.chat_completion_stream(HI) as stream:
                async for _ in stream:
                    pass
    assert str(whole.value) == str(streamed.value)
    assert isinstance(whole.value.__cause__, ssl.SSLError)
    return str(whole.value)


@pytest.fixture(params=_httpx.LIBRARIES)
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """httpx, and httpx2 where it is installed: either may say which authorities are trusted."""
    module = pytest.importorskip(request.param)
    monkeypatch.setattr(_httpx, "LIBRARIES", (request.param,))
    return module


# ---- what works


async def test_whole_and_streamed_answers_come_over_one_connection() -> None:
    """T5, R8: and one handshake."""
    with TLSModelServer() as server:
        server.always(play.text("Hello there"))
        async with provider(server) as model:
            for _ in range(3):
                assert (await model.chat_completion(HI)).text == "Hello there"
                async with model.chat_completion_stream(HI) as stream:
                    events = [event async for event in stream]
                assert events[:2] == [kova.TextDelta("Hello "), kova.TextDelta("there")]
        assert (len(server.exchanges), server.connections, server.handshakes) == (6, 1, 1)


async def test_a_large_history_arrives_whole() -> None:
    """Larger than what a socket or a record of TLS takes at once, in both directions."""
    text = "äbc\n" * 1_000_000
    with TLSModelServer() as server:
        server.always(lambda exchange: play.text(exchange.json()["messages"][0]["content"])(exchange))
        async with provider(server) as model:
            assert (await model.chat_completion([kova.user_message(text)])).text == text


async def test_an_event_that_comes_in_many_records() -> None:
    def dribble(exchange: Exchange) -> None:
        exchange.start_stream()
        for byte in b'data: {"choices": [{"index": 0, "delta": {"content": "Hello"}, "finish_reason": "stop"}]}\n\n':
            exchange.send_chunk(bytes([byte]))
        exchange.end_stream()

    with TLSModelServer() as server:
        server.play(dribble)
        async with provider(server) as model, model.chat_completion_stream(HI) as stream:
            assert await anext(stream) == kova.TextDelta("Hello")


async def test_a_connection_that_the_server_closed_is_replaced() -> None:
    """R4: over TLS, where the end of an idle connection comes with a record of its own."""
    hello = play.text("Hello")

    def answer_and_leave(exchange: Exchange) -> None:
        hello(exchange)
        assert isinstance(exchange.connection, ssl.SSLSocket)
        exchange.connection.unwrap()

    with TLSModelServer() as server:
        server.play(answer_and_leave, hello)
        async with provider(server) as model:
            for _ in range(2):
                assert (await model.chat_completion(HI)).text == "Hello"
        assert server.handshakes == 2


@pytest.mark.parametrize("politely", [False, True])
async def test_a_body_that_is_cut_off(politely: bool) -> None:
    """Without TLS's own farewell, and with it: neither makes an answer of half a one."""

    def cut(exchange: Exchange) -> None:
        exchange.send_head(200, {"content-type": "application/json", "content-length": "1000"})
        exchange.send_raw(b'{"id": ')
        assert isinstance(exchange.connection, ssl.SSLSocket)
        if politely:
            exchange.connection.unwrap()
        exchange.connection.shutdown(socket.SHUT_RDWR)

    with TLSModelServer() as server:
        server.play(cut)
        async with provider(server) as model:
            with pytest.raises(kova.ConnectionError):
                await model.chat_completion(HI)


# ---- what is trusted


async def test_an_unknown_authority_is_refused(library: Any) -> None:
    """R8."""
    with TLSModelServer() as server:
        message = await refusal(provider(server, verify=True))
        assert f"no TLS connection to 127.0.0.1:{server.port}: unable to get local issuer certificate" in message
        assert server.exchanges == []


async def test_a_certificate_for_another_name_is_refused() -> None:
    """R8."""
    with TLSModelServer("api.example.org") as server:
        message = await refusal(provider(server))
        assert "certificate is not valid for '127.0.0.1'" in message
        assert server.exchanges == []


async def test_a_name_is_checked_as_such() -> None:
    """R8: the certificate is for the address."""
    with TLSModelServer("127.0.0.1") as server:
        message = await refusal(provider(server, base_url=f"https://localhost:{server.port}"))
        assert "certificate is not valid for 'localhost'" in message
    with TLSModelServer("localhost") as server:
        server.play(play.text("Hello"))
        async with provider(server, base_url=f"https://localhost:{server.port}") as model:
            assert (await model.chat_completion(HI)).text == "Hello"


async def test_an_expired_certificate_is_refused() -> None:
    """R8."""
    with TLSModelServer(expired=True) as server:
        assert "certificate has expired" in await refusal(provider(server))
        assert server.exchanges == []


async def test_a_handshake_that_failed_costs_no_slot() -> None:
    """T12: and leaves the provider as it was."""
    with TLSModelServer(expired=True) as server:
        async with provider(server, max_connections=1) as model:
            for _ in range(3):
                with pytest.raises(kova.ConnectionError, match="expired"):
                    await model.with_options(timeout=10).chat_completion(HI)


async def test_checks_can_be_switched_off(library: Any) -> None:
    """R8: only on demand."""
    with TLSModelServer("api.example.org", expired=True) as server:
        server.play(play.text("Hello"))
        async with provider(server, verify=False) as model:
            assert (await model.chat_completion(HI)).text == "Hello"


async def test_a_file_of_authorities_in_the_environment_is_used(
    library: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R8: as companies set it for their own authority."""
    with TLSModelServer() as server, TLSModelServer() as foreign:
        server.ca.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
        server.play(play.text("Hello"))
        async with provider(server, verify=True) as model:
            assert (await model.chat_completion(HI)).text == "Hello"
        assert "unable to get local issuer certificate" in await refusal(provider(foreign, verify=True))


async def test_a_file_of_authorities_that_is_not_there(
    library: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R8: is an error of kova's, as is one that holds none, and not a silent change to other authorities."""
    (tmp_path / "empty.pem").touch()
    with TLSModelServer() as server:
        for name in ("nothing.pem", "empty.pem"):
            monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / name))
            async with provider(server, verify=True) as model:
                with pytest.raises(kova.KovaOSError, match="cannot read the certificate authorities"):
                    await model.chat_completion(HI)


async def test_a_client_certificate_of_the_given_context_is_shown() -> None:
    """R8: what the context can do is its owner's business."""
    with TLSModelServer() as server:
        server.want_client_certificates()
        server.play(play.text("Hello"))
        context = server.trusting()
        server.ca.issue_cert("client@example.org").configure_cert(context)
        async with provider(server, verify=context) as model:
            assert (await model.chat_completion(HI)).text == "Hello"
        async with provider(server) as model:
            with pytest.raises(kova.ConnectionError):
                await model.chat_completion(HI)
