"""A watch over the whole suite: no key that any of its tests uses is ever shown (R7).

A pytest plugin that is always on. Keys are learnt from every configuration and every request that is made, and looked
for in

- the repr of each configuration and request, and each request's URL;
- the text, the repr and the pickle of every error of kova's, and the texts and reprs of its causes, when it goes;
- every record of kova's logger, from DEBUG on, with the exception in it.

What is found fails the test that runs then. Processes that tests start are not watched.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import unquote

import attrs
import pytest

from kova import _proxies
from kova._formats import base_config, wire
from kova._formats.secrets import SHORTEST_SECRET, secret_headers
from kova.errors import KovaError

KEY = "canary-key-0123456789"  # for tests in which any key will do

SECRET_FIELDS = ("api_key", "access_key_id", "secret_access_key", "session_token", "authorization")


class Watch:
    """The keys that are known, and where they were seen."""

    def __init__(self) -> None:
        self._secrets: set[str] = set()  # those of the present test, and of what modules make when they are loaded
        self._lasting: set[str] = set()
        self.seen: list[str] = []

    def learn(self, secrets: Iterable[object]) -> None:
        self._secrets.update(secret for secret in secrets if isinstance(secret, str) and len(secret) >= SHORTEST_SECRET)

    def begin_test(self) -> None:
        self._lasting = set(self._secrets)

    def end_test(self) -> list[str]:
        """What was seen since the last test ended. One test's key is only a word in the next."""
        self._secrets = self._lasting
        seen, self.seen = self.seen, []
        return seen

    def look_at(self, text: str, place: str) -> None:
        for secret in self._secrets:
            if secret in text:
                self.seen.append(f"{secret!r} is in {place}: {text[:500]}")

    def look_at_error(self, error: KovaError) -> None:
        name = type(error).__name__
        try:
            self.look_at(pickle.dumps(error).decode("latin-1"), f"the pickle of a {name}")
        except Exception:
            pass  # a test's own error that does not pickle
        link: BaseException | None = error
        looked: set[int] = set()
        while link is not None and id(link) not in looked:
            looked.add(id(link))
            self.look_at(f"{link}\n{link!r}", f"a {name}, in its {type(link).__name__}")
            link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)

    def look_at_config(self, config: Any) -> None:
        fields = [field.name for field in attrs.fields(type(config))]
        self.learn(getattr(config, name) for name in SECRET_FIELDS if name in fields)
        self.look_at(repr(config), f"the repr of a {type(config).__name__}")

    def look_at_request(self, request: wire.WireRequest) -> None:
        self.learn(request.secrets)
        for secret in secret_headers(request.headers):
            if len(secret) >= SHORTEST_SECRET and secret in unquote(request.url):
                self.seen.append(f"{secret!r} is in the URL {request.url}")
        self.look_at(repr(request), "the repr of a request")


class LogWatch(logging.Handler):
    def __init__(self, watch: Watch) -> None:
        super().__init__(logging.DEBUG)
        self._watch = watch

    def emit(self, record: logging.LogRecord) -> None:
        self._watch.look_at(self.format(record), "the log")


def after_making(cls: type, look: Callable[[Any], None]) -> None:
    """Have a look at every object of a class and of its subclasses, once it is made."""
    make = cls.__init__

    def make_and_look(self: Any, *args: Any, **options: Any) -> None:
        make(self, *args, **options)
        look(self)

    cls.__init__ = make_and_look  # type: ignore[misc]


def subclasses(cls: type) -> Iterator[type]:
    for subclass in cls.__subclasses__():
        yield subclass
        yield from subclasses(subclass)


watch = Watch()


def pytest_configure() -> None:
    import structlog.stdlib  # noqa: F401  # else the first event loads it, amid a test that counts on being quick

    import kova  # noqa: F401  # all five providers' configurations are made then
    from kova._formats import anthropic, bedrock, gemini, ollama, openai  # noqa: F401

    after_making(wire.WireRequest, watch.look_at_request)
    for cls in {base_config.BaseConfig, *subclasses(base_config.BaseConfig)}:
        after_making(cls, watch.look_at_config)
    after_making(_proxies.Proxy, watch.look_at_config)
    KovaError.__del__ = lambda error: watch.look_at_error(error)  # type: ignore[attr-defined]
    logger = logging.getLogger("kova")
    logger.setLevel(logging.DEBUG)
    logger.addHandler(LogWatch(watch))


@pytest.fixture(autouse=True)
def _no_key_is_shown() -> Iterator[None]:
    watch.begin_test()
    yield
    seen = watch.end_test()
    assert not seen, "\n".join(["a key was shown (R7)", *seen])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A worker of pytest-xdist has ended: only the process that started it can fail the run."""
    watch.seen += getattr(node, "workeroutput", {}).get("keys_shown", [])


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["keys_shown"] = list(watch.seen)
    elif watch.seen:  # by an error that outlived its test
        session.config.get_terminal_writer().line("\n".join(["a key was shown (R7)", *watch.seen]), red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
