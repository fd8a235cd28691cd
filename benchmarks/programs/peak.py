"""Prints the most memory that this process has had, in KiB."""

import resource
import sys


def peak() -> int:
    """The most memory that this process has had, in KiB."""
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    except OSError:
        # On Linux this would begin with what the parent had when it started the process.
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most // 1024 if sys.platform == "darwin" else most


print(peak(), flush=True)
