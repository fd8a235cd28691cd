"""The logger of kova, which says nothing unless the application has asked for it."""

from __future__ import annotations

import logging

__all__ = ["logger"]

logger = logging.getLogger("kova")
logger.addHandler(logging.NullHandler())  # without any handler Python would print warnings
