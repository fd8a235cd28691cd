"""Every wire case of Ollama's format, played to the pure functions."""

import pytest

from kova._formats.ollama import FORMAT
from kova._formats.ollama.config import OllamaProviderConfig
from tests.pure_cases import load_cases, play


@pytest.mark.parametrize("case", load_cases("ollama"))
def test_case(case):
    """R6, L7."""
    assert not play(case, FORMAT, OllamaProviderConfig), case["why"]
