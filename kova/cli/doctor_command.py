"""`kova doctor`: what is installed, which keys are seen, which providers answer."""

from __future__ import annotations

import argparse
import json
import os

from .doctor_report import examine
from .exit_codes import DONE, FAILED

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:
    """Look, and say what was found."""
    report = examine(os.environ, options.timeout)
    print(json.dumps(report.as_json(), indent=2) if options.json else report.as_text())
    return DONE if report.works else FAILED
