"""Tools: how functions become tools, what their results become, and how a turn's table of tools is made."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import functools
import subprocess
import sys
import threading
import time
from typing import Literal

import attrs
import pytest

from kova._schema import ArgumentError
from kova.cancellation import CancellationToken
from kova.errors import BuildError, KovaError, ToolExecutionError
from kova.messages import ImageBlock, TextBlock
from kova.tool_registry import ToolRegistry, merge_tools
from kova.tools import (
    FunctionTool,
    Tool,
    ToolContext,
    ToolDefinition,
    ToolError,
    ToolResult,
    as_tool,
    normalize_result,
    tool,
)


@tool
def get_weather(city: str, unit: Literal["C", "F"] = "C") -> str:
    """Current weather for a city.

    Args:
        city: Name of the city.
    """
    return f"12 °{unit} in {city}"


@tool(name="find", description="Find things.", timeout=2.5, errors="report")
async def search(query: str, context: ToolContext) -> str:
    return f"{query} for {context.state}"


class Clock(Tool):
    name = "clock"
    description = "Tells the time."

    def execute(self, arguments, context):
        return "noon"


class Slow(Tool):
    def __init__(self, name: str, timeout: float):
        self.name = name
        self.timeout = timeout

    async def execute(self, arguments, context):
        return "done"


CONTEXT = ToolContext(tool_use_id="call_1", tool_name="get_weather", state="Ada")


# ------------------------------------------------------------------------------------------------ @tool


def test_a_function_becomes_a_tool():
    assert isinstance(get_weather, FunctionTool)
    assert repr(get_weather) == "<FunctionTool 'get_weather'>"
    assert get_weather.definition == ToolDefinition(
        "get_weather",
        "Current weather for a city.",
        {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "Name of the city."},
                "unit": {"type": "string", "enum": ["C", "F"], "default": "C"},
            },
            "required": ["city"],
            "additionalProperties": False,
        },
    )
    assert (get_weather.timeout, get_weather.errors) == (None, None)


def test_the_function_stays_callable():
    assert get_weather("Oslo", unit="F") == "12 °F in Oslo"
    assert get_weather.__name__ == "get_weather"
    assert get_weather.__doc__.startswith("Current weather")


def test_options():
    assert (search.name, search.description, search.timeout, search.errors) == ("find", "Find things.", 2.5, "report")
    assert tool(len_of, name="length").name == "length"


def len_of(text: str) -> int:
    return len(text)


def test_whether_a_tool_is_async_is_known():
    class Caller:
        async def __call__(self, query: str) -> str: ...

    assert not get_weather.is_async
    assert search.is_async
    assert tool(functools.partial(search.fn, query="x")).is_async
    assert tool(Caller()).is_async
    assert tool(Caller()).name == "Caller"
    assert not Clock().is_async
    assert Slow("slow", 1).is_async


def test_execute_structures_the_arguments_and_calls_the_function():
    assert get_weather.execute({"city": "Oslo"}, CONTEXT) == "12 °C in Oslo"
    assert asyncio.run(search.execute({"query": "tea"}, CONTEXT)) == "tea for Ada"


def test_l2_arguments_that_do_not_fit_are_refused_before_the_call():
    """L2: the error names the parameter and what is wrong."""
    with pytest.raises(
        ArgumentError, match="^city: expected a string, got the number 5; unit: expected one of 'C', 'F'"
    ):
        get_weather.execute({"city": 5, "unit": "K"}, CONTEXT)


def test_the_context_is_injected_and_no_argument_of_the_model():
    assert "context" not in search.parameters["properties"]
    assert search.bind({"query": "tea"}, CONTEXT) == {"query": "tea", "context": CONTEXT}
    with pytest.raises(ArgumentError, match="context: unexpected"):
        search.bind({"query": "tea", "context": {}}, CONTEXT)


def test_classes_of_the_defining_function_are_found():
    @dataclasses.dataclass
    class Order:
        item: str

    @tool
    def bare(order: Order) -> str:
        return order.item

    @tool(timeout=1)
    def with_options(order: Order) -> str:
        return order.item

    assert bare.execute({"order": {"item": "tea"}}, CONTEXT) == "tea"
    assert with_options.execute({"order": {"item": "tea"}}, CONTEXT) == "tea"


def test_classes_of_the_function_that_gives_the_list_of_tools_are_found():
    @dataclasses.dataclass
    class Place:
        name: str

    def visit(place: Place) -> str:
        return place.name

    assert as_tool(visit).execute({"place": {"name": "Oslo"}}, ToolContext()) == "Oslo"


def make_a_function():
    @dataclasses.dataclass
    class Place:
        name: str

    def visit(place: Place) -> str: ...

    return visit


def test_classes_of_a_function_that_is_over_are_not():
    with pytest.raises(BuildError, match=r"place: the hint 'Place' .*: define the classes in the module"):
        as_tool(make_a_function())


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"name": ""}, "needs a name"),
        ({"timeout": 0}, "timeout must be a positive number"),
        ({"timeout": True}, "timeout must be a positive number"),
        ({"errors": "ignore"}, "errors must be 'raise' or 'report'"),
    ],
)
def test_wrong_options_are_build_errors(options, reason):
    with pytest.raises(BuildError, match=reason):
        tool(len_of, **options)


def test_a_function_that_cannot_be_described_is_a_build_error():
    def connect(socket: threading.Thread): ...

    with pytest.raises(BuildError, match=r"connect \(line \d+\): parameter socket: .* the type Thread"):
        tool(connect)
    with pytest.raises(BuildError, match="needs a name"):
        tool(lambda text: text)


# ------------------------------------------------------------------------------------------------ as_tool


def test_what_may_stand_in_a_list_of_tools():
    clock = Clock()
    assert as_tool(clock) is clock
    assert as_tool(len_of).name == "len_of"


@pytest.mark.parametrize(
    ("candidate", "named"),
    [(5, "got 5"), ("search", "got 'search'"), (None, "got None"), (Clock, "got the class Clock")],
)
def test_anything_else_is_a_build_error_that_names_it(candidate, named):
    with pytest.raises(BuildError, match=f"expected a Tool or a function, {named}"):
        as_tool(candidate)


def test_a_tool_without_a_name_is_a_build_error():
    class Nameless(Tool):
        def execute(self, arguments, context): ...

    with pytest.raises(BuildError, match="Nameless needs a name"):
        as_tool(Nameless())


def test_a_tool_must_be_able_to_execute():
    class Idle(Tool):
        name = "idle"

    with pytest.raises(TypeError, match="execute"):
        Idle()


# ------------------------------------------------------------------------------------------------ context, results


def test_the_context_tells_the_time_that_is_left():
    assert ToolContext().remaining() is None
    assert 0 < ToolContext(deadline=time.monotonic() + 60).remaining() <= 60
    assert ToolContext(deadline=time.monotonic() - 1).remaining() == 0


def test_the_context_carries_the_call():
    token = CancellationToken()
    context = ToolContext(tool_use_id="call_1", tool_name="find", cancel=token, state={"secret": 1})
    assert (context.tool_use_id, context.tool_name, context.cancel) == ("call_1", "find", token)
    assert context.state == {"secret": 1}
    assert "secret" not in repr(context)


@attrs.frozen
class Forecast:
    day: datetime.date
    high: float


IMAGE = ImageBlock("image/png", b"...")


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("text as it is", "text as it is"),
        ("", ""),
        (ToolResult("broken", is_error=True), "broken"),
        (IMAGE, (IMAGE,)),
        ([TextBlock("A chart:"), IMAGE], (TextBlock("A chart:"), IMAGE)),
        ({"ß": [1, 2.5]}, '{"ß":[1,2.5]}'),
        ([], "[]"),
        (True, "true"),
        (None, "null"),
        ([Forecast(datetime.date(2026, 1, 2), 3.5)], '[{"day":"2026-01-02","high":3.5}]'),
        (datetime.date(2026, 1, 2), "2026-01-02"),
    ],
    ids=repr,
)
def test_what_a_tool_returns_becomes_a_result(value, content):
    result = normalize_result("forecast", value)
    assert result.content == content
    assert result.is_error == isinstance(value, ToolResult)


@pytest.mark.parametrize(
    ("value", "reason"),
    [(object(), "TypeError: .* object has no form in JSON"), ({"x": float("nan")}, "ValueError: ")],
)
def test_what_cannot_be_written_is_an_error_of_the_tool(value, reason):
    with pytest.raises(ToolExecutionError, match=f"'forecast' failed: {reason}") as caught:
        normalize_result("forecast", value)
    assert caught.value.tool_name == "forecast"


def test_a_text_among_blocks_is_a_block():
    image = ImageBlock("image/png", b"png")
    assert normalize_result("look", ["A cat.", image]).content == (TextBlock("A cat."), image)
    assert normalize_result("look", (image, "A cat.")).content == (image, TextBlock("A cat."))
    assert normalize_result("look", ["A cat.", "A dog."]).content == '["A cat.","A dog."]'
    with pytest.raises(ToolExecutionError, match=r"holds blocks and texts only, but \[1\] is of type dict"):
        normalize_result("look", [image, {"kind": "cat"}])


def test_a_result_is_text_or_blocks():
    assert ToolResult([TextBlock("a")]).content == (TextBlock("a"),)
    with pytest.raises(TypeError, match="text, or blocks"):
        ToolResult({"a": 1})


def test_tool_error_is_the_tool_speaking_to_the_model():
    assert not issubclass(ToolError, KovaError)


# ------------------------------------------------------------------------------------------------ registry


def test_a_registry_holds_tools_by_name():
    registry = ToolRegistry()
    registry.register(get_weather)
    registry.register(len_of)
    assert [item.name for item in registry.list()] == ["get_weather", "len_of"]
    assert registry.get("get_weather") is get_weather
    assert registry.get("nothing") is None
    assert "len_of" in registry
    assert len(registry) == 2


def test_registering_a_name_again_replaces_the_tool():
    registry = ToolRegistry()
    registry.register(tool(len_of, name="clock"))
    clock = Clock()
    registry.register(clock)
    assert registry.list() == [clock]


def test_definitions_are_kept_until_the_next_registration():
    registry = ToolRegistry()
    registry.register(get_weather)
    first = registry.tool_definitions()
    assert first == (get_weather.definition,)
    assert registry.tool_definitions() is first
    registry.register(Clock())
    assert [definition.name for definition in registry.tool_definitions()] == ["get_weather", "clock"]


def test_a_copy_shares_nothing():
    registry = ToolRegistry()
    registry.register(get_weather)
    copied = registry.copy()
    copied.register(Clock())
    registry.register(search)
    assert [item.name for item in copied.list()] == ["get_weather", "clock"]
    assert [item.name for item in registry.list()] == ["get_weather", "find"]


def test_threads_may_register_at_once():
    registry = ToolRegistry()

    def register(thread: int) -> None:
        for number in range(50):
            registry.register(Slow(f"tool_{thread}_{number}", 1))
            registry.tool_definitions()

    threads = [threading.Thread(target=register, args=(thread,)) for thread in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(registry) == len(registry.tool_definitions()) == 400


# ------------------------------------------------------------------------------------------------ a turn's tools


def test_own_tools_lie_over_those_of_the_registry():
    registry = ToolRegistry()
    registry.register(get_weather)
    registry.register(Clock())
    own_clock = Slow("clock", 1)
    table = merge_tools([own_clock, len_of], registry)
    assert list(table) == ["get_weather", "clock", "len_of"]
    assert table["clock"] is own_clock
    assert merge_tools([]) == {}


def test_l13_two_tools_of_one_name_are_refused_with_both_origins():
    """L13: duplicate names fail, naming where both tools come from."""
    with pytest.raises(BuildError) as caught:
        merge_tools([Clock(), tool(len_of, name="clock")])
    assert "two tools are named 'clock'" in str(caught.value)
    assert "test_tools.Clock" in str(caught.value)
    assert "test_tools.len_of" in str(caught.value)


# ------------------------------------------------------------------------------------------------ cost


def test_cattrs_is_loaded_only_for_arguments_that_have_parts():
    program = """
import sys
import kova.tools

@kova.tools.tool
def simple(text: str, number: int = 1): ...

@kova.tools.tool
def compound(texts: list[str]): ...

context = kova.tools.ToolContext()
simple.bind({"text": "a"}, context)
assert "cattrs" not in sys.modules
compound.bind({"texts": ["a"]}, context)
assert "cattrs" in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)
