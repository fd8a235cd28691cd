"""What the extra `django` adds to an installation of the wheel: run by `make test-wheel`, outside the source tree."""

from __future__ import annotations

import asyncio
import tempfile
import unittest
from pathlib import Path
from typing import Any

import django
from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.management import call_command
from django.db import connections
from django.http import HttpRequest

import kova
from kova.testing import ModelServer, call

FOLDER = tempfile.TemporaryDirectory()
settings.configure(
    INSTALLED_APPS=["kova.contrib.django"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": Path(FOLDER.name, "db.sqlite3")}},
    USE_TZ=True,
)
django.setup()


def setUpModule() -> None:
    """The tables that the wheel's migrations make, in a file."""
    unittest.addModuleCleanup(FOLDER.cleanup)
    unittest.addModuleCleanup(connections.close_all)
    call_command("migrate", verbosity=0)


class Site(unittest.TestCase):
    """A conversation goes into the site's database and comes back from it."""

    def setUp(self) -> None:
        self.model = self.enterContext(ModelServer())
        provider = kova.OpenAICompatibleProvider("m", base_url=self.model.url)
        settings.KOVA = {"model": provider, "tools": [add]}

    def test_the_migrations_are_those_of_the_models(self) -> None:
        call_command("makemigrations", check_changes=True, dry_run=True, verbosity=0)

    def test_a_conversation_is_stored_and_read_back(self) -> None:
        from kova.contrib.django import DjangoStore, agent

        self.model.play(call("add", a=1, b=2), "It is three.", "You asked for 1 + 2.")
        self.assertEqual(agent().chat("ada", "1 + 2?"), "It is three.")
        roles = ["user", "assistant", "tool", "assistant"]
        for messages, _ in (DjangoStore().load("ada"), asyncio.run(load_async("ada"))):
            self.assertEqual([message.role.value for message in messages], roles)
        agent().chat("ada", "What did I ask?")
        self.assertEqual(len(self.model.requests[-1].json()["messages"]), len(roles) + 1)

    def test_a_turn_as_server_sent_events(self) -> None:
        from kova.contrib.django import EventStreamResponse

        self.model.play("Hello.")
        provider = kova.OpenAICompatibleProvider("m", base_url=self.model.url)
        with kova.Agent(provider) as hello:
            response = EventStreamResponse(HttpRequest(), lambda cancel: hello.run_stream("Hi", cancel=cancel))
            text = b"".join(response.streaming_content).decode()
        self.assertIn('event: text\ndata: {"text":"Hello."}\n\n', text)
        self.assertIn("event: completed\n", text)


async def load_async(name: str) -> Any:
    """What a store of the other twin finds. Its thread's connection is nobody's afterwards."""
    from kova.contrib.django import AsyncDjangoStore

    try:
        return await AsyncDjangoStore().load(name)
    finally:
        await sync_to_async(connections.close_all)()


@kova.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


if __name__ == "__main__":
    unittest.main()
