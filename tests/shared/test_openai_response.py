"""Answers of OpenAI's format, complete and streamed, in all the shapes that servers give them."""

import json

import pytest

from kova._formats.openai.config import OpenAIProviderConfig
from kova._formats.openai.request import build_request
from kova._formats.openai.response import parse_models, parse_response
from kova._formats.openai.stream import StreamParser
from kova._formats.openai.usage import read_usage
from kova.config import InferenceConfig
from kova.errors import ProviderError, ProviderErrorClass, StreamError
from kova.messages import TextBlock, ThinkingBlock, ToolUseBlock, user_message
from kova.responses import ModelInfo, StopEvent, StopReason, TextDelta, ThinkingDelta, UsageEvent, UsageStats


def request(base_url="http://localhost"):
    config = OpenAIProviderConfig("m", base_url=base_url)
    return build_request(config, None, [user_message("Hi")], (), InferenceConfig(), stream=True)


def parse(message=None, finish="stop", *, to=None, **fields):
    choice = {"index": 0, "message": {"role": "assistant", **(message or {})}, "finish_reason": finish}
    return parse_raw({"id": "x", "model": "m-1", "choices": [choice], **fields}, to)


def parse_raw(value, to=None):
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return parse_response(body, "application/json", to or request())


def event(value):
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def delta(fields=None, finish=None, **more):
    return event({"choices": [{"index": 0, "delta": fields or {}, "finish_reason": finish, **more}]})


def stream(*chunks, to=None):
    parser = StreamParser(to or request())
    events = [each for chunk in chunks for each in parser.feed(chunk)]
    return parser, events + parser.close()


CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}


# ---- what was said


def test_a_plain_answer():
    response = parse({"content": "Hello"}, usage={"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11})
    assert response.content == (TextBlock("Hello"),)
    assert (response.stop_reason, response.raw_stop_reason, response.model) == (StopReason.END_TURN, "stop", "m-1")
    assert response.usage == UsageStats(9, 2, 11)


def test_reasoning_is_never_text_and_never_content():
    for name in ("reasoning_content", "reasoning", "reasoning_text", "thinking"):
        response = parse({name: "hm", "content": "Hello"})
        assert (response.text, response.thinking, response.content) == ("Hello", "hm", (TextBlock("Hello"),))


def test_reasoning_may_be_in_details_only():
    details = [{"type": "reasoning.summary", "summary": "h"}, {"type": "reasoning.text", "text": "m"}, {"data": "…"}]
    assert parse({"content": "Hello", "reasoning_details": details}).thinking == "hm"


def test_content_may_come_in_parts():
    """Mistral's reasoning models."""
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    parts = [thinking, {"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}]
    assert (parse({"content": parts}).text, parse({"content": parts}).thinking) == ("Hello", "hm")


def test_a_refusal_is_text_and_says_so():
    response = parse({"content": None, "refusal": "I will not."})
    assert (response.text, response.stop_reason) == ("I will not.", StopReason.REFUSAL)


def test_reasoning_that_a_host_wants_back_is_kept_with_the_calls():
    """L8."""
    deepseek = request("https://api.deepseek.com")
    signed = ThinkingBlock("hm", provider_metadata={"reasoning_field": "reasoning_content"})
    call = ToolUseBlock("c1", "add", {"a": 1})
    with_calls = parse({"reasoning_content": "hm", "tool_calls": [CALL]}, to=deepseek)
    assert (with_calls.content, with_calls.thinking) == ((signed, call), "hm")
    assert parse({"reasoning_content": "hm", "content": "a"}, to=deepseek).content == (TextBlock("a"),)
    assert parse({"reasoning_content": "hm", "tool_calls": [CALL]}).content == (call,)


def test_details_that_openrouter_wants_back_are_put_together_and_kept_with_the_calls():
    """L8."""
    openrouter = request("https://openrouter.ai/api/v1")
    text = {"type": "reasoning.text", "index": 0, "format": "google-gemini-v1"}
    secret = {"type": "reasoning.encrypted", "index": 1, "id": "c1", "data": "EjQ="}
    whole = [{**text, "text": "Let me see", "signature": "s"}, secret]
    kept = ThinkingBlock("", provider_metadata={"reasoning_field": "reasoning_details", "reasoning_details": whole})
    call = ToolUseBlock("c1", "add", {"a": 1})
    parser, _ = stream(
        delta({"reasoning": "Let me", "reasoning_details": [{**text, "text": "Let me"}]}),
        delta({"reasoning": " see", "reasoning_details": [{**text, "text": " see", "signature": None}]}),
        delta({"reasoning_details": [{**text, "text": "", "signature": "s"}]}),
        delta({"tool_calls": [{"index": 0, **CALL}]}),
        delta({"reasoning_details": [secret]}),  # after the call that it belongs to, as with Gemini
        delta(finish="tool_calls"),
        to=openrouter,
    )
    assert (parser.response().content, parser.response().thinking) == ((call, kept), "Let me see")
    complete = {"reasoning": "Let me see", "reasoning_details": whole, "tool_calls": [CALL]}
    assert parse(complete, "tool_calls", to=openrouter).content == (call, kept)
    assert parse({**complete, "tool_calls": None, "content": "a"}, to=openrouter).content == (TextBlock("a"),)
    assert parse(complete, "tool_calls").content == (call,)


def test_the_first_of_several_choices_is_the_answer():
    pieces = [
        event({"choices": [{"index": index, "delta": {"content": text}}]})
        for index, text in [(0, "a"), (1, "x"), (0, "b")]
    ]
    parser, _ = stream(*pieces, delta(finish="stop"))
    assert parser.response().text == "ab"


def test_a_message_after_the_deltas_is_a_summary():
    summary = {"choices": [{"index": 0, "message": {"content": "Hello"}, "finish_reason": "stop"}]}
    parser, _ = stream(delta({"content": "Hel"}), delta({"content": "lo"}), event(summary))
    assert parser.response().text == "Hello"


# ---- why it ended


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("stop", StopReason.END_TURN),
        ("STOP", StopReason.END_TURN),
        ("eos_token", StopReason.END_TURN),
        ("length", StopReason.MAX_TOKENS),
        ("model_length", StopReason.MAX_TOKENS),
        ("MAX_TOKENS", StopReason.MAX_TOKENS),
        ("content_filter", StopReason.CONTENT_FILTER),
        ("tool_calls", StopReason.END_TURN),  # without any
        ("insufficient_system_resource", StopReason.UNKNOWN),
        (None, StopReason.UNKNOWN),
        ("", StopReason.UNKNOWN),
    ],
)
def test_finish_reasons(said, reason):
    response = parse({"content": "a"}, said)
    assert (response.stop_reason, response.raw_stop_reason) == (reason, said or None)


def test_the_first_finish_reason_counts():
    parser, events = stream(delta({"content": "a"}, "length"), delta({}, "stop"), b"data: [DONE]\n\n")
    assert parser.response().stop_reason is StopReason.MAX_TOKENS
    assert events[-1] == StopEvent(StopReason.MAX_TOKENS, "length")


# ---- usage


@pytest.mark.parametrize(
    ("reported", "usage"),
    [
        ({}, UsageStats()),
        ({"prompt_tokens": 9, "completion_tokens": 2}, UsageStats(9, 2, 11)),
        ({"total_tokens": 12}, UsageStats(total_tokens=12)),
        (
            {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 0}},
            UsageStats(10, 5, 15, cache_read_tokens=0),
        ),
        (
            {"prompt_tokens": 100, "completion_tokens": 5, "prompt_cache_hit_tokens": 64},
            UsageStats(36, 5, 105, cache_read_tokens=64),
        ),
        (
            {"prompt_tokens": 100, "completion_tokens": 5, "cached_tokens": 90},
            UsageStats(10, 5, 105, cache_read_tokens=90),
        ),
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
            },
            UsageStats(10, 5, 105, cache_read_tokens=60, cache_creation_tokens=30),
        ),
        (  # OpenAI: reasoning is in the completion
            {
                "prompt_tokens": 10,
                "completion_tokens": 50,
                "total_tokens": 60,
                "completion_tokens_details": {"reasoning_tokens": 30},
            },
            UsageStats(10, 50, 60, thinking_tokens=30),
        ),
        (  # xAI: it is on top of it
            {
                "prompt_tokens": 32,
                "completion_tokens": 9,
                "total_tokens": 135,
                "completion_tokens_details": {"reasoning_tokens": 94},
            },
            UsageStats(32, 103, 135, thinking_tokens=94),
        ),
        ({"prompt_tokens": 3, "completion_tokens": 1, "reasoning_tokens": 7}, UsageStats(3, 8, 11, thinking_tokens=7)),
        (
            {"prompt_tokens": None, "completion_tokens": "2", "total_tokens": True, "prompt_tokens_details": [1]},
            UsageStats(),
        ),
    ],
)
def test_usage(reported, usage):
    assert read_usage(reported) == usage


def test_usage_comes_as_it_is_reported_and_once():
    """L9."""
    report = {"prompt_tokens": 20, "completion_tokens": 2}
    first = event({"choices": [{"index": 0, "delta": {"content": "a"}}], "usage": {**report, "completion_tokens": 1}})
    again = event({"choices": [], "usage": report})
    _, events = stream(first, delta(finish="stop"), again, again, b"data: [DONE]\n\n")
    assert events == [
        TextDelta("a"),
        UsageEvent(UsageStats(20, 1)),
        UsageEvent(UsageStats(20, 2)),
        StopEvent(StopReason.END_TURN, "stop"),
    ]


def test_moonshot_has_the_usage_in_the_choice():
    parser, _ = stream(
        delta({"content": "a"}), delta(finish="stop", usage={"prompt_tokens": 1, "completion_tokens": 2})
    )
    assert parser.response().usage == UsageStats(1, 2)


# ---- how a stream goes


def test_events_come_in_the_order_of_the_stream():
    parser, events = stream(
        delta({"role": "assistant", "content": None}),
        delta({"reasoning_content": "hm"}),
        delta({"content": "Hel"}),
        delta({"content": "lo"}),
        delta(finish="stop"),
        b"data: [DONE]\n\n",
    )
    assert events == [ThinkingDelta("hm"), TextDelta("Hel"), TextDelta("lo"), StopEvent(StopReason.END_TURN, "stop")]
    assert parser.finished


def test_nothing_is_read_after_the_terminal_mark():
    parser, events = stream(delta(finish="stop") + b"data: [DONE]\n\ndata: {broken\n\n", b"data: {broken\n\n")
    assert events == [StopEvent(StopReason.END_TURN, "stop")]
    assert parser.finished


def test_reading_goes_on_after_the_finish_reason():
    parser = StreamParser(request())
    parser.feed(delta(finish="stop"))
    assert not parser.finished


def test_the_stop_event_says_what_the_response_says():
    _, events = stream(delta({"tool_calls": [{"index": 0, **CALL}]}), delta(finish="stop"))
    assert events[-1] == StopEvent(StopReason.TOOL_USE, "stop")


def test_what_came_before_an_error_is_not_lost():
    parser = StreamParser(request())
    events = parser.feed(delta({"content": "a"}) + event({"error": {"message": "Slow down", "code": 429}}))
    assert events == [TextDelta("a")]
    assert not parser.finished
    for proceed in (lambda: parser.feed(b"data: [DONE]\n\n"), parser.close):
        with pytest.raises(ProviderError, match="Slow down") as caught:
            proceed()
        assert caught.value is parser.error


def test_an_error_with_nothing_before_it_is_raised_at_once():
    parser = StreamParser(request())
    with pytest.raises(ProviderError, match="Slow down"):
        parser.feed(event({"error": {"message": "Slow down", "code": 429}}))
    with pytest.raises(ProviderError, match="Slow down"):
        parser.close()


@pytest.mark.parametrize("chunks", [[], [b": ping\n\n"], [delta({"content": "a"})], [b"data: \n\n"]])
def test_a_stream_without_a_terminal_mark_is_an_error(chunks):
    with pytest.raises(StreamError, match="ended before the answer did"):
        stream(*chunks)


@pytest.mark.parametrize("payload", ['{"choices":[{"delta":', "[1", '{"a":1}}'])
def test_malformed_json_is_an_error(payload):
    with pytest.raises(StreamError, match="malformed JSON"):
        stream(f"data: {payload}\n\n".encode())


def test_a_failure_in_plain_words_is_an_error_with_these_words():
    with pytest.raises(StreamError, match="Internal Server Error"):
        stream(b"data: Internal Server Error\n\n", b"data: [DONE]\n\n")


def test_bytes_that_are_no_utf8_do_not_end_the_answer():
    parser, _ = stream(b'data: {"choices":[{"delta":{"content":"a\xff"},"finish_reason":"stop"}]}\n\n')
    assert parser.response().text == "a\ufffd"


def test_payloads_that_are_no_chunks_are_passed_over():
    parser, _ = stream(b"data: 1\n\n", b'data: "ping"\n\n', b"data: null\n\n", b"data: []\n\n", delta({}, "stop"))
    assert parser.response().content == ()


# ---- what is no answer


@pytest.mark.parametrize("choices", [None, []])
def test_an_answer_without_a_choice_is_a_fault_that_may_pass(choices):
    with pytest.raises(ProviderError, match="without any choice") as caught:
        parse_raw({"choices": choices})
    assert caught.value.is_retryable


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"status":"ok"}', "no chat completion"),
        (b"3", "no chat completion"),
        (b"", "the answer is not JSON"),
        (b'{"choices":[', "the answer is not JSON"),
        (b"<html><head><title>Sign in</title></head></html>", "the answer is not JSON: Sign in"),
        (b'{"error":{"message":"boom","type":"server_error"}}', "boom"),
        (b'{"error":"boom"}', "boom"),
        (b'{"detail":"boom"}', "boom"),
        (b'{"choices":[{"error":{"code":502,"message":"boom"},"finish_reason":"error"}]}', "boom"),
        (b'{"choices":[{"message":{"content":"a"},"finish_reason":"error"}]}', "broke the answer off"),
    ],
)
def test_what_is_no_answer_is_a_provider_error(body, message):
    with pytest.raises(ProviderError, match=message) as caught:
        parse_raw(body)
    assert caught.value.status_code is None


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        (b'{"error":"no such path"}', ProviderError, "no such path"),
        (b'\xef\xbb\xbf\n[{"error":{"code":400,"message":"boom"}}]', ProviderError, "boom"),
        (b'{\n  "error": {\n    "message": "boom"\n  }\n}\n', ProviderError, "boom"),
        (b"<html><title>Sign in</title></html>", StreamError, "neither an event stream nor JSON: Sign in"),
        (b'{"error":{"mess', StreamError, "neither an event stream nor JSON"),
        (b'{"status":"ok"}', StreamError, "ended before the answer did"),
    ],
)
def test_a_body_that_is_no_event_stream_is_an_error(body, kind, message):
    with pytest.raises(kind, match=message):
        stream(body[:5], body[5:])


def test_a_body_beyond_the_limit_is_an_error(monkeypatch):
    """S4."""
    monkeypatch.setattr("kova._formats.stream_driver.BARE_LIMIT", 100)
    with pytest.raises(StreamError, match="larger than 100 bytes"):
        stream(b"{", b" " * 60, b" " * 60)


# ---- models


def test_models():
    full = {"id": "a", "object": "model", "created": 17, "owned_by": "us"}
    assert parse_models(
        json.dumps({"object": "list", "data": [full, {"id": "b", "created": "?"}]}).encode(), request()
    ) == [
        ModelInfo("a", 17, "us", full),
        ModelInfo("b", raw={"id": "b", "created": "?"}),
    ]


@pytest.mark.parametrize("body", [b'[{"id":"a"}]', b'{"models":[{"name":"a"}]}', b'{"data":[{"id":"a"},{},null]}'])
def test_lists_of_models_have_several_forms(body):
    assert [model.id for model in parse_models(body, request())] == ["a"]


@pytest.mark.parametrize(
    ("body", "message"), [(b"<html>", "no list of models"), (b"{}", "no list of models"), (b'{"error":"boom"}', "boom")]
)
def test_what_is_no_list_of_models_is_an_error(body, message):
    with pytest.raises(ProviderError, match=message) as caught:
        parse_models(body, request())
    assert caught.value.provider_class is ProviderErrorClass.OTHER
