"""What is measured, and what it may cost: kova's cost in multiples of the same work by hand.

A measurement sets two sources of numbers beside each other. Its ratio is kova's least number over the baseline's.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from attrs import field, frozen

from .laboratory import program
from .sides import Side, Twin
from .sources import ImportTime, PeakMemory, Script, Source, Telemetry, Work
from .streams import STREAMS
from .works import HISTORY_ROUNDS


class Target(NamedTuple):
    """The greatest ratio that is accepted: with the standard library's JSON on both sides, and of kova with orjson."""

    ratio: float | None
    with_orjson: float | None = None


TARGETS = {
    "import": Target(1.5),
    "import-names": Target(1.5),
    "first-turn": Target(1.5),
    "first-turn-tls": Target(1.5),
    "turn": Target(1.3),
    "stream-1": Target(1.3, with_orjson=1.0),
    "stream-50": Target(1.7, with_orjson=1.0),
    "stream-alone": Target(1.3),
    **{f"decode-{provider}": Target(1.7) for provider in STREAMS},
    "tools": Target(1.4),
    "concurrent": Target(0.5),
    "concurrent-cpu": Target(1.5),
    "threads": Target(1.0),
    "history-cold": Target(2.0),
    "history-warm": Target(0.5),
    "history-rounds": Target(0.3),
    "telemetry-off": Target(0.01),
    "telemetry-on": Target(1.15),
    "memory-import": Target(None),
    "memory-stream": Target(None),
}


class Sizes(NamedTuple):
    """How much of everything is done for one sample."""

    turns: int = 200
    events: int = 20_000
    paced_events: int = 500
    rounds: int = 10
    concurrent: int = 200
    threads: int = 64
    exchanges: int = 500  # of four messages each
    delay: int = 50  # milliseconds


FULL = Sizes()


@frozen
class Measurement:
    """A line of the table.

    Attributes:
        name: What `--only` knows it by; both twins of a measurement have the same.
        title: What the table calls it.
        twin: The twin that works.
        baseline: What kova is compared with.
        kova: What kova does.
        baseline_side: Who does the baseline: by hand, or kova itself.
        has_json: Whether the JSON library matters, so that kova is measured with orjson too.
        is_memory: Whether bytes are counted, and not seconds.
    """

    name: str
    title: str
    twin: Twin
    baseline: Source
    kova: Source
    baseline_side: Side = field(default="by_hand", kw_only=True)
    has_json: bool = field(default=True, kw_only=True)
    is_memory: bool = field(default=False, kw_only=True)

    @property
    def target(self) -> Target:
        """What it may cost."""
        return TARGETS[self.name]


def all_measurements(sizes: Sizes, *, with_tls: bool) -> list[Measurement]:
    """The whole table."""
    return [
        *_starts(with_tls),
        *_turns(sizes),
        *_decoding(sizes),
        *_crowds(sizes),
        *_telemetry(sizes),
        *_memory(sizes),
    ]


TWINS: tuple[Twin, Twin] = ("blocking", "async")
SUFFIX: dict[Twin, str] = {"blocking": "", "async": "_async"}  # of the names of programs
IMPORT: dict[Twin, str] = {
    "blocking": "from kova import Agent, OpenAICompatibleProvider",
    "async": "from kova import AsyncAgent, AsyncOpenAICompatibleProvider",
}


def _starts(with_tls: bool) -> Iterator[Measurement]:
    httpx = ImportTime("import httpx")
    yield Measurement("import", "import", "blocking", httpx, ImportTime("import kova"), has_json=False)
    for twin in TWINS:
        names = ImportTime(IMPORT[twin])
        yield Measurement("import-names", "import agent and provider", twin, httpx, names, has_json=False)
    for twin in TWINS:
        yield Measurement("first-turn", "start to first answer", twin, *_scripts(twin, "http"))
    for twin in TWINS if with_tls else ():
        yield Measurement("first-turn-tls", "the same over TLS", twin, *_scripts(twin, "https"))


def _scripts(twin: Twin, scheme: str) -> tuple[Source, Source]:
    by_hand, kova = (Script(f"first_turn_{side}{SUFFIX[twin]}", scheme) for side in ("by_hand", "kova"))
    return by_hand, kova


def _turns(sizes: Sizes) -> Iterator[Measurement]:
    works = {
        "turn": ("turn, CPU", Work("turns", "/text", sizes.turns)),
        "stream-1": ("event, 1 a chunk, CPU", Work("stream", f"/stream/{sizes.events}/1", sizes.events)),
        "stream-50": ("event, 50 a chunk, CPU", Work("stream", f"/stream/{sizes.events}/50", sizes.events)),
        "stream-alone": ("event, each alone, CPU", Work("stream", f"/paced/{sizes.paced_events}", sizes.paced_events)),
        "tools": ("tool round, CPU", Work("tool loops", f"/tools/{sizes.rounds}", sizes.rounds)),
        "history-cold": ("history, first turn, CPU", Work("history cold", "/text", sizes.exchanges)),
        "history-warm": ("history, later turns, CPU", Work("history warm", "/text", sizes.exchanges)),
    }
    for name, (title, work) in works.items():
        for twin in TWINS:
            yield Measurement(name, title, twin, work, work)
    first = Work("history cold", "/text", sizes.exchanges)
    later = Work("history rounds", f"/tools/{sizes.exchanges + HISTORY_ROUNDS}", sizes.exchanges)
    for twin in TWINS:
        title = "history, a later call's CPU"
        yield Measurement("history-rounds", title, twin, first, later, baseline_side="kova")


def _decoding(sizes: Sizes) -> Iterator[Measurement]:
    for provider in STREAMS:
        work = Work(f"decode {provider}", "", sizes.events)
        yield Measurement(f"decode-{provider}", f"event of {provider}, decoding", "blocking", work, work)


def _crowds(sizes: Sizes) -> Iterator[Measurement]:
    path = f"/delayed/{sizes.delay}"
    wall = Work("at once", path, sizes.concurrent, "wall")
    yield Measurement("concurrent", f"{sizes.concurrent} turns at once", "async", wall, wall)
    alone, crowded = Work("turns", "/text", sizes.turns), Work("at once", path, sizes.concurrent)
    title = "CPU of each, against one alone"
    yield Measurement("concurrent-cpu", title, "async", alone, crowded, baseline_side="kova")
    threads = Work("at once", path, sizes.threads, "wall")
    yield Measurement("threads", f"{sizes.threads} threads, 2 turns each", "blocking", threads, threads)


def _telemetry(sizes: Sizes) -> Iterator[Measurement]:
    titles: dict[Literal["calls", "on"], tuple[str, str]] = {
        "calls": ("telemetry-off", "telemetry off, of a turn's CPU"),
        "on": ("telemetry-on", "turn with spans, CPU"),
    }
    for mode, (name, title) in titles.items():
        off, other = Telemetry("off", sizes.turns), Telemetry(mode, sizes.turns)
        yield Measurement(name, title, "blocking", off, other, baseline_side="kova", has_json=False)


def _memory(sizes: Sizes) -> Iterator[Measurement]:
    for twin in TWINS:
        httpx, kova = PeakMemory("import httpx"), PeakMemory(IMPORT[twin])
        yield Measurement("memory-import", "peak memory, import", twin, httpx, kova, has_json=False, is_memory=True)
    for twin in TWINS:
        stream = PeakMemory(program(f"stream{SUFFIX[twin]}"), f"/stream/{sizes.events}/1")
        yield Measurement("memory-stream", "peak memory, stream", twin, stream, stream, is_memory=True)
