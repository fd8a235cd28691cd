"""Plays wire cases to the pure functions of a format: what is on the wire, and what is made of it."""

import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import kova
from kova._wire.content_encoding import decoder_for
from tests.cases import run_cases as runner

SERVER = "http://127.0.0.1:8000"


def load_cases(provider):
    """The provider's cases, each under its id."""
    folder = Path(runner.__file__).parent / provider
    cases = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    return [pytest.param(case, id=case["id"]) for case in cases]


def play(case, form, config_type):
    """The problems with a case; its follow-up included."""
    asked = {**runner.DEFAULT_REQUEST, **case.get("request", {})}
    options = {"api_key": "k", "base_url": "{server}", **case.get("provider_options", {})}
    options["base_url"] = options["base_url"].replace("{server}", SERVER)
    config = config_type(asked.get("config", {}).get("model") or "test-model", **options)
    messages = kova.messages_from_json(asked["messages"])
    reply, problems = play_part(case, messages, asked, case["mode"] == "stream", form, config)
    if "follow_up" in case and not problems:
        answer, further = reply.response, case["follow_up"]
        messages += [kova.ConversationMessage("assistant", answer.content)]
        messages += kova.messages_from_json(runner.fill_ids(further["append"], answer.tool_calls))
        problems += play_part(further, messages, asked, case["mode"] == "stream", form, config)[1]
    return problems


def play_part(part, messages, asked, streaming, form, config):
    tools = [runner.tool_definition(tool) for tool in asked.get("tools", [])]
    inference = runner.inference_config(asked.get("config", {}))
    try:
        request = form.build_request(config, config.api_key, messages, tools, inference, stream=streaming)
        problems = runner.judge_request(part.get("expect_request", {}), received(request))
        reply = answer(part["response"], streaming, request, form)
    except Exception as error:
        reply, problems = runner.Reply(error=error), []
    return reply, problems + runner.judge_reply(part.get("expect", {}), reply, [])


def received(request):
    """The request as a server sees it."""
    parts = urlsplit(request.url)
    return runner.Request(request.method, parts.path, parts.query, request.headers, request.body)


def answer(response, streaming, request, form):
    headers = {name.lower(): value for name, value in response["headers"].items()}
    decoder = decoder_for(headers.get("content-encoding"))
    chunks = [decoder.feed(chunk) if decoder else chunk for chunk in runner.body_chunks(response)]
    if response["status"] != 200:
        raise form.parse_error(response["status"], headers, b"".join(chunks), request, request.secrets)
    if streaming:
        return stream(chunks, response["close"], form.stream_parser(request))
    return runner.Reply(form.parse_response(b"".join(chunks), headers.get("content-type", ""), request))


def stream(chunks, close, parser):
    """What a driver does: it reads until the parser is finished or the body has ended."""
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
