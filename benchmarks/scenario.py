"""What both sides are given to do: the model, the question, the tool, the history.

Loaded into every process that is measured, so it imports nothing that weighs anything.
"""

from collections.abc import Iterator
from typing import NamedTuple

MODEL = "m"
KEY = "key"
CHAT_PATH = "/v1/chat/completions"
QUESTION = "What is the weather in Reykjavík?"
TIMEOUT = 60.0  # seconds


def look_up(town: str) -> str:
    """Look up the weather.

    Args:
        town: Name of the town.
    """
    return f"{town}: rain, 4 degrees"


async def look_up_async(town: str) -> str:
    """Look up the weather.

    Args:
        town: Name of the town.
    """
    return look_up(town)


class Exchange(NamedTuple):
    """Four messages of a history: a question, a tool call, its result, and the answer."""

    question: str
    call_id: str
    town: str
    result: str
    answer: str


def exchanges(count: int) -> Iterator[Exchange]:
    """A history of which no two exchanges are the same; 500 of them are 2,000 messages and about 1 MB of JSON."""
    line = 'The "old town" lies by the sea;\nthe road there is closed in winter.\n'
    for number in range(count):
        yield Exchange(
            question=f"{number}. What about this place?\n{line * 8}",
            call_id=f"call_{number}",
            town=f"Town {number}",
            result=f"Town {number}: rain, 4 degrees\n{line * 9}",
            answer=f"It rains in town {number}.\n{line * 8}",
        )
