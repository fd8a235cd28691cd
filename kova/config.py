"""Configuration objects: how the model is asked, what form its answer takes, how failures are retried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
from attrs import field, frozen

__all__ = ["InferenceConfig", "ResponseFormat", "RetryConfig"]


def _positive(instance: object, attribute: Any, value: float | None) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0):
        raise ValueError(f"{attribute.name} must be a positive number, got {value!r}")


def _not_negative(instance: object, attribute: Any, value: float | None) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0):
        raise ValueError(f"{attribute.name} must be a number of at least 0, got {value!r}")


def _stop_sequences(value: Sequence[str] | None) -> tuple[str, ...] | None:
    if isinstance(value, str):
        raise TypeError("stop_sequences must be a sequence of strings, not one string")
    return None if value is None else tuple(value)


@frozen
class ResponseFormat:
    """The JSON that an answer must be.

    Attributes:
        schema: JSON schema of the answer.
        name: A name for it, which some providers show to the model.
    """

    schema: Mapping[str, Any]
    name: str = "response"


@frozen
class InferenceConfig:
    """How the model is asked. None leaves a setting to the provider.

    Attributes:
        model: The model to ask, in place of the provider's own.
        max_tokens: Limit of the answer, in tokens.
        temperature: Randomness, from 0.
        top_p: Share of probability that is sampled from, up to 1.
        stop_sequences: Texts at which the model stops.
        response_format: The JSON that the answer must be.
        tool_choice: "auto", "required", "none", or the name of the tool to call. "required" and a name apply to the
            first provider call of a turn only, "none" to the whole turn.
        seed: Makes sampling repeatable where the provider supports it.
        extra_body: Merged into the request as it is.
    """

    model: str | None = None
    max_tokens: int | None = field(default=None, validator=_positive)
    temperature: float | None = field(default=None, validator=_not_negative)
    top_p: float | None = field(default=None, validator=_not_negative)
    stop_sequences: Sequence[str] | None = field(default=None, converter=_stop_sequences)
    response_format: ResponseFormat | None = None
    tool_choice: str | None = None
    seed: int | None = None
    extra_body: Mapping[str, Any] | None = None

    def replace(self, **changes: Any) -> InferenceConfig:
        """A copy with the given fields changed.

        Raises:
            TypeError: There is no such field.
        """
        return attrs.evolve(self, **changes)

    def merged_with(self, other: InferenceConfig | None) -> InferenceConfig:
        """This configuration with what `other` sets in place of its own."""
        if other is None:
            return self
        changes = {name: value for name in _FIELDS if (value := getattr(other, name)) is not None}
        return attrs.evolve(self, **changes) if changes else self


_FIELDS = tuple(attribute.name for attribute in attrs.fields(InferenceConfig))


@frozen
class RetryConfig:
    """How often and after which pauses a failed provider call is repeated.

    Attributes:
        max_retries: Repetitions after the first attempt.
        initial_backoff: Pause before the first repetition, in seconds.
        max_backoff: Longest pause, in seconds.
        multiplier: Growth of the pause from one repetition to the next.
        jitter: Share of the pause that is added or taken away at random.
        max_retry_after: Longest pause that a server may ask for, in seconds; asked for more, the call fails at once.
    """

    max_retries: int = field(default=2, validator=_not_negative)
    initial_backoff: float = field(default=0.5, validator=_not_negative)
    max_backoff: float = field(default=10.0, validator=_not_negative)
    multiplier: float = field(default=2.0, validator=_positive)
    jitter: float = field(default=0.25, validator=_not_negative)
    max_retry_after: float = field(default=60.0, validator=_not_negative)

    @classmethod
    def disabled(cls) -> RetryConfig:
        """No repetition: every failure is raised at once."""
        return cls(max_retries=0)
