"""The notebooks of examples/notebooks: run in a real kernel.

With the script that stands in where there is no model, which says the same each time; and one of them with the real
small model, which says what it likes.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.kernel.jupyter import ROOT, Cell, Kernel

pytestmark = pytest.mark.timeout(180)

FOLDER = ROOT / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def cells(notebook: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(notebook.read_text("utf-8"))["cells"]
    return found


def run(name: str, model: str = "script") -> list[Cell]:
    """All cells of a notebook, one after the other, as "run all" does."""
    with Kernel(FOLDER, KOVA_MODEL=model) as kernel:
        return [kernel.run("".join(cell["source"])) for cell in cells(FOLDER / name) if cell["cell_type"] == "code"]


def test_there_are_three() -> None:
    assert [notebook.stem for notebook in NOTEBOOKS] == [
        "1-first-agent",
        "2-streaming-and-tools",
        "3-mcp-and-several-agents",
    ]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_they_are_committed_without_outputs(notebook: Path) -> None:
    for cell in cells(notebook):
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


def test_the_first_agent() -> None:
    first, usage, tool, transcript, timeline, conversation, poems = run("1-first-agent.ipynb")
    assert first.result["text/html"] == '<div style="white-space: pre-wrap">Oslo.</div>'
    assert usage.printed == "15 tokens, 1 call, stopped by end_turn\n"
    assert "7006652" in tool.result["text/markdown"]
    assert "multiply(a=1234, b=5678)" in transcript.result["text/html"]
    assert 'class="kova-timeline"' in timeline.result["text/html"]
    assert conversation.result["text/plain"].splitlines() == [
        "user: My favourite colour is green.",
        "assistant: A fine colour.",
        "user: What is my favourite colour?",
        "assistant: It is green.",
    ]
    assert poems.printed == "Snow falls on the fjord.\nRain falls on the fjord.\n"


@pytest.mark.local
def test_the_first_agent_with_a_model_of_this_machine() -> None:
    first, usage, tool, transcript, timeline, conversation, poems = run("1-first-agent.ipynb", "local:smollm2")
    assert "Oslo" in first.result["text/html"]
    assert re.fullmatch(r"\d+ tokens, 1 call, stopped by end_turn\n", usage.printed)
    assert tool.result["text/html"]
    assert transcript.result["text/plain"].startswith("user: What is 1234 times 5678?\nassistant: ")
    assert 'class="kova-timeline"' in timeline.result["text/html"]
    roles = re.findall("^(user|assistant): ", conversation.result["text/plain"], re.MULTILINE)
    assert roles == ["user", "assistant"] * 2
    assert poems.printed.strip()


def test_streaming_and_tools() -> None:
    story, events, early, stopped, _, ending = run("2-streaming-and-tools.ipynb")
    assert story.printed == "Once upon a time there was a fox."
    assert len([shown for shown in story.shown if shown.kind == "stream"]) >= 5, "it came all at once"
    assert story.shown[-1].at - story.shown[0].at > 1.0
    assert "[temperature {'city': 'Oslo'}]" in events.printed
    assert events.printed.endswith("It is -4 degrees in Oslo.")
    assert early.printed == "One two three "
    assert stopped.printed == "the turn took longer than 0.5 s\n"
    assert ending.printed == "Hello there!"


def test_mcp_and_several_agents() -> None:
    notes, one, all_at_once, timeline, drawing = run("3-mcp-and-several-agents.ipynb")
    assert notes.printed == "read_note: Read the note about something.\n"
    assert "The key is under the mat." in notes.result["text/html"]
    assert "Bridges join two sides." in one.result["text/html"]
    for text in ("True.", "Good.", "ConnectionError"):
        assert text in all_at_once.result["text/html"]
    assert "broken" in timeline.result["text/html"]
    assert drawing.result["text/markdown"].startswith("```mermaid\nflowchart TD")
