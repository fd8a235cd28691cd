# pyright: strict
# ruff: noqa: T201
"""How users keep conversations, watch turns and decide about tools in blocking code."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import assert_type

import kova
from kova.testing import ScriptedProvider, call, provider_error

# ---- stores

in_memory = kova.InMemoryStore(max_messages=100)
sqlite = kova.SQLiteStore(Path("chats.db"), max_messages=100)
STORES: list[kova.MemoryStore] = [in_memory, sqlite]


class OwnStore:
    """A store of the user's."""

    def load(self, conversation_id: str) -> tuple[list[kova.ConversationMessage], int]:
        return [], 0

    def append(self, conversation_id: str, messages: Sequence[kova.ConversationMessage], revision: int) -> int:
        raise kova.MemoryStoreError("too late", is_conflict=True)

    def clear(self, conversation_id: str) -> None:
        """Nothing is kept."""

    def list_conversations(self) -> list[str]:
        return []

    def prune(self, older_than: timedelta) -> int:
        return 0


own: kova.MemoryStore = OwnStore()


def use_stores() -> None:
    for store in STORES:
        messages, revision = store.load("c1")
        assert_type(messages, list[kova.ConversationMessage])
        assert_type(revision, int)
        assert_type(store.append("c1", messages, revision), int)
        assert_type(store.list_conversations(), list[str])
        assert_type(store.prune(timedelta(days=30)), int)
        store.clear("c1")
    with kova.SQLiteStore("chats.db") as opened:
        assert_type(opened, kova.SQLiteStore)
    sqlite.close()


# ---- handlers and hooks


class Typewriter:
    """A streaming handler."""

    def on_chunk(self, event: kova.StreamEvent) -> None:
        if isinstance(event, kova.ContentDelta):
            print(event.text, end="")

    def on_complete(self) -> None:
        print()

    def on_error(self, error: Exception) -> None:
        print(f"failed: {error}")


class PlainTypewriter:
    """Another one."""

    def on_chunk(self, event: kova.StreamEvent, /) -> None: ...
    def on_complete(self) -> None: ...
    def on_error(self, error: Exception, /) -> None: ...


class StartsOnly:
    """A hook with one method."""

    def on_tool_start(self, call: kova.ToolUseBlock, context: kova.ToolContext) -> None:
        print(call.name, context.tool_use_id)


class EndsOnly:
    """A hook with the other."""

    def on_tool_end(self, call: kova.ToolUseBlock, result: kova.ToolResult, context: kova.ToolContext) -> None:
        print(call.name, result.is_error)


class Both(kova.LifecycleHook):
    """A hook that says what it is, and need not have both."""

    def on_tool_start(self, call: kova.ToolUseBlock, context: kova.ToolContext, /) -> None:
        print(call.name)


starts: kova.ToolStartHook = StartsOnly()
ends: kova.ToolEndHook = EndsOnly()
HANDLERS: list[kova.StreamingHandler] = [Typewriter(), PlainTypewriter()]


def decide(use: kova.ToolUseBlock, context: kova.ToolContext) -> kova.ApprovalDecision:
    return {
        "delete": kova.ApprovalDecision.DENIED_ALWAYS,
        "read": kova.ApprovalDecision.APPROVED_FOR_SESSION,
        "list": kova.ApprovalDecision.APPROVED,
    }.get(context.tool_name, kova.ApprovalDecision.denied("not this one"))


def decide_plainly(use: kova.ToolUseBlock, context: kova.ToolContext) -> kova.ApprovalDecision:
    return kova.ApprovalDecision.APPROVED


# ---- conversations

model = ScriptedProvider(call("read", path="a"), "Done.", provider_error(429, retry_after=1))
agent = kova.Agent(
    model,
    memory=in_memory,
    streaming_handler=Typewriter(),
    approval_handler=decide,
    lifecycle_hook=StartsOnly(),
)
others = [
    kova.Agent(model, memory=own, lifecycle_hook=EndsOnly(), approval_handler=decide_plainly),
    kova.Agent(model, memory=sqlite, lifecycle_hook=Both(), streaming_handler=PlainTypewriter()),
]


def converse() -> None:
    token = kova.CancellationToken()
    assert_type(agent.chat("c1", "Hi", cancel=token, timeout=30, state=1), str)
    message = kova.user_message("What is it?", kova.ImageBlock("image/png", b"png"))
    response = agent.chat_response("c1", message, config=kova.InferenceConfig(temperature=0))
    assert_type(response, kova.AgentResponse)
    assert_type(agent.last_turn_input_tokens, int)
    assert_type(agent.chat_stream("c1", "Hi", handler=PlainTypewriter()), str)
    with agent.chat_events("c1", "Hi") as stream:
        assert_type(stream, kova.AgentStream)
        for event in stream:
            assert_type(event, kova.AgentEvent)
    try:
        agent.chat("c1", "Hi")
    except kova.MemoryStoreError as error:
        assert_type(error.is_conflict, bool)
        assert_type(error.partial, kova.Partial | None)


# ---- the builder


def build() -> kova.Agent:
    builder = (
        kova.AgentBuilder()
        .provider(model)
        .name("archivist")
        .system_prompt(lambda context: f"You serve {context.session}.")
        .tool(kova.tool(lambda: "x", name="x"))
        .tool_registry(kova.ToolRegistry())
        .memory(sqlite)
        .inference_config(kova.InferenceConfig())
        .retry_config(kova.RetryConfig.disabled())
        .max_iterations(3)
        .max_concurrent_tools(2)
        .max_tool_result_chars(10_000)
        .tool_errors("report")
        .context_budget(100_000)
        .streaming_handler(Typewriter())
        .approval_handler(decide)
        .lifecycle_hook(StartsOnly())
    )
    assert_type(builder, kova.AgentBuilder)
    agent = builder.build()
    assert_type(agent, kova.Agent)
    return agent
