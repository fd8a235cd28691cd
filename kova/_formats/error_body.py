"""The words of an error, wherever a server has put them in its body.

Only the message is taken from a body, never the body itself, which may repeat the prompt.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from .. import _json
from .secrets import mask, mask_url

__all__ = [
    "body_text",
    "error_fields",
    "error_message",
    "error_payload",
    "failure_message",
    "is_error",
    "json_body",
    "status_text",
]

# In the order in which they are looked for; `error` is last but nested deeper ones are, since beside a message it is
# no more than its kind: {"error": "Bad Request", "message": "the model is not loaded"}.
_MESSAGE_KEYS = (
    *("message", "msg", "detail", "details", "error_description", "error_msg", "status_msg", "error", "errors"),
    *("base_resp", "fault", "faultstring", "title", "reason"),  # MiniMax; Apigee
)

DEEPEST = 6
MOST_ITEMS = 5
LONGEST_TEXT = 300  # characters of a body that is no JSON


def json_body(body: bytes) -> Any:
    """The body's JSON value; None where it is no JSON."""
    try:
        return _json.loads(body.removeprefix(b"\xef\xbb\xbf"))
    except ValueError:
        return None


def error_payload(body: bytes) -> Any:
    """What the body of an error says: its JSON, or that in the first event where it is a stream, as at DashScope."""
    payload = json_body(body)
    if payload is not None:
        return payload
    lines = [line.removeprefix(b"data:") for line in body.splitlines() if line.startswith(b"data:")]
    return next((value for value in map(json_body, lines) if isinstance(value, dict)), None)


def error_fields(payload: Any) -> Mapping[str, Any]:
    """The object in which a payload describes its error.

    That is `error`, a text in its place being the message; or the payload itself where nothing is nested, as at
    Mistral, SGLang and older vLLMs; or that of an array's first item, as at Gemini's OpenAI endpoint.
    """
    if isinstance(payload, list):
        payload = payload[0] if payload else None
    if not isinstance(payload, Mapping):
        return {}
    error = payload.get("error")
    status = payload.get("base_resp")
    if error is None and isinstance(status, Mapping):  # MiniMax
        return status
    if isinstance(error, str):
        return {**payload, "message": payload.get("message") or error}
    return error if isinstance(error, Mapping) and error else payload


def error_message(payload: Any) -> str:
    """What a payload says is wrong; empty where it does not say."""
    return _words(payload, DEEPEST)


def is_error(payload: Mapping[str, Any]) -> bool:
    """Whether what is no answer is an error that is not nested: vLLM, SGLang, Mistral, FastAPI, Cloudflare."""
    if payload.get("object") == "error" or "detail" in payload:
        return True
    says = any(payload.get(name) for name in ("message", "msg", "error_msg", "errors"))
    return says and "object" not in payload and bool(error_message(payload))


def _words(value: Any, depth: int) -> str:
    if not depth:
        return ""
    if isinstance(value, str):
        return _words_of_text(value.strip(), depth)
    if isinstance(value, list):
        return "; ".join(filter(None, [_words(item, depth - 1) for item in value[:MOST_ITEMS]]))
    if not isinstance(value, Mapping):
        return ""
    said = next(filter(None, (_words(value[key], depth - 1) for key in _ordered_keys(value))), "")
    if isinstance(place := value.get("loc"), list) and said:
        said = f"{'.'.join(map(str, place))}: {said}"  # FastAPI: {"loc": ["body", "messages"], "msg": "…"}
    metadata = value.get("metadata")
    if isinstance(metadata, Mapping):  # OpenRouter: "Provider returned error", and what it was in metadata.raw
        raw = _words(metadata.get("raw"), depth - 1)
        said = ": ".join(filter(None, [said, raw])) if raw not in said else said
    return said


def _ordered_keys(value: Mapping[str, Any]) -> list[str]:
    keys = [key for key in _MESSAGE_KEYS if key in value]
    if isinstance(value.get("error"), (Mapping, list)):
        keys.sort(key=lambda key: key != "error")  # an error object says more than what is beside it
    return keys


def _words_of_text(text: str, depth: int) -> str:
    """A message, which may itself be a JSON text that a gateway has passed on."""
    if text.startswith(("{", "[")):
        try:
            return _words(_json.loads(text), depth - 1) or text
        except ValueError:
            pass
    return text


def body_text(body: bytes, secrets: Iterable[str]) -> str:
    """A short text from a body that is no JSON, such as a front end's page.

    Secrets are masked before it is cut: half a key would not be found any more.
    """
    text = body[:20_000].decode(errors="replace")
    if re.match(r"\s*<", text):
        title = re.search(r"<title[^>]*>(.*?)</title>", text, re.DOTALL | re.IGNORECASE)
        text = title[1] if title else re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", text, flags=re.DOTALL)
        text = html.unescape(text)
    text = " ".join(mask(text, secrets).split())
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"


def status_text(status: int) -> str:
    """An HTTP status in words."""
    try:
        return f"HTTP {status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"HTTP {status}"


def failure_message(status: int, headers: Mapping[str, str], body: bytes, payload: Any, secrets: Iterable[str]) -> str:
    """What an HTTP status other than 2xx means, in words.

    Args:
        status: The status.
        headers: The answer's headers, the names in lower case.
        body: The answer's body.
        payload: The body's JSON value; None where it has none.
        secrets: What must not be shown.
    """
    if 300 <= status < 400:
        target = mask_url(headers.get("location", "another address"))
        return f"{status_text(status)}: the server redirects to {target}, and redirects are not followed"
    message = error_message(payload)
    if message:
        return message
    return ": ".join(filter(None, [status_text(status), "" if payload is not None else body_text(body, secrets)]))
