"""From a configuration to OpenTelemetry's sampler, batches and exporters; loaded by `TelemetryConfig.init`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..errors import BuildError
from .content import Content
from .exporters import OTLPExporter

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

    from .config import TelemetryConfig
    from .spans import Tracing

__all__ = ["Pipeline", "build_pipeline"]

MISSING = "needs the extra of OpenTelemetry: pip install 'kova-sdk[telemetry]'"


class Pipeline:
    """What makes spans and where they go.

    Attributes:
        tracing: Makes them.
        provider: Exports them; None where the application does.
    """

    def __init__(self, tracing: Tracing, provider: TracerProvider | None) -> None:
        self.tracing = tracing
        self.provider = provider

    def flush(self, timeout: float) -> None:
        """Export what has ended, for so many seconds at most."""
        if self.provider is not None:
            _for_at_most(timeout, self.provider.force_flush)

    def shutdown(self, timeout: float) -> None:
        """Export what has ended, for so many seconds at most, and nothing afterwards."""
        if self.provider is not None:
            _for_at_most(timeout, self.provider.shutdown)


def build_pipeline(config: TelemetryConfig) -> Pipeline | None:
    """The pipeline of a configuration; None where there can be no spans.

    Raises:
        BuildError: OpenTelemetry is not installed, and an exporter was asked for.
    """
    try:
        from .spans import Tracing
    except ImportError as error:
        if config.exporter is None:
            return None
        raise BuildError(f"exporter {MISSING}") from error
    provider = None if config.exporter is None else _provider(config)
    content = Content(config.redact) if config.capture_content else None
    return Pipeline(Tracing(provider or config.tracer_provider, content), provider)


def _provider(config: TelemetryConfig) -> TracerProvider:
    try:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

        processor = _processor(config)
    except ImportError as error:
        raise BuildError(f"exporter {MISSING}") from error
    provider = TracerProvider(
        sampler=ParentBased(TraceIdRatioBased(config.sampling_rate)),
        resource=Resource.create({"service.name": config.service_name}),
        shutdown_on_exit=False,  # Telemetry does it, and does not wait for long
    )
    provider.add_span_processor(processor)
    return provider


def _processor(config: TelemetryConfig) -> SpanProcessor:
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SimpleSpanProcessor

    if isinstance(config.exporter, OTLPExporter):
        return BatchSpanProcessor(_otlp(config.exporter))
    return SimpleSpanProcessor(ConsoleSpanExporter(service_name=config.service_name))


def _otlp(exporter: OTLPExporter) -> Any:
    headers = {name.lower(): value for name, value in (exporter.headers or {}).items()}  # gRPC takes no others
    if exporter.protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GRPCSpanExporter

        insecure = urlsplit(exporter.endpoint).scheme == "http"
        return GRPCSpanExporter(endpoint=exporter.endpoint, insecure=insecure, headers=headers or None)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HTTPSpanExporter

    return HTTPSpanExporter(endpoint=_traces_url(exporter.endpoint), headers=headers or None)


def _traces_url(endpoint: str) -> str:
    parts = urlsplit(endpoint)
    return endpoint if parts.path.strip("/") else parts._replace(path="/v1/traces").geturl()


def _for_at_most(seconds: float, function: Callable[[], object]) -> None:
    """Call what may wait for a receiver much longer; it is abandoned then."""
    thread = threading.Thread(target=function, name="kova-telemetry", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # the interpreter is about to exit, and starts no more threads
        function()
    else:
        thread.join(seconds)
