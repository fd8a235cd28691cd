"""What hypothesis draws from, shared by all property tests."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from kova.messages import (
    ContentBlock,
    ConversationMessage,
    ImageBlock,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)

texts = st.text(st.characters(codec="utf-8"), max_size=20)
words = st.text("abcXYZ019_-", min_size=1, max_size=12)

json_scalars = (
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | texts
)
json_values = st.recursive(
    json_scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=8
)
json_objects = st.dictionaries(texts, json_values, max_size=4)


@st.composite
def pieces(draw: st.DrawFn, data: bytes, most: int = 8) -> list[bytes]:
    """The data, cut anywhere; empty pieces included."""
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=most)))
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


# ---- messages, of whatever provider

text_blocks = st.builds(TextBlock, texts)
image_blocks = st.builds(ImageBlock, st.just("image/png"), st.binary(min_size=1, max_size=8)) | st.builds(
    ImageBlock, st.just("image/jpeg"), url=st.just("https://example.com/a.jpg")
)
thinking_blocks = st.builds(
    ThinkingBlock,
    texts,
    signature=st.none() | words,
    provider_metadata=st.none() | st.dictionaries(words, words, max_size=2),
)
tool_names = words | st.sampled_from(["fs.read", "größe", "a/b", "x" * 80, "", "with blank"])
tool_use_blocks = st.builds(
    ToolUseBlock,
    id=words | st.just("toolu_" + "x" * 60),
    name=tool_names,
    input=json_objects,
    provider_metadata=st.none() | st.dictionaries(words, words, max_size=2),
    invalid_arguments=st.none() | texts,
)
tool_result_blocks = st.builds(
    ToolResultBlock, words, texts | st.lists(text_blocks | image_blocks, max_size=3), st.booleans()
)

_BLOCKS: dict[Role, st.SearchStrategy[ContentBlock]] = {
    Role.SYSTEM: text_blocks,
    Role.USER: text_blocks | image_blocks | tool_result_blocks,
    Role.ASSISTANT: text_blocks | thinking_blocks | tool_use_blocks | image_blocks,
    Role.TOOL: tool_result_blocks,
}

messages = st.one_of(
    [st.builds(ConversationMessage, st.just(role), st.lists(blocks, max_size=4)) for role, blocks in _BLOCKS.items()]
)
histories = st.lists(messages, max_size=6)


# ---- answers of a model, whichever way they are sent


@st.composite
def answers(draw: st.DrawFn) -> dict[str, Any]:
    """What a model says: text, reasoning, calls and usage, as the message of a complete answer would have it."""
    calls = draw(st.lists(st.tuples(words, json_objects), max_size=3))
    return {
        "text": draw(texts),
        "reasoning": draw(texts),
        "calls": [
            {"id": f"call_{index}", "name": name, "arguments": given} for index, (name, given) in enumerate(calls)
        ],
        "finish_reason": draw(st.sampled_from(["stop", "length", "tool_calls", "content_filter", "eos", "odd"])),
        "usage": draw(st.none() | st.fixed_dictionaries({"prompt_tokens": _COUNTS, "completion_tokens": _COUNTS})),
    }


_COUNTS = st.integers(0, 10_000)


# ---- messages of any content at all, as their JSON form must bear it: lone halves of surrogate pairs, large numbers

_halves = st.integers(0xD800, 0xDFFF).map(chr)
any_texts = st.text(st.characters(codec="utf-8") | _halves, max_size=12).map(
    lambda text: text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")  # two halves are a character
)
any_json_values = st.recursive(
    json_scalars | st.integers(-(10**400), 10**400) | any_texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(any_texts, inner, max_size=2),
    max_leaves=5,
)
any_json_objects = st.dictionaries(any_texts, any_json_values, max_size=2)

_any_text_blocks = st.builds(TextBlock, any_texts)
_any_image_blocks = st.builds(ImageBlock, any_texts, st.binary(max_size=9)) | st.builds(
    ImageBlock, any_texts, url=any_texts
)
_any_results = any_texts | st.lists(_any_text_blocks | _any_image_blocks, max_size=3)
any_blocks: st.SearchStrategy[ContentBlock] = st.one_of(
    _any_text_blocks,
    _any_image_blocks,
    st.builds(
        ToolUseBlock, any_texts, any_texts, any_json_objects, st.none() | any_json_objects, st.none() | any_texts
    ),
    st.builds(ToolResultBlock, any_texts, _any_results, st.booleans()),
    st.builds(ThinkingBlock, any_texts, st.none() | any_texts, st.none() | any_json_objects),
)
any_messages = st.builds(ConversationMessage, st.sampled_from(Role), st.lists(any_blocks, max_size=3))
any_histories = st.lists(any_messages, max_size=3)

any_texts.validate()  # makes hypothesis' table of characters, which takes seconds once, and no test's time
