"""Settings of an OpenAI-compatible provider: what they are checked for, where they lead, and what they show."""

import ssl

import attrs
import pytest

from kova._formats.openai.config import OpenAIProviderConfig, auth_headers, environment_config
from kova._formats.openai.hosts import AZURE, HOSTS, OPENAI, OTHER, host_of
from kova._formats.openai.request import build_models_request
from kova.errors import BuildError, ProviderError, ProviderErrorClass

KEY = "sk-canary-0123456789"


def config(base_url="https://api.openai.com", model="m", **options):
    return OpenAIProviderConfig(model, base_url=base_url, **options)


# ---- where requests go


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("https://api.openai.com", "https://api.openai.com/v1"),
        ("https://api.openai.com/", "https://api.openai.com/v1"),
        ("https://api.openai.com/v1", "https://api.openai.com/v1"),
        (" https://api.openai.com/v1\n", "https://api.openai.com/v1"),
        ("https://api.openai.com/v1/", "https://api.openai.com/v1"),
        ("http://localhost:8000", "http://localhost:8000/v1"),
        ("http://[::1]:8000/v1//", "http://[::1]:8000/v1"),
        ("http://localhost:3000/api/v1/", "http://localhost:3000/api/v1"),
        ("http://localhost:3000/api", "http://localhost:3000/api"),
        ("https://host/v2", "https://host/v2"),
        ("https://host/v1/chat/completions", "https://host/v1"),
        ("https://host/proxy/openai/chat/completions/", "https://host/proxy/openai"),
        ("https://openrouter.ai", "https://openrouter.ai/api/v1"),
        ("https://openrouter.ai/api", "https://openrouter.ai/api/v1"),
        ("https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1"),
        ("https://api.groq.com/openai/v1", "https://api.groq.com/openai/v1"),
        ("https://api.groq.com", "https://api.groq.com/openai/v1"),
        ("https://open.bigmodel.cn/api/paas/v4/", "https://open.bigmodel.cn/api/paas/v4"),
        ("https://generativelanguage.googleapis.com", "https://generativelanguage.googleapis.com/v1beta/openai"),
        ("https://api.perplexity.ai", "https://api.perplexity.ai"),
        ("https://api.perplexity.ai/v1", "https://api.perplexity.ai/v1"),
        ("https://me.openai.azure.com", "https://me.openai.azure.com/openai/v1"),
        ("https://me.openai.azure.com/openai/v1/", "https://me.openai.azure.com/openai/v1"),
    ],
)
def test_a_base_url_does_what_its_user_means(base_url, url):
    assert config(base_url).chat_url("m") == f"{url}/chat/completions"
    assert build_models_request(config(base_url), None).url == f"{url}/models"


@pytest.mark.parametrize(
    "base_url",
    [
        "https://me.openai.azure.com",
        "https://me.openai.azure.com/openai/",
        "https://me.openai.azure.com/openai/deployments/gpt%204",
        "https://me.openai.azure.com/openai/deployments/gpt%204/chat/completions?api-version=old",
    ],
)
def test_a_deployment_of_azure_may_be_given_by_url_or_by_model(base_url):
    azure = config(base_url, model="gpt 4", api_version="2024-10-21")
    endpoint = "https://me.openai.azure.com/openai/deployments/gpt%204/chat/completions?api-version=2024-10-21"
    assert azure.chat_url("gpt 4") == endpoint
    assert build_models_request(azure, None).url == "https://me.openai.azure.com/openai/models?api-version=2024-10-21"


@pytest.mark.parametrize(
    ("base_url", "path", "url"),
    [
        ("http://host", "/chat/completions", "http://host/chat/completions"),
        ("http://host", "chat", "http://host/chat"),
        ("http://host/", "/v1/chat/completions", "http://host/v1/chat/completions"),
        ("http://host/v1", "/v1/chat/completions", "http://host/v1/chat/completions"),
        ("http://host/v1", "/chat", "http://host/v1/chat"),
        ("http://host/proxy", "/v1/chat/completions", "http://host/proxy/v1/chat/completions"),
        ("http://host/a/b", "/b/c?d=e", "http://host/a/b/c?d=e"),
        ("http://host/v1?x=y", "/chat?d=e", "http://host/v1/chat?x=y&d=e"),
    ],
)
def test_a_path_replaces_what_would_be_appended(base_url, path, url):
    assert config(base_url, chat_completions_path=path).chat_url("m") == url
    assert build_models_request(config(base_url, models_path=path), None).url == url


def test_a_query_is_kept():
    assert config("https://host/v1?tenant=a").chat_url("m") == "https://host/v1/chat/completions?tenant=a"


# ---- what is known of hosts


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://api.openai.com", OPENAI),
        ("https://eu.api.openai.com/v1", OPENAI),
        ("https://me.openai.azure.com", AZURE),
        ("https://gateway.example.com/openai/deployments/d", AZURE),
        ("https://gateway.example.com/chat?api-version=2024-10-21", AZURE),
        ("https://gateway.example.com/chat?x-api-version=1", OTHER),
        ("https://notapi.openai.com.example.com", OTHER),
        ("https://myapi.openai.com", OTHER),
        ("http://localhost:8080/openai/v1", OTHER),
        ("https://api.mistral.ai/v1", HOSTS["mistral.ai"]),
    ],
)
def test_hosts_are_told_by_whole_labels_of_their_names(url, host):
    assert host_of(url) is host


def test_an_api_version_says_azure():
    assert config("https://gateway.example.com", api_version="v").host is AZURE


# ---- who asks


def test_keys_are_bearer_tokens():
    assert auth_headers(config(), KEY) == {"authorization": f"Bearer {KEY}"}
    assert auth_headers(config("http://localhost"), f" {KEY}\n") == {"authorization": f"Bearer {KEY}"}


@pytest.mark.parametrize("key", [None, "", "  "])
def test_without_a_key_nothing_is_sent(key):
    assert auth_headers(config("http://localhost"), key) == {}


def test_azure_has_a_header_for_keys_and_takes_tokens_as_bearers():
    url = "https://me.openai.azure.com"
    assert auth_headers(config(url, api_key=KEY), KEY) == {"api-key": KEY}
    assert auth_headers(config(url, api_key=lambda: KEY), KEY) == {"authorization": f"Bearer {KEY}"}


def test_a_key_that_cannot_be_sent_is_an_error_that_does_not_show_it():
    with pytest.raises(ProviderError) as caught:
        auth_headers(config(api_key=lambda: KEY), f"{KEY}\r\nx: y")
    assert caught.value.provider_class is ProviderErrorClass.AUTH_INVALID
    assert KEY not in repr(caught.value)


# ---- checks


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": ""}, "model must be a non-empty str"),
        ({"model": None}, "model must be a non-empty str"),
        ({"timeout": 0}, "timeout must be a positive number"),
        ({"timeout": float("nan")}, "timeout must be a positive number"),
        ({"idle_timeout": "1"}, "idle_timeout must be a positive number"),
        ({"connect_timeout": True}, "connect_timeout must be a positive number"),
        ({"max_connections": 0}, "max_connections must be an int of at least 1"),
        ({"max_connections": 1.5}, "max_connections must be an int of at least 1"),
        ({"verify": "ca.pem"}, "verify must be a bool or an ssl.SSLContext"),
        ({"api_key": 5}, "api_key must be a str or a callable"),
        ({"api_key": "sk-\u2019"}, "api_key has characters that cannot be sent"),
        ({"api_key": "a\nb"}, "api_key has characters that cannot be sent"),
        ({"base_url": "localhost:8080/v1"}, "base_url must be a URL with http"),
        ({"base_url": "https://host/ü"}, "base_url has characters"),
        ({"base_url": "https://ho st"}, "base_url has characters"),
        ({"models_path": "/a b"}, "models_path has characters"),
        ({"base_url": "ftp://host"}, "base_url must be a URL with http"),
        ({"base_url": "http://"}, "base_url must be a URL with http"),
        ({"base_url": "http://host:x"}, "base_url is not a URL"),
        ({"base_url": "http://me:pw@host"}, "base_url must not hold a user name or password"),
        ({"base_url": None}, "base_url must be a non-empty str"),
        ({"default_headers": {"a b": "c"}}, "default_headers: 'a b' cannot be the name"),
        ({"default_headers": {"a": "b\r\nc"}}, "default_headers: the value of 'a' cannot be sent"),
        ({"default_headers": {"a": None}}, "default_headers: the value of 'a' cannot be sent"),
        ({"default_headers": [("a", "b")]}, "default_headers must be a mapping"),
        ({"chat_completions_path": "https://elsewhere/chat"}, "chat_completions_path must be a path"),
        ({"models_path": ""}, "models_path must be a non-empty str"),
        ({"api_version": 1}, "api_version must be a non-empty str"),
        ({"organization": ""}, "organization must be a non-empty str"),
        ({"reasoning_effort": 3}, "reasoning_effort must be a non-empty str"),
        ({"max_tokens_field": ""}, "max_tokens_field must be a non-empty str"),
        ({"extra_body": [1]}, "extra_body must be a mapping"),
        ({"extra_body": {"a": object()}}, "extra_body cannot be written as JSON"),
    ],
)
def test_a_wrong_setting_is_named(options, message):
    with pytest.raises(BuildError, match=message):
        OpenAIProviderConfig(**{"model": "m", **options})


def test_limits_may_be_off_and_contexts_given():
    context = ssl.create_default_context()
    given = OpenAIProviderConfig("m", timeout=None, idle_timeout=None, connect_timeout=None, verify=context)
    assert (given.timeout, given.verify) == (None, context)


def test_a_key_from_a_file_loses_its_line_end():
    assert OpenAIProviderConfig("m", api_key=f"{KEY}\n").api_key == KEY
    assert OpenAIProviderConfig("m", api_key=" ").api_key is None


def test_settings_are_frozen_and_changed_by_copying():
    given = config(api_key=KEY)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        given.model = "other"
    assert attrs.evolve(given, model="other") == OpenAIProviderConfig("other", api_key=KEY)


def test_no_secret_is_shown():
    """R7."""
    shown = repr(config(f"https://host/v1?key={KEY}", api_key=KEY, default_headers={"x-api-key": KEY}))
    assert KEY not in shown
    assert "https://host/v1?key=***" in shown
    with pytest.raises(BuildError) as caught:
        config(f"host?key={KEY}")
    assert KEY not in str(caught.value)


# ---- the environment


def test_the_usual_variables_are_read():
    environ = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "http://localhost/v1", "OPENAI_ORG_ID": "o"}
    assert environment_config("m", environ) == config("http://localhost/v1", api_key=KEY, organization="o")
    assert environment_config("m", {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": ""}) == config(api_key=KEY)


def test_a_missing_key_is_an_error_for_openai_only():
    with pytest.raises(BuildError, match="set OPENAI_API_KEY"):
        environment_config("m", {})
    assert environment_config("m", {"OPENAI_BASE_URL": "http://localhost"}).api_key is None
