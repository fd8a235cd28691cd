"""`kova doctor` and `kova models`."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kova import ModelInfo
from kova.testing import ModelServer
from tests.shell.terminal import KOVA, environment

KEY = "sk-canary-000011112222"
CLOSED = "http://127.0.0.1:9"  # where nobody listens

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def listing() -> Iterator[ModelServer]:
    with ModelServer(models=[ModelInfo("small"), ModelInfo("large\x1b[31m")]) as server:
        yield server


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs a command of kova's with these variables alone, and no local model."""

    def start(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        code = """
import sys, kova._local.install as local
local.find_spec = lambda name: None  # nothing of the local models is installed
from kova.cli import main
sys.exit(main(sys.argv[1:]))
"""
        given = environment(OLLAMA_HOST=CLOSED, HOME=str(tmp_path), **variables)
        return subprocess.run(
            [sys.executable, "-c", code, *arguments], env=given, capture_output=True, text=True, timeout=60
        )

    return start


def test_doctor_says_what_works(listing: ModelServer, run: Run) -> None:
    done = run("doctor", OPENAI_API_KEY=KEY, OPENAI_BASE_URL=listing.url)
    assert done.returncode == 0
    assert "OPENAI_API_KEY  …2222" in done.stdout
    assert "openai  answers: 2 models" in done.stdout
    assert "ollama  ConnectionError" in done.stdout
    assert "default model  openai:gpt-5" in done.stdout
    assert "local:smollm2  not installed; type: pip install 'kova-sdk[local]'" in done.stdout
    assert done.stdout.endswith("A model can be used.\n")
    assert KEY not in done.stdout + done.stderr


def test_doctor_for_programs(listing: ModelServer, run: Run) -> None:
    done = run("doctor", "--json", OPENAI_API_KEY=KEY, OPENAI_BASE_URL=listing.url, ANTHROPIC_BASE_URL=CLOSED)
    found = json.loads(done.stdout)
    assert found["keys"] == {"OPENAI_API_KEY": "…2222"}
    providers = {each["name"]: each for each in found["providers"]}
    assert (providers["openai"]["answers"], providers["openai"]["models"]) == (True, 2)
    assert (providers["anthropic"]["answers"], providers["anthropic"]["models"]) == (False, 0)
    assert providers["anthropic"]["problem"].startswith("ConnectionError: ")
    assert found["extras"]["cli"]
    assert found["local_models"] == {"smollm2": False}
    assert found["works"] is True


def test_doctor_fails_where_nothing_works(run: Run) -> None:
    done = run("doctor")
    assert done.returncode == 1
    assert "set OPENAI_API_KEY" in done.stdout
    assert done.stdout.endswith("No model can be used: set a key, or install a local one.\n")


def test_a_wrong_key_is_told_and_not_shown(run: Run) -> None:
    with ModelServer(lambda exchange: exchange.send_error(401, f"wrong key {KEY}")) as server:
        done = run("doctor", OPENAI_API_KEY=KEY, OPENAI_BASE_URL=server.url)
    assert done.returncode == 1
    assert "openai  ProviderError" in done.stdout
    assert KEY not in done.stdout + done.stderr


def test_providers_that_are_silent_are_waited_for_together(run: Run) -> None:
    """Three of them, two seconds each: less than six in all, and what they cost to start is not counted."""
    with ModelServer() as silent:
        silent.always(lambda exchange: exchange.delay(50.0))
        urls = dict.fromkeys(("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"), silent.url)
        begun = time.monotonic()
        alone = run("--version")
        start = time.monotonic() - begun
        done = run("doctor", "--json", "--timeout", "2", **urls)
        taken = time.monotonic() - begun - start
    assert alone.returncode == 0
    waited = [each["seconds"] for each in json.loads(done.stdout)["providers"] if each["name"] != "ollama"]
    assert len(waited) == 3
    assert min(waited) >= 2
    assert taken < sum(waited) + start * 5


def test_models_of_all_providers_that_are_set_up(listing: ModelServer, run: Run) -> None:
    done = run("models", OPENAI_BASE_URL=listing.url, ANTHROPIC_BASE_URL=CLOSED)
    assert done.returncode == 1
    assert done.stdout == "openai:small\nopenai:large\n"
    assert "kova: anthropic: cannot connect" in done.stderr
    assert "kova: ollama: cannot connect" in done.stderr


def test_models_of_one_provider(listing: ModelServer, run: Run) -> None:
    done = run("models", "openai", "--json", OPENAI_BASE_URL=listing.url)
    assert done.returncode == 0
    assert json.loads(done.stdout)[0] == {"provider": "openai", "id": "small"}


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["nobody"], 2, "there is no provider 'nobody'; there are openai, "),
        (["openai"], 2, "'openai:MODEL' needs an API key: set OPENAI_API_KEY"),
        (["local"], 2, "no local model is installed; type: pip install"),
        (["ollama"], 3, "cannot connect"),
    ],
)
def test_models_that_cannot_be_listed(run: Run, arguments: list[str], code: int, said: str) -> None:
    done = run("models", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr


@pytest.mark.local
def test_the_local_model_is_listed_without_being_started() -> None:
    command = [*KOVA, "models", "local"]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60)
    assert done.stdout == "local:smollm2\n"
