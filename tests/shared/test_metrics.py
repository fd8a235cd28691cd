"""The counters: exact under threads, constant in size, and read by Prometheus."""

from __future__ import annotations

import os
import threading
import tracemalloc

import pytest
from prometheus_client.parser import text_string_to_metric_families

import kova

THREADS, UPDATES = 16, 10_000


def count(collector: kova.MetricsCollector, updates: int) -> None:
    for index in range(updates):
        collector.record_llm_request(0.001 * (index % 100), kova.UsageStats(2, 3))
        collector.record_tool_invocation(0.5, is_error=index % 2 == 0)
        collector.record_retry()
        collector.record_error()


def test_exact_under_threads() -> None:
    collector = kova.MetricsCollector()
    threads = [threading.Thread(target=count, args=(collector, UPDATES)) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    now, total = collector.snapshot(), THREADS * UPDATES
    assert (now.llm_requests, now.tool_invocations, now.errors, now.retries) == (total,) * 4
    assert (now.input_tokens, now.output_tokens, now.tool_errors) == (2 * total, 3 * total, total // 2)
    assert (now.llm_latency.count, now.tool_duration.count) == (total, total)
    assert now.tool_duration.sum == total / 2
    assert now.llm_latency.sum == pytest.approx(total * 0.0495)


def test_constant_memory() -> None:
    collector = kova.MetricsCollector()
    count(collector, 200)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        count(collector, UPDATES)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 4_096


def test_durations_fall_into_buckets_up_to_their_bounds() -> None:
    collector = kova.MetricsCollector()
    for seconds in (0.0, 0.01, 0.011, 81.92, 1000.0):
        collector.record_llm_request(seconds, kova.UsageStats())
    latency = collector.snapshot().llm_latency
    assert [(*latency.bounds, float("inf"))[index] for index, n in enumerate(latency.counts) for _ in range(n)] == [
        0.01,
        0.01,
        0.02,
        81.92,
        float("inf"),
    ]


def test_unknown_tokens_count_nothing_and_reset_begins_again() -> None:
    collector = kova.MetricsCollector()
    collector.record_llm_request(1.0, kova.UsageStats())
    assert (collector.snapshot().llm_requests, collector.snapshot().input_tokens) == (1, 0)
    collector.reset()
    assert collector.snapshot() == kova.MetricsCollector().snapshot()


def test_prometheus_reads_it() -> None:
    collector = kova.MetricsCollector()
    count(collector, 100)
    families = {family.name: family for family in text_string_to_metric_families(collector.to_prometheus())}
    assert families["kova_llm_requests"].type == "counter"
    assert [sample.value for sample in families["kova_input_tokens"].samples] == [200]
    latency = families["kova_llm_latency_seconds"]
    assert latency.type == "histogram"
    buckets = [(sample.labels["le"], sample.value) for sample in latency.samples if sample.name.endswith("_bucket")]
    assert (buckets[0], buckets[-1]) == (("0.01", 11), ("+Inf", 100))
    assert [value for _, value in buckets] == sorted(value for _, value in buckets)
    values = {sample.name: sample.value for sample in latency.samples}
    assert values["kova_llm_latency_seconds_count"] == 100
    assert values["kova_llm_latency_seconds_sum"] == pytest.approx(4.95)
    assert len(families) == 9


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_counts_on() -> None:
    """T5: also when another thread was counting at the moment of the fork."""
    collector = kova.MetricsCollector()
    collector.record_retry()
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with collector._lock:
            held.set()
            release.wait(10)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(10)
    child = os.fork()
    if child == 0:
        collector.record_retry()
        os._exit(collector.snapshot().retries)
    release.set()
    holder.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2


def test_only_a_collector_is_taken() -> None:
    from kova.testing import ScriptedProvider

    with pytest.raises(kova.BuildError, match="metrics must be a MetricsCollector, not dict"):
        kova.Agent(ScriptedProvider(), metrics={})  # type: ignore[arg-type]
