"""Answers of Gemini's format, complete and streamed, in all the shapes that servers give them."""

import json

import pytest

from kova._formats.gemini.config import GeminiProviderConfig
from kova._formats.gemini.request import build_request
from kova._formats.gemini.response import parse_models, parse_response
from kova._formats.gemini.stream import StreamParser
from kova._formats.gemini.usage import read_usage
from kova.config import InferenceConfig
from kova.errors import ProviderError, ProviderErrorClass, StreamError
from kova.messages import ConversationMessage, TextBlock, ThinkingBlock, ToolUseBlock, tool_message, user_message
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

CONFIG = GeminiProviderConfig("m", base_url="http://localhost")


def build(*history, tools=()):
    return build_request(CONFIG, None, history or [user_message("Hi")], tools, InferenceConfig(), stream=True)


def chunk(*parts, finish=None, **fields):
    candidate = {"index": 0, "content": {"parts": list(parts), "role": "model"}}
    return {"candidates": [candidate | ({"finishReason": finish} if finish else {})], "modelVersion": "m-1", **fields}


def event(value):
    return b"data: " + json.dumps(value).encode() + b"\r\n\r\n"


def parse(*parts, finish="STOP", to=None, **fields):
    return parse_raw(chunk(*parts, finish=finish, **fields), to)


def parse_raw(value, to=None):
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return parse_response(body, "application/json", to or build())


def stream(*chunks, to=None):
    parser = StreamParser(to or build())
    events = [each for chunk in chunks for each in parser.feed(chunk if isinstance(chunk, bytes) else event(chunk))]
    return parser, events + parser.close()


def text(text, **fields):
    return {"text": text, **fields}


def call(name="add", **fields):
    signature = {"thoughtSignature": fields.pop("signature")} if "signature" in fields else {}
    return {"functionCall": {"name": name, **fields}, **signature}


USAGE = {"promptTokenCount": 9, "candidatesTokenCount": 2, "totalTokenCount": 11}


# ---- what was said


def test_a_plain_answer():
    response = parse(text("Hello"), usageMetadata=USAGE, responseId="r1")
    assert response.content == (TextBlock("Hello"),)
    assert (response.stop_reason, response.raw_stop_reason) == (StopReason.END_TURN, "STOP")
    assert (response.model, response.request_id) == ("m-1", "r1")
    assert response.usage == UsageStats(9, 2, 11)


def test_thoughts_are_never_text_and_never_content():
    response = parse(text("hm", thought=True), text("Hello"))
    assert (response.text, response.thinking, response.content) == ("Hello", "hm", (TextBlock("Hello"),))


def test_calls_have_ids_of_the_api_or_made_up_ones():
    response = parse(call(id="fc-1", args={"a": 1}), call(args={"a": 2}), call(id="fc-1"), call("ping"))
    first, *others = response.tool_calls
    assert first == ToolUseBlock("fc-1", "add", {"a": 1}, {"gemini_call_id": "fc-1"})
    assert [other.provider_metadata for other in others] == [{"made_up_id": True}] * 3
    assert len({block.id for block in response.tool_calls}) == 4
    assert [block.input for block in others] == [{"a": 2}, {}, {}]
    assert response.stop_reason is StopReason.TOOL_USE


@pytest.mark.parametrize(
    ("given", "input", "invalid"),
    [
        (None, {}, None),
        ("", {}, None),
        ({}, {}, None),
        ('{"a": 1}', {"a": 1}, None),
        ([1], {}, "[1]"),
        ("a=1", {}, "a=1"),
    ],
)
def test_arguments_in_all_their_forms(given, input, invalid):
    (block,) = parse(call(args=given)).tool_calls
    assert (block.input, block.invalid_arguments) == (input, invalid)


def test_a_complete_call_counts_also_where_the_limit_cut_what_follows():
    for reason in ("MAX_TOKENS", "SAFETY"):
        response = parse(call("ping"), finish=reason)
        assert ([block.name for block in response.tool_calls], response.stop_reason) == (["ping"], StopReason.TOOL_USE)


def test_a_rewritten_name_comes_back_as_the_tools_own():
    to = build(user_message("Hi"), tools=[ToolDefinition("fs.read", "", {})])
    assert parse(call("fs_read"), to=to).tool_calls[0].name == "fs.read"


def test_arguments_in_pieces_are_an_error():
    for piece in ({"willContinue": True}, {"partialArgs": [{"jsonPath": "$.a", "numberValue": 1}]}):
        with pytest.raises(StreamError, match="in pieces"):
            stream(chunk(call(**piece)))


def test_the_first_of_several_candidates_is_the_answer():
    chunks = [
        {"candidates": [{"index": index, "content": {"parts": [{"text": said}]}}]}
        for index, said in [(0, "a"), (1, "x"), (0, "b")]
    ]
    parser, _ = stream(*chunks, {"candidates": [{"index": 1, "finishReason": "SAFETY"}]}, chunk(finish="STOP"))
    assert (parser.response().text, parser.response().stop_reason) == ("ab", StopReason.END_TURN)


def test_halves_of_a_character_are_put_together():
    parser, events = stream(chunk(text("a")), chunk(text("\ud83e")), chunk(text("\udd80"), finish="STOP"))
    assert [each.text for each in events if isinstance(each, TextDelta)] == ["a", "🦀"]
    assert parser.response().text == "a🦀"


# ---- signatures, and what else goes back as it came


def round_trip(*parts):
    """The parts as they are sent with the next request."""
    response = parse(*parts)
    results = [tool_message(block.id, "r") for block in response.tool_calls]
    history = [user_message("Hi"), ConversationMessage("assistant", response.content), *results]
    return json.loads(build(*history).body)["contents"][1]["parts"]


@pytest.mark.parametrize(
    "parts",
    [
        [text("Hello", thoughtSignature="s")],
        [text("Hel"), text("lo", thoughtSignature="s")],
        [text("a", thoughtSignature="s1"), text("b", thoughtSignature="s2"), text("c")],
        [text("Hello"), text("", thoughtSignature="s")],
        [text("", thoughtSignature="s")],
        [text("hm", thought=True, thoughtSignature="s"), text("Hello")],
        [text("", thought=True, thoughtSignature="s"), text("Hello")],
        [call(args={"a": 1}, signature="s1"), call(args={"a": 2}), call(id="fc-1", args={}, signature="s2")],
        [text("Let me see."), call(args={"a": 1}, signature="s1"), text("Done.", thoughtSignature="s2")],
        [
            {"executableCode": {"language": "PYTHON", "code": "1+1"}},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}, "thoughtSignature": "s"},
            text("2"),
        ],
        [{"toolCall": {"id": "t1", "toolType": "GOOGLE_SEARCH"}}, {"toolResponse": {"id": "t1"}}, text("a")],
        [{"inlineData": {"mimeType": "image/png", "data": "cG5n"}, "thoughtSignature": "s"}],
    ],
)
def test_parts_go_back_as_they_came(parts):
    """L8."""
    assert round_trip(*parts) == parts


def test_a_signature_without_anything_goes_back_with_an_empty_text():
    """L8. A part without data is refused."""
    assert round_trip(text("four"), {"thoughtSignature": "s"}) == [text("four"), text("", thoughtSignature="s")]


def test_unsigned_thoughts_and_empty_parts_do_not_go_back():
    assert round_trip(text("hm", thought=True), {}, text(""), text("Hello"), {"thought": True}) == [text("Hello")]


def test_text_around_a_signature_is_in_blocks_of_its_own():
    response = parse(text("a"), text("b", thoughtSignature="s"), text("c"))
    signature = ThinkingBlock("", provider_metadata={"gemini_signature": "s", "gemini_signed_length": 1})
    assert response.content == (TextBlock("ab"), signature, TextBlock("c"))
    assert (response.text, response.thinking) == ("abc", None)


# ---- why it ended


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("STOP", StopReason.END_TURN),
        ("stop", StopReason.END_TURN),
        ("MAX_TOKENS", StopReason.MAX_TOKENS),
        ("CONTINUATION", StopReason.MAX_TOKENS),
        ("SAFETY", StopReason.CONTENT_FILTER),
        ("BLOCKLIST", StopReason.CONTENT_FILTER),
        ("SPII", StopReason.CONTENT_FILTER),
        ("IMAGE_SAFETY", StopReason.CONTENT_FILTER),
        ("LANGUAGE", StopReason.CONTENT_FILTER),
        ("OTHER", StopReason.UNKNOWN),
        ("MALFORMED_FUNCTION_CALL", StopReason.UNKNOWN),
        ("UNEXPECTED_TOOL_CALL", StopReason.UNKNOWN),
        ("FINISH_REASON_UNSPECIFIED", StopReason.UNKNOWN),
        (None, StopReason.UNKNOWN),
    ],
)
def test_finish_reasons(said, reason):
    response = parse(text("a"), finish=said)
    assert (response.stop_reason, response.raw_stop_reason) == (reason, said)


@pytest.mark.parametrize("content", [{}, {"content": {}}, {"content": None}, {"content": {"parts": None}}])
def test_an_answer_may_have_no_content(content):
    response = parse_raw({"candidates": [{"finishReason": "MAX_TOKENS", **content}]})
    assert (response.content, response.stop_reason) == ((), StopReason.MAX_TOKENS)


@pytest.mark.parametrize("more", [{}, {"candidates": []}, {"candidates": None}])
def test_a_refused_prompt_is_filtered_and_says_why(more):
    blocked = {
        "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
        "usageMetadata": {"promptTokenCount": 7},
        **more,
    }
    response = parse_raw(blocked)
    assert (response.stop_reason, response.raw_stop_reason) == (StopReason.CONTENT_FILTER, "PROHIBITED_CONTENT")
    parser, events = stream(blocked)
    assert parser.response() == response
    assert events == [
        UsageEvent(UsageStats(input_tokens=7)),
        StopEvent(StopReason.CONTENT_FILTER, "PROHIBITED_CONTENT"),
    ]


def test_feedback_that_refuses_nothing_is_passed_over():
    response = parse(text("a"), promptFeedback={"safetyRatings": [{"category": "X", "probability": "LOW"}]})
    assert (response.text, response.stop_reason) == ("a", StopReason.END_TURN)


# ---- usage


@pytest.mark.parametrize(
    ("reported", "usage"),
    [
        ({}, UsageStats()),
        (USAGE, UsageStats(9, 2, 11)),
        (
            {**USAGE, "cachedContentTokenCount": 4},
            UsageStats(5, 2, 11, cache_read_tokens=4),
        ),
        (
            {**USAGE, "thoughtsTokenCount": 30, "totalTokenCount": 41},
            UsageStats(9, 32, 41, thinking_tokens=30),
        ),
        (  # LiteLLM and some models: thoughts are counted in
            {"promptTokenCount": 9, "candidatesTokenCount": 32, "thoughtsTokenCount": 30, "totalTokenCount": 41},
            UsageStats(9, 32, 41, thinking_tokens=30),
        ),
        (
            {"promptTokenCount": 8, "thoughtsTokenCount": 16, "totalTokenCount": 24},
            UsageStats(8, 16, 24, thinking_tokens=16),
        ),
        (
            {"promptTokenCount": 9, "toolUsePromptTokenCount": 50, "candidatesTokenCount": 2, "totalTokenCount": 61},
            UsageStats(59, 2, 61),
        ),
        ({"promptTokenCount": 5, "totalTokenCount": 5}, UsageStats(5, None, 5)),
        ({"promptTokenCount": None, "candidatesTokenCount": "2", "totalTokenCount": True}, UsageStats()),
    ],
)
def test_usage(reported, usage):
    assert read_usage(reported) == usage


def test_the_last_usage_counts_and_there_is_one_event_of_it():
    """L9."""
    running = [{**USAGE, "candidatesTokenCount": count, "totalTokenCount": 9 + count} for count in (1, 2)]
    parser, events = stream(
        chunk(text("a"), usageMetadata=running[0]),
        chunk(text("b"), usageMetadata=running[0]),
        chunk(text("c"), finish="STOP", usageMetadata=running[1]),
    )
    assert events == [
        TextDelta("a"),
        TextDelta("b"),
        TextDelta("c"),
        UsageEvent(UsageStats(9, 2, 11)),
        StopEvent(StopReason.END_TURN, "STOP"),
    ]
    assert parser.response().usage == UsageStats(9, 2, 11)


def test_the_usage_of_a_stream_that_broke_off_is_known():
    """L9."""
    parser = StreamParser(build())
    parser.feed(event(chunk(text("a"), usageMetadata={"promptTokenCount": 9})))
    parser.feed(event(chunk(text("b"), usageMetadata=USAGE)))
    for _ in range(2):
        assert parser.response().usage == UsageStats(9, 2, 11)
    with pytest.raises(StreamError):
        parser.close()


# ---- how a stream goes


def test_events_come_in_the_order_of_the_stream():
    _, events = stream(
        chunk(text("hm", thought=True)),
        chunk(text("Hel"), text("lo")),
        chunk(call(id="fc-1", args={"a": 1}, signature="s")),
        chunk(text(""), finish="STOP", usageMetadata=USAGE),
    )
    metadata = {"gemini_signature": "s", "gemini_call_id": "fc-1"}
    assert events == [
        ThinkingDelta("hm"),
        TextDelta("Hel"),
        TextDelta("lo"),
        ToolUseDelta("fc-1", "add", '{"a":1}', metadata, 0),
        UsageEvent(UsageStats(9, 2, 11)),
        StopEvent(StopReason.TOOL_USE, "STOP"),
    ]


def test_the_finish_reason_with_the_usage_is_the_end():
    parser = StreamParser(build())
    parser.feed(event(chunk(text("a"))))
    events = parser.feed(event(chunk(text("b"), finish="STOP", usageMetadata=USAGE)) + b"data: {broken\r\n\r\n")
    assert parser.finished
    assert events[-1] == StopEvent(StopReason.END_TURN, "STOP")
    assert parser.feed(b"more") == parser.close() == []


def test_usage_may_follow_after_the_finish_reason():
    parser, events = stream(chunk(text("a")), chunk(finish="STOP"), {"usageMetadata": USAGE})
    assert parser.response().usage == UsageStats(9, 2, 11)
    assert events[1:] == [UsageEvent(UsageStats(9, 2, 11)), StopEvent(StopReason.END_TURN, "STOP")]


def test_a_server_may_give_a_finish_reason_with_every_chunk():
    """Google's did so until 2024, and gateways still do."""
    parser, _ = stream(
        chunk(finish="STOP", usageMetadata=USAGE),
        chunk(text("a"), usageMetadata=USAGE),
        chunk(text("b"), finish="STOP", usageMetadata=USAGE),
        chunk(text("c"), finish="MAX_TOKENS", usageMetadata=USAGE),
    )
    assert (parser.response().text, parser.response().stop_reason) == ("abc", StopReason.MAX_TOKENS)


@pytest.mark.parametrize(
    "chunks", [[], [b": ping\n\n"], [chunk(text("a"))], [b"data: \n\n"], [{"usageMetadata": USAGE}]]
)
def test_a_stream_without_a_finish_reason_is_an_error(chunks):
    with pytest.raises(StreamError, match="ended before the answer did: there was no finishReason"):
        stream(*chunks)


@pytest.mark.parametrize("rest", [b'data: {"usageMeta', b"data: garbage", b"dat", b": ping"])
def test_what_is_cut_off_after_the_finish_reason_is_not_missed(rest):
    parser, events = stream(event(chunk(text("a"), finish="STOP")), rest)
    assert parser.response().text == "a"
    assert events[-1] == StopEvent(StopReason.END_TURN, "STOP")


def test_what_came_before_an_error_is_not_lost():
    parser = StreamParser(build())
    error = {"error": {"code": 503, "message": "High demand", "status": "UNAVAILABLE"}}
    assert parser.feed(event(chunk(text("a"))) + event(error)) == [TextDelta("a")]
    for proceed in (lambda: parser.feed(event(chunk(finish="STOP"))), parser.close):
        with pytest.raises(ProviderError, match="High demand") as caught:
            proceed()
        assert caught.value is parser.error
    assert caught.value.provider_class is ProviderErrorClass.OVERLOADED


@pytest.mark.parametrize(
    "payload",
    [{"error": {"code": 429, "message": "boom"}}, {"code": 429, "message": "boom", "status": "RESOURCE_EXHAUSTED"}],
)
def test_an_error_in_a_stream_is_one_wherever_it_stands(payload):
    for body in (event(payload), json.dumps(payload).encode(), json.dumps([payload], indent=2).encode()):
        with pytest.raises(ProviderError, match="boom") as caught:
            stream(body)
        assert caught.value.provider_class is ProviderErrorClass.RATE_LIMITED


def test_an_error_beside_candidates_is_one_too():
    with pytest.raises(ProviderError, match="boom"):
        stream(chunk(text("a")), chunk(text("b"), error={"code": 500, "message": "boom"}))


def test_all_chunks_may_come_as_one_array():
    """What the API sends where alt=sse does not reach it."""
    chunks = [chunk(text("Hel")), chunk(text("lo"), finish="STOP", usageMetadata=USAGE)]
    body = json.dumps(chunks, indent=2).encode()
    parser, events = stream(body[:20], body[20:])
    assert parser.response() == parse_raw(body)
    assert [each.text for each in events if isinstance(each, TextDelta)] == ["Hel", "lo"]


def test_payloads_that_are_no_chunks_are_passed_over():
    parser, _ = stream(b"data: 1\n\n", b'data: "ping"\n\n', b"data: null\n\n", b"data: []\n\n", chunk(finish="STOP"))
    assert parser.response().content == ()


def test_the_mark_of_other_streams_ends_an_answer_that_is_complete():
    parser, _ = stream(chunk(text("Hello"), finish="STOP"), b"data: [DONE]\n\n")
    assert (parser.finished, parser.response().text) == (True, "Hello")


def test_an_answer_before_that_mark_that_is_not_complete_was_cut():
    with pytest.raises(StreamError, match="no finishReason"):
        stream(chunk(text("Hel")), b"data: [DONE]\n\n")


@pytest.mark.parametrize("payload", ['{"candidates":[{"content":', "[1", '{"a":1}}'])
def test_malformed_json_is_an_error(payload):
    with pytest.raises(StreamError, match="malformed JSON"):
        stream(f"data: {payload}\n\n".encode())


def test_an_event_stream_in_place_of_a_complete_answer_is_understood():
    body = event(chunk(text("Hel"))) + event(chunk(text("lo"), finish="STOP", responseId="r1"))
    for content_type in ("text/event-stream; charset=utf-8", ""):
        response = parse_response(body, content_type, build())
        assert (response.text, response.request_id) == ("Hello", "r1")


# ---- what is no answer


@pytest.mark.parametrize("value", [{"candidates": []}, {"candidates": None}, {"usageMetadata": USAGE}])
def test_an_answer_without_a_candidate_is_a_fault_that_may_pass(value):
    with pytest.raises(ProviderError, match="without any candidate") as caught:
        parse_raw(value)
    assert caught.value.is_retryable


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"status":"ok"}', "no answer of a model"),
        (b"3", "no answer of a model"),
        (b"[]", "no answer of a model"),
        (b"", "the answer is not JSON"),
        (b'{"candidates":[', "the answer is not JSON"),
        (b"<html><head><title>Sign in</title></head></html>", "the answer is not JSON: Sign in"),
        (b'{"error":{"message":"boom"}}', "boom"),
        (b'[{"error":{"message":"boom","code":400}}]', "boom"),
        (b'{"detail":"boom"}', "boom"),
    ],
)
def test_what_is_no_answer_is_a_provider_error(body, message):
    with pytest.raises(ProviderError, match=message) as caught:
        parse_raw(body)
    assert caught.value.status_code is None


# ---- models


def test_models():
    full = {
        "name": "models/gemini-2.5-flash",
        "displayName": "Gemini",
        "supportedGenerationMethods": ["generateContent"],
    }
    listed = parse_models(json.dumps({"models": [full, {"name": "tunedModels/mine"}, {}, None]}).encode(), build())
    assert listed == [
        ModelInfo("gemini-2.5-flash", raw=full),
        ModelInfo("tunedModels/mine", raw={"name": "tunedModels/mine"}),
    ]


def test_no_models_are_an_empty_object():
    assert parse_models(b"{}", build()) == parse_models(b'{"models":[]}', build()) == []


def test_a_list_that_goes_on_says_so(caplog):
    assert [model.id for model in parse_models(b'{"models":[{"name":"models/a"}],"nextPageToken":"x"}', build())] == [
        "a"
    ]
    assert "the list of models has more pages" in caplog.text


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html>", "no list of models"),
        (b'{"status":"ok"}', "no list of models"),
        (b"[]", "no list of models"),
        (b'{"error":{"message":"boom"}}', "boom"),
    ],
)
def test_what_is_no_list_of_models_is_an_error(body, message):
    with pytest.raises(ProviderError, match=message) as caught:
        parse_models(body, build())
    assert caught.value.provider_class is ProviderErrorClass.OTHER
