"""Whose credentials sign: explicit ones, a profile's, what AWS's default chain finds, and all that can go wrong."""

import os
import sys
from datetime import UTC, datetime, timedelta

import botocore.exceptions
import pytest
from botocore.credentials import RefreshableCredentials
from botocore.session import Session

from kova._formats.bedrock.config import BedrockProviderConfig
from kova._formats.bedrock.credentials import Account
from kova._formats.bedrock.request import build_models_request
from kova.errors import ConnectionError, KovaError, ProviderError, ProviderErrorClass

EXPLICIT = {"access_key_id": "AKIDexplicit", "secret_access_key": "explicit/secret"}

FILES = """
[default]
aws_access_key_id = AKIDdefault
aws_secret_access_key = default/secret

[work]
aws_access_key_id = AKIDwork
aws_secret_access_key = work/secret
aws_session_token = work-token
region = eu-west-1

[odd]
region = Europe!

[broken]
aws_access_key_id = AKIDbroken

[process]
credential_process = {process}
region = eu-west-1
"""


@pytest.fixture(autouse=True)
def aws(monkeypatch, tmp_path):
    """A machine on which AWS is set up in no way but by the files here."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    counter = tmp_path / "process.py"
    counter.write_text(PROCESS, encoding="utf-8")
    file = tmp_path / "credentials"
    file.write_text(FILES.format(process=f"{sys.executable} {counter}"), encoding="utf-8")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return monkeypatch


# Credentials that run out after as many seconds as the file beside it says, and are counted.
PROCESS = """
import datetime, json, pathlib
here = pathlib.Path(__file__).parent
runs = here / "runs"
count = int(runs.read_text()) + 1 if runs.exists() else 1
runs.write_text(str(count))
end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=int((here / "lifetime").read_text()))
print(json.dumps({"Version": 1, "AccessKeyId": f"AKIDrun{count}", "SecretAccessKey": "process/secret",
                  "SessionToken": "process-token", "Expiration": end.isoformat()}))
"""


def account(**options):
    made = Account(BedrockProviderConfig("m", **options))
    assert not made.is_known
    made.look_up()
    return made


def signer(made):
    """The access key that signs a request."""
    config = made.configured(BedrockProviderConfig("m"))
    header = made.signed(build_models_request(config, None)).headers["authorization"]
    return header.split("Credential=")[1].split("/")[0]


def fault(**options):
    """What a request says that needs what was not found."""
    made = account(**options)
    assert not made.is_known
    with pytest.raises(KovaError) as caught:
        made.check()
    return caught.value


# ---- where they come from


def test_explicit_credentials_need_no_look_up_of_their_own(aws):
    aws.setattr(Session, "get_credentials", None)
    made = account(region="us-east-1", **EXPLICIT, session_token="explicit-token")
    made.check()
    assert (made.is_known, made.is_fresh, signer(made)) == (True, True, "AKIDexplicit")


def test_explicit_credentials_come_before_a_profile_and_the_chain(aws):
    aws.setenv("AWS_ACCESS_KEY_ID", "AKIDenvironment")
    aws.setenv("AWS_SECRET_ACCESS_KEY", "environment/secret")
    assert signer(account(region="us-east-1", profile="work", **EXPLICIT)) == "AKIDexplicit"
    assert signer(account(region="us-east-1", profile="work")) == "AKIDwork"
    assert signer(account(region="us-east-1")) == "AKIDenvironment"
    aws.delenv("AWS_ACCESS_KEY_ID")
    assert signer(account(region="us-east-1")) == "AKIDdefault"


def test_the_region_may_be_the_profiles():
    config = BedrockProviderConfig("m")
    made = account(profile="work")
    assert made.configured(config).region == made.region == "eu-west-1"
    assert account(profile="work", region="us-east-1").region == "us-east-1"
    assert account(profile="work", **EXPLICIT).region == "eu-west-1"
    given = BedrockProviderConfig("m", region="us-east-1")
    assert made.configured(given) is given


def test_requests_with_an_authorization_of_the_users_own_are_not_signed(aws):
    aws.setattr(Session, "get_credentials", None)
    made = account(region="us-east-1", default_headers={"Authorization": "Bearer x"})
    assert (made.is_known, made.signs) == (True, False)


def test_what_was_found_is_not_looked_for_again(aws):
    made = account(region="us-east-1")
    aws.setattr(Session, "get_credentials", None)
    assert signer(made) == signer(made) == "AKIDdefault"
    assert made.look_ups == 1


# ---- renewal


def test_credentials_that_run_out_are_renewed_as_botocore_does(tmp_path):
    (tmp_path / "lifetime").write_text("3600")
    made = account(profile="process")
    assert (made.is_fresh, signer(made), signer(made)) == (True, "AKIDrun1", "AKIDrun1")
    (tmp_path / "lifetime").write_text("60")  # within botocore's window, so that each use renews them
    made = account(profile="process")
    assert not made.is_fresh
    runs = int((tmp_path / "runs").read_text())
    assert signer(made) == f"AKIDrun{runs + 1}"
    assert made.look_ups == 1


def renewing(seconds, renew):
    made = account(region="us-east-1")
    made._source = RefreshableCredentials(
        "AKIDold", "s", "t", datetime.now(UTC) + timedelta(seconds=seconds), renew, "test"
    )
    return made


def test_a_renewal_that_fails_in_time_is_made_again_later_and_one_that_fails_late_is_an_error():
    def fail():
        raise botocore.exceptions.EndpointConnectionError(endpoint_url="https://sts.amazonaws.com")

    assert signer(renewing(12 * 60, fail)) == "AKIDold"
    with pytest.raises(ConnectionError, match="Could not connect"):
        signer(renewing(60, fail))


# ---- what can go wrong


def test_without_credentials_it_is_said_where_they_may_be(aws, tmp_path):
    aws.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    missing = fault(region="us-east-1")
    assert isinstance(missing, ProviderError)
    assert (missing.provider_class, missing.provider) == (ProviderErrorClass.AUTH_INVALID, "bedrock")
    assert "no AWS credentials were found: give access_key_id" in str(missing)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"profile": "nope", "region": "us-east-1"}, ProviderErrorClass.AUTH_INVALID, "nope"),
        ({"profile": "broken", "region": "us-east-1"}, ProviderErrorClass.AUTH_INVALID, "aws_secret_access_key"),
        ({"profile": "process"}, ProviderErrorClass.AUTH_INVALID, "process"),
        (EXPLICIT, ProviderErrorClass.INVALID_REQUEST, "the AWS region is not known"),
        ({"profile": "odd", **EXPLICIT}, ProviderErrorClass.INVALID_REQUEST, "cannot be one: 'Europe!'"),
    ],
)
def test_what_the_files_lack_is_named(options, kind, message):
    missing = fault(**options)
    assert missing.provider_class is kind
    assert message in str(missing)


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (botocore.exceptions.ConnectTimeoutError(endpoint_url="https://sts.amazonaws.com"), ConnectionError),
        (botocore.exceptions.HTTPClientError(error="reset"), ConnectionError),
        (botocore.exceptions.UnauthorizedSSOTokenError(), ProviderError),
        (botocore.exceptions.ClientError({"Error": {"Code": "AccessDenied"}}, "AssumeRole"), ProviderError),
        (RuntimeError("still expired"), ProviderError),
    ],
)
def test_whatever_the_chain_raises_is_one_of_kovas_errors(aws, raised, kind):
    def get_credentials(session):
        raise raised

    aws.setattr(Session, "get_credentials", get_credentials)
    assert type(fault(region="us-east-1")) is kind


def test_a_look_up_that_failed_is_made_again():
    made = account(**EXPLICIT)
    assert not made.is_known
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        made.look_up()
    made.check()
    assert (made.is_known, made.look_ups, made.region) == (True, 2, "us-east-1")


def test_each_caller_gets_an_error_of_its_own():
    made = account(**EXPLICIT)
    caught = []
    for _ in range(2):
        with pytest.raises(ProviderError) as raised:
            made.check()
        caught.append(raised.value)
    assert caught[0] is not caught[1]


def test_no_secret_is_shown():
    """R7."""
    made = account(region="us-east-1", **EXPLICIT)
    assert "secret" not in f"{made!r} {made._credentials()!r}"
