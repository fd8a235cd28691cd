"""A kernel, or a Celery worker, for the tests of a file, and a model server that both it and the test can reach."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import server as play
from tests.kernel.celery_host import POOLS, Worker, running_redis
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


# ---- Celery


@pytest.fixture(scope="session")
def celery_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A Redis, and what the example reads from the environment, here and in the workers."""
    folder = tmp_path_factory.mktemp("celery")
    with ModelServer() as unused, running_redis(folder) as url, pytest.MonkeyPatch.context() as patch:
        environment = {
            "REDIS_URL": url,
            "OPENAI_BASE_URL": unused.url,
            "OPENAI_API_KEY": "key",
            "KOVA_MODEL": "openai:m",
            "CHATS": str(folder / "chats.db"),
        }
        for name, value in environment.items():
            patch.setenv(name, value)
        yield environment


@pytest.fixture(scope="module", params=POOLS)
def pool(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def celery_server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture(scope="module")
def running_worker(
    pool: str, celery_environment: dict[str, str], celery_server: ModelServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Worker]:
    celery_server.forget()
    celery_server.always(play.text("Hello"))
    log: Path = tmp_path_factory.mktemp(pool) / "log"
    worker = Worker(pool, log, {**celery_environment, "OPENAI_BASE_URL": celery_server.url})
    yield worker
    worker.close()


@pytest.fixture
def worker(running_worker: Worker, celery_server: ModelServer) -> Worker:
    """A worker of each pool, with the tasks of the example; its model says "Hello" unless the test plays other things."""
    celery_server.forget()
    celery_server.always(play.text("Hello"))
    return running_worker
