"""The options that `chat` and `run` share, made into an agent."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from .. import AgentBuilder, InferenceConfig, MCPClient
from .known_providers import default_model, installed_local_models
from .mcp_servers import START_SECONDS, named_servers
from .user_tools import load_tool

__all__ = ["agent_builder", "chosen_model"]


@contextmanager
def agent_builder(options: argparse.Namespace, approval_handler: Any) -> Iterator[AgentBuilder]:
    """A builder that has all but the model. Its MCP servers run until the block is left.

    Args:
        options: The options of the command.
        approval_handler: Is asked before a tool runs, unless `--yes` says that all may.

    Raises:
        BuildError: An option is wrong.
        KovaError: An MCP server cannot be used.
    """
    builder = AgentBuilder().tool_errors("report")
    if options.system:
        builder.system_prompt(options.system)
    if getattr(options, "max_tokens", None) is not None:
        builder.inference_config(InferenceConfig(max_tokens=options.max_tokens))
    if not options.yes:
        builder.approval_handler(approval_handler)
    for text in options.tools:
        builder.tool(load_tool(text))
    with ExitStack() as stack:
        for name, transport in named_servers(options.mcp, options.mcp_config):
            client = stack.enter_context(MCPClient(transport, timeout=START_SECONDS))
            builder.mcp_client(client, name or transport.shown, prefix=f"{name}_" if name else None)
        yield builder


def chosen_model(options: argparse.Namespace) -> str:
    """The model that the options or the environment name.

    Raises:
        BuildError: Neither does, and no key or local model decides it.
    """
    return options.model or default_model(os.environ, installed_local_models())
