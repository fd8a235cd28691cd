"""What is known of hosts that speak OpenAI's API with an accent of their own.

A host that is not listed is taken to do what llama.cpp, vLLM and most others do. Only what is in this table makes a
request to one host differ from a request to another.
"""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import urlsplit

from attrs import frozen

__all__ = ["AZURE", "AZURE_PARAMETER", "AZURE_PATH", "OPENAI", "OTHER", "Host", "host_of"]


@frozen
class Host:
    """How a host differs.

    Attributes:
        base_path: The path under which its API is, where the base URL says nothing of it.
        key_header: The header for an API key; Entra tokens and all other hosts' keys are bearer tokens.
        max_tokens_field: The name of the token limit.
        seed_field: The name of the seed.
        has_stream_options: Whether `stream_options` is understood. Where it is not, usage comes unasked.
        reasoning_field: The message field in which the reasoning before a tool call has to come back.
        has_extra_content: Whether a tool call's `extra_content` has to come back: Gemini's thought signatures.
        tool_id: Matches a whole acceptable id of a tool call.
    """

    base_path: str = "/v1"
    key_header: str = "authorization"
    max_tokens_field: str = "max_tokens"
    seed_field: str = "seed"
    has_stream_options: bool = True
    reasoning_field: str | None = None
    has_extra_content: bool = False
    tool_id: str = r"(?s).{1,40}"  # OpenAI: "string too long. Expected a string with maximum length 40"

    @property
    def dialect(self) -> str:
        """Names the form that a message has for this host."""
        return f"openai {self.reasoning_field} {self.has_extra_content} {self.tool_id}"


OTHER = Host()

# o-series and later models refuse max_tokens: "Use 'max_completion_tokens' instead".
OPENAI = Host(max_tokens_field="max_completion_tokens")

AZURE = Host(base_path="/openai/v1", key_header="api-key", max_tokens_field="max_completion_tokens")

# By the end of the host's name, on the border of a label.
HOSTS = {
    "api.openai.com": OPENAI,
    "openai.azure.com": AZURE,
    "cognitiveservices.azure.com": AZURE,
    "services.ai.azure.com": AZURE,
    # 400 "Missing `reasoning_content` field in the assistant message", where that message calls tools.
    "deepseek.com": Host(reasoning_field="reasoning_content"),
    # 400 "thinking is enabled but reasoning_content is missing in assistant tool call message".
    "moonshot.ai": Host(reasoning_field="reasoning_content"),
    "moonshot.cn": Host(reasoning_field="reasoning_content"),
    "kimi.com": Host(base_path="/coding/v1", reasoning_field="reasoning_content"),
    # 422 "Extra inputs are not permitted" for whatever its API does not name, such as stream_options; 400 "Tool call id
    # was … but must be a-z, A-Z, 0-9, with a length of 9".
    "mistral.ai": Host(seed_field="random_seed", has_stream_options=False, tool_id="[a-zA-Z0-9]{9}"),
    # 400 "Gemini models require OpenRouter reasoning details to be preserved in each request".
    "openrouter.ai": Host(base_path="/api/v1", reasoning_field="reasoning_details"),
    "api.groq.com": Host(base_path="/openai/v1"),
    "api.fireworks.ai": Host(base_path="/inference/v1"),
    "api.perplexity.ai": Host(base_path=""),
    "api.deepinfra.com": Host(base_path="/v1/openai"),
    "api.cohere.ai": Host(base_path="/compatibility/v1"),
    "api.cohere.com": Host(base_path="/compatibility/v1"),
    "generativelanguage.googleapis.com": Host(base_path="/v1beta/openai", has_extra_content=True),
    "dashscope.aliyuncs.com": Host(base_path="/compatible-mode/v1"),
    "dashscope-intl.aliyuncs.com": Host(base_path="/compatible-mode/v1"),
    "open.bigmodel.cn": Host(base_path="/api/paas/v4"),
    "api.z.ai": Host(base_path="/api/paas/v4"),
    "models.github.ai": Host(base_path="/inference"),
    "models.inference.ai.azure.com": Host(base_path=""),
}

# Azure behind a gateway with a name of its own: nobody else has this path, and this parameter.
AZURE_PATH = "/openai/deployments/"
AZURE_PARAMETER = "api-version="


@lru_cache(maxsize=256)
def host_of(url: str) -> Host:
    """What is known of the host of a URL."""
    parts = urlsplit(url)
    labels = (parts.hostname or "").split(".")
    for start in range(len(labels)):
        host = HOSTS.get(".".join(labels[start:]))
        if host is not None:
            return host
    is_azure = AZURE_PATH in parts.path or any(pair.startswith(AZURE_PARAMETER) for pair in parts.query.split("&"))
    return AZURE if is_azure else OTHER
