"""A script that runs one turn of an agent, async."""

import asyncio
import sys

import kova


async def main() -> None:
    """Run one turn."""
    model = kova.AsyncOpenAICompatibleProvider("m", api_key="key", base_url=f"{sys.argv[1]}/v1")
    async with model:
        print((await kova.AsyncAgent(model).run("Hi")).text, flush=True)


asyncio.run(main())
