"""Answers of Anthropic's format, complete and streamed, in the shapes that servers give them."""

import json

import pytest

from kova._assembly import MADE_UP_ID
from kova._formats.anthropic.config import AnthropicProviderConfig
from kova._formats.anthropic.request import build_request
from kova._formats.anthropic.response import parse_models, parse_response
from kova._formats.anthropic.stream import StreamParser
from kova._formats.anthropic.usage import read_usage
from kova.config import InferenceConfig
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

DOTTED = ToolDefinition("fs.read", "", {})


def request(tools=()):
    config = AnthropicProviderConfig("m", base_url="http://localhost")
    return build_request(config, None, [user_message("Hi")], tools, InferenceConfig(), stream=True)


def parse(*content, to=None, **fields):
    message = {"type": "message", "role": "assistant", "model": "m-1", "stop_reason": "end_turn", **fields}
    return parse_raw({**message, "content": list(content)}, to)


def parse_raw(value, to=None):
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return parse_response(body, "application/json", to or request())


# ---- streams, event by event


def event(kind, **fields):
    value = {"type": kind, **fields}
    return b"event: " + kind.encode() + b"\ndata: " + json.dumps(value).encode() + b"\n\n"


def start(index=0, type="text", **fields):
    return event("content_block_start", index=index, content_block={"type": type, **fields})


def delta(index=0, type="text_delta", **fields):
    return event("content_block_delta", index=index, delta={"type": type, **fields})


def stop(index=0):
    return event("content_block_stop", index=index)


def end(reason="end_turn", **fields):
    return event("message_delta", delta={"stop_reason": reason}, **fields) + STOP


STOP = event("message_stop")


def stream(*chunks, to=None):
    parser = StreamParser(to or request())
    events = [each for chunk in chunks for each in parser.feed(chunk)]
    return parser, events + parser.close()


def answer(*chunks, to=None):
    return stream(*chunks, to=to)[0].response()


CALL = {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1}}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"encrypted_content": "ZW5j"}]}


def raw(block):
    return ThinkingBlock("", provider_metadata={"anthropic_block": block})


# ---- what was said


def test_a_plain_answer():
    response = parse({"type": "text", "text": "Hello"}, usage={"input_tokens": 9, "output_tokens": 2})
    assert response.content == (TextBlock("Hello"),)
    assert (response.stop_reason, response.raw_stop_reason, response.model) == (StopReason.END_TURN, "end_turn", "m-1")
    assert response.usage == UsageStats(9, 2, 11)


def test_events_come_in_the_order_of_the_stream():
    _, events = stream(
        event("message_start", message={"model": "m-1", "usage": {"input_tokens": 3, "output_tokens": 1}}),
        start(type="thinking", thinking="", signature=""),
        delta(type="thinking_delta", thinking="hm"),
        delta(type="signature_delta", signature="c2ln"),
        stop(),
        start(1, text=""),
        delta(1, text="Hel"),
        event("ping"),
        delta(1, text="lo"),
        delta(1, text=""),
        stop(1),
        start(2, **CALL),
        stop(2),
        end("tool_use", usage={"output_tokens": 7}),
    )
    assert events == [
        UsageEvent(UsageStats(3, 1)),
        ThinkingDelta("hm"),
        ThinkingBlock("hm", "c2ln"),
        TextDelta("Hel"),
        TextDelta("lo"),
        ToolUseDelta("toolu_1", "add"),
        ToolUseDelta("toolu_1", "add", '{"a":1}'),
        UsageEvent(UsageStats(3, 7)),
        StopEvent(StopReason.TOOL_USE, "tool_use"),
    ]


def test_thinking_is_never_text_and_is_kept_only_if_it_is_signed():
    """L8."""
    text = {"type": "text", "text": "Hello"}
    signed = parse({"type": "thinking", "thinking": "hm", "signature": "c2ln"}, text)
    assert (signed.text, signed.thinking) == ("Hello", "hm")
    assert signed.content == (ThinkingBlock("hm", "c2ln"), TextBlock("Hello"))
    unsigned = parse({"type": "thinking", "thinking": "hm", "signature": ""}, text)
    assert (unsigned.thinking, unsigned.content) == ("hm", (TextBlock("Hello"),))


def test_thinking_between_calls_stays_in_its_place():
    """L8."""
    blocks = [{"type": "thinking", "thinking": t, "signature": s} for t, s in [("a", "1"), ("", "2")]]
    other = {**CALL, "id": "toolu_2"}
    kinds = [type(block) for block in parse(blocks[0], CALL, blocks[1], other).content]
    assert kinds == [ThinkingBlock, ToolUseBlock, ThinkingBlock, ToolUseBlock]


def test_blocks_that_need_not_be_understood_are_kept_as_they_came():
    """L8."""
    blocks = [SEARCH, FOUND, {"type": "redacted_thinking", "data": "x"}, {"type": "hologram", "shape": "cube"}]
    whole = parse(*blocks, {"type": "text", "text": "Found."})
    assert whole.content == (*map(raw, blocks), TextBlock("Found."))
    assert (whole.text, whole.thinking, whole.tool_calls) == ("Found.", None, [])
    streamed = answer(
        start(**{**SEARCH, "input": {}}),
        delta(type="input_json_delta", partial_json=""),
        delta(type="input_json_delta", partial_json='{"query":'),
        delta(type="input_json_delta", partial_json=' "x"}'),
        stop(),
        *[start(index, **block) + stop(index) for index, block in enumerate(blocks[1:], 1)],
        start(4, text="Found."),
        stop(4),
        end(),
    )
    assert streamed.content == whole.content


def test_a_summary_of_the_history_is_kept():
    compacted = delta(type="compaction_delta", content="It was about x.", encrypted_content="e")
    block = {"type": "compaction", "content": "It was about x.", "encrypted_content": "e"}
    assert answer(start(type="compaction", content=None), compacted, stop(), end()).content == (raw(block),)


@pytest.mark.parametrize(
    "chunks",
    [
        [start(type="hologram"), delta(type="hologram_delta", vertices=[1])],
        [start(**SEARCH), delta(type="input_json_delta", partial_json='{"query": "x')],
        [start(type=None)],
        [delta(3, type="hologram_delta", vertices=[1])],
    ],
)
def test_half_a_block_that_is_not_understood_is_dropped(chunks):
    assert answer(*chunks, stop(), start(1, text="ok"), end("max_tokens")).content == (TextBlock("ok"),)


def test_citations_are_no_text():
    cited = delta(type="citations_delta", citation={"cited_text": "sky"})
    assert answer(start(text="", citations=[]), cited, delta(text="blue"), end()).text == "blue"


# ---- tool calls


def test_a_call_has_its_own_name_again():
    """The name on the wire is another one where the API would refuse the tool's own."""
    response = parse({**CALL, "name": "fs_read"}, to=request((DOTTED,)))
    assert response.tool_calls == [ToolUseBlock("toolu_1", "fs.read", {"a": 1})]


@pytest.mark.parametrize(
    ("given", "pieces", "arguments"),
    [
        ({}, ['{"a":', "1}"], {"a": 1}),
        ({}, [""], {}),
        ({}, [], {}),
        (None, [], {}),
        ({"a": 1}, [], {"a": 1}),
        ({"a": 1}, [""], {"a": 1}),
        ({"a": 0}, ['{"a":1}'], {"a": 1}),
        ('{"a":1}', [], {"a": 1}),
        ({}, [{"a": 1}], {"a": 1}),
        ({}, [None, '"{\\"a\\": 1}"'], {"a": 1}),
    ],
)
def test_arguments_come_in_the_start_or_in_pieces(given, pieces, arguments):
    deltas = [delta(type="input_json_delta", partial_json=piece) for piece in pieces]
    first = start(**{**CALL, "input": given})
    assert answer(first, *deltas, stop(), end()).tool_calls == [ToolUseBlock("toolu_1", "add", arguments)]
    assert answer(first, *deltas, end()).tool_calls[0].input == arguments, "without the end of the block"


def test_calls_may_come_at_the_same_time():
    """As gateways send them that translate another API."""
    pieces = [(0, '{"a":'), (1, '{"b":'), (0, "1}"), (1, "2}")]
    deltas = [delta(index, type="input_json_delta", partial_json=piece) for index, piece in pieces]
    starts = [start(index, type="tool_use", id=f"t{index}", name="add") for index in (0, 1)]
    calls = answer(*starts, *deltas, stop(0), stop(1), end()).tool_calls
    assert [(call.id, call.input) for call in calls] == [("t0", {"a": 1}), ("t1", {"b": 2})]


def test_blocks_without_an_index_are_told_apart_by_their_order():
    def bare(kind, **fields):
        return event(f"content_block_{kind}", **fields)

    response = answer(
        bare("start", content_block={"type": "text", "text": ""}),
        bare("delta", delta={"type": "text_delta", "text": "Hi"}),
        bare("stop"),
        bare("start", content_block={**CALL, "input": {}}),
        bare("delta", delta={"type": "input_json_delta", "partial_json": '{"a":1}'}),
        bare("stop"),
        end(),
    )
    assert response.content == (TextBlock("Hi"), ToolUseBlock("toolu_1", "add", {"a": 1}))


def test_the_same_index_again_is_another_block():
    piece = delta(type="input_json_delta", partial_json='{"a":1}')
    response = answer(start(text="Hi"), start(**{**CALL, "input": {}}), piece, start(text="!"), delta(text="?"), end())
    assert response.content == (TextBlock("Hi"), ToolUseBlock("toolu_1", "add", {"a": 1}), TextBlock("!?"))


@pytest.mark.parametrize("ids", [["toolu_1", "toolu_1"], ["", None]])
def test_ids_that_are_missing_or_taken_are_made_up(ids):
    blocks = [{**CALL, "id": id} for id in ids]
    calls = parse(*blocks).tool_calls
    assert len({call.id for call in calls}) == 2
    assert (calls[1].provider_metadata or {}).get(MADE_UP_ID)
    assert calls == parse(*blocks).tool_calls
    assert calls == answer(*[start(n, **block) + stop(n) for n, block in enumerate(blocks)], end()).tool_calls


def test_what_a_call_from_code_is_of_is_kept():
    caller = {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}
    assert parse({**CALL, "caller": caller}).tool_calls[0].provider_metadata == {"caller": caller}
    assert parse({**CALL, "caller": {"type": "direct"}, "odd": 1}).tool_calls[0].provider_metadata is None


@pytest.mark.parametrize(
    "chunk", [delta(type="input_json_delta", partial_json="{}"), stop() + delta(type="input_json_delta")]
)
def test_arguments_of_no_call_are_an_error(chunk):
    with pytest.raises(StreamError, match="a tool call that it has not begun"):
        stream(start(text="Hi"), stop(), chunk, end())


def test_a_call_that_is_cut_off_is_not_a_call():
    """L3."""
    piece = delta(1, type="input_json_delta", partial_json='{"a": 1')
    response = answer(start(text="Hi"), stop(), start(1, **{**CALL, "input": {}}), piece, stop(1), end("max_tokens"))
    assert (response.content, response.stop_reason) == ((TextBlock("Hi"),), StopReason.MAX_TOKENS)


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded", "refusal"])
def test_the_last_call_of_a_complete_answer_that_was_cut_is_not_a_call(reason):
    """L3. Its arguments look complete: the API makes an object of what there is of them."""
    other = {**CALL, "id": "toolu_2"}
    assert [call.id for call in parse(CALL, other, stop_reason=reason).tool_calls] == ["toolu_1"]
    assert len(parse(CALL, other, {"type": "text", "text": "So"}, stop_reason=reason).tool_calls) == 2


# ---- deltas without a start


def test_text_and_thinking_need_no_start():
    response = answer(delta(type="thinking_delta", thinking="hm"), delta(1, text="Hel"), delta(1, text="lo"), end())
    assert (response.text, response.thinking) == ("Hello", "hm")


def test_text_belongs_to_its_own_block():
    hologram = start(1, type="hologram") + delta(1, text="not shown")
    assert answer(start(text="a"), delta(text="b"), hologram, delta(text="c"), end()).text == "abc"


# ---- why it ended


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("end_turn", StopReason.END_TURN),
        ("max_tokens", StopReason.MAX_TOKENS),
        ("model_context_window_exceeded", StopReason.MAX_TOKENS),
        ("stop_sequence", StopReason.STOP_SEQUENCE),
        ("pause_turn", StopReason.PAUSE_TURN),
        ("refusal", StopReason.REFUSAL),
        ("tool_use", StopReason.END_TURN),  # without any
        ("lunar_eclipse", StopReason.UNKNOWN),
        (None, StopReason.UNKNOWN),
    ],
)
def test_stop_reasons(said, reason):
    response = parse({"type": "text", "text": "a"}, stop_reason=said)
    assert (response.stop_reason, response.raw_stop_reason) == (reason, said)
    assert answer(start(text="a"), end(said)).stop_reason is reason


def test_the_last_stop_reason_counts_and_null_is_none():
    parts = [event("message_delta", delta={"stop_reason": said}) for said in ("refusal", "end_turn", None)]
    assert answer(start(text="a"), *parts, event("message_delta"), STOP).raw_stop_reason == "end_turn"


# ---- usage


@pytest.mark.parametrize(
    ("reported", "usage"),
    [
        ({}, UsageStats()),
        ({"input_tokens": 9, "output_tokens": 2}, UsageStats(9, 2, 11)),
        (
            {
                "input_tokens": 9,
                "output_tokens": 5,
                "cache_read_input_tokens": 100,
                "cache_creation_input_tokens": 20,
                "output_tokens_details": {"thinking_tokens": 3},
            },
            UsageStats(9, 5, 134, thinking_tokens=3, cache_read_tokens=100, cache_creation_tokens=20),
        ),
        (
            {"input_tokens": None, "output_tokens": "2", "cache_read_input_tokens": True, "output_tokens_details": [1]},
            UsageStats(),
        ),
    ],
)
def test_usage(reported, usage):
    assert read_usage(reported) == usage


def test_usage_is_what_is_known_so_far_and_comes_once():
    """L9."""
    counts = {"input_tokens": 18, "cache_creation_input_tokens": 6, "output_tokens": 1}
    _, events = stream(
        event("message_start", message={"usage": counts}),
        start(text="a"),
        event("message_delta", delta={}, usage={"output_tokens": 5, "cache_creation_input_tokens": None}),
        event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 5}),
        STOP,
    )
    assert events == [
        UsageEvent(UsageStats(18, 1, cache_creation_tokens=6)),
        TextDelta("a"),
        UsageEvent(UsageStats(18, 5, cache_creation_tokens=6)),
        StopEvent(StopReason.END_TURN, "end_turn"),
    ]


# ---- how a stream goes


def test_nothing_is_read_after_the_terminal_mark():
    parser, events = stream(end() + b"data: {broken\n\n", b"data: {broken\n\n")
    assert events == [StopEvent(StopReason.END_TURN, "end_turn")]
    assert parser.finished


def test_a_whole_message_may_be_one_event_and_is_only_the_beginning_without_a_stop_reason():
    message = {"role": "assistant", "model": "m-1", "usage": {"input_tokens": 3, "output_tokens": 1}}
    block = {"type": "text", "text": "Whole."}
    whole = answer(event("message", content=[block], stop_reason="end_turn", **message))
    assert (whole.text, whole.stop_reason) == ("Whole.", StopReason.END_TURN)
    opening = event("message", content=[], stop_reason=None, **message)
    spread = answer(opening, start(), delta(text="In pieces."), stop(), end())
    assert (spread.text, spread.model) == ("In pieces.", "m-1")
    with pytest.raises(StreamError, match="ended"):
        answer(opening, start(), delta(text="In pie"))


def test_reading_goes_on_after_the_stop_reason():
    parser = StreamParser(request())
    parser.feed(event("message_delta", delta={"stop_reason": "end_turn"}))
    assert not parser.finished


def test_what_came_before_an_error_is_not_lost():
    parser = StreamParser(request())
    failure = event("error", error={"type": "overloaded_error", "message": "Overloaded"})
    assert parser.feed(start(text="a") + failure) == [TextDelta("a")]
    assert not parser.finished
    for proceed in (lambda: parser.feed(end()), parser.close):
        with pytest.raises(ProviderError, match="Overloaded") as caught:
            proceed()
        assert caught.value is parser.error


def test_an_error_with_nothing_before_it_is_raised_at_once():
    parser = StreamParser(request())
    with pytest.raises(ProviderError, match="Overloaded"):
        parser.feed(event("error", error={"type": "overloaded_error", "message": "Overloaded"}))
    with pytest.raises(ProviderError, match="Overloaded"):
        parser.close()


@pytest.mark.parametrize(
    "chunks",
    [
        [],
        [b": ping\n\n"],
        [start(text="a"), stop()],
        [event("message_delta", delta={"stop_reason": "end_turn"})],
        [b"data: \n\n"],
    ],
)
def test_a_stream_without_a_terminal_mark_is_an_error(chunks):
    with pytest.raises(StreamError, match="ended before the answer did: there was no message_stop"):
        stream(*chunks)


@pytest.mark.parametrize("payload", ['{"type":"content_block_delta","delta":', "[1", '{"a":1}}'])
def test_malformed_json_is_an_error(payload):
    with pytest.raises(StreamError, match="malformed JSON"):
        stream(f"data: {payload}\n\n".encode())


def test_a_failure_in_plain_words_is_an_error_with_these_words():
    with pytest.raises(StreamError, match="Internal Server Error"):
        stream(b"data: Internal Server Error\n\n", end())


def test_bytes_that_are_no_utf8_do_not_end_the_answer():
    piece = b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\xff"}}\n\n'
    assert answer(start(text=""), piece, end()).text == "a\ufffd"


def test_payloads_that_are_no_events_are_passed_over():
    assert answer(b"data: 1\n\n", b'data: "ping"\n\n', b"data: null\n\n", b"data: []\n\n", end()).content == ()


# ---- what is no answer


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"status":"ok"}', "JSON, but no message$"),
        (b'{"detail":"Not Found"}', "Not Found"),
        (b"3", "JSON, but no message"),
        (b"", "the answer is not JSON"),
        (b'{"content":[', "the answer is not JSON"),
        (b"<html><head><title>Sign in</title></head></html>", "the answer is not JSON: Sign in"),
        (b'{"type":"error","error":{"type":"api_error","message":"boom"}}', "boom"),
        (b'{"error":"boom"}', "boom"),
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
        (b'\xef\xbb\xbf\n{"type":"error","error":{"message":"boom"}}', ProviderError, "boom"),
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
    full = {"type": "model", "id": "claude-a", "display_name": "A", "created_at": "2025-02-19T00:00:00Z"}
    local = {"id": "b", "created": 17, "owned_by": "us"}
    bare = {"id": "c", "created_at": "soon"}
    assert parse_models(json.dumps({"data": [full, local, bare, {}, None], "has_more": False}).encode(), request()) == [
        ModelInfo("claude-a", 1_739_923_200, raw=full),
        ModelInfo("b", 17, "us", local),
        ModelInfo("c", raw=bare),
    ]


@pytest.mark.parametrize(
    ("body", "message"), [(b"<html>", "no list of models"), (b"{}", "no list of models"), (b'{"error":"boom"}', "boom")]
)
def test_what_is_no_list_of_models_is_an_error(body, message):
    with pytest.raises(ProviderError, match=message) as caught:
        parse_models(body, request())
    assert caught.value.provider_class is ProviderErrorClass.OTHER
