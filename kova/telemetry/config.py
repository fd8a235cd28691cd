"""Turning telemetry on and off: where the log and the spans go."""

from __future__ import annotations

import atexit
import inspect
import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from attrs import field, frozen

from ..errors import BuildError
from .exporters import ConsoleExporter, OTLPExporter
from .logs import LEVELS, turn_log_on
from .switch import use_spans

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

    from .pipeline import Pipeline

__all__ = ["Telemetry", "TelemetryConfig"]

SHUTDOWN_SECONDS = 5.0


@frozen
class TelemetryConfig:
    """What is to be seen of kova in this process, and where.

    Attributes:
        service_name: Names the application in spans and log lines.
        log_level: Least level of the log lines that go to stderr; None leaves the logger `kova` to the application.
        exporter: Where spans go: a `ConsoleExporter` or an `OTLPExporter`. With None they go to the tracer provider
            that the application has set up for itself, if it has.
        sampling_rate: Part of the traces that is kept, from 0 to 1, where a trace begins with kova and goes to
            `exporter`; a trace that the application has begun is kept if the application keeps it.
        capture_content: Whether prompts, answers, arguments and results are recorded in spans.
        redact: Gets each text that is about to be recorded, and gives what may be recorded of it. It should be quick.
        tracer_provider: An OpenTelemetry tracer provider of the application's to use in place of the global one.

    Raises:
        BuildError: An argument is wrong; the message names it.
    """

    service_name: str = "kova"
    log_level: str | None = "INFO"
    exporter: ConsoleExporter | OTLPExporter | None = None
    sampling_rate: float = 1.0
    capture_content: bool = False
    redact: Callable[[str], str] | None = None
    tracer_provider: TracerProvider | None = field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        self._check_log(self.service_name, self.log_level)
        self._check_spans(self.exporter, self.sampling_rate, self.tracer_provider)
        self._check_content(self.capture_content, self.redact)

    def _check_log(self, name: object, level: object) -> None:
        if not isinstance(name, str) or not name.strip():
            raise BuildError(f"service_name must be a name, got {name!r}")
        if level is not None and not (isinstance(level, str) and level.upper() in LEVELS):
            raise BuildError(f"log_level must be one of {', '.join(LEVELS)}, or None; got {level!r}")

    def _check_spans(self, exporter: object, rate: object, provider: object) -> None:
        if not isinstance(exporter, (ConsoleExporter, OTLPExporter, type(None))):
            kind = type(exporter).__name__
            raise BuildError(f"exporter must be a ConsoleExporter or an OTLPExporter, not {kind}")
        if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0 <= rate <= 1:
            raise BuildError(f"sampling_rate must be a number from 0 to 1, got {rate!r}")
        if provider is not None and not callable(getattr(provider, "get_tracer", None)):
            kind = type(provider).__name__
            raise BuildError(f"tracer_provider must be an OpenTelemetry tracer provider, not {kind}")
        if provider is not None and exporter is not None:
            raise BuildError("tracer_provider has exporters of its own: leave exporter out")

    def _check_content(self, capture: object, redact: object) -> None:
        if not isinstance(capture, bool):
            raise BuildError(f"capture_content must be True or False, got {capture!r}")
        if redact is not None and (not callable(redact) or inspect.iscoroutinefunction(redact)):
            raise BuildError("redact must be a plain function that takes a text and gives a text")

    def init(self) -> Telemetry:
        """Turn telemetry on, for all agents of the process, from their next turn on.

        Once it is on, calling this again changes nothing, and gives the same object. Another configuration takes the
        place of the former, which is shut down.

        Returns:
            What shuts it down again: a with block, or `shutdown`. At the end of the program that is done by itself.

        Raises:
            BuildError: What the configuration needs is not installed; the message says what to type.
        """
        global _current
        with _lock:
            if _current is not None and _current.config == self:
                return _current
            new = Telemetry(self)
            if _current is not None:
                _current._turn_off()
            new._turn_on()
            _current = new
            return new


class Telemetry:
    """Telemetry that is on; made by `TelemetryConfig.init`.

    Attributes:
        config: How it was configured.
    """

    def __init__(self, config: TelemetryConfig) -> None:
        from .pipeline import build_pipeline

        self.config = config
        self._pipeline: Pipeline | None = build_pipeline(config)
        self._undo: Callable[[], None] = _nothing

    def __repr__(self) -> str:
        return f"<Telemetry of {self.config.service_name!r}, {'on' if _current is self else 'off'}>"

    @property
    def tracer_provider(self) -> Any:
        """The OpenTelemetry tracer provider of `exporter`, for spans of your own; None without an exporter."""
        return None if self._pipeline is None else self._pipeline.provider

    def flush(self, timeout: float = SHUTDOWN_SECONDS) -> None:
        """Export the spans that have ended, and wait for it; it blocks.

        Args:
            timeout: Seconds to wait at most.
        """
        if self._pipeline is not None:
            self._pipeline.flush(timeout)

    def shutdown(self) -> None:
        """Turn telemetry off: export what there is, and make the log what it was. May be called twice.

        It blocks, up to 5 s if the receiver does not answer.
        """
        global _current
        with _lock:
            if _current is self:
                _current = None
                self._turn_off()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()

    def _turn_on(self) -> None:
        if self.config.log_level is not None:
            self._undo = turn_log_on(self.config.log_level.upper(), self.config.service_name)
        if self._pipeline is not None:
            use_spans(self._pipeline.tracing)
        atexit.register(self.shutdown)

    def _turn_off(self) -> None:
        atexit.unregister(self.shutdown)
        use_spans(None)
        self._undo()
        if self._pipeline is not None:
            self._pipeline.shutdown(SHUTDOWN_SECONDS)


_lock = threading.RLock()
_current: Telemetry | None = None


def _nothing() -> None:
    pass
