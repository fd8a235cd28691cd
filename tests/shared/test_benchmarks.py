"""The benchmarks do what they say: each measurement runs once, with little to do. No time is looked at."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import report
from benchmarks.__main__ import main
from benchmarks.laboratory import Laboratory
from benchmarks.measurements import TARGETS, Measurement, Sizes, all_measurements
from benchmarks.runner import Result, measure
from benchmarks.streams import STREAMS

LITTLE = Sizes(
    turns=2, events=120, paced_events=3, rounds=2, concurrent=3, threads=3, exchanges=2, delay=1
)  # 120 events: two whole chunks of 50, and a part of one
MEASUREMENTS = all_measurements(LITTLE, with_tls=True)


@pytest.fixture(scope="module")
def laboratory() -> Iterator[Laboratory]:
    with Laboratory() as running:
        yield running


@pytest.fixture
def result() -> Result:
    """Of a measurement with targets of 1.3, and of 1.0 with orjson."""
    measurement = next(each for each in MEASUREMENTS if each.name == "stream-1")
    return Result(measurement, baseline=[0.002, 0.001], kova=[0.0012, 0.003], kova_orjson=[0.0009, 0.0009])


@pytest.mark.parametrize("measurement", MEASUREMENTS, ids=lambda each: f"{each.name}-{each.twin}")
def test_a_measurement_runs(measurement: Measurement, laboratory: Laboratory) -> None:
    if measurement.name == "first-turn-tls" and "https" not in laboratory.urls:
        pytest.skip("there is no openssl to make a certificate with")
    result = measure(measurement, laboratory, runs=1)
    assert len(result.baseline) == len(result.kova) == 1
    assert len(result.kova_orjson) == measurement.has_json, "orjson is a development dependency"
    assert all(sample > 0 for sample in [*result.baseline, *result.kova, *result.kova_orjson])


def test_every_target_is_measured_and_both_twins_are() -> None:
    twins = {name: {each.twin for each in MEASUREMENTS if each.name == name} for name in TARGETS}
    assert set(TARGETS) == {each.name for each in MEASUREMENTS}
    assert {name for name, both in twins.items() if len(both) == 1} == {
        "import",  # loads neither twin
        *(f"decode-{provider}" for provider in STREAMS),  # nor does it wait for anything
        "concurrent",  # the two ways to do many turns at once
        "concurrent-cpu",
        "threads",
        "telemetry-off",  # what makes spans is the same for both twins
        "telemetry-on",
    }


def test_a_line_of_the_table(result: Result) -> None:
    cells = report.line(result).split("  ")
    shown = [cell.strip() for cell in cells if cell.strip()]
    assert shown == [
        "event, 1 a chunk, CPU",
        "blocking",
        "1.00 ms",
        "1.20 ms",
        "1.20",
        "<= 1.3",
        "met",
        "900.0 µs",
        "0.90",
        "<= 1.0",
    ]


@pytest.mark.parametrize(("kova", "orjson", "is_met"), [(1.3, 1.0, True), (1.31, 0.5, False), (1.0, 1.01, False)])
def test_both_targets_must_be_met(result: Result, kova: float, orjson: float, is_met: bool) -> None:
    assert Result(result.measurement, [1.0], [kova], [orjson]).is_met is is_met


def test_without_orjson_its_column_is_empty(result: Result) -> None:
    alone = Result(result.measurement, [1.0], [1.5])
    assert alone.ratio_with_orjson is None
    assert "NOT MET" in report.line(alone)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "results.json"
    main(["--only", "turn", "--runs", "2", "--json", str(path)], LITTLE)
    head, _, titles, _, *lines, _, summary = capsys.readouterr().out.splitlines()
    assert "the least of 2 runs" in head
    assert titles.split()[:3] == ["twin", "by", "hand"]
    assert [line.split()[2] for line in lines] == ["blocking", "async"]
    assert summary.endswith("of 2 targets are met")

    written = json.loads(path.read_text())
    assert written["runs"] == 2
    assert written["packages"].keys() == {"kova", "httpx", "httpx2", "orjson"}
    blocking, asynchronous = written["measurements"]
    assert (blocking["name"], blocking["twin"], asynchronous["twin"]) == ("turn", "blocking", "async")
    assert len(blocking["baseline"]) == len(blocking["kova"]) == len(blocking["kova_orjson"]) == 2
    assert blocking["ratio"] == min(blocking["kova"]) / min(blocking["baseline"])
    assert (blocking["unit"], blocking["target"]) == ("seconds", 1.3)


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--only", "everything"])
    assert "history-cold" in capsys.readouterr().err
