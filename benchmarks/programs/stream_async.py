"""One streamed turn of the side whose module is the second argument, async."""

import asyncio
import importlib
import sys


async def main() -> None:
    """Run one turn."""
    async with importlib.import_module(sys.argv[2]).Async(sys.argv[1]) as side:
        await side.stream()


asyncio.run(main())
