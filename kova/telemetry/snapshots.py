"""What has been counted, at one moment."""

from __future__ import annotations

from attrs import frozen

__all__ = ["HistogramSnapshot", "MetricsSnapshot"]


@frozen
class HistogramSnapshot:
    """How durations are spread.

    Attributes:
        bounds: Upper bounds of the buckets, in seconds, each within its bucket.
        counts: Durations in each bucket, and at last those above all bounds.
        sum: Of all durations, in seconds.
    """

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    sum: float

    @property
    def count(self) -> int:
        """How many durations there were."""
        return sum(self.counts)


@frozen
class MetricsSnapshot:
    """What a `MetricsCollector` has counted at one moment.

    Attributes:
        llm_requests: Provider calls; a call that is retried counts once.
        tool_invocations: Tools run.
        input_tokens: Tokens of prompts, as reported; cache reads are not among them.
        output_tokens: Tokens of answers, as reported.
        errors: Turns that failed, other than by a cancellation.
        tool_errors: Tool runs that failed, whether the model was told or the turn ended.
        retries: Repetitions of provider calls.
        llm_latency: Durations of provider calls, retries and their pauses included; of a stream, until its end.
        tool_duration: Durations of tool runs.
    """

    llm_requests: int
    tool_invocations: int
    input_tokens: int
    output_tokens: int
    errors: int
    tool_errors: int
    retries: int
    llm_latency: HistogramSnapshot
    tool_duration: HistogramSnapshot
