"""Prints the CPU seconds of a turn; the second argument says with which telemetry: off, on, or off and only its calls.

On, all spans are made and exported over OTLP in batches, to a server that takes anything. Off, a turn still calls
what would see it: those calls are counted in one turn, and each of them is timed by itself.
"""

import collections
import gc
import sys
import time
import timeit
from types import FrameType

import kova
from kova._turn import ModelRequest, Turn
from kova.telemetry.switch import watch_turn
from kova.telemetry.watch import UNWATCHED, UNWATCHED_CALL

url, mode, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
agent = kova.Agent(kova.OpenAICompatibleProvider("m", api_key="key", base_url=f"{url}/v1"))

request = ModelRequest([], (), kova.InferenceConfig())
turn = Turn([], system_prompt=None, tools={}, definitions=(), config=request.config, max_iterations=1)
CALLS = {
    "watch_turn": lambda: watch_turn(turn, agent=None, provider=None, session=None, metrics=None),
    "Watch.__enter__": UNWATCHED.__enter__,
    "Watch.__exit__": lambda: UNWATCHED.__exit__(None, None, None),
    "TurnWatch.model_call": lambda: UNWATCHED.model_call(request, is_stream=False),
    "CallWatch.answered": lambda: UNWATCHED_CALL.answered(kova.ModelResponse),  # type: ignore[arg-type]
}


def seconds_of_turns() -> float:
    """What a turn takes, the export of its spans included."""
    gc.collect()
    start = time.process_time()
    for _ in range(count):
        agent.run("Hi")
    if running is not None:
        running.flush()
    return (time.process_time() - start) / count


def seconds_of_calls() -> float:
    """What all calls of a turn take together."""
    seen: collections.Counter[str] = collections.Counter()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and "/kova/telemetry/" in frame.f_code.co_filename:
            seen[frame.f_code.co_qualname] += 1

    sys.setprofile(note)
    agent.run("Hi")
    sys.setprofile(None)
    single = {name: min(timeit.repeat(call, number=1000, repeat=20)) / 1000 for name, call in CALLS.items()}
    return sum(number * single[name] for name, number in seen.items())


running = None
if mode == "on":
    running = kova.TelemetryConfig(log_level=None, exporter=kova.OTLPExporter(url, "http")).init()
    agent.run("Hi")
    running.flush()
agent.run("Hi")
print(seconds_of_calls() if mode == "calls" else seconds_of_turns(), flush=True)
