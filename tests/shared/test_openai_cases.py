"""Every wire case of OpenAI's format, played to the pure functions: what is on the wire, and what is made of it."""

import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import kova
from kova._formats.openai import FORMAT
from kova._formats.openai.config import OpenAIProviderConfig
from kova._wire.content_encoding import decoder_for
from tests.cases import run_cases as runner

CASES = Path(runner.__file__).parent / "openai"
SERVER = "http://127.0.0.1:8000"


def load_cases() -> list:
    cases = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(CASES.glob("*.json"))]
    return [pytest.param(case, id=case["id"]) for case in cases]


def build(case):
    """The settings, and the request that they make of the case's call."""
    options = {"api_key": "k", "base_url": "{server}", **case.get("provider_options", {})}
    options["base_url"] = options["base_url"].replace("{server}", SERVER)
    asked = {**runner.DEFAULT_REQUEST, **case.get("request", {})}
    config = OpenAIProviderConfig(asked.get("config", {}).get("model") or "test-model", **options)
    return FORMAT.build_request(
        config,
        config.api_key,
        kova.messages_from_json(asked["messages"]),
        [runner.tool_definition(tool) for tool in asked.get("tools", [])],
        runner.inference_config(asked.get("config", {})),
        stream=case["mode"] == "stream",
    )


def received(request):
    """The request as a server sees it."""
    parts = urlsplit(request.url)
    return runner.Request(request.method, parts.path, parts.query, request.headers, request.body)


def reply(case, request):
    try:
        return answer(case["response"], case["mode"] == "stream", request)
    except Exception as error:
        return runner.Reply(error=error)


def answer(response, streaming, request):
    headers = {name.lower(): value for name, value in response["headers"].items()}
    decoder = decoder_for(headers.get("content-encoding"))
    chunks = [decoder.feed(chunk) if decoder else chunk for chunk in runner.body_chunks(response)]
    if response["status"] != 200:
        raise FORMAT.parse_error(response["status"], headers, b"".join(chunks), request, request.secrets)
    if streaming:
        return stream(chunks, response["close"], request)
    return runner.Reply(FORMAT.parse_response(b"".join(chunks), headers.get("content-type", ""), request))


def stream(chunks, close, request):
    """What a driver does: it reads until the parser is finished or the body has ended."""
    parser = FORMAT.stream_parser(request)
    events = []
    for chunk in chunks:
        events += parser.feed(chunk)
        if parser.finished:
            break
    if not parser.finished:
        assert close != "hang", "the terminal mark has come, and yet more is waited for"
        if close == "abort":
            raise kova.ConnectionError("the connection was reset")
        events += parser.close()
    return runner.Reply(parser.response(), [event.text for event in events if isinstance(event, kova.ContentDelta)])


@pytest.mark.parametrize("case", load_cases())
def test_case(case):
    """R6, L7."""
    request = build(case)
    problems = runner.judge_request(case.get("expect_request", {}), received(request))
    problems += runner.judge_reply(case["expect"], reply(case, request), [])
    assert not problems, case["why"]
