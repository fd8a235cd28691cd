"""The `toolConfig` of a request: which tools there are, which must be called, and the one that carries an answer.

Converse has no response format that all models know. An answer of a given form is the input of a tool that the model
is made to call; what reads the answer makes text of it again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

from attrs import frozen

from ... import _json
from ...config import InferenceConfig, ResponseFormat
from ..input_schema import input_schema
from ..kept_tools import kept_by_identity
from ..tool_names import NameRule, ToolNames
from .errors import request_error

if TYPE_CHECKING:
    from ...tools import ToolDefinition

__all__ = ["NO_NAMES", "ToolConfig", "tool_config"]

NAMES = NameRule(accepted=re.compile("[a-zA-Z0-9_-]{1,64}"), refused=re.compile("[^a-zA-Z0-9_-]"), length=64)

NO_NAMES = ToolNames((), NAMES)

ANSWER_DESCRIPTION = "Gives the final answer, in the form that is wanted. Call it once, when everything is known."


@frozen
class ToolConfig:
    """What is known of the tools of a request.

    Attributes:
        names: Their names.
        json: The field's value; empty where no tool is on offer.
        answer_tool: Name on the wire of the tool whose input is the answer; None where the answer is plain text.
    """

    names: ToolNames
    json: bytes
    answer_tool: str | None


def tool_config(tools: Sequence[ToolDefinition], inference: InferenceConfig, model: str) -> ToolConfig:
    """The tools of a request.

    There is no choice "none": where no tool is to be called, none is on offer. Where one must be called, the answer is
    not wanted yet, and so is the tool for it.

    Raises:
        ProviderError: The choice names a tool that is not there, or the answer's form is no object.
    """
    choice, wanted = inference.tool_choice, inference.response_format
    if choice not in (None, "auto", "none"):
        _check_choice(choice, tools, model)
        wanted = None
    offered = () if choice == "none" else tools
    names, specs = _encode_tools(offered)
    answer_tool = None
    if wanted is not None:
        _check_form(wanted, model)
        answer_tool = _free_name(names.wire(wanted.name), {names.wire(tool.name) for tool in offered})
        specs = [*specs, _spec(answer_tool, ANSWER_DESCRIPTION, wanted.schema)]
    if not specs:
        return ToolConfig(names, b"", None)
    parts = [b'{"tools":[', b",".join(specs), b"]"]
    if (written := _choice(choice, names, answer_tool, is_alone=not offered)) is not None:
        parts += [b',"toolChoice":', _json.dumps(written)]
    return ToolConfig(names, b"".join([*parts, b"}"]), answer_tool)


def _choice(choice: str | None, names: ToolNames, answer_tool: str | None, *, is_alone: bool) -> dict[str, Any] | None:
    if answer_tool is not None:
        return {"tool": {"name": answer_tool}} if is_alone else {"any": {}}
    if choice is None:
        return None
    if choice == "auto":
        return {"auto": {}}
    return {"any": {}} if choice == "required" else {"tool": {"name": names.wire(choice)}}


def _check_choice(choice: str | None, tools: Sequence[ToolDefinition], model: str) -> None:
    if not tools:
        raise request_error(f"tool_choice is {choice!r}, but there are no tools", model)
    if choice != "required" and all(tool.name != choice for tool in tools):
        raise request_error(f"tool_choice names a tool that is not there: {choice!r}", model)


def _check_form(wanted: ResponseFormat, model: str) -> None:
    if wanted.schema.get("type", "object") != "object":
        raise request_error("response_format must be an object: on Bedrock an answer is the input of a tool", model)


def _free_name(name: str, taken: set[str]) -> str:
    """The name, or one like it that no tool has."""
    return next(free for number in count(1) if (free := name if number == 1 else f"{name[:56]}_{number}") not in taken)


@kept_by_identity
def _encode_tools(tools: Sequence[ToolDefinition]) -> tuple[ToolNames, list[bytes]]:
    names = ToolNames([tool.name for tool in tools], NAMES)
    return names, [_spec(names.wire(tool.name), tool.description, tool.parameters) for tool in tools]


def _spec(name: str, description: str, parameters: Mapping[str, Any]) -> bytes:
    spec: dict[str, Any] = {"name": name}
    if description.strip():  # an empty one is refused
        spec["description"] = description
    return _json.dumps({"toolSpec": {**spec, "inputSchema": {"json": input_schema(parameters)}}})
