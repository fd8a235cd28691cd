"""From what agents have said to what happens next: which agent a router has named, what a nested orchestration says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ._turn_log import TurnLog
from .errors import OrchestrationError
from .messages import ConversationMessage, Role, TextBlock
from .orchestration import OrchestratedResponse, ParallelOutput, SingleOutput
from .responses import AgentResponse, Partial, StopReason, UsageStats

__all__ = ["as_response", "chosen_agent", "partial_of"]

QUOTES = "\"'`´“”„‟‘’‚‛«»‹›「」『』"


def chosen_agent(answer: str, names: Sequence[str]) -> str:
    """The agent that a router's answer names: exactly, or else trimmed, unquoted, and in whatever case.

    Raises:
        OrchestrationError: It names none of them, or more than one.
    """
    if answer in names:
        return answer
    wanted = _plain(answer)
    found = [name for name in names if _plain(name) == wanted]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(map(repr, names))  # what the router did say may be private, and is in the error's partial
    raise OrchestrationError(f"the router was to answer with one of these names, and did not: {listed}")


def _plain(text: str) -> str:
    return text.strip().strip(QUOTES).strip().casefold()


def as_response(output: SingleOutput | ParallelOutput) -> OrchestratedResponse:
    """What an orchestration answers where it stands in the place of an agent.

    Raises:
        OrchestrationError: All agents of a parallel pattern have failed, so that there is nothing to answer.
    """
    last: AgentResponse | None = None
    if isinstance(output, SingleOutput):
        text, responses, last = output.text, list(output.responses), output.responses[-1]
    else:
        if not output.successes:
            failed = ", ".join(f"{name!r} ({type(error).__name__})" for name, error in output.failures.items())
            raise OrchestrationError(f"all agents have failed: {failed}")
        text, responses = _joined(output.successes), list(output.successes.values())
    content = [TextBlock(text)] if text.strip() else []
    return OrchestratedResponse(
        text=text,
        new_messages=[ConversationMessage(Role.ASSISTANT, content)],
        stop_reason=StopReason.END_TURN if last is None else last.stop_reason,
        raw_stop_reason=None if last is None else last.raw_stop_reason,
        usage=output.usage,
        last_input_tokens=None if last is None else last.last_input_tokens,
        llm_calls=sum(response.llm_calls for response in responses),
        thinking="\n\n".join(response.thinking for response in responses if response.thinking) or None,
        model=None if last is None else last.model,
        log=output._log,
        output=output,
    )


def _joined(successes: Mapping[str, AgentResponse]) -> str:
    return "\n\n".join(f"## {name}\n\n{response.text}" for name, response in successes.items())


def partial_of(parts: Sequence[AgentResponse | Partial], log: TurnLog) -> Partial:
    """What there is of an orchestration whose agents have come so far."""
    messages: list[ConversationMessage] = []
    for part in parts:
        messages += part.messages if isinstance(part, Partial) else part.new_messages
    log.close()
    usage = sum((part.usage for part in parts), UsageStats())
    return Partial(messages, usage, sum(part.llm_calls for part in parts), log)
