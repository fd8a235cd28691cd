"""Answers that are objects of a type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import attrs
import pytest

import kova
from kova.testing import AsyncScriptedProvider
from tests import server as play
from tests.canary import KEY
from tests.server import ModelServer

pytestmark = pytest.mark.anyio


@attrs.frozen
class Item:
    name: str
    price: float


@dataclass
class Order:
    items: list[Item]
    paid: bool = False


GOOD = '{"items": [{"name": "tea", "price": 3}], "paid": true}'
BAD = '{"items": [{"name": "tea", "price": "three"}]}'


def provider(server: ModelServer) -> kova.AsyncOpenAICompatibleProvider:
    return kova.AsyncOpenAICompatibleProvider("m", api_key=KEY, base_url=server.url)


async def test_an_answer_is_an_object_of_the_type(server: ModelServer) -> None:
    server.play(play.text(GOOD))
    async with provider(server) as model:
        order, response = await kova.AsyncAgent(model).run_structured("tea, please", Order)
    assert order == Order([Item("tea", 3.0)], paid=True)
    assert response.text == GOOD
    wanted = server.last.json()["response_format"]["json_schema"]
    assert (wanted["name"], wanted["schema"]["required"]) == ("Order", ["items"])


async def test_a_wrong_answer_is_corrected_and_leaves_no_trace(server: ModelServer) -> None:
    server.play(play.text(BAD), play.text(GOOD))
    async with provider(server) as model:
        order, response = await kova.AsyncAgent(model).run_structured("tea, please", Order)
    assert order.paid
    assert response.new_messages == [kova.assistant_message(GOOD)]
    assert (response.llm_calls, response.usage.total_tokens) == (2, 20)
    *_, wrong, request = server.last.json()["messages"]
    assert wrong == {"role": "assistant", "content": BAD}
    assert "items[0].price" in request["content"]


async def test_only_the_newest_wrong_answer_goes_back(server: ModelServer) -> None:
    server.play(play.text("no JSON"), play.text(BAD), play.text(f"```json\n{GOOD}\n```"))
    async with provider(server) as model:
        order, _ = await kova.AsyncAgent(model).run_structured("tea, please", Order, max_corrections=2)
    assert order.items == [Item("tea", 3.0)]
    assert [message["role"] for message in server.last.json()["messages"]] == ["user", "assistant", "user"]


async def test_corrections_are_bounded(server: ModelServer) -> None:
    server.always(play.text(BAD))
    async with provider(server) as model:
        with pytest.raises(kova.ProviderError, match=r"does not fit: items\[0\].price") as caught:
            await kova.AsyncAgent(model).run_structured("tea, please", Order, max_corrections=2)
        assert len(server.exchanges) == 3
        assert caught.value.provider_class is kova.ProviderErrorClass.OTHER
        assert caught.value.partial is not None
        assert caught.value.partial.llm_calls == 3
        with pytest.raises(kova.ProviderError):
            await kova.AsyncAgent(model, max_iterations=1).run_structured("tea, please", Order, max_corrections=5)
    assert len(server.exchanges) == 5


async def test_tools_may_be_used_on_the_way(server: ModelServer) -> None:
    @kova.tool
    def price(name: str) -> float:
        """Price of a thing."""
        return 3.0

    server.play(play.calls(("price", {"name": "tea"})), play.text(BAD), play.text(GOOD))
    async with provider(server) as model:
        _, response = await kova.AsyncAgent(model, tools=[price]).run_structured("tea, please", Order)
    assert [message.role.value for message in response.new_messages] == ["assistant", "tool", "assistant"]
    assert kova.check_history([kova.user_message("tea, please"), *response.new_messages]) == []


async def test_a_schema_gives_a_dict(server: ModelServer) -> None:
    schema: Any = {"title": "city", "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    server.play(play.text('{"nam": "Oslo"}'), play.text('{"name": "Oslo"}'))
    async with provider(server) as model:
        city, _ = await kova.AsyncAgent(model).run_structured("a city", schema)
    assert city == {"name": "Oslo"}
    assert server.exchanges[0].json()["response_format"]["json_schema"]["name"] == "city"


async def test_a_refusal_is_not_corrected(server: ModelServer) -> None:
    server.play(play.message("I cannot.", (), "content_filter", play.USAGE))
    async with provider(server) as model:
        with pytest.raises(kova.ProviderError, match="the model gave no answer: content_filter"):
            await kova.AsyncAgent(model).run_structured("tea, please", Order)
    assert len(server.exchanges) == 1


@pytest.mark.parametrize("output_type", [int, list[int], object(), {"type": "array"}])
async def test_other_types_are_refused(server: ModelServer, output_type: Any) -> None:
    async with provider(server) as model:
        with pytest.raises(TypeError, match="output_type"):
            await kova.AsyncAgent(model).run_structured("go", output_type)
    assert server.exchanges == []


async def test_a_class_of_a_function_finds_the_others_of_the_function() -> None:
    """Hints are text in this file, and say nothing of where their names are."""

    @dataclass
    class Leaf:
        size: int

    @attrs.frozen
    class Tree:
        leaf: Leaf
        branches: list[Tree] = attrs.field(factory=list)

    async def ask() -> Tree:
        return (await agent.run_structured("A tree?", Tree))[0]

    agent = kova.AsyncAgent(AsyncScriptedProvider('{"leaf": {"size": 1}, "branches": [{"leaf": {"size": 2}}]}'))
    assert await ask() == Tree(Leaf(1), [Tree(Leaf(2))])


def make_a_class() -> Any:
    @dataclass
    class Inner:
        size: int

    @dataclass
    class Outer:
        inner: Inner

    return Outer


async def test_a_class_of_a_function_that_is_over_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Outer cannot be resolved: .*'Inner'.*: define the classes in the module"):
        await kova.AsyncAgent(AsyncScriptedProvider()).run_structured("Hi", make_a_class())
