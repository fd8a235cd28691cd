"""What MCP servers give: descriptions of tools, and results of calls."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, TypeAlias

from attrs import field, frozen

from .. import _json
from ..messages import ImageBlock, TextBlock
from ..tools import ToolResult

__all__ = [
    "MCPAudio",
    "MCPContent",
    "MCPResource",
    "MCPResourceLink",
    "MCPToolDefinition",
    "MCPToolResult",
    "MCPUnknownContent",
]

JSONObject: TypeAlias = Mapping[str, Any]

# What the model APIs take; another image is described to the model.
IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


@frozen(hash=False)
class MCPToolDefinition:
    """A tool as its server describes it. The texts are the server's: data, not instructions.

    Attributes:
        name: Name under which the server is called.
        title: Name for people, if there is one.
        description: What it does.
        input_schema: JSON schema of its arguments, as the server gave it.
        output_schema: JSON schema of `structured_content`, if there is one.
        annotations: The server's hints, such as `readOnlyHint`; to be believed no more than the server.
        raw: All that the server said of it.
    """

    name: str
    title: str | None
    description: str
    input_schema: JSONObject
    output_schema: JSONObject | None
    annotations: JSONObject
    raw: JSONObject = field(repr=False, eq=False)

    @classmethod
    def from_json(cls, value: object) -> MCPToolDefinition | None:
        """The definition in an item of `tools/list`; None if it is none."""
        if not isinstance(value, dict) or not isinstance(value.get("name"), str) or not value["name"]:
            return None
        schema, output = value.get("inputSchema"), value.get("outputSchema")
        annotations = _mapping(value.get("annotations"))
        title = value.get("title") or annotations.get("title")
        description = value.get("description")
        return cls(
            value["name"],
            title if isinstance(title, str) else None,
            description if isinstance(description, str) else "",
            schema if isinstance(schema, dict) else {"type": "object"},
            output if isinstance(output, dict) else None,
            annotations,
            value,
        )


@frozen
class MCPAudio:
    """Sound.

    Attributes:
        media_type: MIME type, such as "audio/wav".
        data: The bytes of the file.
    """

    media_type: str
    data: bytes = field(repr=False)


@frozen
class MCPResource:
    """A resource that came with the result.

    Attributes:
        uri: Its address at the server.
        media_type: MIME type, if the server gave one.
        text: Its text; None if it is binary.
        data: Its bytes; None if it is text.
    """

    uri: str
    media_type: str | None
    text: str | None = None
    data: bytes | None = field(default=None, repr=False)


@frozen
class MCPResourceLink:
    """A resource that the server offers to be read. kova does not fetch it.

    Attributes:
        uri: Its address.
        name: Its name.
        description: What it holds, if the server said.
        media_type: MIME type, if the server gave one.
    """

    uri: str
    name: str
    description: str | None = None
    media_type: str | None = None


@frozen(hash=False)
class MCPUnknownContent:
    """A content block of a kind that kova does not know, or that is broken.

    Attributes:
        raw: The block as it came.
    """

    raw: JSONObject


MCPContent: TypeAlias = TextBlock | ImageBlock | MCPAudio | MCPResource | MCPResourceLink | MCPUnknownContent


@frozen(hash=False)
class MCPToolResult:
    """What a tool of a server gave back.

    Attributes:
        content: Its blocks.
        structured_content: The result as JSON, where the tool gives that too.
        is_error: Whether the call failed; the content then says how.
        raw: The whole result as it came.
    """

    content: tuple[MCPContent, ...]
    structured_content: Any = None
    is_error: bool = False
    raw: JSONObject = field(factory=dict, repr=False, eq=False)

    @property
    def text(self) -> str:
        """The text of all text blocks, one a line."""
        return "\n".join(block.text for block in self.content if isinstance(block, TextBlock))

    @classmethod
    def from_json(cls, result: JSONObject) -> MCPToolResult:
        """The result in the answer to `tools/call`."""
        items = result.get("content")
        content = tuple(map(_block, items)) if isinstance(items, list) else ()
        return cls(content, result.get("structuredContent"), result.get("isError") is True, result)

    def for_model(self) -> ToolResult:
        """The result as a model can read it: text and images as they are, the rest in words."""
        blocks = [_for_model(block) for block in self.content]
        has_text = any(isinstance(block, TextBlock) for block in self.content)
        if self.structured_content is not None and not has_text:
            blocks.insert(0, TextBlock(_json.dumps(self.structured_content).decode()))
        blocks = [block for block in blocks if not isinstance(block, TextBlock) or block.text]
        if all(isinstance(block, TextBlock) for block in blocks):
            text = "\n".join(block.text for block in blocks if isinstance(block, TextBlock))
            return ToolResult(text or "(no content)", self.is_error)
        return ToolResult(tuple(blocks), self.is_error)


def _block(item: object) -> MCPContent:
    """One content block; what is broken is kept as it came."""
    if not isinstance(item, dict):
        return MCPUnknownContent({"value": item})
    try:
        match item.get("type"):
            case "text":
                return TextBlock(item["text"])
            case "image":
                return ImageBlock(item["mimeType"], _bytes(item["data"]))
            case "audio":
                return MCPAudio(_str(item["mimeType"]), _bytes(item["data"]))
            case "resource":
                return _resource(item["resource"])
            case "resource_link":
                uri = _str(item["uri"])
                name = item.get("title") or item.get("name") or uri
                return MCPResourceLink(uri, _str(name), item.get("description"), item.get("mimeType"))
    except (KeyError, TypeError, ValueError):
        pass
    return MCPUnknownContent(item)


def _resource(resource: dict[str, Any]) -> MCPResource:
    uri, media_type = _str(resource["uri"]), resource.get("mimeType")
    if "text" in resource:
        return MCPResource(uri, media_type, text=_str(resource["text"]))
    return MCPResource(uri, media_type, data=_bytes(resource["blob"]))


def _for_model(block: MCPContent) -> TextBlock | ImageBlock:
    match block:
        case TextBlock():
            return block
        case ImageBlock(media_type, data):
            return block if media_type in IMAGE_TYPES else _described("image", media_type, data)
        case MCPAudio(media_type, data):
            return _described("audio", media_type, data)
        case MCPResource(uri, media_type, text, data):
            if text is not None:
                return TextBlock(text)
            return _described(f"resource {uri}", media_type, data)
        case MCPResourceLink(uri, name):
            return TextBlock(f"{name}: {uri}" if name != uri else uri)
        case MCPUnknownContent(raw):
            return TextBlock(_json.dumps(raw).decode())


def _described(what: str, media_type: str | None, data: bytes | None) -> TextBlock:
    return TextBlock(f"[{what}, {media_type or 'unknown type'}, {len(data or b'')} bytes]")


def _str(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("expected a text")
    return value


def _bytes(value: object) -> bytes:
    try:
        return base64.b64decode(_str(value), validate=True)
    except binascii.Error as error:
        raise ValueError("expected base64") from error


def _mapping(value: object) -> JSONObject:
    return value if isinstance(value, dict) else {}
