"""The list of a server's tools: its pages, how long it holds, and names that every provider accepts (M4)."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova import BuildError
from kova._mcp.tool_list import MAX_PAGES, Pages, ToolList, model_names, selected


def page(*names: str, **fields: object) -> dict[str, object]:
    return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names], **fields}


def tool_list(*pages: dict[str, object], generation: int = 0, is_modern: bool = True) -> ToolList:
    return ToolList.from_pages(pages, generation, is_modern=is_modern, has_headers=True)


# ---- pages


def test_pages_follow_cursors_to_the_end() -> None:
    pages = Pages()
    assert pages.next_params({"nextCursor": "b"}) == {"cursor": "b"}
    assert pages.next_params({"nextCursor": ""}) == {"cursor": ""}
    assert pages.next_params({}) is None


@pytest.mark.parametrize("end", [{}, {"nextCursor": None}, {"nextCursor": "a"}, {"nextCursor": 5}])
def test_absent_null_and_known_cursors_are_the_end(end: dict[str, object]) -> None:
    pages = Pages()
    assert pages.next_params({"nextCursor": "a"}) == {"cursor": "a"}
    assert pages.next_params(end) is None


def test_a_list_without_end_is_an_error() -> None:
    pages = Pages()
    for number in range(MAX_PAGES - 1):
        assert pages.next_params({"nextCursor": str(number)})
    with pytest.raises(OverflowError, match="more than 1000 pages"):
        pages.next_params({"nextCursor": "more"})


# ---- the list


def test_tools_of_all_pages_in_order_and_each_once() -> None:
    assert [tool.name for tool in tool_list(page("a", "b"), page("b", "c")).definitions] == ["a", "b", "c"]


def test_a_tool_with_a_forbidden_mark_is_left_out_and_the_others_are_not(caplog: pytest.LogCaptureFixture) -> None:
    bad = {"name": "bad", "inputSchema": {"properties": {"n": {"type": "number", "x-mcp-header": "N"}}}}
    listed = tool_list({"tools": [bad, {"name": "good"}, {"no": "name"}]})
    assert [tool.name for tool in listed.definitions] == ["good"]
    assert "bad" in caplog.text
    assert len(tool_list({"tools": [bad]}, is_modern=False).definitions) == 1


def test_a_list_holds_until_it_is_said_to_have_changed() -> None:
    listed = tool_list(page("a"), generation=2)
    assert listed.is_valid(2)
    assert not listed.is_valid(3)


def test_a_list_holds_for_the_time_that_the_server_gives() -> None:
    assert not tool_list(page("a", ttlMs=0)).is_valid(0)
    assert tool_list(page("a", ttlMs=60_000)).is_valid(0)
    brief = tool_list(page("a", ttlMs=60_000), page("b", ttlMs=1_000))
    assert brief.expires is not None
    assert brief.expires - time.monotonic() < 2
    assert tool_list(page("a", ttlMs=0), is_modern=False).is_valid(0)


# ---- names


@given(st.lists(st.text(min_size=1), unique=True, max_size=8), st.sampled_from(["", "fs_", "sehr lang " * 9]))
def test_every_name_is_accepted_by_the_providers_and_none_collide(names: list[str], prefix: str) -> None:
    given_names = model_names(names, prefix)
    assert list(given_names) == names
    assert len(set(given_names.values())) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in given_names.values())


def test_an_acceptable_name_stays() -> None:
    assert model_names(["read_file", "a.b", "a/b"], "fs_")["read_file"] == "fs_read_file"


# ---- the choice


def test_tools_are_chosen_by_the_names_of_the_server() -> None:
    definitions = tool_list(page("a", "b", "c")).definitions
    assert [tool.name for tool in selected(definitions, ["b", "a"], None, "S")] == ["a", "b"]
    assert [tool.name for tool in selected(definitions, None, ["b"], "S")] == ["a", "c"]
    with pytest.raises(BuildError, match=r"S has no tool 'x'; it has a, b, c"):
        selected(definitions, ["x"], None, "S")
    with pytest.raises(BuildError, match="include must be names"):
        selected(definitions, "abc", None, "S")
