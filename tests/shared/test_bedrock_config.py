"""Settings of a Bedrock provider: what they are checked for, where they lead, and what they show."""

import json
from pathlib import Path

import attrs
import botocore
import pytest

from kova._formats.bedrock.config import BedrockProviderConfig, check_extra, environment_config
from kova._formats.bedrock.endpoints import regional_endpoint
from kova._formats.bedrock.request import build_models_request, build_request
from kova.config import InferenceConfig
from kova.errors import BuildError
from kova.messages import user_message

SECRET = "canary/0123456789"
VARIABLES = ["AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"]


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def url(model="m", *, stream=False, **options):
    config = BedrockProviderConfig(model, **options)
    return build_request(config, None, [user_message("Hi")], (), InferenceConfig(), stream=stream).url


# ---- where requests go


def test_the_region_says_where():
    assert url(region="eu-west-1") == "https://bedrock-runtime.eu-west-1.amazonaws.com/model/m/converse"
    assert url(region="eu-west-1", stream=True).endswith("/model/m/converse-stream")


def test_regions_of_all_partitions_have_their_own_domain():
    """As botocore has them."""
    file = Path(botocore.__file__).parent / "data" / "partitions.json"
    for partition in json.loads(file.read_text(encoding="utf-8"))["partitions"]:
        for region in partition["regions"]:
            if not region.startswith("aws"):  # aws-global and its like are no places
                assert (
                    regional_endpoint(region) == f"https://bedrock-runtime.{region}.{partition['outputs']['dnsSuffix']}"
                )


@pytest.mark.parametrize(
    ("model", "segment"),
    [
        ("amazon.nova-lite-v1:0", "amazon.nova-lite-v1%3A0"),
        (
            "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc",
            "arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Aapplication-inference-profile%2Fabc",
        ),
        ("a~b_c-d.e", "a~b_c-d.e"),
        ("größe?x#y", "gr%C3%B6%C3%9Fe%3Fx%23y"),
    ],
)
def test_the_model_is_one_segment_of_the_path(model, segment):
    assert url(model, endpoint_url="http://host") == f"http://host/model/{segment}/converse"


@pytest.mark.parametrize(
    ("endpoint", "answers", "models"),
    [
        (None, "https://bedrock-runtime.us-east-1.amazonaws.com", "https://bedrock.us-east-1.amazonaws.com"),
        (
            "https://bedrock-runtime-fips.us-east-1.amazonaws.com/",
            "https://bedrock-runtime-fips.us-east-1.amazonaws.com",
            "https://bedrock-fips.us-east-1.amazonaws.com",
        ),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        (" https://gateway/bedrock/\n", "https://gateway/bedrock", "https://gateway/bedrock"),
    ],
)
def test_the_control_plane_lists_the_models(endpoint, answers, models):
    config = BedrockProviderConfig("m", region="us-east-1", endpoint_url=endpoint)
    assert url(region="us-east-1", endpoint_url=endpoint) == f"{answers}/model/m/converse"
    request = build_models_request(config, None)
    assert (request.method, request.url, request.body) == ("GET", f"{models}/foundation-models", b"")


def test_a_query_is_kept():
    assert url(endpoint_url="https://host/b?tenant=a") == "https://host/b/model/m/converse?tenant=a"


# ---- the environment


def test_the_region_may_come_from_the_environment(monkeypatch):
    assert BedrockProviderConfig("m").region is None
    assert BedrockProviderConfig("m").base_url == ""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-north-1")
    assert BedrockProviderConfig("m").region == "eu-north-1"
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    assert BedrockProviderConfig("m").region == "eu-west-1"
    assert BedrockProviderConfig("m", region="us-east-1").region == "us-east-1"


def test_a_model_string_reads_the_usual_variables():
    environ = {"AWS_REGION": "", "AWS_DEFAULT_REGION": "eu-west-1", "AWS_ENDPOINT_URL": "http://a"}
    assert environment_config("m", environ) == BedrockProviderConfig("m", region="eu-west-1", endpoint_url="http://a")
    environ["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"] = "http://b"
    assert environment_config("m", environ).endpoint_url == "http://b"
    bearer = environment_config("m", {"AWS_BEARER_TOKEN_BEDROCK": SECRET})
    assert bearer.default_headers == {"authorization": f"Bearer {SECRET}"}
    assert SECRET not in repr(bearer)


def test_without_botocore_it_is_said_what_to_type(monkeypatch):
    check_extra()
    monkeypatch.setitem(__import__("sys").modules, "botocore", None)
    with pytest.raises(BuildError, match=r"pip install 'kova-sdk\[bedrock\]'"):
        check_extra()


# ---- checks


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": ""}, "model must be a non-empty str"),
        ({"timeout": 0}, "timeout must be a positive number"),
        ({"region": ""}, "region must be a non-empty str"),
        ({"region": "us-east-1.example.com/"}, "region must be the name of a region"),
        ({"region": "US-EAST-1"}, "region must be the name of a region"),
        ({"profile": ""}, "profile must be a non-empty str"),
        ({"access_key_id": "AKID"}, "access_key_id and secret_access_key belong together"),
        ({"secret_access_key": SECRET}, "access_key_id and secret_access_key belong together"),
        ({"session_token": SECRET}, "session_token belongs to an access_key_id"),
        ({"access_key_id": "AKID", "secret_access_key": b"x"}, "secret_access_key must be a str, not bytes"),
        ({"access_key_id": "AK\u2019", "secret_access_key": "x"}, "access_key_id has characters"),
        ({"endpoint_url": "host"}, "endpoint_url must be a URL with http"),
        ({"endpoint_url": ""}, "endpoint_url must be a non-empty str"),
        ({"additional_model_request_fields": [1]}, "additional_model_request_fields must be a mapping"),
        ({"additional_model_request_fields": {"a": object()}}, "cannot be written as JSON"),
    ],
)
def test_a_wrong_setting_is_named(options, message):
    with pytest.raises(BuildError, match=message) as caught:
        BedrockProviderConfig(**{"model": "m", **options})
    assert SECRET not in str(caught.value)


def test_credentials_from_a_file_lose_their_line_end():
    given = BedrockProviderConfig("m", access_key_id="AKID\n", secret_access_key=f" {SECRET}\n", session_token="\n")
    assert (given.access_key_id, given.secret_access_key, given.session_token) == ("AKID", SECRET, None)


def test_settings_are_frozen_and_changed_by_copying():
    given = BedrockProviderConfig("m", region="us-east-1")
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        given.region = "other"
    assert attrs.evolve(given, region="eu-west-1") == BedrockProviderConfig("m", region="eu-west-1")


def test_no_secret_is_shown():
    """R7."""
    shown = repr(
        BedrockProviderConfig(
            "m",
            region="us-east-1",
            access_key_id="AKIDcanary",
            secret_access_key=SECRET,
            session_token=SECRET,
            endpoint_url=f"https://host/?key={SECRET}",
            default_headers={"authorization": SECRET},
        )
    )
    assert "canary" not in shown
    assert "https://host/?key=***" in shown
