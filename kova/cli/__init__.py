"""The command line of kova.

Exit codes: 0 done; 1 the thing asked for failed; 2 wrong usage; 3 a server or model could not be reached;
130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from .. import __version__
from ..errors import BuildError, ConnectionError, KovaError, TimeoutError
from . import mcp_command

__all__ = ["main"]

FAILED, WRONG_USAGE, UNREACHABLE, INTERRUPTED = 1, 2, 3, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        argv: Its arguments; those of the process if not given.

    Returns:
        The exit code.
    """
    parser = argparse.ArgumentParser(prog="kova", description="LLM agents with two native faces.")
    parser.add_argument("--version", action="version", version=f"kova {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    mcp_command.add_to(commands)
    options = parser.parse_args(argv)
    try:
        code = int(options.run(options))
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # whoever read the output, such as `head`, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BuildError as error:
        return _complain(error, WRONG_USAGE)
    except (ConnectionError, TimeoutError) as error:
        return _complain(error, UNREACHABLE)
    except KovaError as error:
        return _complain(error, FAILED)


def _complain(error: KovaError, code: int) -> int:
    print(f"kova: {error}", file=sys.stderr)
    return code
