"""The cases of the case bank that are an answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.cases import run_cases as runner

__all__ = ["ANSWERS", "Case"]

Case = dict[str, Any]


def _answers() -> Iterator[Case]:
    for path in sorted(Path(runner.__file__).parent.glob("*/*.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        if "error" not in case["expect"] and case["response"]["status"] == 200:
            yield case


ANSWERS: dict[str, Case] = {case["id"]: case for case in _answers()}
"""By their ids."""
