"""Servers of others that speak the three APIs which the local model does not: started once, stopped at the end."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx
import pytest

from kova._local import local_base_url

MASTER_KEY = f"sk-{secrets.token_hex(24)}"  # the proxy does not start without one
START_SECONDS = 240  # the proxy takes 30 on a quiet machine
FIXTURES = Path(__file__).parent / "aimock.json"


@pytest.fixture(scope="session")
def litellm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a LiteLLM proxy in front of the local model."""
    model = {"model": "openai/smollm2", "api_base": f"{local_base_url('smollm2')}/v1", "api_key": "none"}
    config = tmp_path_factory.mktemp("litellm") / "config.yaml"
    config.write_text(json.dumps({"model_list": [{"model_name": "smollm2", "litellm_params": model}]}))
    port = free_port()
    command = [str(Path(sys.executable).with_name("litellm")), "--config", str(config)]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    environment = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MASTER_KEY": MASTER_KEY}
    with running(command, port, "/health/liveliness", environment) as url:
        yield url


@pytest.fixture(scope="session")
def aimock() -> Iterator[str]:
    """The address of an aimock that answers as `aimock.json` says."""
    modules = Path(os.environ.get("NODE_PACKAGES", Path(sys.prefix) / "node" / "node_modules"))
    port = free_port()
    program = modules / "@copilotkit" / "aimock" / "dist" / "cli.js"
    command = ["node", str(program), "--port", str(port), "--fixtures", str(FIXTURES), "--log-level", "warn"]
    with running(command, port, "/api/tags", {}) as url:
        yield url


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextlib.contextmanager
def running(command: list[str], port: int, health: str, environment: Mapping[str, str]) -> Iterator[str]:
    """A server in a process of its own, once it answers."""
    url = f"http://127.0.0.1:{port}"
    process = subprocess.Popen(
        command, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        end = time.monotonic() + START_SECONDS
        while not answers(url + health):
            assert process.poll() is None, process.communicate()[0]
            assert time.monotonic() < end, f"{command[0]} does not answer after {START_SECONDS} s"
            time.sleep(0.2)
        yield url
    finally:
        process.terminate()
        try:
            process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=5).status_code == 200
    except httpx.TransportError:
        return False
