"""Small real models that run on this machine, inside the process: what `"local:MODEL"` stands for.

The engine is llama.cpp's own HTTP server (`xllamacpp`), so a local model is used like any OpenAI-compatible API. What
is here finds, verifies, starts and stops it; the provider that talks to it is `kova/_async/local.py`. All of it is
plain blocking code without a twin.
"""

from __future__ import annotations

from .engine import local_base_url
from .install import check_local
from .models import LOCAL_MODELS, LocalModel

__all__ = ["LOCAL_MODELS", "LocalModel", "check_local", "local_base_url"]
