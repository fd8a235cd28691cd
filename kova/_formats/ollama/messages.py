"""A history as Ollama's chat API wants it: one JSON fragment for each message.

A fragment is made once and kept on its message, so that a tool loop over a long history encodes only what is new. A
result also names the tool that it is of, which only its call knows: such a fragment is kept under the tool's name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from ... import _json
from ..._assembly import MADE_UP_ID
from ..._log import log
from ...messages import (
    ContentBlock,
    ConversationMessage,
    ImageBlock,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ..fragments import fragment_of, keep_fragment
from ..media import inline_base64
from ..result_order import in_call_order
from ..tool_names import ToolNames
from .errors import request_error

__all__ = ["THINKING_FIELD", "encode_history"]

THINKING_FIELD = "ollama_thinking"
"""Key in a thinking block's `provider_metadata`: the block is the `thinking` of a message that Ollama sent."""

DIALECT = "ollama"


def encode_history(messages: Sequence[ConversationMessage], names: ToolNames, model: str) -> list[bytes]:
    """The messages as JSON, without those in which nothing is left to send.

    Args:
        messages: The history.
        names: The names of tools as they are on the wire.
        model: The model that is asked.

    Raises:
        ProviderError: An image is on the web, and not in its message.
        TypeError, ValueError: Something cannot be written as JSON.
    """
    calls: dict[str, ToolUseBlock] = {}
    fragments: list[bytes] = []
    for message in in_call_order(messages):
        key = DIALECT
        for block in message.content:
            if type(block) is ToolUseBlock:
                calls[block.id] = block
            elif type(block) is ToolResultBlock:
                key += _key(calls.get(block.tool_use_id))
        fragment = fragment_of(message, key)
        if fragment is None:
            fragment = _encode(message, names, calls, model)
            if all(map(names.is_acceptable, _called(message, calls))):  # a rewritten name depends on the other tools
                keep_fragment(message, key, fragment)
        if fragment:
            fragments.append(fragment)
    return fragments


def _key(call: ToolUseBlock | None) -> str:
    """What a result's fragment depends on besides the result; no acceptable name has these marks."""
    return " ?" if call is None else f" {call.name}" if _has_own_id(call) else f" ~{call.name}"


def _called(message: ConversationMessage, calls: dict[str, ToolUseBlock]) -> Iterable[str]:
    """The names of tools that a message's fragment has in it."""
    for block in message.content:
        call = calls.get(block.tool_use_id) if type(block) is ToolResultBlock else block
        if type(call) is ToolUseBlock:
            yield call.name


def _has_own_id(call: ToolUseBlock) -> bool:
    """Whether a server gave the call its id, and so knows it; servers before 0.12.10 give none."""
    return bool(call.id) and MADE_UP_ID not in (call.provider_metadata or ())


_HEADS = {role: b'{"role":"%b","content":' % role.encode() for role in Role}
_ANSWERING = frozenset({Role.USER, Role.TOOL})  # whose messages may hold results


def _encode(message: ConversationMessage, names: ToolNames, calls: dict[str, ToolUseBlock], model: str) -> bytes:
    fragment = _encode_plain(message, names, calls)
    if fragment is None:
        _check_images(message, model)
        fragment = _encode_any(message, names, calls)
    return fragment


def _encode_plain(message: ConversationMessage, names: ToolNames, calls: dict[str, ToolUseBlock]) -> bytes | None:
    """The fragment of a message that is one text, or the text of one result, as most are: in half the time."""
    if len(message.content) != 1:
        return None
    block = message.content[0]
    if type(block) is TextBlock and message.role is not Role.TOOL:
        return _HEADS[message.role] + _json.dumps(block.text) + b"}" if block.text.strip() else b""
    if type(block) is ToolResultBlock and type(block.content) is str and message.role in _ANSWERING:
        return _result(block, calls, names)
    return None


def _encode_any(message: ConversationMessage, names: ToolNames, calls: dict[str, ToolUseBlock]) -> bytes:
    if message.role is Role.SYSTEM:
        return _system(message.content)
    if message.role is Role.ASSISTANT:
        return _assistant(message.content, names)
    written = [_result(block, calls, names) for block in message.content if isinstance(block, ToolResultBlock)]
    return b",".join(filter(None, [*written, _user(message.content)]))


def _system(blocks: Sequence[ContentBlock]) -> bytes:
    _warn_of_images(blocks, "system")
    text = _text(blocks)
    return _HEADS[Role.SYSTEM] + _json.dumps(text) + b"}" if text else b""


def _user(blocks: Sequence[ContentBlock]) -> bytes:
    text, images = _text(blocks), _images(blocks)
    return b"".join([_HEADS[Role.USER], _json.dumps(text), images, b"}"]) if text or images else b""


def _assistant(blocks: Sequence[ContentBlock], names: ToolNames) -> bytes:
    _warn_of_images(blocks, "assistant")
    text = "".join([block.text for block in blocks if isinstance(block, TextBlock) and not block.text.isspace()])
    calls = [_call(block, names) for block in blocks if isinstance(block, ToolUseBlock)]
    if not text and not calls:
        return b""
    parts = [_HEADS[Role.ASSISTANT], _json.dumps(text)]
    thinking = "".join([block.thinking for block in blocks if isinstance(block, ThinkingBlock) and _is_own(block)])
    if thinking:
        parts += [b',"thinking":', _json.dumps(thinking)]
    if calls:
        parts += [b',"tool_calls":[', b",".join(calls), b"]"]
    return b"".join([*parts, b"}"])


def _is_own(block: ThinkingBlock) -> bool:
    """Whether thinking is Ollama's: what another provider has signed is for that provider."""
    return THINKING_FIELD in (block.provider_metadata or ())


def _call(block: ToolUseBlock, names: ToolNames) -> bytes:
    # Arguments are an object: for a text the server says "cannot unmarshal string". What was wrong with invalid ones
    # is in the result of the call.
    own_id = b'"id":%b,' % _json.dumps(block.id) if _has_own_id(block) else b""
    name, arguments = _json.dumps(names.wire(block.name)), _json.dumps(dict(block.input))
    return b'{%b"function":{"name":%b,"arguments":%b}}' % (own_id, name, arguments)


def _result(block: ToolResultBlock, calls: dict[str, ToolUseBlock], names: ToolNames) -> bytes:
    text = block.content if isinstance(block.content, str) else _text(block.content)
    parts = [_HEADS[Role.TOOL], _json.dumps(text)]
    if not isinstance(block.content, str):
        # Ollama's own Anthropic endpoint does the same with a result's images (`convertToolResultContent`).
        parts.append(_images(block.content))
    call = calls.get(block.tool_use_id)
    if call is not None:
        parts += [b',"tool_name":', _json.dumps(names.wire(call.name))]
    if block.tool_use_id and (call is None or _has_own_id(call)):
        parts += [b',"tool_call_id":', _json.dumps(block.tool_use_id)]
    return b"".join([*parts, b"}"])


def _text(blocks: Iterable[ContentBlock]) -> str:
    """The text of the blocks, which has to be one: parts as at OpenAI are refused."""
    return "\n".join([block.text for block in blocks if isinstance(block, TextBlock) and block.text.strip()])


def _images(blocks: Iterable[ContentBlock]) -> bytes:
    """The field for the images among the blocks; empty where there are none."""
    # Bare base64: for a data URL the server says "illegal base64 data at input byte 4".
    images = [inline_base64(block) for block in blocks if isinstance(block, ImageBlock)]
    return b',"images":' + _json.dumps(images) if images else b""


def _check_images(message: ConversationMessage, model: str) -> None:
    """Refuse an image whose bytes are not here."""
    results = [block.content for block in message.content if isinstance(block, ToolResultBlock)]
    for block in chain(message.content, *results):
        if isinstance(block, ImageBlock) and inline_base64(block) is None:
            text = (
                "Ollama takes images as bytes only, and kova fetches no URL: give the ImageBlock data in place of url"
            )
            raise request_error(text, model)


def _warn_of_images(blocks: Iterable[ContentBlock], role: str) -> None:
    # Templates raise for them: "system message cannot contain images".
    if any(isinstance(block, ImageBlock) for block in blocks):
        log.warning("an image is left out of a request: Ollama's models take none there", role=role)
