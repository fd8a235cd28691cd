"""`kova models`: the models that the providers offer."""

from __future__ import annotations

import argparse
import json
import os
import sys

from .._terminal import plain
from ..errors import BuildError
from .exit_codes import DONE, FAILED
from .known_providers import PROVIDERS, installed_local_models, seen_providers
from .model_lists import Listing, list_all

__all__ = ["run"]

SECONDS = 30.0  # for each provider


def run(options: argparse.Namespace) -> int:
    """List models, of one provider or of all that are set up."""
    known = installed_local_models()
    local = [name for name, missing in known.items() if missing is None]
    if options.provider == "local" and not local:
        raise BuildError(f"no local model is installed; type: {next(iter(known.values()))}")
    names = _wanted(options.provider, has_local=bool(local))
    listings = list_all([name for name in names if name != "local"], SECONDS)
    if "local" in names:
        listings.append(Listing("local", local, 0.0, None))
    if options.json:
        found = [{"provider": each.provider, "id": model} for each in listings for model in each.models]
        print(json.dumps(found, indent=2))
    else:
        for each in listings:
            sys.stdout.writelines(f"{each.provider}:{plain(model)}\n" for model in each.models)
    return _failure(listings)


def _wanted(asked: str | None, *, has_local: bool) -> list[str]:
    known = [provider.name for provider in PROVIDERS] + ["local"]
    if asked is not None:
        if asked not in known:
            raise BuildError(f"there is no provider {asked!r}; there are {', '.join(known)}")
        return [asked]
    names = [provider.name for provider in seen_providers(os.environ)] + ["local"] * has_local
    if not names:
        raise BuildError("no provider is set up: set a key such as OPENAI_API_KEY, or name a provider")
    return names


def _failure(listings: list[Listing]) -> int:
    """Say which providers did not answer; if only one was asked, its error is the command's."""
    errors = [(each.provider, each.error) for each in listings if each.error is not None]
    if len(listings) == 1 and errors:
        raise errors[0][1]
    for provider, error in errors:
        print(f"kova: {provider}: {plain(str(error))}", file=sys.stderr)
    return FAILED if errors else DONE
