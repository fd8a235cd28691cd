"""What was said, in the form of the GenAI conventions, for spans of which it has been asked for.

Source: gen-ai-input-messages.json and gen-ai-output-messages.json beside the documents that `names` cites. Images in a
history are named and not copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .. import _json
from .._log import log
from ..messages import (
    ContentBlock,
    ConversationMessage,
    ImageBlock,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
)
from ..responses import ModelResponse
from .names import INPUT_MESSAGES, OUTPUT_MESSAGES, SYSTEM_INSTRUCTIONS

__all__ = ["Content"]

LEFT_OUT = "[left out: redact failed]"


class Content:
    """Writes what was said, as far as the application lets it out.

    Args:
        redact: Gets every piece of text and gives what may be recorded of it.
    """

    def __init__(self, redact: Callable[[str], str] | None) -> None:
        self._redact = redact

    def text(self, text: str) -> str:
        """What may be recorded of a text. A redaction that fails lets nothing out, and fails nothing else."""
        if self._redact is None:
            return text
        try:
            redacted = self._redact(text)
        except Exception as error:
            log.warning("redact raised", error=type(error).__name__)  # and not what it says, which may quote the text
            return LEFT_OUT
        return str(redacted)

    def value(self, value: object) -> object:
        """What may be recorded of a JSON value, whose texts are looked at one by one."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {key: self.value(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(item) for item in value]
        return value

    def asked(self, messages: Sequence[ConversationMessage]) -> dict[str, str]:
        """Attributes for what the model is asked."""
        system = [block for message in messages if message.role is Role.SYSTEM for block in message.content]
        others = [message for message in messages if message.role is not Role.SYSTEM]
        attributes = {INPUT_MESSAGES: _written([self._message(message.role, message.content) for message in others])}
        if system:
            attributes[SYSTEM_INSTRUCTIONS] = _written([self._part(block) for block in system])
        return attributes

    def answered(self, answer: ModelResponse) -> dict[str, str]:
        """Attributes for what it has answered."""
        message = {**self._message(Role.ASSISTANT, answer.content), "finish_reason": answer.stop_reason.value}
        return {OUTPUT_MESSAGES: _written([message])}

    def arguments(self, arguments: Mapping[str, Any]) -> str:
        """The arguments of a tool call, as JSON."""
        return _written(self.value(arguments))

    def result(self, content: str | Sequence[ContentBlock]) -> str:
        """The result of a tool, as JSON where it is more than text."""
        return self.text(content) if isinstance(content, str) else _written(self._parts(content))

    def _message(self, role: Role, blocks: Iterable[ContentBlock]) -> dict[str, object]:
        return {"role": role.value, "parts": self._parts(blocks)}

    def _parts(self, blocks: Iterable[ContentBlock]) -> list[dict[str, object]]:
        return [self._part(block) for block in blocks]

    def _part(self, block: ContentBlock) -> dict[str, object]:
        if isinstance(block, TextBlock):
            return {"type": "text", "content": self.text(block.text)}
        if isinstance(block, ThinkingBlock):
            return {"type": "reasoning", "content": self.text(block.thinking)}
        if isinstance(block, ToolResultBlock):
            result = self.text(block.content) if isinstance(block.content, str) else self._parts(block.content)
            return {"type": "tool_call_response", "id": block.tool_use_id, "response": result}
        if isinstance(block, ImageBlock):
            return {"type": "image", "mime_type": block.media_type}
        return {"type": "tool_call", "id": block.id, "name": block.name, "arguments": self.value(block.input)}


def _written(value: object) -> str:
    try:
        return _json.dumps(value).decode("utf-8", "replace")
    except (TypeError, ValueError):  # in arguments that a user's own history holds
        return "[left out: not JSON]"
