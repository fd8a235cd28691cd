"""The providers that a model string can name, as data: which variables of the environment they are set up by."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from .._local import LOCAL_MODELS, check_local
from ..errors import BuildError

__all__ = ["PROVIDERS", "KnownProvider", "default_model", "installed_local_models", "masked", "seen_providers"]


@frozen
class KnownProvider:
    """A provider that a model string can name.

    Attributes:
        name: What stands before the colon.
        keys: Variables that hold a secret.
        settings: Variables that mean, without a key, that the provider is set up.
        default_model: The model that is used when none is named; None where that depends on the account or server.
    """

    name: str
    keys: tuple[str, ...]
    settings: tuple[str, ...] = ()
    default_model: str | None = None


PROVIDERS = (
    KnownProvider("openai", ("OPENAI_API_KEY",), ("OPENAI_BASE_URL",), "gpt-5"),
    KnownProvider(
        "anthropic", ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"), ("ANTHROPIC_BASE_URL",), "claude-sonnet-4-5"
    ),
    KnownProvider("gemini", ("GEMINI_API_KEY", "GOOGLE_API_KEY"), ("GOOGLE_GEMINI_BASE_URL",), "gemini-2.5-flash"),
    KnownProvider("bedrock", ("AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID"), ("AWS_PROFILE",)),
    KnownProvider("ollama", ("OLLAMA_API_KEY",), ("OLLAMA_HOST",)),
)

SHOWN = 4  # characters of a key
SHORTEST_SHOWN = 12  # of a shorter key, four characters would say too much


def seen_providers(environ: Mapping[str, str]) -> list[KnownProvider]:
    """The providers that the environment sets up."""
    return [known for known in PROVIDERS if any(_is_set(environ, name) for name in known.keys + known.settings)]


def installed_local_models() -> dict[str, str | None]:
    """Each local model by its name, with what to type to install it; None where it is installed."""
    found: dict[str, str | None] = {}
    for name in LOCAL_MODELS:
        try:
            check_local(name)
            found[name] = None
        except BuildError as error:
            found[name] = str(error).partition("type: ")[2]
    return found


def default_model(environ: Mapping[str, str], local_models: Mapping[str, str | None]) -> str:
    """The model for those who name none: `KOVA_MODEL`, the first provider with a key, or a local model.

    Args:
        environ: The environment.
        local_models: As `installed_local_models` gives them.

    Raises:
        BuildError: There is none; the message says what to set.
    """
    if model := environ.get("KOVA_MODEL", "").strip():
        return model
    for known in PROVIDERS:
        if known.default_model is not None and any(_is_set(environ, name) for name in known.keys):
            return f"{known.name}:{known.default_model}"
    for name, missing in local_models.items():
        if missing is None:
            return f"local:{name}"
    keys = ", ".join(known.keys[0] for known in PROVIDERS if known.default_model is not None)
    raise BuildError(
        f"no model: give --model PROVIDER:MODEL, or set KOVA_MODEL, or one of the keys {keys}, "
        f"or install a local model: {next(iter(local_models.values()), None) or ''}".rstrip(": ")
    )


def masked(key: str) -> str:
    """A key of which no more is shown than tells it from others."""
    return f"…{key[-SHOWN:]}" if len(key) >= SHORTEST_SHOWN else "…"


def _is_set(environ: Mapping[str, str], name: str) -> bool:
    return bool(environ.get(name, "").strip())
