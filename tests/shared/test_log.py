"""The log: silent by itself, structured, and independent of structlog's global configuration."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
from typing import Any

import pytest
import structlog

import kova
from kova._log import log, logger

WARN = "from kova._log import log; log.warning('something happened', count=3)"


def run(script: str) -> tuple[str, str]:
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


# ---- without init


def test_silent_by_itself_whatever_structlog_is_told() -> None:
    assert run(WARN) == ("", "")
    assert run(f"import structlog; structlog.configure(); {WARN}") == ("", "")


def test_structlog_is_loaded_by_the_first_event_that_is_wanted() -> None:
    script = f"import sys; import kova._log; {WARN.replace('warning', 'debug')}; print('structlog' in sys.modules)"
    assert run(script) == ("False\n", "")


def test_structlogs_configuration_is_neither_consulted_nor_touched() -> None:
    before = structlog.get_config()
    structlog.configure(processors=[lambda *args: pytest.fail("was consulted")])
    try:
        mine = structlog.get_config()
        with kova.TelemetryConfig().init():
            log.warning("something happened")
        assert structlog.get_config() == mine
    finally:
        structlog.configure(**before)


def test_an_applications_own_handlers_get_a_line_of_text() -> None:
    """With the place in kova that has something to say, and no need of init."""
    lines = io.StringIO()
    handler = logging.StreamHandler(lines)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s %(filename)s: %(message)s"))
    logger.addHandler(handler)
    try:
        log.warning("something happened", count=3, name="x")
    finally:
        logger.removeHandler(handler)
    assert lines.getvalue() == "WARNING kova test_log.py: something happened count=3 name='x'\n"


def test_an_applications_structlog_gets_the_event() -> None:
    got: list[dict[str, Any]] = []

    def take(_: object, __: str, event: dict[str, Any]) -> str:
        got.append(event)
        return ""

    handler = logging.StreamHandler(io.StringIO())
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, take]
        )
    )
    logger.addHandler(handler)
    try:
        with structlog.contextvars.bound_contextvars(request="r1"):
            log.warning("something happened", count=3)
    finally:
        logger.removeHandler(handler)
    assert got == [{"event": "something happened", "count": 3, "request": "r1"}]


# ---- with init


def test_init_writes_json_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    with kova.TelemetryConfig("shop", "warning").init():
        log.debug("too little")
        log.warning("something happened", count=3)
        try:
            raise ValueError("mine")
        except ValueError:
            log.exception("a callback raised")
    log.warning("too late")
    out, err = capsys.readouterr()
    first, second = [json.loads(line) for line in err.splitlines()]
    assert out == ""
    assert (first["event"], first["count"], first["level"], first["service"]) == (
        "something happened",
        3,
        "warning",
        "shop",
    )
    assert first["timestamp"].endswith("Z")
    assert second["exception"].startswith("Traceback")
    assert "ValueError: mine" in second["exception"]


def test_init_writes_lines_to_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    with kova.TelemetryConfig().init():
        log.warning("something happened", count=3)
    written = sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert "something happened" in written
    assert not written.startswith("{")


def test_lines_do_not_go_to_other_handlers_twice(caplog: pytest.LogCaptureFixture) -> None:
    with kova.TelemetryConfig().init():
        log.warning("something happened")
    assert caplog.records == []
    log.warning("something happened")
    assert len(caplog.records) == 1


def test_without_a_level_the_logger_is_the_applications(capsys: pytest.CaptureFixture[str]) -> None:
    with kova.TelemetryConfig(log_level=None).init():
        log.warning("something happened")
    assert capsys.readouterr().err == ""


def test_shutdown_makes_the_logger_what_it_was() -> None:
    def state() -> tuple[object, ...]:
        return logger.level, logger.propagate, list(logger.handlers)

    before = state()
    telemetry = kova.TelemetryConfig(log_level="DEBUG").init()
    assert state() != before
    telemetry.shutdown()
    telemetry.shutdown()
    assert state() == before
