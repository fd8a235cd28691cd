"""Configuration objects: how the model is asked, what form its answer takes, how failures are retried."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import attrs
from attrs import field, frozen
from attrs.validators import optional

from .messages import JSONObject, copied, copied_if_any, must_be

__all__ = ["InferenceConfig", "ResponseFormat", "RetryConfig"]

_text = must_be(str)


def _number(least: float, most: float = math.inf, *, whole: bool = False) -> Callable[[Any, Any, Any], None]:
    """A validator: the field's value is a number within the bounds."""
    wanted = "an integer" if whole else "a number"
    bounds = f"of at least {least:g}" if most == math.inf else f"from {least:g} to {most:g}"

    def check(instance: object, attribute: Any, value: object) -> None:
        name = f"{type(instance).__name__}.{attribute.name}"
        if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
            raise TypeError(f"{name} must be {wanted}, not {type(value).__name__}")
        if not least <= value <= most:
            raise ValueError(f"{name} must be {wanted} {bounds}, not {value}")

    return check


def _texts(values: Sequence[str] | None) -> tuple[str, ...] | None:
    if values is None:
        return None
    texts = tuple(values)
    if isinstance(values, str) or not all(isinstance(text, str) for text in texts):
        raise TypeError("InferenceConfig.stop_sequences must be a sequence of str, which one str is not")
    return texts


@frozen
class ResponseFormat:
    """The JSON that an answer must be.

    Attributes:
        schema: JSON schema of the answer.
        name: A name for it, which some providers show to the model.
    """

    schema: JSONObject = field(converter=copied, validator=must_be(dict), hash=False)
    name: str = field(default="response", validator=_text)


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

    model: str | None = field(default=None, validator=optional(_text))
    max_tokens: int | None = field(default=None, validator=optional(_number(1, whole=True)))
    temperature: float | None = field(default=None, validator=optional(_number(0)))
    top_p: float | None = field(default=None, validator=optional(_number(0, 1)))
    stop_sequences: tuple[str, ...] | None = field(default=None, converter=_texts)
    response_format: ResponseFormat | None = field(default=None, validator=optional(must_be(ResponseFormat)))
    tool_choice: str | None = field(default=None, validator=optional(_text))
    seed: int | None = field(default=None, validator=optional(_number(-math.inf, whole=True)))
    extra_body: JSONObject | None = field(
        default=None, converter=copied_if_any, validator=optional(must_be(dict)), hash=False
    )

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
        jitter: Share of the pause that is added or taken away at random, up to 1.
        max_retry_after: Longest pause that a server may ask for, in seconds; asked for more, the call fails at once.
    """

    max_retries: int = field(default=2, validator=_number(0, whole=True))
    initial_backoff: float = field(default=0.5, validator=_number(0))
    max_backoff: float = field(default=10.0, validator=_number(0))
    multiplier: float = field(default=2.0, validator=_number(1))
    jitter: float = field(default=0.25, validator=_number(0, 1))
    max_retry_after: float = field(default=60.0, validator=_number(0))

    @classmethod
    def disabled(cls) -> RetryConfig:
        """No repetition: every failure is raised at once."""
        return cls(max_retries=0)
