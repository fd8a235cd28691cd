"""Differential tests: the official clients and kova make the same of the same bytes.

For every case of the case bank that is an answer, one server sends the same bytes, cut as the case has them, to the
official client and to kova's provider. Where they differ on purpose, `differences.py` says how.
"""

from __future__ import annotations

from typing import Any

import attrs
import pytest

import kova
from tests.cases import run_cases as runner

from .cases import ANSWERS, Case
from .clients import CLIENTS, Outcome, counts
from .differences import DIFFERENCES, Difference

AGREED = Difference("both make the same of it")


def kovas(case: Case, server: runner.CaseServer) -> Outcome:
    """What kova's provider makes of the case's bytes."""
    script = runner.Script(case, server)
    with script.provider("") as provider:
        reply = runner.call_sync(provider, script.streaming, next(iter(script.calls())))
    response: kova.ModelResponse = reply.response
    usage = response.usage
    return Outcome(
        response.text,
        response.thinking or None,
        [(call.name, call.invalid_arguments or call.input) for call in response.tool_calls],
        counts(
            usage.input_tokens,
            usage.output_tokens,
            usage.thinking_tokens,
            usage.cache_read_tokens,
            usage.cache_creation_tokens,
        ),
        response.raw_stop_reason,
    )


def theirs(case: Case, server: runner.CaseServer) -> Outcome | str:
    """What the official client makes of them, or the name of the exception that it raises."""
    server.play(case["response"])
    try:
        return CLIENTS[case["provider"]](server.origin, case)
    except Exception as error:
        return type(error).__name__


def differing(ours: Outcome, others: Outcome) -> dict[str, Any]:
    """The fields in which they differ, with what the others have."""
    return {
        name: value
        for name, value in attrs.asdict(others).items()
        if value != attrs.asdict(ours)[name]
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore:.* is not a valid FinishReason:UserWarning")  # google-genai, of one that is new
@pytest.mark.parametrize("case", ANSWERS.values(), ids=ANSWERS)
def test_the_official_client_makes_the_same_of_the_same_bytes(case: Case) -> None:
    """Equal text, thinking, calls, usage and stop reason, or the difference that is known."""
    expected = DIFFERENCES.get(case["id"], AGREED)
    with runner.CaseServer() as server:
        ours, others = kovas(case, server), theirs(case, server)
    if isinstance(others, str):
        assert others == expected.raises
    else:
        assert expected.raises is None, f"it gives {others}"
        assert differing(ours, others) == expected.fields


def test_the_list_of_differences_names_no_case_that_is_not_there() -> None:
    assert set(DIFFERENCES) <= set(ANSWERS)


@pytest.mark.parametrize("provider", CLIENTS)
def test_most_cases_of_each_provider_agree(provider: str) -> None:
    """The list of differences is a list of exceptions."""
    ids = {id for id, case in ANSWERS.items() if case["provider"] == provider}
    assert len(ids) >= 10
    assert len(ids & set(DIFFERENCES)) <= len(ids) / 3
