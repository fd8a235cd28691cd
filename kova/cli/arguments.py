"""The commands and their options. What a command needs is loaded when it is run, and not for `--help`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from typing import Any

from .._version import __version__
from . import mcp_command

__all__ = ["parser"]

CHAT = """\
Enter sends, Alt-Enter begins a new line. Ctrl-C stops a turn; at the empty prompt, twice leaves, and so does Ctrl-D.
  kova chat --model openai:gpt-5 --mcp "npx -y @modelcontextprotocol/server-filesystem ."
  kova chat --tools weather:get_weather --continue
"""
RUN = """\
  kova run "Summarise this:" < report.txt
  kova run --json "Name three rivers." | jq .usage
"""


def parser() -> argparse.ArgumentParser:
    """The parser of the command line; what it finds has `run`, to be called with it."""
    made = argparse.ArgumentParser(prog="kova", description="LLM agents with two native faces.")
    made.add_argument("--version", action="version", version=f"kova {__version__}")
    commands = made.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_chat(commands)
    _add_run(commands)
    models = _add(commands, "models", "list the models of the providers for which there are keys")
    models.add_argument("provider", nargs="?", metavar="PROVIDER", help="openai, anthropic, ...; all if not given")
    _add_json(models)
    doctor = _add(commands, "doctor", "say what is installed, which keys are seen, and which providers answer")
    doctor.add_argument(
        "--timeout", type=float, default=5.0, metavar="SECONDS", help="for each provider; 5 if not given"
    )
    _add_json(doctor)
    mcp_command.add_to(commands)
    return made


def _add_chat(commands: Any) -> None:
    chat = _add(commands, "chat", "talk to a model, with tools", CHAT)
    _add_agent_options(chat)
    chat.add_argument(
        "--continue",
        dest="continued",
        nargs="?",
        const="",
        metavar="ID",
        help="go on with a conversation; without an ID, with the last one",
    )
    chat.add_argument("--history", metavar="FILE", help="where conversations are kept; else KOVA_HISTORY")


def _add_run(commands: Any) -> None:
    run = _add(commands, "run", "ask once; the prompt may be followed by a file on standard input", RUN)
    run.add_argument("prompt", nargs="?", default="", help="what to ask")
    _add_agent_options(run)
    _add_json(run)
    run.add_argument("--max-tokens", type=int, metavar="N", help="length of the answer at most, in tokens")
    run.add_argument("--timeout", type=float, metavar="SECONDS", help="for the whole turn")


def _add_agent_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--model", metavar="PROVIDER:MODEL", help="such as openai:gpt-5; else KOVA_MODEL")
    command.add_argument("--system", metavar="TEXT", help="instructions to the model")
    command.add_argument(
        "--mcp",
        action="append",
        default=[],
        metavar="[NAME=]COMMAND_OR_URL",
        help="use the tools of an MCP server; with NAME=, the prefix NAME_ keeps them apart from others; repeatable",
    )
    command.add_argument(
        "--mcp-config",
        action="append",
        default=[],
        metavar="FILE",
        help="use the MCP servers of a file with mcpServers, as other programs have it, by their names there; repeatable",
    )
    command.add_argument(
        "--tools", action="append", default=[], metavar="MODULE:FUNCTION", help="use a Python function; repeatable"
    )
    command.add_argument("--yes", action="store_true", help="run all tool calls without asking")


def _add_json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print JSON")


def _add(commands: Any, name: str, help: str, examples: str = "") -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        name,
        help=help,
        description=help[0].upper() + help[1:] + ".",
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=_of_module(f"{name}_command"))
    return command


def _of_module(name: str) -> Callable[[argparse.Namespace], int]:
    def run(options: argparse.Namespace) -> int:
        return int(import_module(f".{name}", __package__).run(options))

    return run
