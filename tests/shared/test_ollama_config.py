"""Settings of an Ollama provider: what they are checked for, where they lead, and what they show."""

import inspect

import attrs
import pytest

from kova._async.ollama import AsyncOllamaProvider
from kova._async.resolve import provider_from_string
from kova._formats.ollama.config import OllamaProviderConfig, auth_headers, environment_config
from kova._formats.ollama.request import build_models_request
from kova._formats.ollama.urls import chat_url
from kova.errors import BuildError, ProviderError, ProviderErrorClass

KEY = "canary-0123456789"

# What Ollama's own clients make of it (`TestHost` of the server's envconfig, `_parse_host` of the Python library).
FORMS = [
    ("1.2.3.4", "http://1.2.3.4:11434"),
    ("1.2.3.4:56789", "http://1.2.3.4:56789"),
    (":56789", "http://127.0.0.1:56789"),
    ("example.com", "http://example.com:11434"),
    ("example.com/", "http://example.com:11434"),
    ("example.com:56789/path/", "http://example.com:56789/path"),
    ("example.com/path", "http://example.com:11434/path"),
    ("http://1.2.3.4", "http://1.2.3.4"),
    ("http://1.2.3.4/", "http://1.2.3.4"),
    ("https://example.com", "https://example.com"),
    ("https://example.com:56789/path", "https://example.com:56789/path"),
    ("http://:8080", "http://127.0.0.1:8080"),
    ("[::1]", "http://[::1]:11434"),
    ("[::1]:1337", "http://[::1]:1337"),
    ("::1", "http://[::1]:11434"),
    ("https://[1:2::3]/path", "https://[1:2::3]/path"),
    ("0.0.0.0", "http://127.0.0.1:11434"),
    ("0.0.0.0:8080", "http://127.0.0.1:8080"),
    ("http://0.0.0.0:11434", "http://127.0.0.1:11434"),
    ("[::]", "http://[::1]:11434"),
    ("::", "http://[::1]:11434"),
    (' " 1.2.3.4 " \n', "http://1.2.3.4:11434"),
    ("'1.2.3.4'", "http://1.2.3.4:11434"),
    ("ollama.com", "https://ollama.com"),
    ("LOCALHOST:11434", "http://localhost:11434"),
    ("", "http://localhost:11434"),
    # What is copied from elsewhere, and means the server.
    ("http://localhost:11434/v1", "http://localhost:11434"),
    ("http://localhost:11434/v1/chat/completions", "http://localhost:11434"),
    ("localhost:11434/api/", "http://localhost:11434"),
    ("https://example.com/ollama/api/chat?tenant=a", "https://example.com/ollama?tenant=a"),
]


@pytest.mark.parametrize(("text", "url"), FORMS)
def test_a_base_url_does_what_its_user_means(text, url):
    config = OllamaProviderConfig("m", base_url=text)
    assert config.base_url == url
    assert attrs.evolve(config, model="other").base_url == url


@pytest.mark.parametrize(("text", "url"), FORMS)
def test_ollama_host_is_where_the_server_is_unless_it_is_said(text, url, monkeypatch):
    monkeypatch.setenv("OLLAMA_HOST", text)
    assert OllamaProviderConfig("m").base_url == url
    assert environment_config("m", {"OLLAMA_HOST": text}).base_url == url
    assert OllamaProviderConfig("m", base_url="http://other:1").base_url == "http://other:1"


def test_without_it_the_server_is_on_this_machine(monkeypatch):
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    assert OllamaProviderConfig("m").base_url == "http://localhost:11434"


def test_endpoints():
    config = OllamaProviderConfig("m", base_url="https://host/ollama?tenant=a")
    assert chat_url(config.base_url) == "https://host/ollama/api/chat?tenant=a"
    assert build_models_request(config, None).url == "https://host/ollama/api/tags?tenant=a"


# ---- who asks


def test_a_key_is_a_bearer_token_and_none_is_needed():
    config = OllamaProviderConfig("m")
    assert auth_headers(config, f" {KEY}\n") == {"authorization": f"Bearer {KEY}"}
    assert auth_headers(config, None) == auth_headers(config, " ") == {}


def test_a_key_that_cannot_be_sent_is_an_error_that_does_not_show_it():
    """R7."""
    with pytest.raises(ProviderError) as caught:
        auth_headers(OllamaProviderConfig("m", api_key=lambda: KEY), f"{KEY}\r\nx: y")
    assert (caught.value.provider_class, caught.value.model) == (ProviderErrorClass.AUTH_INVALID, "m")
    assert KEY not in repr(caught.value)


# ---- checks


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": ""}, "model must be a non-empty str"),
        ({"timeout": 0}, "timeout must be a positive number"),
        ({"api_key": 5}, "api_key must be a str or a callable"),
        ({"base_url": 5}, "base_url must be a non-empty str"),
        ({"base_url": "ftp://host"}, "base_url must be a URL with http"),
        ({"base_url": "http://"}, "base_url must be a URL with http"),
        ({"base_url": "host:66000"}, "base_url is not a URL"),
        ({"base_url": "host:-1"}, "base_url is not a URL"),
        ({"base_url": "me:pw@host"}, "base_url must not hold a user name or password"),
        ({"base_url": "ho st"}, "base_url has characters"),
        ({"keep_alive": "300"}, r'keep_alive must be a duration such as "5m" or a number of seconds'),
        ({"keep_alive": "soon"}, "keep_alive must be a duration"),
        ({"keep_alive": ""}, "keep_alive must be a duration"),
        ({"keep_alive": True}, "keep_alive must be a number of seconds"),
        ({"keep_alive": float("inf")}, "keep_alive must be a number of seconds"),
        ({"keep_alive": [5]}, "keep_alive must be a number of seconds"),
        ({"think": "hard"}, "think must be True, False, None or one of low, medium, high, max"),
        ({"think": 1}, "think must be True, False"),
        ({"think": []}, "think must be True, False"),
        ({"extra_options": [1]}, "extra_options must be a mapping"),
        ({"extra_options": {"num_ctx": object()}}, "extra_options cannot be written as JSON"),
    ],
)
def test_a_wrong_setting_is_named(options, message):
    with pytest.raises(BuildError, match=message):
        OllamaProviderConfig(**{"model": "m", **options})


@pytest.mark.parametrize("keep_alive", [0, -1, 2.5, "0", "5m", "-1m", "1h30m", "1.5h", ".5s", "250ms", None])
def test_durations_and_seconds_are_taken(keep_alive):
    assert OllamaProviderConfig("m", keep_alive=keep_alive).keep_alive == keep_alive


@pytest.mark.parametrize("think", [True, False, "low", "medium", "high", "max", None])
def test_thinking_may_be_off_on_or_of_a_level(think):
    assert OllamaProviderConfig("m", think=think).think is think


def test_no_secret_is_shown():
    """R7."""
    shown = repr(OllamaProviderConfig("m", base_url=f"host?key={KEY}", api_key=KEY, default_headers={"x-api-key": KEY}))
    assert KEY not in shown
    assert "http://host:11434?key=***" in shown


# ---- the environment, and model strings


def test_the_usual_variables_are_read():
    environ = {"OLLAMA_HOST": "host:8080", "OLLAMA_API_KEY": f"{KEY}\n"}
    expected = OllamaProviderConfig("m", base_url="http://host:8080", api_key=KEY)
    assert environment_config("m", environ) == expected
    assert environment_config("m", {}).base_url == "http://localhost:11434"


def test_a_model_string_is_split_at_its_first_colon(monkeypatch):
    monkeypatch.setenv("OLLAMA_HOST", ":8080")
    monkeypatch.setenv("OLLAMA_API_KEY", KEY)
    provider = provider_from_string("ollama:hf.co/me/model:Q4_K_M")
    assert (provider.model, provider.config.api_key) == ("hf.co/me/model:Q4_K_M", KEY)
    assert provider.config.base_url == "http://127.0.0.1:8080"


def test_a_variable_that_makes_no_sense_is_an_error(monkeypatch):
    monkeypatch.setenv("OLLAMA_HOST", "host:port")
    with pytest.raises(BuildError, match="base_url is not a URL"):
        provider_from_string("ollama:m")


def test_the_constructor_takes_what_the_settings_have():
    taken = inspect.signature(AsyncOllamaProvider).parameters
    settings = {field.name: field.default for field in attrs.fields(OllamaProviderConfig)}
    assert taken.keys() == {*settings, "http_client"}
    assert {name: taken[name].default for name in settings if name != "model"} == {
        name: default for name, default in settings.items() if name != "model"
    }
