"""JSON-RPC 2.0 messages, as MCP uses them (https://www.jsonrpc.org/specification).

A message is the dict that its JSON stands for: a request has `method` and `id`, a notification `method` alone, an
answer `id` and `result` or `error`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

from .. import _json
from .._formats.secrets import mask
from ..errors import MCPError

__all__ = [
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "METHOD_NOT_FOUND",
    "Message",
    "answered_id",
    "cancelled",
    "encode",
    "error_answer",
    "error_of",
    "is_answer",
    "is_message",
    "is_request",
    "notification",
    "parse_messages",
    "progress_token",
    "result_answer",
    "same_id",
]

Message = dict[str, Any]

encode = _json.dumps  # of a message: one line of JSON, without its end

METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603


def notification(method: str, params: Mapping[str, Any] | None = None) -> Message:
    """A message that is not answered."""
    message: Message = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        message["params"] = params
    return message


def result_answer(id: object, result: Mapping[str, Any]) -> Message:
    """The answer to a request of the server."""
    return {"jsonrpc": "2.0", "id": id, "result": result}


def error_answer(id: object, code: int, message: str) -> Message:
    """The refusal of a request of the server."""
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}


def parse_messages(data: bytes) -> list[Message]:
    """The messages in a piece of JSON: one, or those of a batch (MCP 2025-03-26). What is no message is left out.

    Raises:
        ValueError: It is not JSON.
    """
    value = _json.loads(data.decode(errors="replace") if not data.isascii() else data)
    items = value if isinstance(value, list) else [value]
    return [item for item in items if is_message(item)]


def is_message(value: object) -> TypeGuard[Message]:
    """Whether some JSON is a message."""
    return type(value) is dict and ("method" in value or "id" in value)


def is_request(message: Message) -> bool:
    """Whether it is to be answered."""
    return "method" in message and "id" in message


def is_answer(message: Message) -> bool:
    """Whether it answers a request, and be it with neither a result nor an error."""
    return "method" not in message


def progress_token(message: Message) -> int | None:
    """The call whose progress it tells of, if that is what it does; its token is the call's id."""
    params = message.get("params")
    if message.get("method") != "notifications/progress" or not isinstance(params, dict):
        return None
    return _whole_number(params.get("progressToken"))


def answered_id(message: Message) -> int | None:
    """The id of the request that it answers, as far as it can be one of ours."""
    return _whole_number(message.get("id"))


def _whole_number(id: object) -> int | None:
    """An id of ours; some servers give numbers back as text, or as 5.0."""
    if isinstance(id, str) and id.isascii() and id.isdecimal() and len(id) < 19:
        return int(id)
    if isinstance(id, float) and id.is_integer():
        return int(id)
    return id if isinstance(id, int) and not isinstance(id, bool) else None


def cancelled(id: int) -> Message:
    """The notification that nobody waits for the answer to a request any more."""
    return notification("notifications/cancelled", {"requestId": id})


def same_id(answered: object, sent: int) -> bool:
    """Whether an answer's id is that of a request; some servers give numbers back as text."""
    return (answered == sent and not isinstance(answered, bool)) or answered == str(sent)


def error_of(message: Message) -> MCPError | None:
    """The error that an answer reports, if it reports one."""
    error = message.get("error")
    if error is None:
        return None
    if not isinstance(error, dict):
        return MCPError(INTERNAL_ERROR, f"the server reported an error: {str(error)[:500]}")
    code = error.get("code")
    text = error.get("message")
    return MCPError(
        code if isinstance(code, int) and not isinstance(code, bool) else INTERNAL_ERROR,
        mask(text) if isinstance(text, str) and text else "the server reported an error without a message",
        error.get("data"),
    )
