"""Images on the wire."""

from __future__ import annotations

import base64

from ..messages import ImageBlock

__all__ = ["image_base64", "image_url"]


def image_base64(image: ImageBlock) -> str:
    """The bytes of an image, in base64."""
    return base64.b64encode(image.data or b"").decode()


def image_url(image: ImageBlock) -> str:
    """The URL of an image; its bytes are a URL of their own."""
    return image.url if image.url is not None else f"data:{image.media_type};base64,{image_base64(image)}"
