"""A small real model on this machine, through the server that `kova[local]` runs inside the process."""

from __future__ import annotations

import attrs

from .. import _local
from .._formats.openai.config import OpenAIProviderConfig
from .._runtime import aio as rt
from .openai import AsyncOpenAICompatibleProvider

__all__ = ["AsyncLocalProvider"]


class AsyncLocalProvider(AsyncOpenAICompatibleProvider):
    """A local model by its name. Its server is started by the first request, once in a process.

    Args:
        name: Name of the model, such as "smollm2".

    Raises:
        BuildError: There is no such model, or the engine or the model's file is not installed; the message says what
            to type.
    """

    def __init__(self, name: str) -> None:
        _local.check_local(name)
        super().__init__(name, base_url="http://127.0.0.1")

    async def _settings(self) -> OpenAIProviderConfig:
        url = await rt.run_blocking(_local.local_base_url, self.model)
        return attrs.evolve(self.config, base_url=url)
