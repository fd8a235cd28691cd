"""A process in which one side works: `python -m benchmarks.worker by_hand|kova|kova_orjson`.

Each side has a process of its own, since a process has one JSON library, one heap and one set of loaded modules. It
reads orders as lines of JSON, and answers each with a line: what a unit of the work took, and the JSON library.
"""

import asyncio
import importlib
import json
import sys
from typing import Any

from . import works
from .sides import MODULES, hide_modules


def main(side: str) -> None:
    """Work until the standard input ends."""
    hide_modules(side)
    for line in sys.stdin:
        print(json.dumps(obey(MODULES[side], json.loads(line))), flush=True)


def obey(module: str, order: dict[str, Any]) -> dict[str, Any]:
    """Do a work, and say what it took."""
    implementation = importlib.import_module(module)
    if order["twin"] == "async":
        asynchronous = works.ASYNC[order["work"]]

        async def run() -> works.Sample:
            async with implementation.Async(order["url"]) as side:
                return await asynchronous(side, order["count"])

        sample = asyncio.run(run())
    else:
        with implementation.Blocking(order["url"]) as side:
            sample = works.BLOCKING[order["work"]](side, order["count"])
    return {**sample._asdict(), "json": "orjson" if sys.modules.get("orjson") else "json"}


if __name__ == "__main__":
    main(sys.argv[1])
