"""What `kova doctor` looks at, and how it says what it found."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from attrs import frozen

from .. import __version__
from .._terminal import plain
from ..errors import BuildError
from .call_text import one_line
from .history_file import history_path
from .known_providers import PROVIDERS, default_model, installed_local_models, masked, seen_providers
from .model_lists import Listing, list_all

__all__ = ["Report", "examine"]

# The distribution that shows whether an extra is installed.
EXTRAS = {
    "bedrock": "botocore",
    "cli": "prompt_toolkit",
    "fast": "orjson",
    "httpx2": "httpx2",
    "local": "xllamacpp",
    "telemetry": "opentelemetry-sdk",
}
PROBLEM_CHARS = 150


@frozen
class Report:
    """What was found.

    Attributes:
        extras: Each extra, with the version of what it brings; None where it is not installed.
        keys: The variables that hold a key, with the key masked.
        listings: The providers that were asked, and what they said.
        local_models: Each local model, with what to type to install it; None where it is installed.
        default_model: The model that is used when none is named; None if there is none.
        history: Where `kova chat` keeps conversations.
    """

    extras: Mapping[str, str | None]
    keys: Mapping[str, str]
    listings: list[Listing]
    local_models: Mapping[str, str | None]
    default_model: str | None
    history: str

    @property
    def works(self) -> bool:
        """Whether there is any model that can be used."""
        return None in self.local_models.values() or any(each.error is None for each in self.listings)

    def as_json(self) -> dict[str, Any]:
        """The report for programs."""
        return {
            "kova": __version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "extras": dict(self.extras),
            "keys": dict(self.keys),
            "providers": [
                {
                    "name": each.provider,
                    "answers": each.error is None,
                    "models": len(each.models),
                    "seconds": round(each.seconds, 3),
                    "problem": None if each.error is None else _problem(each),
                }
                for each in self.listings
            ],
            "local_models": {name: missing is None for name, missing in self.local_models.items()},
            "default_model": self.default_model,
            "history": self.history,
            "works": self.works,
        }

    def as_text(self) -> str:
        """The report for people."""
        lines = [f"kova {__version__}, Python {platform.python_version()}, {platform.platform()}"]
        lines += _section("Extras", [(name, found or "not installed") for name, found in self.extras.items()])
        lines += _section("Keys", list(self.keys.items()) or [("none", "set OPENAI_API_KEY or another provider's")])
        lines += _section("Providers", [(each.provider, _answer(each)) for each in self.listings])
        local = [
            (f"local:{name}", "installed" if missing is None else f"not installed; type: {missing}")
            for name, missing in self.local_models.items()
        ]
        lines += _section("Local models", local)
        lines += _section("Settings", [("default model", self.default_model or "none"), ("history", self.history)])
        lines += [
            "",
            "A model can be used." if self.works else "No model can be used: set a key, or install a local one.",
        ]
        return plain("\n".join(lines))


def examine(environ: Mapping[str, str], timeout: float) -> Report:
    """Look at everything. All providers that are set up are asked, and Ollama, which needs no setting up.

    Args:
        environ: The environment.
        timeout: Seconds for each provider.
    """
    seen = [known.name for known in seen_providers(environ)]
    local_models = installed_local_models()
    try:
        default = default_model(environ, local_models)
    except BuildError:
        default = None
    return Report(
        {extra: _version(distribution) for extra, distribution in EXTRAS.items()},
        {name: masked(environ[name].strip()) for known in PROVIDERS for name in known.keys if environ.get(name)},
        list_all(seen if "ollama" in seen else [*seen, "ollama"], timeout),
        local_models,
        default,
        str(history_path(None, environ)),
    )


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _section(title: str, rows: list[tuple[str, str]]) -> list[str]:
    width = max((len(name) for name, _ in rows), default=0)
    return ["", title, *(f"  {name:<{width}}  {text}" for name, text in rows)]


def _answer(listing: Listing) -> str:
    if listing.error is not None:
        return _problem(listing)
    number = len(listing.models)
    return f"answers: {number} model{'s' * (number != 1)}, {listing.seconds:.1f} s"


def _problem(listing: Listing) -> str:
    error = listing.error
    return one_line(f"{type(error).__name__}: {error}", PROBLEM_CHARS)
