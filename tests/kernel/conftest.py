"""A kernel for the tests of a file, and a model server that both it and the test can reach."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import server as play
from tests.kernel.jupyter import Kernel
from tests.server import ModelServer

AGENTS = """
    import asyncio, threading, time
    import kova

    model = kova.OpenAICompatibleProvider("m", base_url={url!r})
    agent = kova.Agent(model)
    async_agent = kova.AsyncAgent(kova.AsyncOpenAICompatibleProvider("m", base_url={url!r}))
"""


@pytest.fixture(scope="module")
def kernel_server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture(scope="module")
def running_kernel(kernel_server: ModelServer) -> Iterator[Kernel]:
    with Kernel() as kernel:
        kernel.run(AGENTS.format(url=kernel_server.url))
        yield kernel


@pytest.fixture
def kernel(running_kernel: Kernel, kernel_server: ModelServer) -> Kernel:
    """A kernel that has `agent` and `async_agent`; their model says "Hello" unless the test plays something else."""
    kernel_server.forget()
    kernel_server.always(play.text("Hello"))
    return running_kernel
