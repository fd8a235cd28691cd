"""Counters and histograms of agents, in constant memory, for a look from inside the program or by Prometheus."""

from __future__ import annotations

import os
import threading
import weakref
from bisect import bisect_left

from ..responses import UsageStats
from .prometheus import exposition
from .snapshots import HistogramSnapshot, MetricsSnapshot

__all__ = ["MetricsCollector"]

# Seconds, as the GenAI conventions advise for the duration of operations; what is longer has a bucket of its own.
BOUNDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)


class MetricsCollector:
    """Counts what agents do. Give it to one agent or to many, blocking or async, as `metrics`.

    Thread-safe and exact; its size does not grow. In a forked child it goes on from the parent's counts.
    """

    def __init__(self) -> None:
        self._renew_lock()
        self.reset()
        _collectors.add(self)

    def __repr__(self) -> str:
        now = self.snapshot()
        return f"<MetricsCollector {now.llm_requests} requests, {now.tool_invocations} tools, {now.errors} errors>"

    def reset(self) -> None:
        """Begin again at zero."""
        with self._lock:
            self._requests = self._tools = self._input = self._output = 0
            self._errors = self._tool_errors = self._retries = 0
            self._latency, self._duration = _Histogram(), _Histogram()

    def record_llm_request(self, seconds: float, usage: UsageStats) -> None:
        """Count a provider call that took so long, whatever became of it, and the tokens that it reported."""
        with self._lock:
            self._requests += 1
            self._input += usage.input_tokens or 0
            self._output += usage.output_tokens or 0
            self._latency.add(seconds)

    def record_tool_invocation(self, seconds: float, *, is_error: bool = False) -> None:
        """Count a tool run that took so long."""
        with self._lock:
            self._tools += 1
            self._tool_errors += is_error
            self._duration.add(seconds)

    def record_retry(self) -> None:
        """Count a repetition of a provider call."""
        with self._lock:
            self._retries += 1

    def record_error(self) -> None:
        """Count a turn that failed."""
        with self._lock:
            self._errors += 1

    def snapshot(self) -> MetricsSnapshot:
        """All that has been counted, as of one moment."""
        with self._lock:
            return MetricsSnapshot(
                llm_requests=self._requests,
                tool_invocations=self._tools,
                input_tokens=self._input,
                output_tokens=self._output,
                errors=self._errors,
                tool_errors=self._tool_errors,
                retries=self._retries,
                llm_latency=self._latency.snapshot(),
                tool_duration=self._duration.snapshot(),
            )

    def to_prometheus(self) -> str:
        """The counts in Prometheus' text format, version 0.0.4: `text/plain; version=0.0.4; charset=utf-8`."""
        return exposition(self.snapshot())

    def _renew_lock(self) -> None:
        self._lock = threading.RLock()  # a signal handler may come, and count, while its own thread holds it


class _Histogram:
    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.sum = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.sum += seconds

    def snapshot(self) -> HistogramSnapshot:
        return HistogramSnapshot(BOUNDS, tuple(self.counts), self.sum)


_collectors: weakref.WeakSet[MetricsCollector] = weakref.WeakSet()


def _renew_locks() -> None:
    for collector in list(_collectors):  # a thread that held a lock does not exist in the child
        collector._renew_lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)
