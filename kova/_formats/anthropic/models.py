"""What is known of families of models.

A model that is not listed is taken to do what the newest ones do, so that a new model needs no new release. Only what
is in this table makes a request to one model differ from a request to another.
"""

from __future__ import annotations

import re
from functools import lru_cache

from attrs import frozen

__all__ = ["Family", "family_of"]


@frozen
class Family:
    """How a family of models differs.

    Attributes:
        max_tokens: The most tokens that an answer may have; more is refused.
        has_adaptive_thinking: Whether `thinking: {"type": "adaptive"}` is understood. Older models want a budget.
        has_effort: Whether `output_config.effort` is understood.
        has_sampling: Whether temperature and top_p are taken when there is no thinking.
        has_both: Whether they are taken together: 400 "`temperature` and `top_p` cannot both be specified".
        thinking_off: The type of `thinking` that turns it off, where it is on when nothing is said and can be.
    """

    max_tokens: int = 128_000
    has_adaptive_thinking: bool = True
    has_effort: bool = True
    has_sampling: bool = True
    has_both: bool = True
    thinking_off: str | None = None


# Except in one point: a temperature is not kept from a model of which nothing is known. With thinking off it is sent, and
# a new Claude says itself that it takes none; other models behind this API do take it.
NEWEST = Family()


def _budgeted(max_tokens: int, *, has_both: bool = True) -> Family:
    """A family of the time when thinking had a budget, and nothing else."""
    return Family(max_tokens, has_adaptive_thinking=False, has_effort=False, has_both=has_both)


# By a pattern for the whole name, the date at its end left out; the first that fits counts. Limits and thinking types
# are those of https://platform.claude.com/docs/en/about-claude/models/overview and of …/build-with-claude/thinking.
FAMILIES = [
    (r"claude-(2.*|instant.*|3-(opus|sonnet|haiku))", _budgeted(4_096)),
    (r"claude-3-5-.*", _budgeted(8_192)),
    (r"claude-(3-7-sonnet|4-sonnet|sonnet-4(-0)?)", _budgeted(64_000)),
    (r"claude-(4-opus|opus-4(-0)?)", _budgeted(32_000)),
    (r"claude-opus-4-1", _budgeted(32_000, has_both=False)),
    (r"claude-(sonnet|haiku)-4-5", _budgeted(64_000, has_both=False)),
    (r"claude-opus-4-5", Family(max_tokens=64_000, has_adaptive_thinking=False, has_both=False)),
    (r"claude-(opus|sonnet)-4-6", Family(has_both=False)),
    (r"claude-opus-4-[78]", Family(has_sampling=False)),
    (r"claude-(opus-5|sonnet-5|haiku-5-5)", Family(has_sampling=False, thinking_off="disabled")),
    (r"claude-sonnet-5-5", Family(has_sampling=False, thinking_off="between_tools")),
    (r"claude-(opus-5-5|fable-5.*|mythos-.*)", Family(has_sampling=False)),
]

# What stands before and behind a name: "us.anthropic.", "anthropic/"; "-20250929", "@20250929", "-v1:0", "-latest".
_AROUND = re.compile(r"^.*?(?=claude-)|[-@](latest|default|20\d{6})|-v\d+(:\w+)?$")


@lru_cache(maxsize=256)
def family_of(model: str) -> Family:
    """What is known of a model, by its name at Anthropic, at a cloud or at a gateway."""
    name = _AROUND.sub("", model.lower()).replace(".", "-")
    return next((family for pattern, family in FAMILIES if re.fullmatch(pattern, name)), NEWEST)
