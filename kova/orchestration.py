"""Patterns in which agents work together, what comes out of them, and what is seen on the way.

Patterns name the agents of an orchestrator, which carries them out; nothing here runs anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

from attrs import define, field, frozen

from ._turn_log import TurnLog
from .errors import KovaError, OrchestrationError
from .messages import ConversationMessage, Role
from .responses import AgentEvent, AgentResponse, UsageStats, text_html

if TYPE_CHECKING:
    from .timeline import Timeline

__all__ = [
    "AgentFinished",
    "AgentProgress",
    "AgentStarted",
    "OrchestratedResponse",
    "OrchestrationCompleted",
    "OrchestrationEvent",
    "Parallel",
    "ParallelOutput",
    "Pattern",
    "Router",
    "Sequential",
    "SingleOutput",
    "check_pattern",
    "check_request",
]


def _names(given: Iterable[str]) -> tuple[str, ...]:
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise TypeError(f"a pattern takes a sequence of agents' names, not {type(given).__name__}")
    return tuple(map(_name, given))


def _name(given: str) -> str:
    if not isinstance(given, str):
        nest = ": for a pattern inside another one, see as_agent" if isinstance(given, Pattern) else ""
        raise TypeError(f"a pattern takes agents' names, of type str, not {type(given).__name__}{nest}")
    return given


# ---- patterns


@frozen
class Sequential:
    """One agent after the other: the text of each is what the next one is asked.

    Attributes:
        agents: Their names, in order; an agent may come more than once.
    """

    agents: tuple[str, ...] = field(converter=_names)


@frozen
class Parallel:
    """All agents at once, with the same input. What one of them raises does not stop the others.

    Attributes:
        agents: Their names.
    """

    agents: tuple[str, ...] = field(converter=_names)


@frozen
class Router:
    """An agent that names another one, which gets the original input.

    Attributes:
        router: The agent whose text is the name.
        downstream: The names that it may give.
    """

    router: str = field(converter=_name)
    downstream: tuple[str, ...] = field(converter=_names)


Pattern: TypeAlias = Sequential | Parallel | Router


def check_pattern(pattern: object, known: Iterable[str]) -> None:
    """Refuse what cannot be carried out with these agents.

    Raises:
        TypeError: It is no pattern.
        OrchestrationError: It has no agents, agents that are not known, or one twice where names must differ.
    """
    if not isinstance(pattern, (Sequential, Parallel, Router)):
        raise TypeError(f"pattern must be a Sequential, a Parallel or a Router, not {type(pattern).__name__}")
    kind = type(pattern).__name__
    named = pattern.downstream if isinstance(pattern, Router) else pattern.agents
    if not named:
        raise OrchestrationError(f"the {kind} pattern has no agents")
    agents = [*known]
    asked = (pattern.router, *named) if isinstance(pattern, Router) else named
    if unknown := [repr(name) for name in asked if name not in agents]:
        raise OrchestrationError(f"there is no agent {', '.join(unknown)}; the agents are: {', '.join(agents)}")
    if not isinstance(pattern, Sequential) and len(set(named)) < len(named):
        twice = next(name for name in named if named.count(name) > 1)
        raise OrchestrationError(f"the {kind} pattern names {twice!r} twice")


def check_request(text: object, namespace: object) -> None:
    """Refuse what no agent could be asked.

    Raises:
        TypeError: An argument is of a wrong type.
        ValueError: There is nothing to answer, or the namespace is empty.
    """
    if isinstance(text, ConversationMessage):
        if text.role is not Role.USER:
            raise ValueError(f"text must be a message of the user's, not of role {text.role}")
    elif not isinstance(text, str):
        raise TypeError(f"text must be a str or a message, not {type(text).__name__}")
    elif not text.strip():
        raise ValueError("text is blank: there is nothing to answer")
    if namespace is not None and not isinstance(namespace, str):
        raise TypeError(f"namespace must be a str, not {type(namespace).__name__}")
    if namespace == "":
        raise ValueError("namespace must not be empty")


# ---- outputs


@frozen
class SingleOutput:
    """What comes out of a `Sequential` or a `Router`.

    Attributes:
        text: The text of the last agent.
        responses: The responses of all agents, in order; a router's is the first.
    """

    text: str
    responses: tuple[AgentResponse, ...]
    _log: TurnLog | None = field(default=None, eq=False, repr=False)

    @property
    def usage(self) -> UsageStats:
        """Tokens spent by all agents."""
        return sum((response.usage for response in self.responses), UsageStats())

    @property
    def timeline(self) -> Timeline:
        """When each agent ran, with what happened inside."""
        return _timeline(self._log)

    def _repr_html_(self) -> str:
        return text_html(self.text)


@frozen
class ParallelOutput:
    """What comes out of a `Parallel`. Every agent is in one of the two, in the order of the pattern.

    Attributes:
        successes: Responses by the agents' names.
        failures: What the others raised, likewise; a `TimeoutError` where the time was over.
    """

    successes: dict[str, AgentResponse]
    failures: dict[str, Exception]
    _log: TurnLog | None = field(default=None, eq=False, repr=False)

    @property
    def usage(self) -> UsageStats:
        """Tokens spent by all agents, as far as failed ones had them reported."""
        partials = [error.partial for error in self.failures.values() if isinstance(error, KovaError)]
        spent = [partial.usage for partial in partials if partial is not None]
        return sum([*(response.usage for response in self.successes.values()), *spent], UsageStats())

    @property
    def timeline(self) -> Timeline:
        """When each agent ran, with what happened inside."""
        return _timeline(self._log)

    def _repr_html_(self) -> str:
        from . import _dialogue  # few look at it

        succeeded = [(name, "assistant", response.text) for name, response in self.successes.items()]
        failed = [(name, "failed", f"{type(error).__name__}: {error}") for name, error in self.failures.items()]
        return _dialogue.dialogue(
            _dialogue.Speech(name, look, [_dialogue.said(text)]) for name, look, text in succeeded + failed
        )


def _timeline(log: TurnLog | None) -> Timeline:
    from .timeline import read_timeline  # few look at it

    return read_timeline(log)


@frozen
class OrchestratedResponse(AgentResponse):
    """The response of an orchestration that stands in the place of an agent.

    Its text is that of a `SingleOutput`. Of a `ParallelOutput` it is the texts of all successes, each under a heading
    with the agent's name; what failed is in the output alone.

    Attributes:
        output: What came out of the pattern.
    """

    output: SingleOutput | ParallelOutput = field(kw_only=True)


# ---- events of an orchestration's stream


@define
class AgentStarted:
    """An agent begins.

    Attributes:
        path: Its name; before it, the names of the orchestrations inside which it runs.
    """

    path: tuple[str, ...]


@define
class AgentProgress:
    """An agent has given an event of its own. Its `TurnCompleted` is not among them: `AgentFinished` stands for it.

    Attributes:
        path: The agent, as in `AgentStarted`.
        event: The event.
    """

    path: tuple[str, ...]
    event: AgentEvent


@define
class AgentFinished:
    """An agent is done, one way or the other.

    Attributes:
        path: The agent, as in `AgentStarted`.
        response: Its response, if it succeeded.
        error: What it raised, if it failed.
    """

    path: tuple[str, ...]
    response: AgentResponse | None = None
    error: Exception | None = None


@define
class OrchestrationCompleted:
    """The pattern has been carried out; the last event of a stream.

    Attributes:
        output: The same output that `execute` gives.
    """

    output: SingleOutput | ParallelOutput


OrchestrationEvent: TypeAlias = AgentStarted | AgentProgress | AgentFinished | OrchestrationCompleted
