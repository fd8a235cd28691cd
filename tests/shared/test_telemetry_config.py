"""Turning telemetry on and off, and what is said of wrong arguments."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

import kova
from kova._log import logger
from kova.testing import ScriptedProvider
from tests.spans import receiver, recorded


async def coroutine(text: str) -> str:
    return text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"service_name": ""}, "service_name must be a name, got ''"),
        ({"log_level": "LOUD"}, "log_level must be one of DEBUG, INFO, WARNING, ERROR, CRITICAL, or None; got 'LOUD'"),
        ({"log_level": 10}, "log_level must be one of"),
        ({"exporter": "console"}, "exporter must be a ConsoleExporter or an OTLPExporter, not str"),
        ({"sampling_rate": 1.5}, "sampling_rate must be a number from 0 to 1, got 1.5"),
        ({"sampling_rate": float("nan")}, "sampling_rate must be a number from 0 to 1, got nan"),
        ({"sampling_rate": True}, "sampling_rate must be"),
        ({"capture_content": "yes"}, "capture_content must be True or False, got 'yes'"),
        ({"redact": "x"}, "redact must be a plain function"),
        ({"redact": coroutine}, "redact must be a plain function"),
        ({"tracer_provider": 1}, "tracer_provider must be an OpenTelemetry tracer provider, not int"),
        ({"tracer_provider": TracerProvider(), "exporter": kova.ConsoleExporter()}, "leave exporter out"),
    ],
)
def test_a_wrong_argument_is_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(kova.BuildError) as caught:
        kova.TelemetryConfig(**arguments)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("localhost:4317",), "endpoint must be a URL that begins with http:// or https://"),
        ((1,), "endpoint must be a URL"),
        (("http://user:secret@host",), "endpoint must not hold a password"),
        (("http://host", "udp"), 'protocol must be "grpc" or "http", got \'udp\''),
        (("http://host", "grpc", {"a": 1}), "headers must map names to values"),
        (("http://host", "grpc", "a=1"), "headers must map names to values"),
    ],
)
def test_a_wrong_argument_of_an_exporter_is_named(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(kova.BuildError) as caught:
        kova.OTLPExporter(*arguments)
    assert message in str(caught.value)


def test_headers_are_not_in_the_repr() -> None:
    """R7."""
    exporter = kova.OTLPExporter("http://host:4317", headers={"authorization": "Bearer canary"})
    assert "canary" not in repr(exporter) + repr(kova.TelemetryConfig(exporter=exporter))


def test_init_twice_is_init_once() -> None:
    config, before = kova.TelemetryConfig(log_level="INFO"), len(logger.handlers)
    with config.init() as telemetry:
        assert config.init() is telemetry
        assert kova.TelemetryConfig(log_level="INFO").init() is telemetry
        assert len(logger.handlers) == before + 1
    assert "off" in repr(telemetry)


def test_another_configuration_takes_the_place_of_the_first() -> None:
    before = len(logger.handlers)
    first = kova.TelemetryConfig(log_level="INFO").init()
    second = kova.TelemetryConfig(log_level="ERROR").init()
    assert ("off" in repr(first), "on" in repr(second)) == (True, True)
    assert (len(logger.handlers), logger.level) == (before + 1, 40)
    first.shutdown()
    assert logger.level == 40
    second.shutdown()


def test_the_tracer_provider_of_an_exporter_is_there_for_own_spans() -> None:
    with receiver("http") as got:
        exporter = kova.OTLPExporter(got.url, "http")
        with kova.TelemetryConfig(log_level=None, exporter=exporter).init() as telemetry:
            with telemetry.tracer_provider.get_tracer("app").start_as_current_span("mine"):
                kova.Agent(ScriptedProvider("Hello")).run("Hi")
    assert got.edges() == [("chat", "invoke_agent"), ("invoke_agent", "mine"), ("mine", "")]


def test_a_trace_that_the_application_keeps_is_kept() -> None:
    """Sampling follows the parent."""
    with receiver("http") as got, recorded() as spans:
        tracer = spans.provider.get_tracer("app")
        exporter = kova.OTLPExporter(got.url, "http")
        with kova.TelemetryConfig(log_level=None, exporter=exporter, sampling_rate=0.0).init():
            with tracer.start_as_current_span("request"):
                kova.Agent(ScriptedProvider("Hello")).run("Hi")
    assert [span.name for span in got.all] == ["chat", "invoke_agent"]


# ---- in processes of their own


def run(script: str, **options: Any) -> tuple[str, str]:
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


TURN = "kova.Agent(kova.testing.ScriptedProvider('Hello'), name='a').run('Hi')\n"


def test_the_console() -> None:
    script = "import kova, kova.testing\nkova.TelemetryConfig(exporter=kova.ConsoleExporter()).init()\n" + TURN
    out, err = run(script)
    assert '"name": "invoke_agent a"' in out
    assert '"name": "chat"' in out
    assert err == ""


def test_the_applications_global_tracer_provider_is_used() -> None:
    """Whether it is set before init or after."""
    script = (
        "import kova, kova.testing\n"
        "kova.TelemetryConfig().init()\n" + TURN + "from opentelemetry import trace\n"
        "from opentelemetry.sdk.trace import TracerProvider\n"
        "from opentelemetry.sdk.trace.export import SimpleSpanProcessor, ConsoleSpanExporter\n"
        "provider = TracerProvider()\n"
        "provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(formatter=lambda span: span.name + '\\n')))\n"
        "trace.set_tracer_provider(provider)\n" + TURN
    )
    assert run(script) == ("chat\ninvoke_agent a\n", "")


def test_without_the_extra() -> None:
    """An exporter is refused with the line to type; the log alone works."""
    script = (
        "import sys\n"
        "sys.modules['opentelemetry'] = None\n"
        "import kova, kova.testing\n"
        "with kova.TelemetryConfig().init(): "
        + TURN
        + "for exporter in kova.ConsoleExporter(), kova.OTLPExporter('http://h'):\n"
        "    try: kova.TelemetryConfig(exporter=exporter).init()\n"
        "    except kova.BuildError as error: print(error)\n"
    )
    message = "exporter needs the extra of OpenTelemetry: pip install 'kova-sdk[telemetry]'\n"
    assert run(script) == (message * 2, "")


def test_opentelemetry_is_loaded_only_for_spans() -> None:
    """T6."""
    script = (
        "import kova, kova.testing, sys\n"
        "kova.Agent(kova.testing.ScriptedProvider('Hello'), metrics=kova.MetricsCollector()).run('Hi')\n"
        "print([name for name in sys.modules if name.startswith(('opentelemetry', 'structlog'))])"
    )
    assert run(script) == ("[]\n", "")


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_spans_are_sent_at_the_end_of_the_program(protocol: Any) -> None:
    with receiver(protocol) as got:
        script = (
            "import kova, kova.testing\n"
            f"exporter = kova.OTLPExporter({got.url!r}, {protocol!r})\n"
            "kova.TelemetryConfig(exporter=exporter).init()\n" + TURN
        )
        assert run(script) == ("", "")
    assert got.edges() == [("chat", "invoke_agent a"), ("invoke_agent a", "")]


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_a_receiver_that_is_silent_does_not_hold_up_the_end(protocol: Any) -> None:
    """T10: kova waits 5 s at most; OpenTelemetry's own limit is 30 s."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        config = kova.TelemetryConfig(log_level=None, exporter=kova.OTLPExporter(url, protocol))
        telemetry = config.init()
        kova.Agent(ScriptedProvider("Hello")).run("Hi")
        start = time.monotonic()
        telemetry.shutdown()
        assert time.monotonic() - start < 15


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_a_forked_worker_sends_its_spans(protocol: Any) -> None:
    """T5: turned on before the fork, as in a server that forks its workers."""
    with receiver(protocol) as got:
        script = (
            "import os, warnings, kova, kova.testing\n"
            "warnings.filterwarnings('ignore', category=DeprecationWarning)  # of the fork, from Python 3.12 on\n"
            f"exporter = kova.OTLPExporter({got.url!r}, {protocol!r})\n"
            "telemetry = kova.TelemetryConfig(exporter=exporter).init()\n"
            "child = os.fork()\n" + TURN + "telemetry.shutdown()\n"
            "if child: assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0\n"
        )
        assert run(script) == ("", "")
    assert got.edges() == [("chat", "invoke_agent a")] * 2 + [("invoke_agent a", "")] * 2
