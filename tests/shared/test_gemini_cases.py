"""Every wire case of Gemini's format, played to the pure functions."""

import pytest

from kova._formats.gemini import FORMAT
from kova._formats.gemini.config import GeminiProviderConfig
from tests.pure_cases import load_cases, play


@pytest.mark.parametrize("case", load_cases("gemini"))
def test_case(case):
    """R6, L7, L8."""
    assert not play(case, FORMAT, GeminiProviderConfig), case["why"]
