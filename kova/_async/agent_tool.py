"""An agent as a tool of another agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from ..cancellation import CancellationToken
from ..errors import BuildError, KovaError
from ..responses import AgentResponse
from ..tools import Tool, ToolContext, ToolError

__all__ = ["AsyncAgentTool"]

PARAMETERS = {
    "type": "object",
    "properties": {"message": {"type": "string", "description": "What to ask, with all that is needed to answer."}},
    "required": ["message"],
    "additionalProperties": False,
}


class AsyncAnswering(Protocol):
    """An agent, or an orchestration in the place of one."""

    async def run(
        self, text: str, /, *, cancel: CancellationToken | None = None, state: object = None
    ) -> AgentResponse:
        """Answer a message."""


class AsyncAgentTool(Tool):
    """Asks an agent, as a tool; made by the agent's `as_tool`."""

    parameters = PARAMETERS

    def __init__(self, agent: AsyncAnswering, name: str, description: str) -> None:
        arguments: dict[str, object] = {"name": name, "description": description}
        for argument, value in arguments.items():
            if not isinstance(value, str) or not value.strip():
                raise BuildError(f"{argument} must be a text that says what the agent is good for, not {value!r:.100}")
        self.name = name
        self.description = description
        self._agent = agent

    async def execute(self, arguments: Mapping[str, Any], context: ToolContext) -> str:
        """Run a turn of the agent, within the limits of the turn that asks."""
        message = arguments.get("message")
        if not isinstance(message, str) or not message.strip():
            raise ToolError("message: expected a text")
        try:
            response = await self._agent.run(message, cancel=context.cancel, state=context.state)
        except KovaError as error:
            if error.partial is not None:
                context.spend(error.partial)
            raise
        context.spend(response)
        return response.text
