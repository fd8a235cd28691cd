"""The shell of an installation of the wheel with the extra `cli`: run by `make test-wheel`, outside the source tree."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import tempfile
import termios
import unittest
from pathlib import Path

import kova
from kova.testing import ModelServer

KOVA = str(Path(sys.executable).with_name("kova"))
LIMIT = 60  # seconds


def environment(folder: str, url: str = "") -> dict[str, str]:
    """With no key, no Python path and no home of whoever runs this."""
    model = {"OPENAI_BASE_URL": url, "KOVA_MODEL": "openai:m"} if url else {}
    terminal = {"TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}  # nobody answers where the cursor is
    return {"HOME": folder, "PATH": os.defpath, "LANG": "C.UTF-8", **terminal, **model}


class Shell(unittest.TestCase):
    """Each command does its work."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.shown = b""
        self.model = self.enterContext(ModelServer())
        self.env = environment(self.folder, self.model.url)

    def kova(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [KOVA, *arguments],
            input=stdin,
            env=self.env,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )

    def test_help(self) -> None:
        done = self.kova("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for command in ("chat", "run", "models", "doctor", "mcp"):
            self.assertIn(f"\n    {command} ", done.stdout)

    def test_run(self) -> None:
        self.model.play("It is three.")
        done = self.kova("run", "1 + 2?", stdin="In words.\n")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "It is three.\n", ""))
        self.assertEqual(self.model.requests[0].json()["messages"][-1]["content"], "1 + 2?\n\nIn words.\n")

    def test_doctor(self) -> None:
        self.model.play(lambda exchange: exchange.send_json({"object": "list", "data": [{"id": "m"}]}))
        done = self.kova("doctor")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(done.stdout.startswith(f"kova {kova.__version__}, "), done.stdout)
        self.assertRegex(done.stdout, r"\n  cli +\d")
        self.assertRegex(done.stdout, r"\n  openai +answers: 1 model")
        self.assertIn("A model can be used.", done.stdout)

    def test_chat_in_a_pipe_and_to_be_gone_on_with(self) -> None:
        self.model.play("Hello.", "Still here.")
        self.assertEqual(self.kova("chat", stdin="Hi\n").stdout, "Hello.\n")
        self.assertEqual(self.kova("chat", "--continue", stdin="And now?\n").stdout, "Still here.\n")
        self.assertEqual(len(self.model.requests[1].json()["messages"]), 3)

    def test_chat_in_a_terminal(self) -> None:
        """With what the extra brings: the prompt, and Markdown, of which bold letters are drawn and no asterisks."""
        self.model.play("Hello **there**.")
        ours, its = pty.openpty()
        self.addCleanup(os.close, ours)
        termios.tcsetwinsize(its, (24, 80))
        chat = subprocess.Popen([KOVA, "chat"], stdin=its, stdout=its, stderr=its, env=self.env, cwd=self.folder)
        self.addCleanup(chat.wait)
        self.addCleanup(chat.kill)
        os.close(its)
        self.until(ours, b"> ")
        os.write(ours, b"Hi\r")
        said = self.until(ours, b" out ")
        self.until(ours, b"> ")
        os.write(ours, b"\x04")  # Ctrl-D
        self.until(ours, b"to go on: kova chat --continue")
        self.assertEqual(chat.wait(LIMIT), 0)
        self.assertRegex(said, rb"Hello .*\x1b\[1m.*there")
        self.assertNotIn(b"**", said)

    def until(self, terminal: int, wanted: bytes) -> bytes:
        """What is shown up to what is waited for; the rest is left for the next time."""
        while wanted not in self.shown:
            if not select.select([terminal], [], [], LIMIT)[0]:
                self.fail(f"{wanted!r} was not shown: {self.shown!r}")
            self.shown += os.read(terminal, 4096)
        said, _, self.shown = self.shown.partition(wanted)
        return said


if __name__ == "__main__":
    unittest.main()
