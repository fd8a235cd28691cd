"""The watch over the suite sees a key wherever one is shown, and nothing where none is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PLANTED = """
import logging, pickle
import kova
from kova._formats.openai.request import NO_NAMES
from kova._formats.wire import WireRequest
from tests.canary import KEY

CONFIG = kova.OpenAIProviderConfig("m", api_key=KEY)
HIDDEN = "another-key-that-is-learnt-from-a-request"

def request(url="https://host/v1"):
    return WireRequest("GET", url, {"x-api-key": KEY}, b"", "m", NO_NAMES, (KEY, HIDDEN))

def test_shown_in_an_error():
    kova.KovaError(f"no such key: {KEY}")

def test_shown_in_a_pickle():
    kova.ProviderError("no such key", request_id=KEY)

def test_shown_in_a_cause():
    try:
        try:
            raise ValueError(f"no such key: {KEY}")
        except ValueError as error:
            raise kova.ConnectionError("lost") from error
    except kova.KovaError:
        pass

def test_shown_in_a_context():
    try:
        try:
            raise ValueError(f"no such key: {KEY}")
        except ValueError:
            raise kova.ConnectionError("lost")
    except kova.KovaError:
        pass

def test_shown_in_the_log():
    logging.getLogger("kova").debug("the key is %s", KEY)

def test_shown_in_the_log_with_an_exception():
    try:
        raise ValueError(f"no such key: {KEY}")
    except ValueError:
        logging.getLogger("kova").exception("a hook raised")

def test_shown_in_a_url():
    request(f"https://host/v1?key={KEY.replace('-', '%2D')}")

def test_shown_in_a_repr():
    kova.OpenAIProviderConfig(f"m-{KEY}", api_key=KEY)

def test_shown_is_the_key_of_a_request():
    request()
    kova.KovaError(HIDDEN)

def test_hidden():
    request()
    try:
        try:
            raise ValueError(f"no such key: {KEY}")
        except ValueError:
            raise kova.ConnectionError("lost") from None
    except kova.KovaError as error:
        logging.getLogger("kova").warning("%s", error)
"""


def test_a_key_that_is_shown_fails_the_test_that_shows_it(tmp_path: Path) -> None:
    """R7."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_planted.py").write_text(PLANTED)
    options = ["-p", "tests.canary", "-p", "no:cacheprovider", "-c", str(tmp_path / "pytest.ini"), "-q", "-rA"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--tb=no", str(tmp_path)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    errors = {line.split("::")[1].split()[0] for line in done.stdout.splitlines() if line.startswith("ERROR")}
    planted = {line.split()[1].partition("(")[0] for line in PLANTED.splitlines() if line.startswith("def test_shown")}
    assert errors == planted, done.stdout
