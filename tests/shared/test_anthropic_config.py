"""Settings of an Anthropic provider, and what is known of families of models."""

import inspect

import attrs
import pytest

from kova._async.anthropic import AsyncAnthropicProvider
from kova._async.resolve import provider_from_string
from kova._formats.anthropic.config import AnthropicProviderConfig, api_headers, environment_config
from kova._formats.anthropic.models import NEWEST, family_of
from kova._formats.anthropic.request import build_models_request
from kova._formats.anthropic.urls import messages_url
from kova.errors import BuildError, ProviderError, ProviderErrorClass

KEY = "sk-ant-canary-0123456789"


def config(base_url="https://api.anthropic.com", **options):
    return AnthropicProviderConfig("m", base_url=base_url, **options)


# ---- where requests go


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("https://api.anthropic.com", "https://api.anthropic.com/v1"),
        ("https://api.anthropic.com/", "https://api.anthropic.com/v1"),
        ("https://api.anthropic.com/v1", "https://api.anthropic.com/v1"),
        (" https://api.anthropic.com/v1/\n", "https://api.anthropic.com/v1"),
        ("https://api.anthropic.com/v1/messages", "https://api.anthropic.com/v1"),
        ("https://api.anthropic.com/v1/messages/", "https://api.anthropic.com/v1"),
        ("http://[::1]:8000//", "http://[::1]:8000/v1"),
        ("https://api.deepseek.com/anthropic", "https://api.deepseek.com/anthropic/v1"),
        ("https://host/api/v2beta", "https://host/api/v2beta"),
        ("https://host/dev1", "https://host/dev1/v1"),
    ],
)
def test_a_base_url_does_what_its_user_means(base_url, url):
    assert messages_url(config(base_url).base_url) == f"{url}/messages"
    assert build_models_request(config(base_url), None).url == f"{url}/models?limit=1000"


def test_a_query_is_kept():
    tenant = config("https://host/v1?tenant=a")
    assert messages_url(tenant.base_url) == "https://host/v1/messages?tenant=a"
    assert build_models_request(tenant, None).url == "https://host/v1/models?tenant=a&limit=1000"


# ---- who asks


def test_the_key_has_a_header_of_its_own():
    assert api_headers(config(), f" {KEY}\n", "application/json") == {
        "accept": "application/json",
        "anthropic-version": "2023-06-01",
        "x-api-key": KEY,
    }


@pytest.mark.parametrize("key", [None, "", "  "])
def test_without_a_key_nothing_is_sent(key):
    assert "x-api-key" not in api_headers(config(), key, "*/*")


def test_betas_are_one_header():
    asked = config(beta_headers=["context-1m-2025-08-07", "files-api-2025-04-14"])
    assert api_headers(asked, None, "*/*")["anthropic-beta"] == "context-1m-2025-08-07,files-api-2025-04-14"
    assert "anthropic-beta" not in api_headers(config(beta_headers=[]), None, "*/*")


def test_default_headers_win():
    own = config(default_headers={"Anthropic-Version": "2030-01-01", "Authorization": "Bearer t"})
    headers = api_headers(own, None, "*/*")
    assert (headers["anthropic-version"], headers["authorization"]) == ("2030-01-01", "Bearer t")


def test_a_key_that_cannot_be_sent_is_an_error_that_does_not_show_it():
    with pytest.raises(ProviderError) as caught:
        api_headers(config(api_key=lambda: KEY), f"{KEY}\r\nx: y", "*/*")
    assert caught.value.provider_class is ProviderErrorClass.AUTH_INVALID
    assert KEY not in repr(caught.value)


# ---- checks


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": " "}, "model must be a non-empty str"),
        ({"api_key": 5}, "api_key must be a str or a callable"),
        ({"base_url": "api.anthropic.com"}, "base_url must be a URL with http"),
        ({"default_max_tokens": 0}, "default_max_tokens must be an int of at least 1"),
        ({"default_max_tokens": True}, "default_max_tokens must be an int of at least 1"),
        ({"default_max_tokens": None}, "default_max_tokens must be an int of at least 1"),
        ({"adaptive_thinking": "yes"}, "adaptive_thinking must be True or False"),
        ({"effort": ""}, "effort must be a non-empty str"),
        ({"effort": 3}, "effort must be a non-empty str"),
        ({"cache": None}, "cache must be True or False"),
        ({"beta_headers": "one"}, "beta_headers must be a sequence of str"),
        ({"beta_headers": [1]}, "beta_headers must be a sequence of str"),
        ({"beta_headers": ["a b"]}, "beta_headers: 'a b' cannot be the name of a beta"),
        ({"beta_headers": ["a,b"]}, "beta_headers: 'a,b' cannot be the name of a beta"),
        ({"beta_headers": ["a\n"]}, "beta_headers: .* cannot be the name of a beta"),
    ],
)
def test_a_wrong_setting_is_named(options, message):
    with pytest.raises(BuildError, match=message):
        AnthropicProviderConfig(**{"model": "m", **options})


def test_settings_are_frozen_and_changed_by_copying():
    given = config(api_key=KEY, beta_headers=["a"])
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        given.model = "other"
    assert attrs.evolve(given, model="n") == AnthropicProviderConfig("n", api_key=KEY, beta_headers=("a",))


def test_no_secret_is_shown():
    """R7."""
    shown = repr(config(f"https://host/v1?key={KEY}", api_key=KEY, default_headers={"x-api-key": KEY}))
    assert KEY not in shown


# ---- the environment


def test_the_usual_variables_are_read():
    environ = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": "http://localhost/v1"}
    assert environment_config("m", environ) == config("http://localhost/v1", api_key=KEY)
    assert environment_config("m", {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": ""}) == config(api_key=KEY)


def test_a_token_stands_for_a_key():
    token = environment_config("m", {"ANTHROPIC_AUTH_TOKEN": f"{KEY}\n"})
    assert api_headers(token, None, "*/*")["authorization"] == f"Bearer {KEY}"
    assert KEY not in repr(token)


def test_a_missing_key_is_an_error_for_anthropic_only():
    for environ in ({}, {"ANTHROPIC_AUTH_TOKEN": " "}, {"ANTHROPIC_BASE_URL": "https://api.anthropic.com/v1/"}):
        with pytest.raises(BuildError, match=r"'anthropic:m' needs an API key: set ANTHROPIC_API_KEY"):
            environment_config("m", environ)
    assert environment_config("m", {"ANTHROPIC_BASE_URL": "http://localhost"}).api_key is None


def test_a_model_string_is_resolved_from_the_environment(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    provider = provider_from_string("anthropic:claude-opus-5")
    assert isinstance(provider, AsyncAnthropicProvider)
    assert provider.config == AnthropicProviderConfig("claude-opus-5", api_key=KEY)


def test_the_constructor_takes_what_the_settings_have():
    taken = inspect.signature(AsyncAnthropicProvider).parameters
    settings = {field.name: field.default for field in attrs.fields(AnthropicProviderConfig)}
    assert taken.keys() == {*settings, "http_client"}
    assert {name: taken[name].default for name in settings if name != "model"} == {
        name: default for name, default in settings.items() if name != "model"
    }


# ---- families of models


@pytest.mark.parametrize(
    ("model", "max_tokens", "adaptive", "effort"),
    [
        ("claude-2.1", 4_096, False, False),
        ("claude-3-haiku-20240307", 4_096, False, False),
        ("claude-3-opus-latest", 4_096, False, False),
        ("claude-3-5-sonnet-20241022", 8_192, False, False),
        ("anthropic/claude-3.5-haiku", 8_192, False, False),
        ("us.anthropic.claude-3-5-sonnet-20241022-v2:0", 8_192, False, False),
        ("claude-3-7-sonnet-latest", 64_000, False, False),
        ("claude-sonnet-4-0", 64_000, False, False),
        ("claude-sonnet-4@20250514", 64_000, False, False),
        ("claude-4-opus-20250514", 32_000, False, False),
        ("claude-opus-4-1-20250805", 32_000, False, False),
        ("claude-haiku-4-5", 64_000, False, False),
        ("anthropic/claude-sonnet-4.5", 64_000, False, False),
        ("claude-opus-4-5-20251101", 64_000, False, True),
        ("anthropic.claude-opus-4-6-v1", 128_000, True, True),
        ("claude-opus-4-8", 128_000, True, True),
        ("claude-fable-5-1", 128_000, True, True),
    ],
)
def test_families_are_told_by_their_names_in_all_their_forms(model, max_tokens, adaptive, effort):
    family = family_of(model)
    assert (family.max_tokens, family.has_adaptive_thinking, family.has_effort) == (max_tokens, adaptive, effort)


@pytest.mark.parametrize(
    "model", ["claude-opus-4-9", "claude-haiku-6", "claude-test", "claude", "smollm2", "gpt-5", ""]
)
def test_a_model_that_is_not_known_does_what_the_newest_do(model):
    assert family_of(model) is NEWEST


@pytest.mark.parametrize(
    ("model", "off"),
    [
        ("claude-opus-4-8", None),  # does not think unless it is told to
        ("claude-opus-5", "disabled"),
        ("claude-haiku-5-5", "disabled"),
        ("claude-sonnet-5-5", "between_tools"),
        ("claude-opus-5-5", None),  # cannot but think
        ("claude-mythos-preview", None),
    ],
)
def test_thinking_is_turned_off_where_it_is_on_and_can_be(model, off):
    assert family_of(model).thinking_off == off
