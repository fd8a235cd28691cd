"""The error tree: what every error answers, carries, and survives."""

from __future__ import annotations

import builtins
import copy
import functools
import json
import pickle
from collections.abc import Callable

import pytest

import kova
from kova import errors
from kova.responses import Partial, UsageStats

EXAMPLES: dict[str, kova.KovaError] = {
    "KovaError": kova.KovaError("something went wrong"),
    "ProviderError": kova.ProviderError(
        "slow down", 429, kova.ProviderErrorClass.RATE_LIMITED, 1.5, "req_1", "openai", "gpt-5", is_quota_exhausted=True
    ),
    "ConnectionError": kova.ConnectionError("no route to host"),
    "TimeoutError": kova.TimeoutError("the turn took longer than 3 s", 3.0, is_retryable=False),
    "StreamError": kova.StreamError("the stream broke off"),
    "ToolExecutionError": kova.ToolExecutionError("search", "ValueError: no such page"),
    "ToolNotFoundError": kova.ToolNotFoundError("serach"),
    "MCPError": kova.MCPError(-32602, "invalid params", {"missing": ["query"]}),
    "MemoryStoreError": kova.MemoryStoreError("the conversation was changed", is_conflict=True),
    "OrchestrationError": kova.OrchestrationError("there is no agent 'b'"),
    "MaxIterationsError": kova.MaxIterationsError(10),
    "TurnCancelledError": kova.TurnCancelledError("the user left"),
    "ContextBudgetExceededError": kova.ContextBudgetExceededError(1_200, 1_000),
    "BuildError": kova.BuildError("max_iterations must be an integer"),
    "SerializationError": kova.SerializationError("messages[0].role: unknown role 'bot'"),
    "KovaOSError": kova.KovaOSError("disk full"),
}


class HouseError(kova.ProviderError):
    """An error of a user's own provider, whose constructor takes other arguments."""

    def __init__(self, *, code: str) -> None:
        super().__init__(f"the house says {code}", 500, kova.ProviderErrorClass.OVERLOADED)
        self.code = code


every_error = pytest.mark.parametrize(
    "error", [*EXAMPLES.values(), HouseError(code="E7")], ids=lambda error: repr(error)
)


def pickled(protocol: int, error: kova.KovaError) -> kova.KovaError:
    twin: kova.KovaError = pickle.loads(pickle.dumps(error, protocol))
    return twin


COPIES: dict[str, Callable[[kova.KovaError], kova.KovaError]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{f"pickle {number}": functools.partial(pickled, number) for number in range(pickle.HIGHEST_PROTOCOL + 1)},
}


def test_there_is_an_example_of_every_error() -> None:
    classes = {name for name in errors.__all__ if issubclass(getattr(errors, name), BaseException)}
    assert EXAMPLES.keys() == classes
    assert all(type(error).__name__ == name for name, error in EXAMPLES.items())


def test_the_tree_is_flat_and_printed_in_the_docstring() -> None:
    assert errors.__doc__ is not None
    printed = [line.split()[1] for line in errors.__doc__.splitlines() if line.lstrip().startswith(("├", "└"))]
    assert sorted(printed) == sorted(EXAMPLES.keys() - {"KovaError"})
    assert {type(EXAMPLES[name]).__mro__[1] for name in printed} == {kova.KovaError}


@every_error
@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES.keys())
def test_errors_pickle_and_copy(error: kova.KovaError, copied: Callable[[kova.KovaError], kova.KovaError]) -> None:
    """R6."""
    twin = copied(error)
    assert type(twin) is type(error)
    assert (str(twin), repr(twin), twin.args) == (str(error), repr(error), error.args)
    assert vars(twin) == vars(error)


@every_error
def test_every_error_answers_the_same_questions(error: kova.KovaError) -> None:
    assert error.message == str(error)
    assert error.is_retryable in (True, False)
    assert error.status_code is None or isinstance(error, kova.ProviderError)
    assert error.provider_class is None or isinstance(error, kova.ProviderError)
    assert error.retry_after is None or isinstance(error, kova.ProviderError)
    assert error.partial is None


def test_builtin_except_clauses_catch_them_too() -> None:
    with pytest.raises(builtins.ConnectionError, match="^no route to host$"):
        raise EXAMPLES["ConnectionError"]
    with pytest.raises(builtins.TimeoutError, match="^the turn took longer than 3 s$"):
        raise EXAMPLES["TimeoutError"]
    with pytest.raises(OSError, match="^disk full$"):
        raise EXAMPLES["KovaOSError"]


@every_error
def test_a_message_has_at_most_2000_characters(error: kova.KovaError) -> None:
    assert len(str(error)) <= 2_000


@pytest.mark.parametrize(
    "error",
    [
        kova.KovaError("x" * 2_001),
        kova.ProviderError("x" * 1_000_000, 500),
        kova.TimeoutError("x" * 2_001, 1.0),
        kova.KovaOSError("x" * 2_001),
        kova.ToolExecutionError("tool", "x" * 2_000),
        kova.ToolNotFoundError("x" * 2_000),
        kova.TurnCancelledError("x" * 2_000),
    ],
)
def test_a_longer_message_is_cut(error: kova.KovaError) -> None:
    assert len(str(error)) == len(error.message) == 2_000
    assert str(error).endswith("x…")


def test_a_message_of_2000_characters_stays_whole() -> None:
    assert str(kova.KovaError("x" * 2_000)) == "x" * 2_000


@every_error
def test_partial_is_for_inspection_only(error: kova.KovaError) -> None:
    """L10, S3: what the turn had produced is in neither the repr, the text nor the pickle."""
    error = copy.copy(error)
    said = kova.assistant_message("canary")
    error.partial = Partial([said], UsageStats(input_tokens=7), llm_calls=1)
    assert "canary" not in repr(error) + str(error)
    assert b"canary" not in pickle.dumps(error)
    assert pickle.loads(pickle.dumps(error)).partial is None
    assert error.partial.messages == [said]


def test_notes_survive_pickling() -> None:
    error = kova.StreamError("the stream broke off")
    error.add_note("while summarising page 3")
    assert pickle.loads(pickle.dumps(error)).__notes__ == ["while summarising page 3"]


@pytest.mark.parametrize("kind", kova.ProviderErrorClass)
def test_rate_limits_and_overload_may_pass(kind: kova.ProviderErrorClass) -> None:
    transient = {kova.ProviderErrorClass.RATE_LIMITED, kova.ProviderErrorClass.OVERLOADED}
    assert kova.ProviderError("refused", provider_class=kind).is_retryable is (kind in transient)


def test_an_exhausted_quota_does_not_come_back_by_waiting() -> None:
    error = kova.ProviderError("no credit", 429, kova.ProviderErrorClass.RATE_LIMITED, is_quota_exhausted=True)
    assert (error.is_retryable, error.is_quota_exhausted) == (False, True)


def test_connections_and_requests_may_be_tried_again_and_turns_not() -> None:
    assert kova.ConnectionError("reset").is_retryable
    assert kova.TimeoutError("a request took longer than 5 s", 5.0).is_retryable
    assert not kova.TimeoutError("the turn took longer than 5 s", 5.0, is_retryable=False).is_retryable
    assert not kova.StreamError("the stream ended without any event").is_retryable


def test_a_provider_error_says_who_refused_what() -> None:
    error = kova.ProviderError(
        "prompt too long",
        400,
        kova.ProviderErrorClass.INVALID_REQUEST,
        request_id="req_1",
        provider="openai",
        model="gpt-5",
        is_context_length=True,
    )
    assert (error.status_code, error.provider_class) == (400, kova.ProviderErrorClass.INVALID_REQUEST)
    assert (error.request_id, error.provider, error.model) == ("req_1", "openai", "gpt-5")
    assert error.is_context_length


def test_a_class_reads_as_its_name() -> None:
    assert f"{kova.ProviderErrorClass.RATE_LIMITED}" == "rate_limited"


def test_errors_name_what_they_are_about() -> None:
    assert "search" in str(kova.ToolExecutionError("search", "ValueError: no"))
    assert "'serach'" in str(kova.ToolNotFoundError("serach"))
    assert "10 tool rounds" in str(kova.MaxIterationsError(10))
    assert str(kova.TurnCancelledError()) == "the turn was cancelled"
    assert str(kova.TurnCancelledError("the user left")) == "the turn was cancelled: the user left"
    assert "1200" in str(kova.ContextBudgetExceededError(1_200, 1_000))


def test_what_a_tool_raises_to_the_model_is_no_kova_error() -> None:
    assert not issubclass(kova.ToolError, kova.KovaError)


@pytest.mark.parametrize("error", EXAMPLES.values(), ids=lambda error: type(error).__name__)
def test_an_error_is_made_again_from_its_class_and_its_arguments_as_json(error: kova.KovaError) -> None:
    """R6: as Celery does with the errors of its tasks."""
    again = type(error)(*json.loads(json.dumps(error.args)))
    assert (str(again), again.args) == (str(error), error.args)
    assert {**vars(again), "data": None} == {**vars(error), "data": None}  # what an MCP server attached may be anything
