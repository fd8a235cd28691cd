"""Settings of a Gemini provider: what they are checked for, where they lead, and what they show."""

import inspect

import attrs
import pytest

from kova._async.gemini import AsyncGeminiProvider
from kova._async.resolve import provider_from_string
from kova._formats.gemini.config import GeminiProviderConfig, api_headers, environment_config
from kova._formats.gemini.models import wants_signatures
from kova._formats.gemini.request import build_models_request
from kova._formats.gemini.urls import DEFAULT_BASE_URL, generate_url
from kova.errors import BuildError, ProviderError, ProviderErrorClass

KEY = "AIza-canary-0123456789"


def config(base_url=DEFAULT_BASE_URL, model="m", **options):
    return GeminiProviderConfig(model, base_url=base_url, **options)


# ---- where requests go


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("https://generativelanguage.googleapis.com", "https://generativelanguage.googleapis.com/v1beta"),
        ("https://generativelanguage.googleapis.com/", "https://generativelanguage.googleapis.com/v1beta"),
        ("https://generativelanguage.googleapis.com/v1beta/", "https://generativelanguage.googleapis.com/v1beta"),
        (" https://generativelanguage.googleapis.com/v1\n", "https://generativelanguage.googleapis.com/v1"),
        (
            "https://generativelanguage.googleapis.com/v1beta/openai/",
            "https://generativelanguage.googleapis.com/v1beta",
        ),
        ("https://host/v1beta/models", "https://host/v1beta"),
        ("https://host/v1beta/models/gemini-2.5-flash:generateContent", "https://host/v1beta"),
        ("http://localhost:4000", "http://localhost:4000/v1beta"),
        ("http://localhost:4000/gemini", "http://localhost:4000/gemini/v1beta"),
        (
            "https://aiplatform.googleapis.com/v1/publishers/google",
            "https://aiplatform.googleapis.com/v1/publishers/google",
        ),
        ("https://host/openai", "https://host/openai/v1beta"),
    ],
)
def test_a_base_url_does_what_its_user_means(base_url, url):
    asked = config(base_url)
    assert generate_url(asked.base_url, asked.api_version, "m", False) == f"{url}/models/m:generateContent"
    assert build_models_request(asked, None).url == f"{url}/models?pageSize=1000"


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("gemini-2.5-flash", "models/gemini-2.5-flash"),
        ("models/gemini-2.5-flash", "models/gemini-2.5-flash"),
        ("tunedModels/mine", "tunedModels/mine"),
        ("ollama/llama3:8b", "models/ollama/llama3:8b"),
        ("a b?c#d", "models/a%20b%3Fc%23d"),
        ("größe", "models/gr%C3%B6%C3%9Fe"),
    ],
)
def test_a_model_is_named_with_or_without_its_collection(model, path):
    assert generate_url("http://host", "v1alpha", model, False) == f"http://host/v1alpha/{path}:generateContent"


def test_a_stream_has_an_endpoint_of_its_own_and_asks_for_events():
    assert (
        generate_url("http://host", "v1beta", "m", True) == "http://host/v1beta/models/m:streamGenerateContent?alt=sse"
    )


def test_a_query_is_kept():
    assert generate_url("https://host?tenant=a", "v1", "m", True).endswith("?tenant=a&alt=sse")


# ---- who asks


def test_the_key_is_a_header_and_never_in_the_query():
    request = build_models_request(config(), f" {KEY}\n")
    assert request.headers == {"accept": "application/json", "x-goog-api-key": KEY}
    assert request.secrets == (KEY,)
    assert KEY not in request.url


@pytest.mark.parametrize("key", [None, "", "  "])
def test_without_a_key_nothing_is_sent(key):
    assert api_headers(config("http://localhost"), key, "*/*") == {"accept": "*/*"}


def test_headers_of_the_users_win():
    vertex = config(default_headers={"Authorization": "Bearer token-0123456789"})
    request = build_models_request(vertex, None)
    assert request.headers["authorization"] == "Bearer token-0123456789"
    assert set(request.secrets) == {"Bearer token-0123456789", "token-0123456789"}


def test_a_key_that_cannot_be_sent_is_an_error_that_does_not_show_it():
    with pytest.raises(ProviderError) as caught:
        api_headers(config(api_key=lambda: KEY), f"{KEY}\r\nx: y", "*/*")
    assert caught.value.provider_class is ProviderErrorClass.AUTH_INVALID
    assert KEY not in repr(caught.value)


# ---- checks


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": ""}, "model must be a non-empty str"),
        ({"base_url": "localhost:4000"}, "base_url must be a URL with http"),
        ({"api_key": 5}, "api_key must be a str or a callable"),
        ({"api_version": ""}, "api_version must be a non-empty str"),
        ({"api_version": None}, "api_version must be a non-empty str"),
        ({"api_version": "v1/models"}, "api_version must be a version such as 'v1beta'"),
        ({"thinking_budget": -2}, "thinking_budget must be a number of tokens, 0 for no thinking, or -1"),
        ({"thinking_budget": True}, "thinking_budget must be a number of tokens"),
        ({"thinking_budget": 1.5}, "thinking_budget must be a number of tokens"),
        ({"thinking_budget": "512"}, "thinking_budget must be a number of tokens"),
    ],
)
def test_a_wrong_setting_is_named(options, message):
    with pytest.raises(BuildError, match=message):
        GeminiProviderConfig(**{"model": "m", **options})


def test_settings_are_frozen_and_changed_by_copying():
    given = config(api_key=KEY, thinking_budget=-1)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        given.model = "other"
    assert attrs.evolve(given, model="other") == config(model="other", api_key=KEY, thinking_budget=-1)


def test_no_secret_is_shown():
    """R7."""
    shown = repr(config(f"https://host?key={KEY}", api_key=KEY, default_headers={"x-api-key": KEY}))
    assert KEY not in shown
    assert "https://host?key=***" in shown


# ---- the environment


@pytest.mark.parametrize(
    ("environ", "key"),
    [
        ({"GEMINI_API_KEY": KEY}, KEY),
        ({"GOOGLE_API_KEY": f"{KEY}\n"}, KEY),
        ({"GEMINI_API_KEY": KEY, "GOOGLE_API_KEY": "other"}, KEY),
        ({"GEMINI_API_KEY": " ", "GOOGLE_API_KEY": KEY}, KEY),
    ],
)
def test_either_variable_may_have_the_key(environ, key):
    assert environment_config("m", environ) == config(api_key=key)


def test_a_missing_key_is_an_error_that_says_what_to_set():
    with pytest.raises(BuildError, match="'gemini:m' needs an API key: set GEMINI_API_KEY or GOOGLE_API_KEY"):
        environment_config("m", {"GEMINI_API_KEY": ""})


def test_a_server_of_ones_own_may_need_no_key():
    assert environment_config("m", {"GOOGLE_GEMINI_BASE_URL": "http://localhost"}) == config("http://localhost")


def test_a_model_string_means_this_provider(monkeypatch):
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    monkeypatch.delenv("GOOGLE_GEMINI_BASE_URL", raising=False)
    assert provider_from_string("gemini:gemini-2.5-flash").config == config(model="gemini-2.5-flash", api_key=KEY)
    monkeypatch.delenv("GEMINI_API_KEY")
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    with pytest.raises(BuildError, match="set GEMINI_API_KEY or GOOGLE_API_KEY"):
        provider_from_string("gemini:m")


def test_the_constructor_takes_what_the_settings_have():
    taken = inspect.signature(AsyncGeminiProvider).parameters
    settings = {field.name: field.default for field in attrs.fields(GeminiProviderConfig)}
    assert taken.keys() == {*settings, "http_client"}
    assert {name: taken[name].default for name in settings if name != "model"} == {
        name: default for name, default in settings.items() if name != "model"
    }


# ---- what is known of models


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("gemini-3-pro-preview", True),
        ("models/gemini-3.5-flash", True),
        ("gemini-4-argon", True),
        ("gemini-12-flash", True),
        ("gemini-flash-latest", True),
        ("gemini-flash-lite-latest", True),
        ("gemini-2.5-flash", False),
        ("gemini-2.0-flash-001", False),
        ("gemini-1.5-pro-latest", False),
        ("gemini-pro", False),
        ("gemini-test", False),
        ("gemma-3-27b-it", False),
        ("test-model", False),
    ],
)
def test_models_that_want_signatures_are_told_by_their_names(model, expected):
    assert wants_signatures(model) is expected
