"""Spans for tests to look at: recorded in this process, or received over OTLP by a real server."""

from __future__ import annotations

import contextlib
import gzip
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, NamedTuple

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import (
    TraceServiceServicer,
    add_TraceServiceServicer_to_server,
)
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import kova


class Span(NamedTuple):
    """What tests want to know of a span; its ids as hexadecimal text."""

    name: str
    id: str
    parent_id: str
    trace_id: str
    is_error: bool
    attributes: Mapping[str, Any]
    events: list[tuple[str, Mapping[str, Any]]]


class Spans:
    """All spans so far."""

    def __init__(self) -> None:
        self.all: list[Span] = []

    def named(self, name: str) -> list[Span]:
        return [span for span in self.all if span.name == name]

    def one(self, name: str) -> Span:
        (span,) = self.named(name)
        return span

    def parent(self, span: Span) -> str:
        """The name of a span's parent, which must be there and in the same trace; empty for a root."""
        if not span.parent_id:
            return ""
        (parent,) = [other for other in self.all if other.id == span.parent_id]
        assert parent.trace_id == span.trace_id
        return parent.name

    def edges(self) -> list[tuple[str, str]]:
        """The names of all spans with those of their parents, sorted."""
        return sorted((span.name, self.parent(span)) for span in self.all)


# ---- in this process


class RecordedSpans(Spans):
    """Spans as they end; and how many are open."""

    def __init__(self) -> None:
        super().__init__()
        self.open = 0
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(_Counting(self, self._exporter))


class _Counting(SimpleSpanProcessor):
    def __init__(self, spans: RecordedSpans, exporter: InMemorySpanExporter) -> None:
        super().__init__(exporter)
        self._spans = spans
        self._lock = threading.Lock()

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        with self._lock:
            self._spans.open += 1

    def on_end(self, span: Any) -> None:
        with self._lock:
            self._spans.open -= 1
            self._spans.all.append(
                Span(
                    span.name,
                    f"{span.context.span_id:016x}",
                    "" if span.parent is None else f"{span.parent.span_id:016x}",
                    f"{span.context.trace_id:032x}",
                    span.status.status_code.name == "ERROR",
                    {**span.attributes, "status.description": span.status.description},
                    [(event.name, dict(event.attributes)) for event in span.events],
                )
            )


@contextlib.contextmanager
def recorded(**options: Any) -> Iterator[RecordedSpans]:
    """Spans of what happens in the block, by the application's own tracer provider."""
    spans = RecordedSpans()
    with kova.TelemetryConfig(log_level=None, tracer_provider=spans.provider, **options).init():
        yield spans


# ---- over OTLP


class Receiver(Spans):
    """What a receiver has got.

    Attributes:
        url: Where it listens.
        headers: Of each batch, by their names in lower case.
        services: Names of the services that sent something.
    """

    def __init__(self) -> None:
        super().__init__()
        self.url = ""
        self.headers: list[dict[str, str]] = []
        self.services: set[str] = set()

    def take(self, request: ExportTraceServiceRequest, headers: dict[str, str]) -> None:
        self.headers.append(headers)
        for resource in request.resource_spans:
            self.services.add(_attributes(resource.resource)["service.name"])
            for scope in resource.scope_spans:
                self.all += [_span(span) for span in scope.spans]


@contextlib.contextmanager
def receiver(protocol: Literal["grpc", "http"]) -> Iterator[Receiver]:
    """A server that speaks OTLP."""
    with grpc_receiver() if protocol == "grpc" else http_receiver() as running:
        yield running


@contextlib.contextmanager
def grpc_receiver() -> Iterator[Receiver]:
    got = Receiver()

    class Service(TraceServiceServicer):
        def Export(self, request: ExportTraceServiceRequest, context: Any) -> ExportTraceServiceResponse:
            got.take(request, {item.key: item.value for item in context.invocation_metadata()})
            return ExportTraceServiceResponse()

    with ThreadPoolExecutor(2) as pool:
        server = grpc.server(pool)
        add_TraceServiceServicer_to_server(Service(), server)
        got.url = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        server.start()
        try:
            yield got
        finally:
            server.stop(None).wait(10)


@contextlib.contextmanager
def http_receiver() -> Iterator[Receiver]:
    got = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            is_right = self.path == "/v1/traces"
            if is_right:
                headers = {name.lower(): value for name, value in self.headers.items()}
                got.take(ExportTraceServiceRequest.FromString(body), headers)
            self.send_response(200 if is_right else 404)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        got.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield got
        finally:
            server.shutdown()
            thread.join(10)


def _span(span: Any) -> Span:
    return Span(
        span.name,
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.trace_id.hex(),
        span.status.code == 2,
        _attributes(span),
        [(event.name, _attributes(event)) for event in span.events],
    )


def _attributes(owner: Any) -> dict[str, Any]:
    return {item.key: _value(item.value) for item in owner.attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    return [_value(item) for item in value.array_value.values] if kind == "array_value" else getattr(value, kind)
