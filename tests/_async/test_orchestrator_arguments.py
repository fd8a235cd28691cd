"""What an orchestrator refuses, and how it says so; and its patterns as flowcharts."""

from __future__ import annotations

from typing import Any

import pytest

import kova
from kova.testing import AsyncScriptedProvider
from tests.async_tools import agents_of_both_twins

pytestmark = pytest.mark.anyio


def agent() -> kova.AsyncAgent:
    return kova.AsyncAgent(AsyncScriptedProvider())


def orchestrator(*names: str) -> kova.AsyncOrchestrator:
    return kova.AsyncOrchestrator({name: agent() for name in names})


# ---- arguments


@pytest.mark.parametrize(
    ("agents", "problem"),
    [
        ({}, "agents is empty"),
        ([1], "agents must be a mapping from names to agents, not list"),
        ({"a": 7}, r"agents\['a'\] must be an agent, or an orchestration as one, not int"),
        ({"a": None}, r"agents\['a'\] must be an agent"),
        ({7: None}, "a name must be a str, not 7"),
        ({"": None}, "a name must not be blank"),
        ({" a": None}, "a name must not be blank, nor begin or end with a space: ' a'"),
        ({"a/b": None}, "a name must not have a slash"),
    ],
)
async def test_wrong_agents_are_refused(agents: Any, problem: str) -> None:
    with pytest.raises(kova.BuildError, match=problem):
        kova.AsyncOrchestrator(agents)


async def test_agents_of_the_other_twin_are_refused_by_name() -> None:
    fitting = [each for each in agents_of_both_twins() if isinstance(each, kova.AsyncAgent)]
    (other,) = [each for each in agents_of_both_twins() if not isinstance(each, kova.AsyncAgent)]
    kova.AsyncOrchestrator({"fits": fitting[0]})
    with pytest.raises(kova.BuildError, match=r"agents\['theirs'\] is (blocking|async): an \w+ wants it"):
        kova.AsyncOrchestrator({"fits": fitting[0], "theirs": other})


@pytest.mark.parametrize("timeout", [0, -1, "soon", True, float("nan")])
async def test_a_timeout_is_a_positive_number(timeout: Any) -> None:
    with pytest.raises(kova.BuildError, match="timeout must be a positive number of seconds"):
        kova.AsyncOrchestrator({"a": agent()}, timeout=timeout)


@pytest.mark.parametrize(
    ("pattern", "error", "problem"),
    [
        (kova.Sequential([]), kova.OrchestrationError, "the Sequential pattern has no agents"),
        (kova.Parallel([]), kova.OrchestrationError, "the Parallel pattern has no agents"),
        (kova.Router("a", []), kova.OrchestrationError, "the Router pattern has no agents"),
        (kova.Sequential(["a", "c", "d"]), kova.OrchestrationError, "no agent 'c', 'd'; the agents are: a, b"),
        (kova.Router("c", ["a"]), kova.OrchestrationError, "no agent 'c'"),
        (kova.Parallel(["a", "b", "a"]), kova.OrchestrationError, "names 'a' twice"),
        (kova.Router("a", ["b", "b"]), kova.OrchestrationError, "names 'b' twice"),
        ("a", TypeError, "pattern must be a Sequential, a Parallel or a Router, not str"),
    ],
    ids=str,
)
async def test_a_pattern_that_cannot_be_carried_out_is_refused_before_anything_runs(
    pattern: Any, error: type[Exception], problem: str
) -> None:
    team = orchestrator("a", "b")
    with pytest.raises(error, match=problem):
        await team.execute(pattern, "go")
    with pytest.raises(error, match=problem):
        team.as_agent(pattern)
    with pytest.raises(error, match=problem):
        team.to_mermaid(pattern)


@pytest.mark.parametrize(
    ("text", "options", "error", "problem"),
    [
        (" ", {}, ValueError, "text is blank"),
        (7, {}, TypeError, "text must be a str or a message, not int"),
        (kova.assistant_message("Hi"), {}, ValueError, "a message of the user's, not of role assistant"),
        ("go", {"namespace": ""}, ValueError, "namespace must not be empty"),
        ("go", {"namespace": 7}, TypeError, "namespace must be a str, not int"),
        ("go", {"cancel": 7}, TypeError, "cancel must be a CancellationToken, not int"),
    ],
)
async def test_wrong_requests_are_refused(
    text: Any, options: dict[str, Any], error: type[Exception], problem: str
) -> None:
    team = orchestrator("a")
    with pytest.raises(error, match=problem):
        await team.execute(kova.Parallel(["a"]), text, **options)
    with pytest.raises(error, match=problem):
        await team.as_agent(kova.Parallel(["a"])).run(text, **options)


async def test_an_orchestration_in_an_agents_place_checks_its_arguments() -> None:
    pattern = orchestrator("a").as_agent(kova.Sequential(["a"]))
    with pytest.raises(ValueError, match="timeout must be a positive number of seconds, got 0"):
        await pattern.run("go", timeout=0)
    with pytest.raises(kova.BuildError, match="description"):
        pattern.as_tool("team", " ")


async def test_an_orchestrator_tells_what_it_is() -> None:
    team = orchestrator("a", "b")
    assert repr(team).endswith("Orchestrator(['a', 'b'], timeout=120.0)")
    assert repr(team.as_agent(kova.Sequential(["a"]))).endswith("Sequential(agents=('a',)))")


# ---- flowcharts


async def test_a_pattern_as_a_flowchart() -> None:
    review = orchestrator("facts", "style").as_agent(kova.Parallel(["facts", "style"]))
    team = kova.AsyncOrchestrator({"triage": agent(), "billing": agent(), "review": review})
    assert team.to_mermaid(kova.Router("triage", ["billing", "review"])).splitlines() == [
        "flowchart TD",
        '    input(["input"])',
        '    agent1{{"triage"}}',
        '    agent2["billing"]',
        '    subgraph agent3["review"]',
        '        agent4["facts"]',
        '        agent5["style"]',
        "    end",
        '    agent1 -->|"billing"| agent2',
        '    agent1 -->|"review"| agent3',
        "    input --> agent1",
        '    output(["output"])',
        "    agent2 --> output",
        "    agent3 --> output",
    ]
    assert team.to_mermaid(kova.Sequential(["billing", "billing"])).splitlines()[4:] == [
        "    agent1 --> agent2",
        "    input --> agent1",
        '    output(["output"])',
        "    agent2 --> output",
    ]


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("end", "end"),
        ('a"]; click b "x', "a#34;#93;#59; click b #34;x"),
        ("<img src=x onerror=y>", "#60;img src#61;x onerror#61;y#62;"),
        ("`code`", "#96;code#96;"),
        ("1. list", "1#46; list"),
        ("a\nb", "a#10;b"),
        ("#quot;", "#35;quot#59;"),
        ("Ärger 日本", "Ärger 日本"),
    ],
)
async def test_names_are_nothing_but_labels(name: str, label: str) -> None:
    """S5: as Mermaid shows them, with whatever characters."""
    text = orchestrator(name).to_mermaid(kova.Router(name, [name]))
    assert text.splitlines()[2:5] == [
        f'    agent1{{{{"{label}"}}}}',
        f'    agent2["{label}"]',
        f'    agent1 -->|"{label}"| agent2',
    ]
