"""One streamed turn of the side whose module is the second argument."""

import importlib
import sys

with importlib.import_module(sys.argv[2]).Blocking(sys.argv[1]) as side:
    side.stream()
