"""kova: LLM agents, blocking (`kova.Agent`) and async (`kova.AsyncAgent`), from one implementation.

Names are loaded when they are first used, so that `import kova` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from ._async.agent import AsyncAgent
    from ._async.agent_stream import AsyncAgentStream
    from ._async.anthropic import AsyncAnthropicProvider
    from ._async.bedrock import AsyncBedrockProvider
    from ._async.builder import AsyncAgentBuilder
    from ._async.gemini import AsyncGeminiProvider
    from ._async.mcp.client import AsyncMCPClient
    from ._async.mcp.oauth import AsyncOAuth
    from ._async.mcp.oauth_credentials import AsyncOAuthClientCredentials
    from ._async.memory import AsyncInMemoryStore, AsyncMemoryStore, AsyncSQLiteStore
    from ._async.ollama import AsyncOllamaProvider
    from ._async.openai import AsyncOpenAICompatibleProvider
    from ._async.orchestration_stream import AsyncOrchestrationStream
    from ._async.orchestrator import AsyncOrchestratedAgent, AsyncOrchestrator
    from ._async.provider import AsyncLLMProvider
    from ._formats.anthropic.config import AnthropicProviderConfig
    from ._formats.bedrock.config import BedrockProviderConfig
    from ._formats.gemini.config import GeminiProviderConfig
    from ._formats.ollama.config import OllamaProviderConfig
    from ._formats.openai.config import OpenAIProviderConfig
    from ._mcp.config_file import mcp_servers_from_config
    from ._message_json import messages_from_json, messages_to_json
    from ._sync.agent import Agent
    from ._sync.agent_stream import AgentStream
    from ._sync.anthropic import AnthropicProvider
    from ._sync.bedrock import BedrockProvider
    from ._sync.builder import AgentBuilder
    from ._sync.gemini import GeminiProvider
    from ._sync.mcp.client import MCPClient
    from ._sync.mcp.oauth import OAuth
    from ._sync.mcp.oauth_credentials import OAuthClientCredentials
    from ._sync.memory import InMemoryStore, MemoryStore, SQLiteStore
    from ._sync.ollama import OllamaProvider
    from ._sync.openai import OpenAICompatibleProvider
    from ._sync.orchestration_stream import OrchestrationStream
    from ._sync.orchestrator import OrchestratedAgent, Orchestrator
    from ._sync.provider import LLMProvider
    from .approvals import ApprovalDecision
    from .cancellation import CancellationToken
    from .config import InferenceConfig, ResponseFormat, RetryConfig
    from .errors import (
        BuildError,
        ConnectionError,
        ContextBudgetExceededError,
        KovaError,
        KovaOSError,
        MaxIterationsError,
        MCPError,
        MemoryStoreError,
        OrchestrationError,
        ProviderError,
        ProviderErrorClass,
        SerializationError,
        StreamError,
        TimeoutError,
        ToolExecutionError,
        ToolNotFoundError,
        TurnCancelledError,
    )
    from .history import check_history, estimate_tokens, repair_history, trim_history
    from .mcp import (
        HTTPSSETransport,
        MCPAudio,
        MCPContent,
        MCPResource,
        MCPResourceLink,
        MCPToolDefinition,
        MCPToolResult,
        MCPTransport,
        MCPUnknownContent,
        StdioTransport,
        StreamableHTTPTransport,
        TokenProvider,
    )
    from .messages import (
        ContentBlock,
        ConversationMessage,
        ImageBlock,
        Role,
        TextBlock,
        ThinkingBlock,
        ToolResultBlock,
        ToolUseBlock,
        assistant_message,
        system_message,
        tool_message,
        user_message,
    )
    from .orchestration import (
        AgentFinished,
        AgentProgress,
        AgentStarted,
        OrchestratedResponse,
        OrchestrationCompleted,
        OrchestrationEvent,
        Parallel,
        ParallelOutput,
        Pattern,
        Router,
        Sequential,
        SingleOutput,
    )
    from .responses import (
        AgentEvent,
        AgentResponse,
        ContentDelta,
        ModelInfo,
        ModelResponse,
        Partial,
        StopEvent,
        StopReason,
        StreamEvent,
        TextDelta,
        ThinkingDelta,
        ToolCallFinished,
        ToolCallStarted,
        ToolUseDelta,
        TurnCompleted,
        UsageEvent,
        UsageStats,
    )
    from .streaming import StreamingHandler
    from .telemetry.config import Telemetry, TelemetryConfig
    from .telemetry.exporters import ConsoleExporter, OTLPExporter
    from .telemetry.metrics import MetricsCollector
    from .telemetry.snapshots import HistogramSnapshot, MetricsSnapshot
    from .timeline import Timeline, TimelineAttempt, TimelineEntry
    from .tool_policy import LifecycleHook, ToolEndHook, ToolStartHook
    from .tool_registry import ToolRegistry
    from .tools import FunctionTool, RunContext, Tool, ToolContext, ToolDefinition, ToolError, ToolResult, tool
    from .transcript import Transcript

_HOMES = {
    "_async.agent": ["AsyncAgent"],
    "_async.agent_stream": ["AsyncAgentStream"],
    "_async.anthropic": ["AsyncAnthropicProvider"],
    "_async.bedrock": ["AsyncBedrockProvider"],
    "_async.builder": ["AsyncAgentBuilder"],
    "_async.gemini": ["AsyncGeminiProvider"],
    "_async.mcp.client": ["AsyncMCPClient"],
    "_async.mcp.oauth": ["AsyncOAuth"],
    "_async.mcp.oauth_credentials": ["AsyncOAuthClientCredentials"],
    "_async.memory": ["AsyncInMemoryStore", "AsyncMemoryStore", "AsyncSQLiteStore"],
    "_async.ollama": ["AsyncOllamaProvider"],
    "_async.openai": ["AsyncOpenAICompatibleProvider"],
    "_async.orchestration_stream": ["AsyncOrchestrationStream"],
    "_async.orchestrator": ["AsyncOrchestratedAgent", "AsyncOrchestrator"],
    "_async.provider": ["AsyncLLMProvider"],
    "_formats.anthropic.config": ["AnthropicProviderConfig"],
    "_formats.bedrock.config": ["BedrockProviderConfig"],
    "_formats.gemini.config": ["GeminiProviderConfig"],
    "_formats.ollama.config": ["OllamaProviderConfig"],
    "_formats.openai.config": ["OpenAIProviderConfig"],
    "_mcp.config_file": ["mcp_servers_from_config"],
    "_message_json": ["messages_from_json", "messages_to_json"],
    "_sync.agent": ["Agent"],
    "_sync.agent_stream": ["AgentStream"],
    "_sync.anthropic": ["AnthropicProvider"],
    "_sync.bedrock": ["BedrockProvider"],
    "_sync.builder": ["AgentBuilder"],
    "_sync.gemini": ["GeminiProvider"],
    "_sync.mcp.client": ["MCPClient"],
    "_sync.mcp.oauth": ["OAuth"],
    "_sync.mcp.oauth_credentials": ["OAuthClientCredentials"],
    "_sync.memory": ["InMemoryStore", "MemoryStore", "SQLiteStore"],
    "_sync.ollama": ["OllamaProvider"],
    "_sync.openai": ["OpenAICompatibleProvider"],
    "_sync.orchestration_stream": ["OrchestrationStream"],
    "_sync.orchestrator": ["OrchestratedAgent", "Orchestrator"],
    "_sync.provider": ["LLMProvider"],
    "approvals": ["ApprovalDecision"],
    "cancellation": ["CancellationToken"],
    "config": ["InferenceConfig", "ResponseFormat", "RetryConfig"],
    "errors": [
        "BuildError",
        "ConnectionError",
        "ContextBudgetExceededError",
        "KovaError",
        "KovaOSError",
        "MCPError",
        "MaxIterationsError",
        "MemoryStoreError",
        "OrchestrationError",
        "ProviderError",
        "ProviderErrorClass",
        "SerializationError",
        "StreamError",
        "TimeoutError",
        "ToolExecutionError",
        "ToolNotFoundError",
        "TurnCancelledError",
    ],
    "history": ["check_history", "estimate_tokens", "repair_history", "trim_history"],
    "mcp": [
        "HTTPSSETransport",
        "MCPAudio",
        "MCPContent",
        "MCPResource",
        "MCPResourceLink",
        "MCPToolDefinition",
        "MCPToolResult",
        "MCPTransport",
        "MCPUnknownContent",
        "StdioTransport",
        "StreamableHTTPTransport",
        "TokenProvider",
    ],
    "messages": [
        "ContentBlock",
        "ConversationMessage",
        "ImageBlock",
        "Role",
        "TextBlock",
        "ThinkingBlock",
        "ToolResultBlock",
        "ToolUseBlock",
        "assistant_message",
        "system_message",
        "tool_message",
        "user_message",
    ],
    "orchestration": [
        "AgentFinished",
        "AgentProgress",
        "AgentStarted",
        "OrchestratedResponse",
        "OrchestrationCompleted",
        "OrchestrationEvent",
        "Parallel",
        "ParallelOutput",
        "Pattern",
        "Router",
        "Sequential",
        "SingleOutput",
    ],
    "responses": [
        "AgentEvent",
        "AgentResponse",
        "ContentDelta",
        "ModelInfo",
        "ModelResponse",
        "Partial",
        "StopEvent",
        "StopReason",
        "StreamEvent",
        "TextDelta",
        "ThinkingDelta",
        "ToolCallFinished",
        "ToolCallStarted",
        "ToolUseDelta",
        "TurnCompleted",
        "UsageEvent",
        "UsageStats",
    ],
    "streaming": ["StreamingHandler"],
    "telemetry.config": ["Telemetry", "TelemetryConfig"],
    "telemetry.exporters": ["ConsoleExporter", "OTLPExporter"],
    "telemetry.metrics": ["MetricsCollector"],
    "telemetry.snapshots": ["HistogramSnapshot", "MetricsSnapshot"],
    "timeline": ["Timeline", "TimelineAttempt", "TimelineEntry"],
    "tool_policy": ["LifecycleHook", "ToolEndHook", "ToolStartHook"],
    "tool_registry": ["ToolRegistry"],
    "tools": ["FunctionTool", "RunContext", "Tool", "ToolContext", "ToolDefinition", "ToolError", "ToolResult", "tool"],
    "transcript": ["Transcript"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Agent",
    "AgentBuilder",
    "AgentEvent",
    "AgentFinished",
    "AgentProgress",
    "AgentResponse",
    "AgentStarted",
    "AgentStream",
    "AnthropicProvider",
    "AnthropicProviderConfig",
    "ApprovalDecision",
    "AsyncAgent",
    "AsyncAgentBuilder",
    "AsyncAgentStream",
    "AsyncAnthropicProvider",
    "AsyncBedrockProvider",
    "AsyncGeminiProvider",
    "AsyncInMemoryStore",
    "AsyncLLMProvider",
    "AsyncMCPClient",
    "AsyncMemoryStore",
    "AsyncOAuth",
    "AsyncOAuthClientCredentials",
    "AsyncOllamaProvider",
    "AsyncOpenAICompatibleProvider",
    "AsyncOrchestratedAgent",
    "AsyncOrchestrationStream",
    "AsyncOrchestrator",
    "AsyncSQLiteStore",
    "BedrockProvider",
    "BedrockProviderConfig",
    "BuildError",
    "CancellationToken",
    "ConnectionError",
    "ConsoleExporter",
    "ContentBlock",
    "ContentDelta",
    "ContextBudgetExceededError",
    "ConversationMessage",
    "FunctionTool",
    "GeminiProvider",
    "GeminiProviderConfig",
    "HTTPSSETransport",
    "HistogramSnapshot",
    "ImageBlock",
    "InMemoryStore",
    "InferenceConfig",
    "KovaError",
    "KovaOSError",
    "LLMProvider",
    "LifecycleHook",
    "MCPAudio",
    "MCPClient",
    "MCPContent",
    "MCPError",
    "MCPResource",
    "MCPResourceLink",
    "MCPToolDefinition",
    "MCPToolResult",
    "MCPTransport",
    "MCPUnknownContent",
    "MaxIterationsError",
    "MemoryStore",
    "MemoryStoreError",
    "MetricsCollector",
    "MetricsSnapshot",
    "ModelInfo",
    "ModelResponse",
    "OAuth",
    "OAuthClientCredentials",
    "OTLPExporter",
    "OllamaProvider",
    "OllamaProviderConfig",
    "OpenAICompatibleProvider",
    "OpenAIProviderConfig",
    "OrchestratedAgent",
    "OrchestratedResponse",
    "OrchestrationCompleted",
    "OrchestrationError",
    "OrchestrationEvent",
    "OrchestrationStream",
    "Orchestrator",
    "Parallel",
    "ParallelOutput",
    "Partial",
    "Pattern",
    "ProviderError",
    "ProviderErrorClass",
    "ResponseFormat",
    "RetryConfig",
    "Role",
    "Router",
    "RunContext",
    "SQLiteStore",
    "Sequential",
    "SerializationError",
    "SingleOutput",
    "StdioTransport",
    "StopEvent",
    "StopReason",
    "StreamError",
    "StreamEvent",
    "StreamableHTTPTransport",
    "StreamingHandler",
    "Telemetry",
    "TelemetryConfig",
    "TextBlock",
    "TextDelta",
    "ThinkingBlock",
    "ThinkingDelta",
    "Timeline",
    "TimelineAttempt",
    "TimelineEntry",
    "TimeoutError",
    "TokenProvider",
    "Tool",
    "ToolCallFinished",
    "ToolCallStarted",
    "ToolContext",
    "ToolDefinition",
    "ToolEndHook",
    "ToolError",
    "ToolExecutionError",
    "ToolNotFoundError",
    "ToolRegistry",
    "ToolResult",
    "ToolResultBlock",
    "ToolStartHook",
    "ToolUseBlock",
    "ToolUseDelta",
    "Transcript",
    "TurnCancelledError",
    "TurnCompleted",
    "UsageEvent",
    "UsageStats",
    "__version__",
    "assistant_message",
    "check_history",
    "estimate_tokens",
    "mcp_servers_from_config",
    "messages_from_json",
    "messages_to_json",
    "repair_history",
    "system_message",
    "tool",
    "tool_message",
    "trim_history",
    "user_message",
]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'kova' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"kova.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
