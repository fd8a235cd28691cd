"""Which call a piece of a streamed tool call belongs to, among servers that number, name and repeat as they like."""

import json

import pytest

from kova._assembly import MADE_UP_ID
from kova._formats.openai.config import OpenAIProviderConfig
from kova._formats.openai.request import build_request
from kova._formats.openai.response import parse_response
from kova._formats.openai.stream import StreamParser
from kova.config import InferenceConfig
from kova.messages import user_message
from kova.responses import ToolUseDelta


def request(text="Hi", **options):
    options.setdefault("base_url", "http://localhost")
    config = OpenAIProviderConfig("m", **options)
    return build_request(config, None, [user_message(text)], (), InferenceConfig(), stream=True)


def piece(arguments=None, **fields):
    """One entry of a delta's `tool_calls`."""
    function = {"name": fields.pop("name", None), "arguments": arguments}
    return {**fields, "function": {name: value for name, value in function.items() if value is not None}}


def events_of(*pieces, to=None):
    parser = StreamParser(to or request())
    chunks = [{"choices": [{"index": 0, "delta": {"tool_calls": [each]}}]} for each in pieces]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    events = [event for chunk in chunks for event in parser.feed(b"data: " + json.dumps(chunk).encode() + b"\n\n")]
    events += parser.close()
    return events, parser.response()


def calls_of(*pieces):
    _, response = events_of(*pieces)
    return [(call.id, call.name, call.invalid_arguments or call.input) for call in response.tool_calls]


def test_openais_own_way():
    assert calls_of(
        piece("", index=0, id="c1", name="add"),
        piece('{"a":', index=0),
        piece("1}", index=0),
        piece("{}", index=1, id="c2", name="ping"),
    ) == [("c1", "add", {"a": 1}), ("c2", "ping", {})]


@pytest.mark.parametrize("index", [{}, {"index": None}, {"index": 0}], ids=["missing", "null", "all 0"])
def test_a_new_id_with_a_name_is_a_new_call(index):
    assert calls_of(piece('{"a":1}', **index, id="c1", name="add"), piece('{"a":1}', **index, id="c2", name="add")) == [
        ("c1", "add", {"a": 1}),
        ("c2", "add", {"a": 1}),
    ]


@pytest.mark.parametrize("index", [{}, {"index": 0}], ids=["missing", "all 0"])
def test_an_id_that_comes_back_is_the_same_call(index):
    assert calls_of(
        piece('{"a":', **index, id="c1", name="add"),
        piece('{"b":', **index, id="c2", name="sub"),
        piece("1}", **index, id="c1", name="add"),
        piece("2}", **index, id="c2"),
    ) == [("c1", "add", {"a": 1}), ("c2", "sub", {"b": 2})]


def test_a_piece_with_nothing_continues_the_last_call():
    assert calls_of(piece("", id="c1", name="add"), piece('{"a":'), piece("1}"), piece("", id="c2", name="add")) == [
        ("c1", "add", {"a": 1}),
        ("c2", "add", {}),
    ]


def test_an_index_that_comes_only_later_is_that_of_the_call_with_the_id():
    assert calls_of(piece("", id="c1", name="add"), piece('{"a":', id="c1", index=3), piece("1}", index=3)) == [
        ("c1", "add", {"a": 1})
    ]


def test_an_index_that_moves_on_without_id_and_name_continues_the_last_call():
    assert calls_of(piece("", index=0, id="c1", name="add"), piece('{"a":', index=1), piece("1}", index=2)) == [
        ("c1", "add", {"a": 1})
    ]


def test_an_id_that_changes_without_a_name_is_no_news():
    assert calls_of(piece('{"a":', index=0, id="c1", name="add"), piece("1}", index=0, id="zz")) == [
        ("c1", "add", {"a": 1})
    ]


def test_an_id_may_come_later_than_the_name():
    events, response = events_of(piece('{"a":', index=0, name="add"), piece("1}", index=0, id="c1"))
    assert [(call.id, call.provider_metadata) for call in response.tool_calls] == [("c1", None)]
    assert [event.id for event in events if isinstance(event, ToolUseDelta)][-1] == "c1"


def test_a_name_may_come_later_than_the_id():
    assert calls_of(piece(None, index=0, id="c1"), piece("{}", index=0, name="add")) == [("c1", "add", {})]


@pytest.mark.parametrize("names", [["look", "up"], ["lookup", "lookup"], ["look", "lookup"], ["", "lookup"]])
def test_a_name_may_come_in_pieces_or_more_than_once(names):
    pieces = [piece("", index=0, id="c1", name=name) for name in names]
    assert calls_of(*pieces, piece("{}", index=0)) == [("c1", "lookup", {})]


def test_two_calls_with_one_id_are_two():
    calls = calls_of(
        piece("{", index=0, id="c1", name="add"),
        piece("{", index=1, id="c1", name="add"),
        piece('"a":1}', index=0, id="c1"),
        piece('"a":2}', index=1, id="c1"),
    )
    assert [given for _, _, given in calls] == [{"a": 1}, {"a": 2}]
    assert calls[0][0] == "c1" != calls[1][0]


@pytest.mark.parametrize("index", [{}, {"index": 0}], ids=["missing", "all 0"])
@pytest.mark.parametrize("id", [{}, {"id": ""}, {"id": None}], ids=["missing", "empty", "null"])
def test_whole_calls_without_ids_are_told_apart_by_being_complete(index, id):
    calls = calls_of(*[piece(f'{{"city":"{city}"}}', **index, **id, name="lookup") for city in ("Oslo", "Rome")])
    assert [given for _, _, given in calls] == [{"city": "Oslo"}, {"city": "Rome"}]
    assert len({id for id, _, _ in calls}) == 2


def test_another_name_after_a_complete_call_is_another_call():
    calls = calls_of(piece('{"a":1}', index=0, name="add"), piece("", index=0, name="ping"), piece("{}", index=0))
    assert [(name, given) for _, name, given in calls] == [("add", {"a": 1}), ("ping", {})]


@pytest.mark.parametrize("summary", ['{"a":1}', '{ "a": 1 }\n'])
@pytest.mark.parametrize("again", [{"id": "c1", "name": "add"}, {"name": "add"}, {}])
def test_a_summary_at_the_end_is_no_news(summary, again):
    pieces = [piece('{"a"', index=0, id="c1", name="add"), piece(":1}", index=0), piece(summary, index=0, **again)]
    events, response = events_of(*pieces)
    assert [call.input for call in response.tool_calls] == [{"a": 1}]
    assert "".join(event.input_delta for event in events if isinstance(event, ToolUseDelta)) == '{"a":1}'


def test_a_second_object_without_a_name_makes_the_arguments_invalid():
    assert calls_of(piece('{"a":1}', index=0, id="c1", name="add"), piece('{"a":2}', index=0)) == [
        ("c1", "add", '{"a":1}{"a":2}')
    ]


@pytest.mark.parametrize("nothing", [{}, {"index": 0}, {"index": 0, "function": None}, None, "x", {"function": []}])
def test_an_entry_with_nothing_in_it_is_no_call(nothing):
    assert calls_of(nothing) == []


def test_arguments_may_be_an_object():
    assert calls_of({"index": 0, "id": "c1", "function": {"name": "add", "arguments": {"a": 1}}}) == [
        ("c1", "add", {"a": 1})
    ]


# ---- ids that kova makes


def test_made_up_ids_are_on_every_piece_and_remembered_as_made_up():
    events, response = events_of(piece('{"a":', index=0, name="add"), piece("1}", index=0))
    (call,) = response.tool_calls
    assert call.provider_metadata == {MADE_UP_ID: True}
    assert [event.id for event in events if isinstance(event, ToolUseDelta)] == [call.id, call.id]


def test_made_up_ids_are_the_same_for_the_same_history_streamed_or_not():
    """L7."""
    entries = [piece("{}", index=index, name="ping") for index in range(3)]
    streamed = [call.id for call in events_of(*entries)[1].tool_calls]
    body = {"choices": [{"message": {"tool_calls": [piece("{}", name="ping")] * 3}, "finish_reason": "tool_calls"}]}
    config = OpenAIProviderConfig("m", base_url="http://localhost")
    plain = build_request(config, None, [user_message("Hi")], (), InferenceConfig(), stream=False)
    complete = [call.id for call in parse_response(json.dumps(body).encode(), "application/json", plain).tool_calls]
    assert streamed == complete
    assert len(set(streamed)) == 3


def test_made_up_ids_differ_between_histories():
    one, other = (events_of(piece("{}", name="ping"), to=request(text))[1].tool_calls[0].id for text in ("Hi", "Ho"))
    assert one != other


# ---- what has to come back with a call


def test_geminis_thought_signature_stays_with_its_call():
    signed = {"google": {"thought_signature": "s"}}
    entry = piece("{}", index=0, id="c1", name="add", extra_content=signed)
    _, response = events_of(entry)
    assert response.tool_calls[0].provider_metadata == {"extra_content": signed}
