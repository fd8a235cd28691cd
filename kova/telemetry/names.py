"""The names of spans and attributes: OpenTelemetry's semantic conventions for generative AI and MCP, and kova's own.

Source: https://github.com/open-telemetry/semantic-conventions-genai (docs/gen-ai: gen-ai-spans.md,
gen-ai-agent-spans.md, mcp.md), as of November 2026. They are still marked "development" there, so that a change of
theirs is a change of this table and of nothing else.
"""

from __future__ import annotations

# ---- operations; a span is named "{operation} {what it is done to}"

INVOKE_AGENT = "invoke_agent"
INVOKE_WORKFLOW = "invoke_workflow"
CHAT = "chat"
EXECUTE_TOOL = "execute_tool"

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
AGENT = "gen_ai.agent.name"
CONVERSATION = "gen_ai.conversation.id"
SERVER_ADDRESS = "server.address"
SERVER_PORT = "server.port"

# ---- what is asked: attributes by the fields of InferenceConfig

REQUEST_MODEL = "gen_ai.request.model"
REQUEST_STREAM = "gen_ai.request.stream"
OUTPUT_TYPE = "gen_ai.output.type"
REQUEST = {
    "max_tokens": "gen_ai.request.max_tokens",
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "stop_sequences": "gen_ai.request.stop_sequences",
    "seed": "gen_ai.request.seed",
}

# ---- what is answered: attributes of usage by the fields of UsageStats; input includes what a cache gave

RESPONSE_MODEL = "gen_ai.response.model"
FINISH_REASONS = "gen_ai.response.finish_reasons"
TIME_TO_FIRST_CHUNK = "gen_ai.response.time_to_first_chunk"  # seconds
USAGE = {
    "prompt_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cache_read_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cache_creation_tokens": "gen_ai.usage.cache_creation.input_tokens",
    "thinking_tokens": "gen_ai.usage.reasoning.output_tokens",
}

# ---- tools

TOOL_NAME = "gen_ai.tool.name"
TOOL_CALL_ID = "gen_ai.tool.call.id"
TOOL_TYPE = "gen_ai.tool.type"
FUNCTION = "function"

# ---- content; recorded only where it is asked for

SYSTEM_INSTRUCTIONS = "gen_ai.system_instructions"
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
TOOL_ARGUMENTS = "gen_ai.tool.call.arguments"
TOOL_RESULT = "gen_ai.tool.call.result"

# ---- failures

ERROR_TYPE = "error.type"
HTTP_STATUS = "http.response.status_code"
TOOL_ERROR = "tool_error"  # a tool has told the model that it failed
CANCELLED = "cancelled"  # by a token, by the task, or by the end of the turn's time

# ---- MCP

MCP = "mcp"  # the kind of span; its name is "{method} {tool}"
MCP_METHOD = "mcp.method.name"
MCP_PROTOCOL = "mcp.protocol.version"
MCP_SESSION = "mcp.session.id"
JSONRPC_ID = "jsonrpc.request.id"
RPC_STATUS = "rpc.response.status_code"
NETWORK_TRANSPORT = "network.transport"  # "pipe" for a process, "tcp" for HTTP

# ---- kova's own

ITERATIONS = "kova.iterations"  # tool rounds of the turn
RETRY = "kova.retry"  # the event of a span when its provider call is repeated
RETRY_ATTEMPT = "kova.retry.attempt"  # 1 for the first repetition
RETRY_DELAY = "kova.retry.delay"  # seconds
RETRY_CAUSE = "kova.retry.cause"  # more about it, beside `error.type` and the status

# The conventions' words for those providers that have another name in kova.
PROVIDERS = {"gemini": "gcp.gemini", "bedrock": "aws.bedrock"}
