"""Answers of Ollama's format, complete and streamed."""

import json

import pytest

from kova._formats.ollama.config import OllamaProviderConfig
from kova._formats.ollama.request import build_request
from kova._formats.ollama.response import parse_models, parse_response
from kova._formats.ollama.stream import StreamParser
from kova.config import InferenceConfig
from kova.errors import ProviderError, ProviderErrorClass, StreamError
from kova.messages import TextBlock, ThinkingBlock, ToolUseBlock, user_message
from kova.responses import ModelInfo, StopEvent, StopReason, TextDelta, ThinkingDelta, UsageEvent, UsageStats
from kova.tools import ToolDefinition

REQUEST = build_request(
    OllamaProviderConfig("m"),
    None,
    [user_message("Hi")],
    [ToolDefinition("fs.read", "", {})],
    InferenceConfig(),
    stream=True,
)


def line(message=None, done=False, **fields):
    said = {} if message is None else {"message": {"role": "assistant", "content": "", **message}}
    value = {"model": "m:latest", "created_at": "2026-01-01T00:00:00.000000001Z", **said, "done": done, **fields}
    return json.dumps(value).encode() + b"\n"


def parse(message=None, done_reason="stop", **fields):
    return parse_response(line(message or {}, True, done_reason=done_reason, **fields), "application/json", REQUEST)


def stream(*chunks):
    parser = StreamParser(REQUEST)
    events = [each for chunk in chunks for each in parser.feed(chunk)]
    return parser, events + parser.close()


def answer(*lines):
    return stream(*lines, line({}, True, done_reason="stop"))[0].response()


def call(name="add", arguments=None, id=None, **fields):
    own_id = {} if id is None else {"id": id}
    return {**own_id, "function": {"name": name, "arguments": {"a": 1} if arguments is None else arguments, **fields}}


DONE = line({}, True, done_reason="stop")


# ---- what was said


def test_a_plain_answer():
    response = parse({"content": "Hello"}, prompt_eval_count=9, eval_count=2)
    assert response.content == (TextBlock("Hello"),)
    assert (response.stop_reason, response.raw_stop_reason) == (StopReason.END_TURN, "stop")
    assert (response.model, response.usage) == ("m:latest", UsageStats(9, 2))


def test_thinking_is_never_text_and_content_only_with_calls():
    """L8."""
    response = parse({"thinking": "hm", "content": "Hello"})
    assert (response.text, response.thinking, response.content) == ("Hello", "hm", (TextBlock("Hello"),))
    thought = ThinkingBlock("hm", provider_metadata={"ollama_thinking": True})
    with_calls = parse({"thinking": "hm", "tool_calls": [call(id="c1")]})
    assert (with_calls.content, with_calls.thinking) == ((thought, ToolUseBlock("c1", "add", {"a": 1})), "hm")


def test_thinking_of_a_stream_goes_with_the_calls_that_follow():
    pieces = [line({"thinking": "h"}), line({"thinking": "m"}), line({"tool_calls": [call(id="c1")]})]
    assert answer(*pieces) == parse({"thinking": "hm", "tool_calls": [call(id="c1")]})


def test_thinking_and_text_of_one_line_are_in_this_order():
    _, events = stream(line({"content": "a", "thinking": "hm"}), DONE)
    assert events[:2] == [ThinkingDelta("hm"), TextDelta("a")]


@pytest.mark.parametrize("field", ["content", "thinking", "tool_calls", "images"])
def test_a_field_may_be_null(field):
    assert answer(line({"content": "a", field: None}), line({"content": "b"})).text in ("ab", "b")


def test_halves_of_a_character_are_put_together():
    """A mock in JavaScript cuts between them, and escapes each."""
    _, events = stream(line({"content": "a\ud83e"}), line({"content": "\udd80b"}), line({"content": "\udd80"}), DONE)
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["a", "🦀b", "\ufffd"]


def test_the_model_is_named_by_any_line():
    first = line({"content": "a"}).replace(b"m:latest", b"first")
    assert answer(first, *[line({"content": "b"})] * 2).model == "m:latest"
    assert stream(first, b'{"done":true}\n')[0].response().model == "first"


# ---- calls


@pytest.mark.parametrize(
    ("arguments", "parsed", "invalid"),
    [
        ({"a": {"b": ["é", 1.5]}}, {"a": {"b": ["é", 1.5]}}, None),
        ({}, {}, None),
        ('{"a":1}', {"a": 1}, None),
        ('"{\\"a\\":1}"', {"a": 1}, None),
        ("", {}, None),
        ([1], {}, "[1]"),
        ("{", {}, "{"),
    ],
)
def test_arguments_come_as_an_object_or_as_text(arguments, parsed, invalid):
    (block,) = parse({"tool_calls": [call(arguments=arguments)]}).tool_calls
    assert (block.input, block.invalid_arguments) == (parsed, invalid)


@pytest.mark.parametrize("function", [{"name": "add"}, {"name": "add", "arguments": None}])
def test_a_call_without_arguments_is_whole_even_where_the_answer_was_cut(function):
    response = parse({"tool_calls": [{"function": function}]}, "length")
    assert [(block.name, block.input) for block in response.tool_calls] == [("add", {})]
    assert response.stop_reason is StopReason.TOOL_USE


def test_calls_are_found_in_any_line():
    response = answer(
        line({"tool_calls": [call(id="c1")]}),
        line({"content": "and"}),
        line({"tool_calls": [call(id="c2"), call(id="c3")]}, True, done_reason="stop"),
    )
    assert [block.id for block in response.tool_calls] == ["c1", "c2", "c3"]
    assert response.stop_reason is StopReason.TOOL_USE


def test_ids_that_are_missing_are_made_up_and_remembered_as_such():
    first, second = parse({"tool_calls": [call(), call(id="")]}).tool_calls
    assert len({first.id, second.id, ""}) == 3
    assert first.provider_metadata == second.provider_metadata == {"made_up_id": True}
    assert answer(line({"tool_calls": [call()]}), line({"tool_calls": [call()]})).tool_calls == [first, second]


def test_two_calls_with_one_id_are_told_apart():
    for response in (
        parse({"tool_calls": [call(id="c"), call(id="c")]}),
        answer(line({"tool_calls": [call(id="c")]}), line({"tool_calls": [call(id="c", arguments={"a": 2})]})),
    ):
        first, second = response.tool_calls
        assert (first.id, first.provider_metadata) == ("c", None)
        assert (second.id != "c", second.provider_metadata) == (True, {"made_up_id": True})


def test_a_last_line_may_sum_up_the_calls():
    first = line({"tool_calls": [call(id="c1"), call(id="c2")]})
    response = stream(first, line({"tool_calls": [call(id="c1"), call(id="c2")]}, True))[0].response()
    assert [block.id for block in response.tool_calls] == ["c1", "c2"]


def test_calls_come_under_the_tools_own_names():
    assert parse({"tool_calls": [call("fs_read")]}).tool_calls[0].name == "fs.read"


@pytest.mark.parametrize("calls", [{}, "x", [None], ["x"], [{"function": None}], [{"id": 5, "function": {"name": 5}}]])
def test_calls_of_any_shape_do_no_harm(calls):
    assert all(block.name == "" for block in parse({"tool_calls": calls}).tool_calls)


# ---- why it ended


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("stop", StopReason.END_TURN),
        ("length", StopReason.MAX_TOKENS),
        ("load", StopReason.UNKNOWN),
        ("unload", StopReason.UNKNOWN),
        ("a new one", StopReason.UNKNOWN),
        (None, StopReason.END_TURN),
        ("", StopReason.END_TURN),
    ],
)
def test_done_reasons(said, reason):
    response = parse({"content": "a"}, said)
    assert (response.stop_reason, response.raw_stop_reason) == (reason, said or None)
    assert stream(line({}, True, done_reason=said))[1] == [StopEvent(reason, said or None)]


def test_the_stop_event_says_what_the_response_says():
    _, events = stream(line({"tool_calls": [call()]}), DONE)
    assert events[-1] == StopEvent(StopReason.TOOL_USE, "stop")


# ---- usage


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        ({"prompt_eval_count": 31, "eval_count": 6}, UsageStats(31, 6, 37)),
        ({"eval_count": 6}, UsageStats(None, 6)),  # a prompt that is cached as a whole
        ({}, UsageStats()),
        ({"prompt_eval_count": 0, "eval_count": None}, UsageStats(0)),
        ({"prompt_eval_count": "1", "eval_count": True}, UsageStats()),
        ({"prompt_eval_count": -1}, UsageStats()),
    ],
)
def test_usage(counts, usage):
    """L9."""
    assert parse({"content": "a"}, **counts).usage == usage
    parser, events = stream(line({"content": "a"}), line({}, True, **counts))
    assert parser.response().usage == usage
    assert [event.usage for event in events if isinstance(event, UsageEvent)] == [usage] * (usage != UsageStats())


# ---- how a stream goes


def test_events_come_in_the_order_of_the_stream():
    parser, events = stream(
        line({"thinking": "hm"}),
        line({"content": "Hel"}) + line({"content": "lo"}) + line({"content": ""}),
        line({}, True, done_reason="stop", prompt_eval_count=1, eval_count=2),
    )
    assert events == [
        ThinkingDelta("hm"),
        TextDelta("Hel"),
        TextDelta("lo"),
        UsageEvent(UsageStats(1, 2)),
        StopEvent(StopReason.END_TURN, "stop"),
    ]
    assert parser.finished


def test_nothing_is_read_after_the_last_line():
    parser, events = stream(DONE + b"{broken\n", b"{broken\n")
    assert (events, parser.finished) == ([StopEvent(StopReason.END_TURN, "stop")], True)


@pytest.mark.parametrize("lines", [[], [b"\n"], [line({"content": "a"})], [b'{"status":"loading"}\n'], [b"null\n[]\n"]])
def test_a_stream_without_its_last_line_is_an_error(lines):
    with pytest.raises(StreamError, match="ended before the answer did"):
        stream(*lines)


@pytest.mark.parametrize("done", [False, None, 0, "true", 1])
def test_only_true_is_the_end(done):
    with pytest.raises(StreamError, match="ended before the answer did"):
        stream(line({"content": "a"}, done))


def test_what_came_before_an_error_is_not_lost():
    parser = StreamParser(REQUEST)
    assert parser.feed(line({"content": "a"}) + b'{"error":"boom"}\n' + DONE) == [TextDelta("a")]
    assert not parser.finished
    for proceed in (lambda: parser.feed(DONE), parser.close):
        with pytest.raises(StreamError, match="boom") as caught:
            proceed()
        assert caught.value is parser.error


def test_an_error_with_nothing_before_it_is_raised_at_once():
    parser = StreamParser(REQUEST)
    with pytest.raises(StreamError, match="boom"):
        parser.feed(b'{"error":"boom"}\n')
    with pytest.raises(StreamError, match="boom"):
        parser.close()


@pytest.mark.parametrize(
    "beside", [{}, {"message": {"role": "assistant", "content": "a"}, "model": "m", "done": False}]
)
def test_an_error_is_seen_whatever_is_beside_it(beside):
    last = json.dumps({**beside, "error": "boom"}).encode()
    with pytest.raises(StreamError, match="boom"):
        stream(line({"content": "a"}), last)


@pytest.mark.parametrize("broken", [b'{"model":"m"', b'{"a":1}}', b"[1"])
def test_malformed_json_is_an_error(broken):
    for chunks in ([broken + b"\n"], [line({"content": "a"}), broken], [line({"content": "a"}), broken + b"\n"]):
        with pytest.raises(StreamError, match="malformed JSON"):
            stream(*chunks)


def test_a_failure_in_plain_words_is_an_error_with_these_words():
    with pytest.raises(StreamError, match="upstream timed out"):
        stream(line({"content": "a"}), b"upstream timed out\n")


def test_bytes_that_are_no_utf8_do_not_end_the_answer():
    assert answer(line({"content": "a?"}).replace(b"?", b"\xff")).text == "a\ufffd"


# ---- what is no stream, and what is no answer


def test_a_complete_answer_to_a_streaming_call_is_understood():
    body = json.dumps(json.loads(line({"content": "a"}, True)), indent=2).encode()
    assert stream(body[:9], body[9:])[0].response().text == "a"
    assert stream(line({"content": "a"}, True).rstrip())[0].response().text == "a"


def test_a_stream_in_place_of_a_complete_answer_is_understood():
    body = line({"content": "Hel"}) + line({"content": "lo"}) + DONE
    for content_type in ("application/x-ndjson", ""):
        assert parse_response(body, content_type, REQUEST).text == "Hello"


@pytest.mark.parametrize(
    "body", [line({"content": "a"}), line({"content": "a"}) * 2, line({"content": "a"}) + DONE[:-20]]
)
def test_such_a_stream_that_broke_off_is_an_error(body):
    with pytest.raises(StreamError):
        parse_response(body, "application/x-ndjson", REQUEST)


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        (b'{\n  "error": "boom"\n}\n', ProviderError, "boom"),
        (b"<html>\n<title>Sign in</title></html>", StreamError, "neither lines of JSON nor JSON: Sign in"),
        (b"{\n", StreamError, "neither lines of JSON nor JSON"),
        (b'{\n"status": "ok"}', StreamError, "ended before the answer did"),
        (b"404 page not found\n", StreamError, "404 page not found"),
    ],
)
def test_a_body_that_is_no_stream_is_an_error(body, kind, message):
    with pytest.raises(kind, match=message):
        stream(body[:5], body[5:])


def test_a_body_beyond_the_limit_is_an_error(monkeypatch):
    """S4."""
    monkeypatch.setattr("kova._formats.stream_driver.BARE_LIMIT", 100)
    with pytest.raises(StreamError, match="larger than 100 bytes"):
        stream(b"<html>\n", b"x" * 60 + b"\n", b"x" * 60 + b"\n")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"status":"ok"}', "no answer to a chat"),
        (b"3", "no answer to a chat"),
        (b"", "the answer is not JSON"),
        (b'{"message":{"content":"a', "the answer is not JSON"),
        (b"<html><head><title>Sign in</title></head></html>", "the answer is not JSON: Sign in"),
        (b'{"error":"boom"}', "boom"),
        (b'{"error":"boom","done":false}', "boom"),
    ],
)
def test_what_is_no_answer_is_a_provider_error(body, message):
    with pytest.raises(ProviderError, match=message) as caught:
        parse_response(body, "application/json", REQUEST)
    assert (caught.value.provider_class, caught.value.status_code) == (ProviderErrorClass.OTHER, None)


# ---- models


def test_models_are_described_as_by_ollamas_openai_endpoint():
    full = {"name": "qwen3:8b", "model": "qwen3:8b", "modified_at": "2025-10-03T23:34:03.409490317-07:00", "size": 5}
    assert parse_models(json.dumps({"models": [full, {"name": "me/own"}, {"size": 5}, None]}).encode(), REQUEST) == [
        ModelInfo("qwen3:8b", 1759559643, "library", full),
        ModelInfo("me/own", None, "me", {"name": "me/own"}),
    ]


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("llama3", "library"),
        ("me/llama3:8b", "me"),
        ("hf.co/me/model:Q4", "me"),
        ("localhost:5000/me/model", "me"),
    ],
)
def test_whose_a_model_is(name, owner):
    assert parse_models(json.dumps({"models": [{"model": name}]}).encode(), REQUEST)[0].owned_by == owner


@pytest.mark.parametrize("moment", [None, 5, "soon", "0001-01-01T00:00:00Z", ""])
def test_a_time_that_is_none_says_nothing(moment):
    assert (
        parse_models(json.dumps({"models": [{"name": "a", "modified_at": moment}]}).encode(), REQUEST)[0].created
        is None
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [(b"<html>", "no list of models"), (b"[]", "no list of models"), (b'{"error":"boom"}', "boom")],
)
def test_what_is_no_list_of_models_is_an_error(body, message):
    with pytest.raises(ProviderError, match=message) as caught:
        parse_models(body, REQUEST)
    assert caught.value.provider_class is ProviderErrorClass.OTHER
