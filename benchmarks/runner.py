"""Takes samples: of all sides in turn, so that what disturbs the machine disturbs them alike."""

import importlib.util

from attrs import field, frozen

from .laboratory import Laboratory
from .measurements import Measurement
from .sides import Side

MEMORY_RUNS = 3  # memory varies little


@frozen
class Result:
    """The samples of a measurement, in seconds or bytes. The least of them counts: it was disturbed the least.

    Attributes:
        measurement: What was measured.
        baseline: Samples of the baseline.
        kova: Samples of kova with the standard library's JSON.
        kova_orjson: Samples of kova with orjson; none where that is not installed, or makes no difference.
    """

    measurement: Measurement
    baseline: list[float] = field(factory=list)
    kova: list[float] = field(factory=list)
    kova_orjson: list[float] = field(factory=list)

    @property
    def ratio(self) -> float:
        """What kova costs in multiples of the baseline."""
        return min(self.kova) / min(self.baseline)

    @property
    def ratio_with_orjson(self) -> float | None:
        """The same with orjson on kova's side alone."""
        return min(self.kova_orjson) / min(self.baseline) if self.kova_orjson else None

    @property
    def is_met(self) -> bool | None:
        """Whether the targets are met; None where there is none."""
        target = self.measurement.target
        pairs = [(self.ratio, target.ratio), (self.ratio_with_orjson, target.with_orjson)]
        met = [ratio <= most for ratio, most in pairs if ratio is not None and most is not None]
        return all(met) if met else None


def measure(measurement: Measurement, laboratory: Laboratory, runs: int) -> Result:
    """Take so many samples of each side."""
    result = Result(measurement)
    columns: list[tuple[list[float], Side]] = [
        (result.baseline, measurement.baseline_side),
        (result.kova, "kova"),
    ]
    if measurement.has_json and importlib.util.find_spec("orjson") is not None:
        columns.append((result.kova_orjson, "kova_orjson"))
    for _ in range(min(runs, MEMORY_RUNS) if measurement.is_memory else runs):
        for samples, side in columns:
            source = measurement.baseline if samples is result.baseline else measurement.kova
            samples.append(source.sample(laboratory, side, measurement.twin))
    return result
