"""Where numbers come from: works in a warm process, and programs that run once in a fresh one."""

from typing import Literal, Protocol

from attrs import frozen

from .laboratory import Laboratory, program
from .sides import MODULES, Side, Twin


class Source(Protocol):
    """Where the numbers of a measurement come from: seconds, or bytes."""

    def sample(self, laboratory: Laboratory, side: Side, twin: Twin) -> float: ...


@frozen
class Work:
    """Something done in a warm process (`works.py`): seconds of its CPU, or on the clock.

    Attributes:
        name: Names the work.
        path: Chooses the server's answer.
        count: How much is done.
        quantity: What is counted.
    """

    name: str
    path: str
    count: int
    quantity: Literal["cpu", "wall"] = "cpu"

    def sample(self, laboratory: Laboratory, side: Side, twin: Twin) -> float:
        order = {"work": self.name, "twin": twin, "url": laboratory.urls["http"] + self.path, "count": self.count}
        reply = laboratory.order(side, order)
        if (reply["json"] == "orjson") != (side == "kova_orjson"):
            raise RuntimeError(f"{side} worked with {reply['json']}")
        seconds: float = reply[self.quantity]
        return seconds


@frozen
class ImportTime:
    """Seconds that a statement takes in a fresh process."""

    statement: str

    def sample(self, laboratory: Laboratory, side: Side, twin: Twin) -> float:
        code = f"import time; start = time.perf_counter(); {self.statement}; print(time.perf_counter() - start)"
        return float(laboratory.run(side, code).line)


@frozen
class Script:
    """Seconds from the start of a process until its script has printed the model's answer."""

    name: str
    scheme: str = "http"

    def sample(self, laboratory: Laboratory, side: Side, twin: Twin) -> float:
        url = laboratory.urls[self.scheme] + "/text"
        output = laboratory.run(side, program(self.name), url)
        if "Rain" not in output.line:
            raise RuntimeError(f"the script {self.name} printed {output.line!r}")
        return output.seconds


@frozen
class Telemetry:
    """CPU seconds of a turn in a fresh process with telemetry on, off, or of telemetry's calls alone while it is off.

    Attributes:
        mode: Which of these.
        turns: How many turns are made.
    """

    mode: Literal["on", "off", "calls"]
    turns: int

    def sample(self, laboratory: Laboratory, side: Side, twin: Twin) -> float:
        url = laboratory.urls["http"] + "/text"
        return float(laboratory.run(side, program("telemetry"), url, self.mode, str(self.turns)).line)


@frozen
class PeakMemory:
    """The most bytes that a fresh process has had when it has done something."""

    code: str
    path: str = ""

    def sample(self, laboratory: Laboratory, side: Side, twin: Twin) -> float:
        url = laboratory.urls["http"] + self.path
        output = laboratory.run(side, f"{self.code}\n{program('peak')}", url, MODULES[side])
        return int(output.line) * 1024
