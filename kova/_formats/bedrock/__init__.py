"""Amazon Bedrock's Converse API, which is one for all the models that it serves."""

from __future__ import annotations

from ..format import Format
from .config import BedrockProviderConfig
from .errors import parse_error
from .request import build_models_request, build_request
from .response import parse_models, parse_response
from .stream import StreamParser

__all__ = ["FORMAT"]

FORMAT: Format[BedrockProviderConfig] = Format(
    name="bedrock",
    build_request=build_request,
    parse_response=parse_response,
    stream_parser=StreamParser,
    parse_error=parse_error,
    build_models_request=build_models_request,
    parse_models=parse_models,
)
