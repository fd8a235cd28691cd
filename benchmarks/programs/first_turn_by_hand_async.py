"""A script that does one POST, async."""

import asyncio
import sys

import httpx


async def main() -> None:
    """Run one turn."""
    async with httpx.AsyncClient(timeout=60) as client:
        response = await client.post(
            f"{sys.argv[1]}/v1/chat/completions",
            json={"model": "m", "messages": [{"role": "user", "content": "Hi"}]},
            headers={"authorization": "Bearer key"},
        )
        response.raise_for_status()
        print(response.json()["choices"][0]["message"]["content"], flush=True)


asyncio.run(main())
