"""A real small model on this machine, through the server that `kova[local]` runs inside the process."""

from __future__ import annotations

import attrs

from .. import _local
from .._formats.openai.config import OpenAIProviderConfig
from .._runtime import aio as rt
from .openai import AsyncOpenAICompatibleProvider

__all__ = ["AsyncLocalProvider"]
