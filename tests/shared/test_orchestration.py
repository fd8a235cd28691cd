"""Patterns and outputs, as values."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kova
from kova._routing import chosen_agent


def response(text: str, tokens: int) -> kova.AgentResponse:
    return kova.AgentResponse(
        text=text,
        new_messages=[kova.assistant_message(text)],
        stop_reason=kova.StopReason.END_TURN,
        raw_stop_reason=None,
        usage=kova.UsageStats(tokens, tokens),
        last_input_tokens=None,
        llm_calls=1,
    )


def test_patterns_are_values() -> None:
    assert kova.Sequential(["a", "b"]) == kova.Sequential(agents=("a", "b"))
    assert kova.Parallel(["a"]) != kova.Sequential(["a"])
    assert len({kova.Router("r", ["a"]), kova.Router(router="r", downstream=("a",))}) == 1


@pytest.mark.parametrize("make", [kova.Sequential, kova.Parallel, lambda names: kova.Router("r", names)])
@pytest.mark.parametrize(("names", "problem"), [("ab", "not str"), (7, "not int"), (["a", 7], "type str, not int")])
def test_names_are_a_sequence_of_strings(make: Any, names: Any, problem: str) -> None:
    with pytest.raises(TypeError, match=problem):
        make(names)


def test_a_routers_name_is_a_string() -> None:
    with pytest.raises(TypeError, match="type str, not list"):
        kova.Router(["r"], ["a"])  # type: ignore[arg-type]


def test_the_usage_is_that_of_all_agents_that_failed_ones_included() -> None:
    failed = kova.ProviderError("no")
    failed.partial = kova.Partial([], kova.UsageStats(4, 4), 1)
    output = kova.ParallelOutput({"a": response("A", 1)}, {"b": failed, "c": ValueError("no")})
    assert output.usage == kova.UsageStats(5, 5)
    assert kova.SingleOutput("B", (response("A", 1), response("B", 2))).usage == kova.UsageStats(3, 3)
    assert output.timeline == kova.Timeline()


def test_outputs_can_be_pickled() -> None:
    single = kova.SingleOutput("A", (response("A", 1),))
    assert pickle.loads(pickle.dumps(single)) == single
    parallel = pickle.loads(pickle.dumps(kova.ParallelOutput({"a": response("A", 1)}, {"b": kova.StreamError("no")})))
    assert parallel.successes == {"a": response("A", 1)}
    assert isinstance(parallel.failures["b"], kova.StreamError)


def test_names_that_differ_in_case_only_are_told_apart_by_the_exact_one() -> None:
    assert chosen_agent("Sales", ["sales", "Sales"]) == "Sales"
    with pytest.raises(kova.OrchestrationError, match="'sales', 'Sales'"):
        chosen_agent("SALES", ["sales", "Sales"])


@given(st.text(), st.lists(st.text(min_size=1), min_size=1, unique=True))
def test_a_router_chooses_one_of_the_names_or_none(answer: str, names: list[str]) -> None:
    assert all(chosen_agent(name, names) == name for name in names)
    try:
        chosen = chosen_agent(answer, names)
    except kova.OrchestrationError:
        assert answer not in names
    else:
        assert chosen in names
