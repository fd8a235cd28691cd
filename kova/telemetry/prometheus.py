"""Counts in Prometheus' text format.

Source: https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from .snapshots import HistogramSnapshot, MetricsSnapshot

__all__ = ["exposition"]

# Field of the snapshot, metric, description.
COUNTERS = (
    ("llm_requests", "kova_llm_requests_total", "Provider calls."),
    ("tool_invocations", "kova_tool_invocations_total", "Tools run."),
    ("input_tokens", "kova_input_tokens_total", "Tokens of prompts, cache reads not included."),
    ("output_tokens", "kova_output_tokens_total", "Tokens of answers."),
    ("errors", "kova_errors_total", "Turns that failed."),
    ("tool_errors", "kova_tool_errors_total", "Tool runs that failed."),
    ("retries", "kova_retries_total", "Repetitions of provider calls."),
)
HISTOGRAMS = (
    ("llm_latency", "kova_llm_latency_seconds", "Durations of provider calls."),
    ("tool_duration", "kova_tool_duration_seconds", "Durations of tool runs."),
)


def exposition(snapshot: MetricsSnapshot) -> str:
    """A snapshot as Prometheus reads it."""
    lines = []
    for field, name, description in COUNTERS:
        lines += [f"# HELP {name} {description}", f"# TYPE {name} counter", f"{name} {getattr(snapshot, field)}"]
    for field, name, description in HISTOGRAMS:
        lines += [f"# HELP {name} {description}", f"# TYPE {name} histogram"]
        lines += _samples(name, getattr(snapshot, field))
    return "\n".join(lines) + "\n"


def _samples(name: str, histogram: HistogramSnapshot) -> Iterator[str]:
    bounds = [*(str(bound) for bound in histogram.bounds), "+Inf"]
    for bound, count in zip(bounds, accumulate(histogram.counts), strict=True):
        yield f'{name}_bucket{{le="{bound}"}} {count}'
    yield f"{name}_sum {histogram.sum}"
    yield f"{name}_count {histogram.count}"
