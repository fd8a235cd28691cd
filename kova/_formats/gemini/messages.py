"""A history as the Gemini API wants it: the parts of each message as a JSON fragment, neighbours of one role merged.

A fragment is made once and kept on its message, so that a tool loop over a long history encodes only what is new.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ... import _json
from ...messages import ConversationMessage, ImageBlock, Role, TextBlock, ToolResultBlock, ToolUseBlock
from ..fragments import fragment_of, keep_fragment
from ..result_order import in_call_order
from ..tool_names import ToolNames
from .parts import Part, call_id, model_parts, result_part, user_parts

__all__ = ["encode_history", "system_instruction"]

KEY = "gemini"
SIGNED_KEY = "gemini signed"  # for models that want signatures

# Added to the key of a message's results: what it has besides them.
BESIDE_RESULTS = " beside"

# Results have a content of their own. With a text beside them, Gemini 3.5 Flash gives an empty answer, and Vertex says
# 400 "Requests ending with a model turn are not supported" (https://github.com/pydantic/pydantic-ai/issues/4210).
_MODEL, _USER, _RESULTS = "model", "user", "results"
_OPENINGS = {
    _MODEL: b'{"role":"model","parts":[',
    _USER: b'{"role":"user","parts":[',
    _RESULTS: b'{"role":"user","parts":[',
}

# Stands before a history that begins with the model: 400 "Please ensure that function call turn comes immediately after
# a user turn or after a function response turn".
_BEGINNING = b'{"role":"user","parts":[{"text":"(The conversation goes on.)"}]}'


def system_instruction(messages: Iterable[ConversationMessage]) -> dict[str, list[Part]] | None:
    """The system prompt, which has a place of its own, beside the contents."""
    parts = [part for message in messages if message.role is Role.SYSTEM for part in _texts(message)]
    return {"parts": parts} if parts else None


def encode_history(messages: Sequence[ConversationMessage], names: ToolNames, *, wants_signatures: bool) -> list[bytes]:
    """The contents as JSON, without system prompts, and without messages in which nothing is left to send.

    Args:
        messages: The history.
        names: The names of tools on the wire.
        wants_signatures: Whether the model refuses calls without a signature.
    """
    key = SIGNED_KEY if wants_signatures else KEY
    calls: dict[str, ToolUseBlock] = {}
    contents = _Contents()
    assistant, system, tool = Role.ASSISTANT, Role.SYSTEM, Role.TOOL
    for message in in_call_order(messages):
        role = message.role
        if role is assistant:
            fragment = fragment_of(message, key)
            contents.add(_MODEL, _encode_models(message, names, key) if fragment is None else fragment)
            for block in message.content:
                if type(block) is ToolUseBlock:
                    calls[block.id] = block
        elif role is not system:
            others = fragment_of(message, KEY)
            if others is None:
                results, others = _encode_users(message, calls, names)
                contents.add(_RESULTS, results)
            if role is tool:
                contents.hold(others)
            else:
                contents.add(_USER, others)
    return contents.encoded()


class _Contents:
    """Puts contents together from fragments."""

    def __init__(self) -> None:
        self._encoded: list[bytes] = []
        self._kind = ""
        self._fragments: list[bytes] = []
        self._held: list[bytes] = []

    def add(self, kind: str, fragment: bytes) -> None:
        """Add parts to the last content, if it is of this kind, or else to a new one."""
        if self._held and kind is not _RESULTS:
            self._release()
        if not fragment:
            return
        if kind is not self._kind:
            self._end()
            self._kind = kind
        self._fragments.append(fragment)

    def hold(self, fragment: bytes) -> None:
        """Keep what the user is to say after the results of this round: images, which a result cannot hold."""
        if fragment:
            self._held.append(fragment)

    def encoded(self) -> list[bytes]:
        """All contents, each as an object."""
        self._release()
        self._end()
        return self._encoded

    def _release(self) -> None:
        held, self._held = self._held, []
        for fragment in held:
            self.add(_USER, fragment)

    def _end(self) -> None:
        if self._fragments:
            if not self._encoded and self._kind is _MODEL:
                self._encoded.append(_BEGINNING)
            self._encoded.append(b"".join((_OPENINGS[self._kind], b",".join(self._fragments), b"]}")))
            self._fragments = []


def _encode_models(message: ConversationMessage, names: ToolNames, key: str) -> bytes:
    fragment = _plain(message)
    if fragment is None:
        fragment = _joined(model_parts(message.content, names, wants_signatures=key is SIGNED_KEY))
    # A rewritten name depends on the other tools of the request; everything else on the message alone.
    if all(names.is_acceptable(block.name) for block in message.content if type(block) is ToolUseBlock):
        keep_fragment(message, key, fragment)
    return fragment


def _encode_users(
    message: ConversationMessage, calls: Mapping[str, ToolUseBlock], names: ToolNames
) -> tuple[bytes, bytes]:
    """The results in a message, and what it has besides them. Only results depend on other messages: on their calls."""
    results = [block for block in message.content if type(block) is ToolResultBlock]
    if not results:
        others = _encode_others(message, [], [])
        keep_fragment(message, KEY, others)
        return b"", others
    called = [_called(block, calls) for block in results]
    key = f"{KEY} {called}"
    fragment = fragment_of(message, key)
    if fragment is not None:
        return fragment, fragment_of(message, key + BESIDE_RESULTS) or b""
    parts = [result_part(block, names.wire(name), id) for block, (name, id) in zip(results, called, strict=True)]
    fragment, others = _joined(parts), _encode_others(message, results, called)
    if all(names.is_acceptable(name) for name, _ in called):
        keep_fragment(message, key, fragment)
        if others:
            keep_fragment(message, key + BESIDE_RESULTS, others)
    return fragment, others


Called = tuple[str, str | None]


def _called(result: ToolResultBlock, calls: Mapping[str, ToolUseBlock]) -> Called:
    """The name of the tool that a result is of, and the call's id on the wire.

    A result without a call has only its own id to go by.
    """
    call = calls.get(result.tool_use_id)
    return (result.tool_use_id, None) if call is None else (call.name, call_id(call))


def _encode_others(message: ConversationMessage, results: list[ToolResultBlock], called: list[Called]) -> bytes:
    fragment = _plain(message)
    if fragment is not None:
        return fragment
    parts: list[Part] = []
    for block, (name, _) in zip(results, called, strict=True):
        images = () if isinstance(block.content, str) else [b for b in block.content if isinstance(b, ImageBlock)]
        if images:
            parts += [{"text": f"Images in the result of {name}:"}, *user_parts(images)]
    return _joined([*parts, *user_parts(message.content)])


def _plain(message: ConversationMessage) -> bytes | None:
    """The fragment of a message that is one text, as most are: without a dict on the way."""
    if len(message.content) != 1 or type(block := message.content[0]) is not TextBlock:
        return None
    return b'{"text":' + _json.dumps(block.text) + b"}" if block.text.strip() else b""


def _joined(parts: Iterable[Part]) -> bytes:
    return _json.dumps(list(parts))[1:-1]


def _texts(message: ConversationMessage) -> list[Part]:
    return [{"text": block.text} for block in message.content if isinstance(block, TextBlock) and block.text.strip()]
