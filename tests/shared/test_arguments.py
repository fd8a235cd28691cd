"""Arguments of a wrong type or value, of every public function that takes messages, tools or times."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kova

HI = kova.user_message("Hi")
OF_MESSAGES: dict[str, Callable[[Any], object]] = {
    "check_history": kova.check_history,
    "repair_history": kova.repair_history,
    "trim_history": lambda messages: kova.trim_history(messages, 3),
    "estimate_tokens": kova.estimate_tokens,
    "messages_to_json": kova.messages_to_json,
    "InMemoryStore.append": lambda messages: kova.InMemoryStore().append("c1", messages, 0),
}


@pytest.mark.parametrize("name", OF_MESSAGES)
@pytest.mark.parametrize("given", [None, 7, "Hi", "", b"Hi", {}, HI], ids=lambda given: repr(given)[:20])
def test_what_is_no_sequence_of_messages_is_refused(name: str, given: object) -> None:
    with pytest.raises(TypeError, match=rf"messages must be a sequence of messages, not {type(given).__name__}"):
        OF_MESSAGES[name](given)


@pytest.mark.parametrize("name", OF_MESSAGES)
@pytest.mark.parametrize("given", [None, "Hi", kova.TextBlock("Hi"), [HI]], ids=repr)
def test_what_is_no_message_is_named_by_its_place(name: str, given: object) -> None:
    with pytest.raises(TypeError, match=rf"messages\[1\] must be a ConversationMessage, not {type(given).__name__}"):
        OF_MESSAGES[name]([HI, given])
    with pytest.raises(TypeError, match=r"messages\[0\]"):
        OF_MESSAGES[name](iter([given]))


@pytest.mark.parametrize("name", OF_MESSAGES)
def test_any_iterable_of_messages_will_do(name: str) -> None:
    OF_MESSAGES[name](iter([HI]))
    OF_MESSAGES[name](())


@pytest.mark.parametrize("given", ["3", None, 2.0, True, float("nan")])
def test_a_number_of_messages_is_an_int(given: Any) -> None:
    with pytest.raises(TypeError, match="max_messages must be an int"):
        kova.trim_history([HI], given)


@pytest.mark.parametrize("given", ["ping", {"name": "ping"}, None])
def test_the_tools_of_an_estimate_are_definitions(given: Any) -> None:
    with pytest.raises(TypeError, match=rf"tools must be ToolDefinitions, not {type(given).__name__}"):
        kova.estimate_tokens([HI], [given])


@pytest.mark.parametrize("given", [7, "", b"x", [], None, object, object()], ids=lambda given: repr(given)[:20])
def test_a_tool_is_made_of_a_function(given: Any) -> None:
    if given is None:
        assert callable(kova.tool(given)), "that is how the decorator is called with brackets"
        return
    with pytest.raises(kova.BuildError, match="a tool is made of a function, not of "):
        kova.tool(given)


@pytest.mark.parametrize(
    ("given", "error"),
    [("1", TypeError), (None, TypeError), (True, TypeError), (-1, ValueError), (float("nan"), ValueError)],
)
def test_a_time_is_a_number(given: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="seconds must be a number"):
        kova.CancellationToken().cancel_after(given)


def test_flags_and_reasons_have_their_types() -> None:
    with pytest.raises(TypeError, match=r"ToolResult\.is_error must be bool, not NoneType"):
        kova.ToolResult("x", is_error=None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"ApprovalDecision\.reason must be str, not int"):
        kova.ApprovalDecision.denied(7)  # type: ignore[arg-type]


@pytest.mark.parametrize("given", ["\0", "\ud800", "", ":memory:", 7, None, b"x"])
def test_the_path_of_a_store_is_that_of_a_file(given: Any, tmp_path: Path) -> None:
    path = f"{tmp_path}/{given}" if given in ("\0", "\ud800") else given
    with pytest.raises(kova.BuildError, match="path "):
        kova.SQLiteStore(path)
