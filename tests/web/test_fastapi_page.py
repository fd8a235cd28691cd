"""The program and the page that docs/fastapi.md shows, as a reader would copy them, in a real browser."""

from __future__ import annotations

import os
import queue
import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from kova.testing import Exchange, ModelServer
from tests.web.servers import ROOT, WebServer

pytestmark = pytest.mark.timeout(120)

LIMIT = 20.0  # seconds
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
COMMAND = ["uvicorn", "--port", "{port}", "chat:app"]
FILES = {"chat.py": "python", "chat.html": "html"}


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server
        server.assert_used_up()


@pytest.fixture
def server(model: ModelServer, tmp_path: Path) -> Iterator[WebServer]:
    text = (ROOT / "docs" / "fastapi.md").read_text("utf-8")
    for name, language in FILES.items():
        (code,) = re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        (tmp_path / name).write_text(code, "utf-8")
    environment = {
        "OPENAI_API_KEY": "key of the tests",
        "OPENAI_BASE_URL": model.url,
        "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}",
        "TMPDIR": str(tmp_path),  # where it is started
    }
    with WebServer(COMMAND, environment, ready="/openapi.json") as server:
        yield server


@pytest.fixture
def page(server: WebServer) -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(server.url)
        yield page
        browser.close()


def test_an_answer_is_shown_as_it_comes_and_stopped(model: ModelServer, page: Page) -> None:
    """T11, T12: the model's server sees the stop button, and the next turn knows nothing of the stopped one."""
    is_shown = threading.Event()
    gone: queue.Queue[bool] = queue.Queue()

    def in_two_parts(exchange: Exchange) -> Iterator[str]:
        yield "Hello <b>\n\n"
        assert is_shown.wait(LIMIT)
        yield "Ada</b>."

    def endless(exchange: Exchange) -> Iterator[str]:
        yield "Once upon "
        gone.put(exchange.wait_for_disconnect(LIMIT))

    model.play(in_two_parts, endless, "Yes.")
    answer = page.locator("#answer")
    ask(page, "I am Ada.")
    expect(answer).to_have_text("Hello <b>")
    is_shown.set()
    expect(answer).to_have_text("Hello <b> Ada</b>.")

    ask(page, "Tell me a story.")
    expect(answer).to_have_text("Once upon ")
    page.get_by_text("Stop", exact=True).click()
    expect(answer).to_have_text("Once upon (stopped)")
    assert gone.get(timeout=LIMIT)

    ask(page, "Are you there?")
    expect(answer).to_have_text("Yes.")
    asked = [message["content"] for message in model.requests[-1].json()["messages"]]
    assert asked == ["I am Ada.", "Hello <b>\n\nAda</b>.", "Are you there?"]


def ask(page: Page, text: str) -> None:
    page.locator("input").fill(text)
    page.get_by_text("Ask", exact=True).click()
