"""No key is shown, for any of the five providers, also where the server sends it back in whatever way."""

from __future__ import annotations

import json
import logging
import pickle
import traceback
from collections.abc import Iterator
from typing import Any

import pytest

import kova
from tests.cases import run_cases as runner
from tests.server import Exchange, ModelServer

pytestmark = pytest.mark.anyio

KEY = "canary-R7/0123456789+abcdef="
KNOWN: list[str] = []  # the keys of the present test
HI = [kova.user_message("Hi")]

PROVIDERS: dict[str, tuple[type, dict[str, Any]]] = {
    "openai": (kova.AsyncOpenAICompatibleProvider, {"api_key": KEY}),
    "openai, the key in the URL": (
        kova.AsyncOpenAICompatibleProvider,
        {"base_url": f"{{url}}?key={KEY[:9]}-in-the-url"},
    ),
    "anthropic": (kova.AsyncAnthropicProvider, {"api_key": KEY}),
    "gemini": (kova.AsyncGeminiProvider, {"api_key": KEY}),
    "ollama": (kova.AsyncOllamaProvider, {"api_key": KEY}),
    "bedrock": (
        kova.AsyncBedrockProvider,
        {
            "region": "us-east-1",
            "access_key_id": "AKID-canary-0123",
            "secret_access_key": KEY,
            "session_token": f"token-{KEY}",
        },
    ),
}
every_provider = pytest.mark.parametrize("name", PROVIDERS)


def provider(name: str, server: ModelServer) -> Any:
    cls, options = PROVIDERS[name]
    address = "endpoint_url" if cls is kova.AsyncBedrockProvider else "base_url"
    given = {address: "{url}", **options}
    return cls("m", **{**given, address: given[address].replace("{url}", server.url)})


def secrets(name: str) -> list[str]:
    given = PROVIDERS[name][1]
    return [value for option, value in given.items() if option in ("api_key", "secret_access_key", "session_token")] + [
        f"{KEY[:9]}-in-the-url" for value in given.values() if "in-the-url" in value
    ]


# ---- how a server sends back what it got


def received(exchange: Exchange) -> str:
    """Everything that the server knows: keys, the request's target, its headers."""
    headers = " ".join(f"{name}: {value}" for name, value in exchange.headers.items())
    return f"{' '.join(KNOWN)} {exchange.target} {headers}"


def respond(exchange: Exchange, status: int, headers: dict[str, str], body: bytes) -> None:
    exchange.send_head(status, {**headers, "content-length": str(len(body))})
    exchange.send_raw(body)


def in_a_json_body(exchange: Exchange) -> None:
    respond(exchange, 401, {}, json.dumps({"error": {"message": received(exchange)}}).encode())


def in_a_page(exchange: Exchange) -> None:
    page = f"<html><title>{'.' * 250} {received(exchange)}</title></html>"
    respond(exchange, 403, {"content-type": "text/html"}, page.encode())


def in_plain_text_that_is_cut(exchange: Exchange) -> None:
    """The cut goes through the key."""
    respond(exchange, 500, {"content-type": "text/plain"}, (" ." * 143 + received(exchange)).encode())


def in_headers(exchange: Exchange) -> None:
    names = ("x-request-id", "request-id", "x-amzn-requestid", "x-amzn-errortype", "retry-after", "www-authenticate")
    respond(exchange, 429, {name: received(exchange) for name in names}, b"{}")


def in_a_redirect(exchange: Exchange) -> None:
    respond(exchange, 302, {"location": f"https://elsewhere.example/{KNOWN[0]}/?key={KNOWN[0]}"}, b"")


def in_a_status_line(exchange: Exchange) -> None:
    exchange.send_raw(f"{received(exchange)}\r\n\r\n".encode())


def in_a_header_that_is_none(exchange: Exchange) -> None:
    exchange.send_raw(f"HTTP/1.1 200 OK\r\nauthorization Bearer {KNOWN[0]}\r\n\r\n".encode())


def in_an_answer_that_is_no_json(exchange: Exchange) -> None:
    respond(exchange, 200, {"content-type": "text/plain"}, f"you said {received(exchange)}".encode())


def in_an_answer_that_is_hardly_text(exchange: Exchange) -> None:
    respond(exchange, 200, {"content-type": "application/json"}, b"\xff" + received(exchange).encode())


def in_an_error_behind_a_200(exchange: Exchange) -> None:
    fault = {"error": {"type": "server_error", "code": 500, "message": received(exchange)}}
    respond(exchange, 200, {"content-type": "application/json"}, json.dumps(fault).encode())


def in_a_stream(exchange: Exchange) -> None:
    """As an event, as a line, and as a frame, whichever the provider reads."""
    fault = {"error": {"message": received(exchange)}, "message": received(exchange), "type": "error"}
    if "converse" in exchange.path:
        headers = {":message-type": "exception", ":exception-type": "internalServerException"}
        body, kind = runner.encode_frame({"headers": headers, "payload": fault}), "application/vnd.amazon.eventstream"
    elif exchange.path.endswith("/api/chat"):
        body, kind = json.dumps(fault).encode() + b"\n", "application/x-ndjson"
    else:
        body, kind = b"data: " + json.dumps(fault).encode() + b"\n\n", "text/event-stream"
    respond(exchange, 200, {"content-type": kind}, body)


def in_a_stream_that_is_no_json(exchange: Exchange) -> None:
    body = f"data: you said \ufffd {received(exchange)}\n\n".encode().replace("\ufffd".encode(), b"\xff")
    respond(exchange, 200, {"content-type": "text/event-stream"}, body)


ECHOES = [
    in_a_json_body,
    in_a_page,
    in_plain_text_that_is_cut,
    in_headers,
    in_a_redirect,
    in_a_status_line,
    in_a_header_that_is_none,
    in_an_answer_that_is_no_json,
    in_an_answer_that_is_hardly_text,
    in_an_error_behind_a_200,
    in_a_stream,
    in_a_stream_that_is_no_json,
]


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level(logging.DEBUG, logger="kova"):
        yield caplog


def chain(error: BaseException) -> Iterator[BaseException]:
    """The errors that a traceback would show."""
    link: BaseException | None = error
    while link is not None:
        yield link
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)


async def call(model: Any, way: str) -> None:
    retries = kova.RetryConfig(max_retries=1, initial_backoff=0.001, max_backoff=0.001)
    agent = kova.AsyncAgent(model, retry_config=retries)
    if way == "complete":
        await agent.run(HI)
        return
    if way == "models":
        await model.list_models()
        return
    async with agent.run_stream(HI) as stream:
        async for _ in stream:
            pass


@every_provider
@pytest.mark.parametrize("way", ["complete", "streamed", "models"])
@pytest.mark.parametrize("echo", ECHOES)
async def test_a_key_that_the_server_sends_back(
    server: ModelServer, log: pytest.LogCaptureFixture, name: str, way: str, echo: Any
) -> None:
    """R7: in text, repr and pickle, in the chain of exceptions, in the log, in the reprs of provider and settings."""
    KNOWN[:] = secrets(name)
    server.always(echo)
    async with provider(name, server) as model:
        with pytest.raises(kova.KovaError) as caught:
            await call(model, way)
        shown = [repr(model), repr(model.config), log.text, pickle.dumps(caught.value).decode("latin-1")]
    shown += [f"{link}\n{link!r}" for link in chain(caught.value)]
    shown += ["".join(line for line in traceback.format_exception(caught.value) if not line.startswith("  File"))]
    for secret in secrets(name):
        for half in (secret, secret[: len(secret) - 3]):
            assert not [text for text in shown if half in text]


@every_provider
async def test_a_key_is_in_no_url(server: ModelServer, name: str) -> None:
    """R7, S2: but where the user has put it into the URL."""
    KNOWN[:] = secrets(name)
    server.always(in_a_json_body)
    async with provider(name, server) as model:
        with pytest.raises(kova.ProviderError):
            await model.chat_completion(HI)
    if "in the URL" not in name:
        assert "canary" not in server.last.target


@every_provider
async def test_a_prompt_that_the_server_sends_back(
    server: ModelServer, log: pytest.LogCaptureFixture, name: str
) -> None:
    """S3: what is not the server's message is left behind, and the log has nothing of it."""
    prompt = "the patient's name is Ada"

    def echo(exchange: Exchange) -> None:
        fault = {"error": {"message": "not today", "input": prompt}, "request": exchange.body.decode()}
        respond(exchange, 400, {"content-type": "application/json"}, json.dumps(fault).encode())

    server.always(echo)
    async with provider(name, server) as model:
        with pytest.raises(kova.ProviderError, match="not today") as caught:
            await kova.AsyncAgent(model).run(prompt)
    shown = [
        log.text,
        pickle.dumps(caught.value).decode("latin-1"),
        *(f"{link}\n{link!r}" for link in chain(caught.value)),
    ]
    assert not [text for text in shown if "Ada" in text]
