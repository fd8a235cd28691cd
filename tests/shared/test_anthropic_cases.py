"""Every wire case of Anthropic's format, played to the pure functions."""

import pytest

from kova._formats.anthropic import FORMAT
from kova._formats.anthropic.config import AnthropicProviderConfig
from tests.pure_cases import load_cases, play


@pytest.mark.parametrize("case", load_cases("anthropic"))
def test_case(case):
    """R6, L7, L8."""
    assert not play(case, FORMAT, AnthropicProviderConfig), case["why"]
