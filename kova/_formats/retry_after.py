"""How long a server asks to be left alone."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping

__all__ = ["retry_after"]

_NUMBER = re.compile(r"\d+(\.\d*)?|\.\d+", re.ASCII)


def retry_after(headers: Mapping[str, str], *, now: float | None = None) -> float | None:
    """Seconds to wait, from the headers of an answer; None where they do not say it, or say nonsense.

    `retry-after-ms` (OpenAI, Azure, Anthropic; `x-ms-retry-after-ms` at older services of Azure) comes before `Retry-After`, which is the same rounded. The latter is a
    number of seconds, a fraction at some servers, or an HTTP date; one in the past means that there is nothing to
    wait for.

    Args:
        headers: The answer's headers, the names in lower case.
        now: The time in seconds since the epoch.
    """
    milliseconds = _number(headers.get("retry-after-ms") or headers.get("x-ms-retry-after-ms") or "")
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after", "").strip()
    seconds = _number(text)
    if seconds is not None or not text:
        return seconds
    date = _date(text)
    return None if date is None else max(0.0, date - (time.time() if now is None else now))


def _number(text: str) -> float | None:
    text = text.strip()
    return float(text) if len(text) < 20 and _NUMBER.fullmatch(text) else None


def _date(text: str) -> float | None:
    from datetime import UTC
    from email.utils import parsedate_to_datetime

    try:
        date = parsedate_to_datetime(text)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
