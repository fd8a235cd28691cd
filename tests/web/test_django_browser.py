"""The page of the example in headless Chromium, as a person uses it."""

from __future__ import annotations

import os
import queue
import shutil
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from kova.testing import Exchange, ModelServer, call, provider_error
from tests.web.servers import COMMANDS, django_server

pytestmark = pytest.mark.timeout(120)

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
SOON = 5.0  # seconds: five times what a person should see
LIMIT = 20.0  # seconds
STOPPED = "Stopped. Nothing of this was kept."


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The machine's own browser, which `make test-hosts` looks for; there is no test without it."""
    assert CHROMIUM, "no Chromium on this machine: install it, or set CHROMIUM to its path"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def model_server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(scope="module", params=COMMANDS)
def site(
    request: pytest.FixtureRequest, model_server: ModelServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The address of the page."""
    command, page = COMMANDS[request.param]
    with django_server(command, tmp_path_factory.mktemp("site"), model_server.url) as server:
        yield server.url + page


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A visitor's browser, in which nothing complains."""
    complaints: list[str] = []
    with browser.new_context() as context:
        context.on("weberror", lambda error: complaints.append(str(error.error)))
        context.on("console", lambda message: complaints.append(message.text))
        yield context
    assert complaints == []


@pytest.fixture
def page(context: BrowserContext, site: str) -> Page:
    page = context.new_page()
    page.goto(site)
    return page


@pytest.fixture
def model(model_server: ModelServer) -> Iterator[ModelServer]:
    yield model_server
    model_server.assert_used_up()


class HeldModel:
    """A model that goes on when it is told to, and learns when its client has gone."""

    def __init__(self, first: str) -> None:
        self.go_on = threading.Event()
        self.gone: queue.Queue[bool] = queue.Queue()
        self._first = first

    def __call__(self, exchange: Exchange) -> Iterator[Any]:
        yield self._first
        until = time.monotonic() + LIMIT
        while not self.go_on.is_set():
            if exchange.wait_for_disconnect(0.05):
                self.gone.put(True)
                return
            assert time.monotonic() < until
        yield "and the rest."


def write(page: Page, text: str) -> None:
    page.get_by_label("Your message").fill(text)
    page.keyboard.press("Enter")


def test_an_answer_is_shown_as_it_comes(page: Page, model: ModelServer) -> None:
    """T7, S5: word by word, as text, whatever the model writes; and it is there again when the page is."""
    hostile = "<img src=x onerror=document.title='taken'>\n\n<script>document.title='taken'</script> "
    held = HeldModel(hostile)
    model.play(held)
    write(page, "<b>Hi</b>")
    answer = page.locator(".assistant > p")
    expect(answer).to_have_text(hostile)
    expect(page.get_by_label("Stop")).to_be_visible()
    held.go_on.set()
    expect(answer).to_have_text(hostile + "and the rest.")
    expect(page.get_by_label("Send")).to_be_visible()
    page.reload()
    expect(answer).to_have_text(hostile + "and the rest.")
    expect(page.locator(".user")).to_have_text("<b>Hi</b>")
    assert page.locator("#messages img, #messages script, #messages b").count() == 0
    assert page.title() == "The book shop"


@pytest.mark.parametrize("way", ["button", "Escape", "another page"])
def test_stopping_ends_the_turn_on_the_server(page: Page, model: ModelServer, site: str, way: str) -> None:
    """T11, T12: the model sees the end of the connection, and nothing is kept."""
    held = HeldModel("Once upon a time ")
    model.play(held)
    write(page, "Tell me a story")
    expect(page.locator(".assistant > p")).to_have_text("Once upon a time")
    stopped_at = time.monotonic()
    if way == "button":
        page.get_by_label("Stop").click()
    elif way == "Escape":
        page.keyboard.press("Escape")
    else:
        page.goto("about:blank")
    assert held.gone.get(timeout=LIMIT)
    assert time.monotonic() - stopped_at < SOON
    if way != "another page":
        expect(page.locator(".remark")).to_have_text(STOPPED)
        expect(page.get_by_label("Your message")).to_have_value("Tell me a story")
        model.play("The end.")
        page.keyboard.press("Enter")
        expect(page.locator(".assistant > p").last).to_have_text("The end.")
        expect(page.get_by_label("Send")).to_be_visible()  # only now it is stored
    page.goto(site)
    expect(page.locator(".assistant")).to_have_count(int(way != "another page"))


def test_the_box_lets_the_model_see_orders(page: Page, model: ModelServer) -> None:
    """S1: and a new chat begins without it."""
    look = call("find_order", number=17)
    model.play(look, "I may not see it.", look, "It was sent.", look, "I may not.")
    write(page, "Where is order 17?")
    expect(page.locator(".assistant > p").last).to_have_text("I may not see it.")
    expect(page.locator(".tool summary")).to_have_text("Could not look up: find_order")
    page.get_by_label("May see my orders").check()
    write(page, "And now?")
    expect(page.locator(".assistant > p").last).to_have_text("It was sent.")
    page.locator(".tool summary").last.click()
    expect(page.locator(".tool").last).to_contain_text("sent yesterday, arrives tomorrow")
    page.get_by_role("button", name="New chat").click()
    expect(page.locator(".message")).to_have_count(0)
    page.get_by_role("button", name="Where is my order 17?").click()
    expect(page.locator(".assistant > p").last).to_have_text("I may not.")


def test_a_failure_is_told_and_the_question_kept(page: Page, model: ModelServer) -> None:
    model.play(provider_error(400, "a detail of the inside"))
    write(page, "Hi")
    expect(page.locator(".remark")).to_have_text("This could not be answered.")
    expect(page.get_by_label("Your message")).to_have_value("Hi")
    assert "a detail of the inside" not in page.content()


@pytest.mark.parametrize("width", [320, 1_400])
def test_nothing_is_wider_than_the_window(page: Page, model: ModelServer, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 600})
    model.play("long" * 200 + "\n" + "line\n" * 60)
    write(page, "word" * 100)
    expect(page.get_by_label("Send")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate("scrollY > 0")  # and the end is in sight
