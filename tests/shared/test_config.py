"""Configuration objects: checked when they are made, immutable, and merged field by field."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova.config import InferenceConfig, ResponseFormat, RetryConfig

PERSON = ResponseFormat({"type": "object", "properties": {"name": {"type": "string"}}}, name="person")

configs = st.builds(
    InferenceConfig,
    model=st.none() | st.sampled_from(["gpt-5", "llama"]),
    max_tokens=st.none() | st.integers(1, 1_000),
    temperature=st.none() | st.floats(0, 2),
    top_p=st.none() | st.floats(0, 1),
    stop_sequences=st.none() | st.lists(st.text(), max_size=3),
    response_format=st.none() | st.just(PERSON),
    tool_choice=st.none() | st.sampled_from(["auto", "required", "none", "add"]),
    seed=st.none() | st.integers(),
    extra_body=st.none() | st.dictionaries(st.text(), st.integers(), max_size=2),
)


def test_everything_is_left_to_the_provider_by_default() -> None:
    assert set(attrs.asdict(InferenceConfig()).values()) == {None}


def test_replace_changes_fields_and_can_unset_them() -> None:
    config = InferenceConfig(model="gpt-5", temperature=0.2)
    assert config.replace(temperature=None, seed=7) == InferenceConfig(model="gpt-5", seed=7)
    assert config == InferenceConfig(model="gpt-5", temperature=0.2)
    with pytest.raises(TypeError, match="temprature"):
        config.replace(temprature=0.2)


def test_what_a_call_sets_goes_before_the_agents() -> None:
    agents = InferenceConfig(model="gpt-5", temperature=0.2, stop_sequences=["END"])
    calls = InferenceConfig(temperature=0.0, max_tokens=100, stop_sequences=[])
    merged = InferenceConfig(model="gpt-5", temperature=0.0, max_tokens=100, stop_sequences=[])
    assert agents.merged_with(calls) == merged
    assert agents.merged_with(None) is agents


@given(configs, configs)
def test_merging_takes_each_field_from_the_later_that_sets_it(first: InferenceConfig, second: InferenceConfig) -> None:
    merged = first.merged_with(second)
    for attribute in attrs.fields(InferenceConfig):
        theirs = getattr(second, attribute.name)
        assert getattr(merged, attribute.name) == (getattr(first, attribute.name) if theirs is None else theirs)


@given(configs)
def test_configs_are_values(config: InferenceConfig) -> None:
    twins = copy.copy(config), copy.deepcopy(config), pickle.loads(pickle.dumps(config)), config.replace()
    assert all(twin == config and hash(twin) == hash(config) for twin in twins)


@pytest.mark.parametrize("config", [InferenceConfig(model="gpt-5"), PERSON, RetryConfig()])
def test_configs_are_immutable(config: Any) -> None:
    for attribute in attrs.fields(type(config)):
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            setattr(config, attribute.name, None)


def test_the_caller_cannot_change_a_config_afterwards() -> None:
    stops, body, schema = ["END"], {"user": "ada"}, {"type": "object"}
    config = InferenceConfig(stop_sequences=stops, extra_body=body, response_format=ResponseFormat(schema))
    stops.append("STOP")
    body.clear()
    schema.clear()
    assert config.stop_sequences == ("END",)
    assert config.extra_body == {"user": "ada"}
    assert config.response_format == ResponseFormat({"type": "object"})


def test_any_mapping_is_good() -> None:
    assert InferenceConfig(extra_body=MappingProxyType({"a": 1})) == InferenceConfig(extra_body={"a": 1})
    assert ResponseFormat(MappingProxyType({"type": "object"})) == ResponseFormat({"type": "object"})


@pytest.mark.parametrize(
    ("field", "value", "complaint"),
    [
        ("model", 5, "InferenceConfig.model must be str, not int"),
        ("max_tokens", "100", "InferenceConfig.max_tokens must be an integer, not str"),
        ("max_tokens", 1.5, "InferenceConfig.max_tokens must be an integer, not float"),
        ("max_tokens", True, "InferenceConfig.max_tokens must be an integer, not bool"),
        ("temperature", "0.2", "InferenceConfig.temperature must be a number, not str"),
        ("top_p", False, "InferenceConfig.top_p must be a number, not bool"),
        ("stop_sequences", "END", "InferenceConfig.stop_sequences must be a sequence of str"),
        ("stop_sequences", [1], "InferenceConfig.stop_sequences must be a sequence of str"),
        ("response_format", {"type": "object"}, "InferenceConfig.response_format must be ResponseFormat, not dict"),
        ("tool_choice", ["add"], "InferenceConfig.tool_choice must be str, not list"),
        ("seed", 1.0, "InferenceConfig.seed must be an integer, not float"),
        ("extra_body", "{}", "InferenceConfig.extra_body must be dict, not str"),
    ],
)
def test_a_wrong_type_is_named(field: str, value: object, complaint: str) -> None:
    with pytest.raises(TypeError, match=complaint):
        InferenceConfig().replace(**{field: value})


@pytest.mark.parametrize(
    ("field", "value", "complaint"),
    [
        ("max_tokens", 0, "InferenceConfig.max_tokens must be an integer of at least 1, not 0"),
        ("temperature", -0.1, "InferenceConfig.temperature must be a number of at least 0, not -0.1"),
        ("temperature", math.nan, "InferenceConfig.temperature must be a number of at least 0, not nan"),
        ("top_p", 1.1, "InferenceConfig.top_p must be a number from 0 to 1, not 1.1"),
    ],
)
def test_a_wrong_number_is_named(field: str, value: float, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        InferenceConfig().replace(**{field: value})


def test_a_format_needs_a_schema_and_a_name() -> None:
    assert ResponseFormat({"type": "object"}).name == "response"
    for make, arguments in WRONG_FORMATS:
        with pytest.raises(TypeError, match="ResponseFormat"):
            make(*arguments)


WRONG_FORMATS: list[tuple[Callable[..., object], tuple[object, ...]]] = [
    (ResponseFormat, ("object",)),
    (ResponseFormat, (dict,)),
    (ResponseFormat, ({"type": "object"}, None)),
]


def test_two_retries_by_default_and_none_when_disabled() -> None:
    assert RetryConfig() == RetryConfig(2, 0.5, 10.0, 2.0, 0.25, 60.0)
    assert RetryConfig.disabled().max_retries == 0


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"max_retries": -1}, ValueError),
        ({"max_retries": 1.5}, TypeError),
        ({"max_retries": None}, TypeError),
        ({"initial_backoff": -0.5}, ValueError),
        ({"max_backoff": "10"}, TypeError),
        ({"multiplier": 0.5}, ValueError),
        ({"jitter": 1.5}, ValueError),
        ({"max_retry_after": math.nan}, ValueError),
    ],
)
def test_a_retry_config_is_checked(wrong: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=f"RetryConfig.{next(iter(wrong))} must be"):
        RetryConfig(**wrong)


def test_a_server_may_be_waited_for_without_limit() -> None:
    assert RetryConfig(max_retry_after=math.inf).max_retry_after == math.inf
