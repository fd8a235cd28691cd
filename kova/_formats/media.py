"""Images on the wire."""

from __future__ import annotations

import base64
from urllib.parse import unquote_to_bytes

from ..messages import ImageBlock

__all__ = ["image_base64", "image_url", "inline_base64"]


def image_base64(image: ImageBlock) -> str:
    """The bytes of an image, in base64."""
    return base64.b64encode(image.data or b"").decode()


def image_url(image: ImageBlock) -> str:
    """The URL of an image; its bytes are a URL of their own."""
    return image.url if image.url is not None else f"data:{image.media_type};base64,{image_base64(image)}"


def inline_base64(image: ImageBlock) -> str | None:
    """The bytes of an image, in base64, also where they are in a `data:` URL; None for one that is somewhere else."""
    if image.url is None:
        return image_base64(image)
    scheme, _, rest = image.url.partition(":")
    kind, comma, data = rest.partition(",")
    if scheme.strip().lower() != "data" or not comma:
        return None
    if kind.lower().endswith(";base64"):
        return unquote_to_bytes(data).decode("ascii", "replace")
    return base64.b64encode(unquote_to_bytes(data)).decode()
