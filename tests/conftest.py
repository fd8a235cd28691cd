"""What all tests share: the async ones run on asyncio and on trio, the blocking ones without any event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import HealthCheck, settings

from kova._mcp import eras
from tests.mcp_http_server import MCPHTTPServer
from tests.real_servers import RealServers
from tests.server import ModelServer

pytest_plugins = ["tests.canary"]

# How long an example takes says more of what else the machine does than of kova; pytest-timeout ends what hangs.
settings.register_profile("kova", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kova")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """The tests with gateways are run where they are asked for by name: `make test-integration` installs what they need."""
    is_wanted = any("gateways" in Path(argument).parts for argument in config.args)
    return True if collection_path.name == "gateways" and not is_wanted else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Those that share a server, a worker or a kernel run in one process, where `make test-hosts` has several."""
    if config.getoption("dist", "no") == "loadgroup":
        for item in items:
            params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
            host = params.get("site") or params.get("pool") or ""
            item.add_marker(pytest.mark.xdist_group(f"{item.path.stem} {host}"))


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """T13: every async test runs on both."""
    backend: str = request.param
    return backend


@pytest.fixture(autouse=True)
def _no_event_loop_in_the_blocking_twin(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """T1: in `tests/_sync`, making an event loop fails the test, except where it says that it gives an async tool."""
    if "_sync" not in request.path.parts or request.node.get_closest_marker("async_tools"):
        return

    def refuse(*args: object, **kwargs: object) -> NoReturn:
        raise AssertionError("the blocking twin made an event loop")

    monkeypatch.setattr(asyncio, "new_event_loop", refuse)
    monkeypatch.setattr(asyncio.BaseEventLoop, "__init__", refuse)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A model server that answers what the test plays."""
    with ModelServer() as running:
        yield running


@pytest.fixture
def mcp_server() -> Iterator[MCPHTTPServer]:
    """An MCP server over HTTP that does what the test says."""
    eras._eras.clear()  # of another test's server at the same port
    with MCPHTTPServer() as running:
        yield running


@pytest.fixture(scope="session")
def real_servers() -> Iterator[RealServers]:
    """Public MCP servers, which are installed when they are missing."""
    with RealServers() as servers:
        yield servers
