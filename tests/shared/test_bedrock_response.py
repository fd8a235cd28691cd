"""Answers of Bedrock's format, complete and streamed."""

import json
import struct
import zlib

import pytest
from attrs import evolve

from kova._formats.bedrock.config import BedrockProviderConfig
from kova._formats.bedrock.request import EVENT_STREAM, build_request
from kova._formats.bedrock.response import parse_models, parse_response
from kova._formats.bedrock.stream import StreamParser
from kova.config import InferenceConfig, ResponseFormat
from kova.errors import ProviderError, ProviderErrorClass, StreamError
from kova.messages import TextBlock, ThinkingBlock, ToolUseBlock, user_message
from kova.responses import (
    ModelInfo,
    StopEvent,
    StopReason,
    TextDelta,
    ThinkingDelta,
    ToolUseDelta,
    UsageEvent,
    UsageStats,
)
from kova.tools import ToolDefinition
from tests.cases import run_cases as runner

CONFIG = BedrockProviderConfig("m", region="us-east-1")
FORM = ResponseFormat({"type": "object", "properties": {"n": {"type": "integer"}}}, name="answer")
DOTTED = ToolDefinition("fs.read", "", {})


def request(tools=(), inference=None):
    return build_request(CONFIG, None, [user_message("Hi")], tools, inference or InferenceConfig(), stream=True)


WANTING_FORM = request((), InferenceConfig(response_format=FORM))


def parse(*blocks, to=None, **fields):
    answer = {"output": {"message": {"role": "assistant", "content": list(blocks)}}, "stopReason": "end_turn", **fields}
    return parse_response(json.dumps(answer).encode(), "application/json", to or request())


def frame(kind, fields=None, **headers):
    headers = {":event-type": kind, ":content-type": "application/json", ":message-type": "event", **headers}
    return runner.encode_frame({"headers": headers, "payload": fields if fields is None else {"p": "abc", **fields}})


def delta(fields, index=0):
    return frame("contentBlockDelta", {"contentBlockIndex": index, "delta": fields})


def begin(id="c1", name="add", index=0, **fields):
    start = {"toolUse": {"toolUseId": id, "name": name, **fields}}
    return frame("contentBlockStart", {"contentBlockIndex": index, "start": start})


def piece(text, index=0):
    return delta({"toolUse": {"input": text}}, index)


def end(index=0):
    return frame("contentBlockStop", {"contentBlockIndex": index})


def stop(reason="end_turn"):
    return frame("messageStop", {"stopReason": reason})


EVENT = {":message-type": "event"}
USAGE = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}
METADATA = frame("metadata", {"usage": USAGE, "metrics": {"latencyMs": 1}})


def stream(*frames, to=None):
    parser = StreamParser(to or request())
    events = [event for each in frames for event in parser.feed(each)]
    return parser, events + parser.close()


def streamed(*frames, to=None):
    return stream(*frames, to=to)[0].response()


# ---- what was said


def test_a_plain_answer():
    response = parse({"text": "Hello"}, usage=USAGE)
    assert response.content == (TextBlock("Hello"),)
    assert (response.stop_reason, response.raw_stop_reason, response.model) == (StopReason.END_TURN, "end_turn", None)
    assert response.usage == UsageStats(10, 5, 15)


def test_the_events_of_a_stream():
    parser, events = stream(
        frame("messageStart", {"role": "assistant"}),
        delta({"reasoningContent": {"text": "hm"}}),
        delta({"reasoningContent": {"signature": "s"}}),
        end(),
        delta({"text": "Hel"}, 1),
        delta({"text": "lo"}, 1),
        end(1),
        begin(index=2),
        piece('{"a":', 2),
        piece("1}", 2),
        end(2),
        stop("tool_use"),
        METADATA,
    )
    assert parser.finished
    assert events == [
        ThinkingDelta("hm"),
        ThinkingBlock("hm", "s", {"bedrock": {}}),
        TextDelta("Hel"),
        TextDelta("lo"),
        ToolUseDelta("c1", "add", ""),
        ToolUseDelta("c1", "add", '{"a":'),
        ToolUseDelta("c1", "add", "1}"),
        UsageEvent(UsageStats(10, 5, 15)),
        StopEvent(StopReason.TOOL_USE, "tool_use"),
    ]
    content = (ThinkingBlock("hm", "s", {"bedrock": {}}), TextBlock("Hello"), ToolUseBlock("c1", "add", {"a": 1}))
    assert (parser.response().content, parser.response().thinking) == (content, "hm")


def test_text_with_citations_is_text():
    cited = {"citationsContent": {"content": [{"text": "Gr"}, {"text": "een."}], "citations": [{"title": "t"}]}}
    assert parse({"text": "It is "}, cited).text == "It is Green."
    assert streamed(delta({"text": "Green."}), delta({"citation": {"title": "t"}}), end(), stop()).text == "Green."


def test_blocks_events_and_pieces_of_kinds_that_are_not_known_are_skipped():
    assert parse({"hologram": {}}, {"text": "a"}, {"image": {"format": "png"}}).content == (TextBlock("a"),)
    pieces = [frame("initial-response"), frame("hologram", {"a": 1}), delta({"hologram": {}}), delta({"text": "a"})]
    assert streamed(*pieces, frame("contentBlockStart", {"start": {"image": {}}}), stop()).content == (TextBlock("a"),)


def test_an_event_without_a_payload_is_an_empty_one():
    assert streamed(delta({"text": "a"}), frame("contentBlockStop"), stop()).text == "a"


def test_a_prompt_router_says_which_model_has_answered():
    trace = {"promptRouter": {"invokedModelId": "arn:aws:bedrock:…:foundation-model/x"}}
    assert parse({"text": "a"}, trace=trace).model == "arn:aws:bedrock:…:foundation-model/x"
    assert streamed(stop(), frame("metadata", {"trace": trace})).model == "arn:aws:bedrock:…:foundation-model/x"


# ---- reasoning


def test_unsigned_reasoning_is_shown_and_does_not_go_back():
    """L8: the API refuses it."""
    response = parse({"reasoningContent": {"reasoningText": {"text": "hm"}}}, {"text": "a"})
    assert (response.thinking, response.content) == ("hm", (TextBlock("a"),))
    assert streamed(delta({"reasoningContent": {"text": "hm"}}), end(), delta({"text": "a"}, 1), stop()) == response


def test_a_signature_without_text_is_kept():
    """L8."""
    signed = (ThinkingBlock("", "s", {"bedrock": {}}),)
    assert parse({"reasoningContent": {"reasoningText": {"text": "", "signature": "s"}}}).content == signed
    assert streamed(delta({"reasoningContent": {"signature": "s"}}), end(), stop()).content == signed


def test_encrypted_reasoning_is_joined_as_bytes():
    """L8."""
    redacted = (ThinkingBlock("", None, {"bedrock": {"redactedContent": "b3BhcXVlLWJ5dGVz"}}),)
    pieces = [delta({"reasoningContent": {"redactedContent": text}}) for text in ("b3BhcXVlLQ==", "Ynl0ZXM=")]
    assert streamed(*pieces, end(), stop()).content == redacted
    assert parse({"reasoningContent": {"redactedContent": "b3BhcXVlLWJ5dGVz"}}).content == redacted


@pytest.mark.parametrize("first", ["b", "é"])
def test_encrypted_reasoning_that_is_no_base64_is_an_error(first):
    broken = [delta({"reasoningContent": {"redactedContent": text}}) for text in (first, "Ynl0ZXM=")]
    with pytest.raises(StreamError, match="no base64"):
        streamed(*broken, end(), stop())


def test_reasoning_ends_where_another_block_begins():
    hm = [delta({"reasoningContent": {"text": "hm"}}), delta({"reasoningContent": {"signature": "s"}})]
    signed = ThinkingBlock("hm", "s", {"bedrock": {}})
    assert streamed(*hm, begin(index=1), stop()).content == (signed, ToolUseBlock("c1", "add", {}))
    assert streamed(*hm, delta({"text": "a"}, 1), stop()).content == (signed, TextBlock("a"))
    assert streamed(*hm, stop()).content == (signed,)


# ---- tool calls


def test_calls_are_told_apart_by_their_block_even_if_their_pieces_mix():
    response = streamed(
        begin("c1", index=1), begin("c2", index=4), piece('{"a"', 1), piece('{"b":2', 4), piece(":1}", 1), piece("}", 4),
        end(1), end(4), stop("end_turn"), METADATA,
    )  # fmt: skip
    assert response.tool_calls == [ToolUseBlock("c1", "add", {"a": 1}), ToolUseBlock("c2", "add", {"b": 2})]
    assert response.stop_reason is StopReason.TOOL_USE


def test_a_call_without_arguments():
    call = [ToolUseBlock("c1", "add", {})]
    assert streamed(begin(), end(), stop()).tool_calls == call
    assert streamed(begin(), piece(""), end(), stop()).tool_calls == call
    for arguments in ({}, None, ""):
        assert parse({"toolUse": {"toolUseId": "c1", "name": "add", "input": arguments}}).tool_calls == call
    assert parse({"toolUse": {"toolUseId": "c1", "name": "add"}}).tool_calls == call


def test_names_come_back_as_they_are():
    call = {"toolUse": {"toolUseId": "c1", "name": "fs_read", "input": {}}}
    assert parse(call, to=request((DOTTED,))).tool_calls[0].name == "fs.read"


def test_missing_and_repeated_ids_are_made_up_alike_streamed_or_not():
    complete = parse(*[{"toolUse": {"toolUseId": id, "name": "add", "input": {}}} for id in ("c1", "c1", None)])
    ids = [call.id for call in complete.tool_calls]
    assert ids[0] == "c1"
    assert len(set(ids)) == 3
    assert all((call.provider_metadata or {}).get("made_up_id") for call in complete.tool_calls[1:])
    calls = streamed(begin("c1", index=0), begin("c1", index=1), begin(None, index=2), stop()).tool_calls
    assert calls == complete.tool_calls


def test_a_call_that_the_token_limit_cuts_is_left_out():
    """L3."""
    cut = streamed(begin(), piece('{"a": 1'), stop("max_tokens"))
    assert (cut.tool_calls, cut.stop_reason) == ([], StopReason.MAX_TOKENS)


def test_a_call_of_a_tool_that_bedrock_runs_itself_is_not_for_the_user():
    served = {"toolUseId": "s", "name": "nova_grounding", "type": "server_tool_use"}
    assert parse({"toolUse": {**served, "input": {}}}, {"toolResult": {"toolUseId": "s"}}, {"text": "a"}).content == (
        TextBlock("a"),
    )
    pieces = [begin("s", "nova_grounding", type="server_tool_use"), piece('{"q": 1}'), end(), delta({"text": "a"}, 1)]
    assert streamed(*pieces, stop()).content == (TextBlock("a"),)


def test_a_piece_of_a_call_that_has_not_begun_makes_no_sense():
    with pytest.raises(StreamError, match="has not begun"):
        streamed(piece("{}", 3))


# ---- an answer of a given form


def test_the_input_of_the_answers_tool_is_text():
    call = {"toolUse": {"toolUseId": "c1", "name": "answer", "input": {"n": 1}}}
    response = parse(call, stopReason="tool_use", to=WANTING_FORM)
    assert (response.text, response.tool_calls, response.stop_reason) == ('{"n":1}', [], StopReason.END_TURN)
    assert parse(call).tool_calls


def test_it_is_text_in_a_stream_as_it_comes():
    parser, events = stream(
        begin(name="answer"), piece('{"n"'), piece(": 1}"), end(), stop("tool_use"), to=WANTING_FORM
    )
    assert events[:2] == [TextDelta('{"n"'), TextDelta(": 1}")]
    assert events[-1] == StopEvent(StopReason.END_TURN, "tool_use")
    assert (parser.response().text, parser.response().tool_calls) == ('{"n": 1}', [])


def test_an_empty_answer_is_an_empty_object():
    assert streamed(begin(name="answer"), piece(""), end(), stop(), to=WANTING_FORM).text == "{}"
    assert parse({"toolUse": {"name": "answer"}}, to=WANTING_FORM).text == "{}"


def test_calls_beside_the_answer_are_calls():
    tools = (ToolDefinition("add", "", {}),)
    both = request(tools, InferenceConfig(response_format=FORM))
    response = streamed(begin("c1", "add"), end(), begin("c2", "answer", 1), piece("{}", 1), end(1), stop(), to=both)
    assert (response.text, response.tool_calls) == ("{}", [ToolUseBlock("c1", "add", {})])


# ---- why it ended, and what it cost


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("end_turn", StopReason.END_TURN),
        ("max_tokens", StopReason.MAX_TOKENS),
        ("model_context_window_exceeded", StopReason.MAX_TOKENS),
        ("stop_sequence", StopReason.STOP_SEQUENCE),
        ("guardrail_intervened", StopReason.CONTENT_FILTER),
        ("content_filtered", StopReason.CONTENT_FILTER),
        ("malformed_model_output", StopReason.UNKNOWN),
        ("malformed_tool_use", StopReason.UNKNOWN),
        ("lunar_eclipse", StopReason.UNKNOWN),
        ("tool_use", StopReason.END_TURN),
        (None, StopReason.UNKNOWN),
    ],
)
def test_stop_reasons(said, reason):
    response = parse({"text": "a"}, stopReason=said)
    assert (response.stop_reason, response.raw_stop_reason) == (reason, said)
    assert streamed(delta({"text": "a"}), stop(said)) == response


def test_usage_with_a_cache():
    """L9: the prompt is counted without what was read from the cache or written to it."""
    usage = {**USAGE, "totalTokens": 245, "cacheReadInputTokens": 200, "cacheWriteInputTokens": 30}
    assert parse(usage=usage).usage == UsageStats(10, 5, 245, None, 200, 30)


@pytest.mark.parametrize("usage", [None, [], {}, {"inputTokens": None, "outputTokens": "5", "totalTokens": True}])
def test_what_is_not_reported_is_unknown(usage):
    """L9."""
    assert parse(usage=usage).usage == UsageStats()
    assert streamed(stop(), frame("metadata", {"usage": usage})).usage == UsageStats()


def test_usage_comes_after_the_answer_has_ended_and_ends_the_stream():
    parser = StreamParser(request())
    assert parser.feed(delta({"text": "a"}) + stop()) == [TextDelta("a")]
    assert not parser.finished
    assert len(parser.feed(METADATA)) == 2
    assert parser.finished
    assert parser.feed(b"more") == parser.close() == []


def test_usage_may_come_first_or_not_at_all():
    assert streamed(delta({"text": "a"}), METADATA, stop()).usage.total_tokens == 15
    assert streamed(delta({"text": "a"}), stop()).usage == UsageStats()


# ---- faults


def test_what_came_before_an_error_is_not_lost():
    parser = StreamParser(request())
    fault = {":message-type": "exception", ":exception-type": "throttlingException"}
    broken = runner.encode_frame({"headers": fault, "payload": {"message": "wait"}})
    assert parser.feed(delta({"text": "a"}) + broken) == [TextDelta("a")]
    assert isinstance(parser.error, ProviderError)
    for go_on in (parser.close, lambda: parser.feed(stop())):
        with pytest.raises(ProviderError, match="wait") as caught:
            go_on()
        assert (caught.value.provider_class, caught.value.status_code) == (ProviderErrorClass.RATE_LIMITED, None)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (runner.encode_frame({"headers": {}, "payload": {}}), "unknown type: None"),
        (frame("contentBlockDelta", {}, **{":message-type": "hologram"}), "unknown type: 'hologram'"),
        (runner.encode_frame({"headers": EVENT | {":event-type": "messageStop"}, "payload": "{"}), "malformed JSON"),
        (b"\0" * 12, "too short"),
        (struct.pack(">II", 2**31, 0) + b"\0" * 4, "larger than"),
        (struct.pack(">II", 16, 1) + b"\0" * 4, "too short"),
        (struct.pack(">III", 100, 0, 0), "ChecksumMismatch"),
        (stop()[:-1] + b"\0", "ChecksumMismatch"),
    ],
)
def test_what_makes_no_sense_is_an_error_at_once(fault, message):
    parser = StreamParser(request())
    with pytest.raises(StreamError, match=message):
        parser.feed(fault)
    with pytest.raises(StreamError, match=message):
        parser.close()


def test_a_message_type_is_shown_without_a_secret():
    to = evolve(request(), secrets=("a-secret-0123",))
    with pytest.raises(StreamError, match=r"unknown type: 'my \*\*\*'$"):
        StreamParser(to).feed(frame("contentBlockDelta", {}, **{":message-type": "my a-secret-0123"}))


def test_a_header_of_a_type_that_does_not_exist_is_an_error():
    headers = b"\x01a\x0a"
    prelude = struct.pack(">II", 16 + len(headers), len(headers))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers
    with pytest.raises(StreamError, match="corrupt: KeyError"):
        StreamParser(request()).feed(message + struct.pack(">I", zlib.crc32(message)))


@pytest.mark.parametrize("cut", [0, 1, 12, 40])
def test_a_stream_without_a_message_stop_is_no_answer(cut):
    parser = StreamParser(request())
    parser.feed(delta({"text": "a"}) + stop()[:cut])
    with pytest.raises(StreamError, match="no messageStop"):
        parser.close()


# ---- one in place of the other


def test_a_complete_answer_to_a_streaming_call_is_understood():
    body = json.dumps({"output": {"message": {"content": [{"text": "a"}]}}, "stopReason": "end_turn"}).encode()
    parser = StreamParser(request())
    assert parser.feed(body[:9]) == parser.feed(body[9:]) == []
    assert parser.close() == [TextDelta("a"), StopEvent(StopReason.END_TURN, "end_turn")]
    assert parser.response() == parse({"text": "a"})


def test_a_stream_in_place_of_a_complete_answer_is_understood():
    body = delta({"text": "a"}) + stop() + METADATA
    assert parse_response(body, EVENT_STREAM, request()).text == "a"
    with pytest.raises(StreamError, match="no messageStop"):
        parse_response(delta({"text": "a"}), EVENT_STREAM, request())


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        (b"<html><title>Busy</title></html>", ProviderErrorClass.OTHER, "not JSON: Busy"),
        (b"", ProviderErrorClass.OTHER, "not JSON"),
        (b"[]", ProviderErrorClass.OTHER, "none of Converse's"),
        (b'{"type": "message", "content": []}', ProviderErrorClass.OTHER, "none of Converse's"),
        (b'{"output": {"message": null}}', ProviderErrorClass.OTHER, "none of Converse's"),
        (b'{"message": "boom"}', ProviderErrorClass.OTHER, "boom"),
        (b'{"__type": "x#ThrottlingException"}', ProviderErrorClass.RATE_LIMITED, "ThrottlingException"),
        (b'{"Output": {"__type": "x#UnknownOperationException"}}', ProviderErrorClass.NOT_FOUND, "UnknownOperation"),
    ],
)
def test_a_good_status_with_something_else_is_an_error(body, kind, message):
    with pytest.raises(ProviderError, match=message) as caught:
        parse_response(body, "application/json", request())
    assert caught.value.provider_class is kind
    if body:
        parser = StreamParser(request())
        parser.feed(body)
        with pytest.raises((ProviderError, StreamError), match="neither|none|" + message):
            parser.close()


# ---- models


def test_the_list_of_models():
    nova = {
        "modelId": "amazon.nova-lite-v1:0",
        "providerName": "Amazon",
        "modelLifecycle": {"status": "ACTIVE", "startOfLifeTime": "2024-12-03T00:00:00Z"},
    }
    listed = parse_models(
        json.dumps({"modelSummaries": [nova, {"modelId": "m"}, {"modelName": "x"}, 5]}).encode(), request()
    )
    assert listed == [
        ModelInfo("amazon.nova-lite-v1:0", 1733184000, "Amazon", nova),
        ModelInfo("m", raw={"modelId": "m"}),
    ]


@pytest.mark.parametrize("time", [None, 5, "soon", "2024-12-03T00:00:00"])
def test_a_date_may_be_anything(time):
    entry = {"modelId": "m", "modelLifecycle": {"startOfLifeTime": time}}
    (model,) = parse_models(json.dumps({"modelSummaries": [entry]}).encode(), request())
    assert model.created == (1733184000 if isinstance(time, str) and time.startswith("2") else None)


@pytest.mark.parametrize("body", [b"x", b"[]", b"{}", b'{"message": "boom"}'])
def test_something_else_is_no_list_of_models(body):
    with pytest.raises(ProviderError, match="no list of models|boom"):
        parse_models(body, request())
