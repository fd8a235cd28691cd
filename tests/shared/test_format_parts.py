"""What formats are put together from: keys, images, pieces of text, bodies, and what is kept of tools."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova._formats.api_keys import bearer_headers, usable_key
from kova._formats.error_body import failure_message, json_body
from kova._formats.kept_tools import kept_by_identity
from kova._formats.media import inline_base64
from kova._formats.request_body import joined_body
from kova._formats.text_pieces import TextPieces
from kova.errors import ProviderError, ProviderErrorClass
from kova.messages import ImageBlock
from kova.tools import ToolDefinition
from tests.strategies import any_texts, json_objects

KEY = "canary-0123456789"


# ---- keys


@pytest.mark.parametrize("key", [KEY, f" {KEY}\n"])
def test_a_key_is_sent_without_what_a_file_has_around_it(key):
    assert usable_key(key, "p", "m") == KEY
    assert bearer_headers(key, "p", "m") == {"authorization": f"Bearer {KEY}"}


@pytest.mark.parametrize("key", [None, "", " "])
def test_no_key_is_no_header(key):
    assert bearer_headers(key, "p", "m") == {}


@pytest.mark.parametrize("key", [f"{KEY}\r\nx: y", f"{KEY}\u2019"])
def test_a_key_that_no_header_can_hold_is_an_error_that_does_not_show_it(key):
    """R7."""
    with pytest.raises(ProviderError) as caught:
        usable_key(key, "p", "m")
    assert (caught.value.provider_class, caught.value.provider) == (ProviderErrorClass.AUTH_INVALID, "p")
    assert KEY not in repr(caught.value)


# ---- images


@pytest.mark.parametrize(
    ("url", "data"),
    [
        ("data:image/png;base64,cG5n", "cG5n"),
        ("DATA:image/png;charset=x;BASE64,cG5n", "cG5n"),
        ("data:image/png;base64,cG5%6E", "cG5n"),
        ("data:,p%6Eg", "cG5n"),
        ("data:image/png;base64", None),
        ("https://example.com/a.png?x=data:,y", None),
        ("", None),
    ],
)
def test_an_image_may_be_in_its_url(url, data):
    assert inline_base64(ImageBlock("image/png", url=url)) == data


@given(st.binary())
def test_the_bytes_of_an_image_come_back(data):
    encoded = inline_base64(ImageBlock("image/png", data))
    assert base64.b64decode(encoded) == data
    assert inline_base64(ImageBlock("image/png", url=f"data:image/png;base64,{encoded}")) == encoded


# ---- pieces of text


@given(any_texts, st.data())
def test_text_is_the_same_however_it_is_cut(text, data):
    halves = text.encode("utf-16-le", "surrogatepass")
    places = sorted(data.draw(st.lists(st.integers(0, len(halves) // 2), max_size=4)))
    cut = [halves[2 * start : 2 * end] for start, end in zip([0, *places], [*places, len(halves) // 2], strict=True)]
    pieces = TextPieces()
    whole = [pieces.whole(piece.decode("utf-16-le", "surrogatepass")) for piece in cut]
    assert all(not "\ud800" <= character <= "\udfff" for piece in whole for character in piece)
    complete = text[: len(text) - len(pieces.half)]
    assert "".join(whole) == complete.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


# ---- bodies


@given(st.lists(json_objects, max_size=3), st.booleans(), json_objects)
def test_a_body_is_json_and_begins_with_its_messages(messages, has_tools, options):
    fragments = [json.dumps(message).encode() for message in messages]
    body, history_size = joined_body(fragments, b"[1]" if has_tools else b"", options)
    expected = {"messages": messages} if messages else {}
    assert json.loads(body) == {**expected, **({"tools": [1]} if has_tools else {}), **options}
    assert body[:history_size] == (b'{"messages":[' + b",".join(map(_dumps, messages)) if messages else b"")


def _dumps(value):
    return json.dumps(value).encode()


# ---- tools


def test_what_is_made_of_a_tuple_of_tools_is_made_once():
    made = []
    count = kept_by_identity(lambda tools: made.append(tools) or len(tools))
    tools, same = (ToolDefinition("a", "", {}),), (ToolDefinition("a", "", {}),)
    assert [count(tools), count(tools), count(same)] == [1, 1, 1]
    assert len(made) == 2
    assert [count(list(tools)), count(list(tools))] == [1, 1]
    assert len(made) == 4


# ---- failures in words


@pytest.mark.parametrize(
    ("status", "headers", "body", "message"),
    [
        (400, {}, b'{"error":"boom"}', "boom"),
        (400, {}, b'{"status":400}', "HTTP 400 Bad Request"),
        (502, {}, b"<title>Bad\nGateway</title>", "HTTP 502 Bad Gateway: Bad Gateway"),
        (529, {}, b"", "HTTP 529"),
        (
            302,
            {"location": "https://elsewhere/?key=abc"},
            b'{"error":"moved"}',
            "HTTP 302 Found: the server redirects to https://elsewhere/?key=***, and redirects are not followed",
        ),
        (302, {}, b"", "HTTP 302 Found: the server redirects to another address, and redirects are not followed"),
    ],
)
def test_a_failure_in_words(status, headers, body, message):
    assert failure_message(status, headers, body, json_body(body), ()) == message
