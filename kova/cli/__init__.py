"""The command line of kova.

Exit codes: 0 done; 1 the thing asked for failed; 2 wrong usage; 3 a server or model could not be reached;
130 interrupted.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

from .._terminal import plain
from ..errors import BuildError, ConnectionError, KovaError, TimeoutError
from .arguments import parser
from .exit_codes import FAILED, INTERRUPTED, UNREACHABLE, WRONG_USAGE

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        argv: Its arguments; those of the process if not given.

    Returns:
        The exit code.
    """
    options = parser().parse_args(argv)
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a model may say what the terminal has no character for
    try:
        code = int(options.run(options))
        if sys.stdout is not None:  # it may be closed
            sys.stdout.flush()
        return code
    except BrokenPipeError:  # whoever read the output, such as `head`, has enough
        _give_up_output()
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BuildError as error:
        return _complain(error, WRONG_USAGE)
    except (ConnectionError, TimeoutError) as error:
        return _complain(error, UNREACHABLE)
    except KovaError as error:
        return _complain(error, FAILED)
    except OSError as error:
        _give_up_output()
        return _complain(f"cannot write the output: {error.strerror}", FAILED)


def _give_up_output() -> None:
    """Have the interpreter try no more, when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(error: object, code: int) -> int:
    print(f"kova: {plain(str(error))}", file=sys.stderr)  # which may be in a server's words
    return code
