"""What must hold for the decoders of the five formats, whatever they are fed."""

from __future__ import annotations

import copy
import math
import pickle
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import kova
from kova._formats import anthropic, bedrock, gemini, ollama, openai
from kova._formats.bedrock.sign import Credentials, signed
from kova._formats.format import Format
from kova._formats.wire import WireRequest
from kova.config import InferenceConfig
from kova.errors import KovaError, ProviderError, SerializationError
from kova.responses import ModelResponse, StopEvent, TextDelta

from .framing import splits

KEY = "Zecret-77aa55cc33-of-all"  # its first letter ends no escape of a repr: "\ufeff" and "uzzy" were "fuzzy"
STATUSES = [400, 401, 403, 404, 408, 413, 422, 429, 499, 500, 502, 503, 529, 302, 600, 201]

FORMATS: dict[str, Format[Any]] = {
    "openai": openai.FORMAT,
    "anthropic": anthropic.FORMAT,
    "gemini": gemini.FORMAT,
    "ollama": ollama.FORMAT,
    "bedrock": bedrock.FORMAT,
}
CONFIGS: dict[str, Any] = {
    "openai": kova.OpenAIProviderConfig("m", api_key=KEY),
    "anthropic": kova.AnthropicProviderConfig("m", api_key=KEY),
    "gemini": kova.GeminiProviderConfig("m", api_key=KEY),
    "ollama": kova.OllamaProviderConfig("m", api_key=KEY),
    "bedrock": kova.BedrockProviderConfig("m", region="us-east-1", access_key_id="AKIDEXAMPLE", secret_access_key=KEY),
}
QUESTION = [kova.user_message("Hi")]

# Without one of these in it, no stream of this format is an answer; a complete answer in its place is known otherwise.
TERMINAL_MARKS = {
    "openai": re.compile(rb"finish_reason|\[DONE\]"),
    "anthropic": re.compile(  # or the whole message as one event
        rb'(?m)message_stop|^data:(?=.*"type"\s*:\s*"message")(?=.*"content"\s*:\s*\[)(?=.*"stop_reason"\s*:\s*")'
    ),
    "gemini": re.compile(rb"finishReason|blockReason"),
    "ollama": re.compile(rb'"done"\s*:\s*true'),
    "bedrock": re.compile(rb"messageStop"),
}


def build(name: str, messages: Sequence[kova.ConversationMessage], *, stream: bool = True) -> WireRequest:
    request = FORMATS[name].build_request(CONFIGS[name], KEY, messages, (), InferenceConfig(), stream=stream)
    if name == "bedrock":
        request = signed(request, Credentials("AKIDEXAMPLE", KEY), "us-east-1", datetime(2026, 1, 1, tzinfo=UTC))
    return request


REQUESTS = {name: build(name, QUESTION) for name in FORMATS}


# ---- streams


def check_stream(name: str, data: bytes) -> None:
    """However it is cut it comes to the same, and without its terminal mark to no answer."""
    whole = play(name, [data])
    for chunks in splits(data):
        assert play(name, chunks) == whole, chunks
    check_mark(name, data, whole)
    if isinstance(whole, ModelResponse):
        check_answer(whole)
    for end in {len(data) // 3, len(data) // 2, len(data) * 7 // 8, max(0, len(data) - 1)}:
        check_mark(name, data[:end], play(name, [data[:end]]))


def play(name: str, chunks: list[bytes]) -> object:
    """What a driver does; the response, or the error and the text that came before it."""
    parser, events = FORMATS[name].stream_parser(REQUESTS[name]), []
    try:
        for chunk in chunks:
            events += parser.feed(chunk)
            if parser.finished:
                break
        events += parser.close()
    except KovaError as error:
        check_error(error)
        return type(error), str(error), text_of(events)
    answer = parser.response()
    assert isinstance(events[-1], StopEvent)
    assert events[-1].stop_reason is answer.stop_reason
    assert text_of(events) == answer.text
    return answer


def text_of(events: list[Any]) -> str:
    return "".join([event.text for event in events if isinstance(event, TextDelta)])


def check_mark(name: str, data: bytes, came: object) -> None:
    is_bare = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[", b"<") and name != "ollama"
    if isinstance(came, ModelResponse) and not is_bare:
        plain = re.sub(rb"\\u00([0-7][0-9a-fA-F])", lambda found: bytes([int(found[1], 16)]), data)
        assert TERMINAL_MARKS[name].search(plain), "an answer without its terminal mark"


# ---- complete answers and histories


def check_complete(name: str, data: bytes) -> None:
    """An answer or one of kova's errors; the same bytes may also be meant as a list of models."""
    for content_type in ("application/json", "text/event-stream", ""):
        answer = _or_error(lambda kind=content_type: FORMATS[name].parse_response(data, kind, REQUESTS[name]))
        if answer is not None:
            check_answer(answer)
    for model in _or_error(lambda: FORMATS[name].parse_models(data, REQUESTS[name])) or ():
        assert model.id
        pickle.dumps(model)
        repr(model)


def check_answer(answer: ModelResponse) -> None:
    """It can be shown, copied, kept, and sent back."""
    repr(answer)
    assert copy.copy(answer) == answer
    if answer.content:
        check_history([*QUESTION, kova.ConversationMessage("assistant", answer.content)])


def check_history(history: list[kova.ConversationMessage]) -> None:
    try:
        written = kova.messages_to_json(history)
    except SerializationError:
        return  # nested deeper than JSON is read
    assert kova.messages_from_json(written) == history
    for name in FORMATS:
        _or_error(lambda name=name: build(name, history))


def _or_error(call: Callable[[], Any]) -> Any:
    """The result; None where the call raised one of kova's errors."""
    try:
        return call()
    except KovaError as error:
        check_error(error)
        return None


# ---- errors


def check_failure(name: str, data: bytes) -> None:
    """One error, which shows no key. The first byte says which status, and whether the body is in the headers too."""
    first, body = (data[0] if data else 0), data[1:]
    headers: Mapping[str, str] = {}
    if first & 16:
        said = body[:200].decode("latin-1")
        names = ("retry-after", "x-amzn-errortype", "location", "x-request-id", "apim-request-id", "content-type")
        headers = dict.fromkeys(names, said)
    request = REQUESTS[name]
    error = FORMATS[name].parse_error(STATUSES[first & 15], headers, body, request, request.secrets)
    assert isinstance(error, ProviderError)
    check_error(error)


def check_error(error: KovaError) -> None:
    """It says something, survives pickling, can be printed, and shows no key: nor do its causes."""
    assert str(error).strip()
    assert len(str(error)) <= 2_000
    assert error.retry_after is None or (math.isfinite(error.retry_after) and error.retry_after >= 0)
    str(error).encode()
    twin = pickle.loads(pickle.dumps(error))
    assert vars(twin) == vars(error)
    seen: BaseException | None = error
    while seen is not None:
        assert KEY not in str(seen) + repr(seen), "the key is shown"
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    # Of the protocol that is text: in others the length of a text may look like a letter.
    assert KEY.encode() not in pickle.dumps(error, protocol=0), "the key is in the pickle"
