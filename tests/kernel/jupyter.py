"""A real Jupyter kernel, as a notebook's page has one: cells that are run, what they show and when, the stop button."""

from __future__ import annotations

import os
import queue
import textwrap
import time
from pathlib import Path
from typing import Any, NamedTuple, Self

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

LIMIT = 120.0  # seconds: a small model may talk for long on a busy machine
ROOT = Path(__file__).parents[2]


class Shown(NamedTuple):
    """Something that a cell has shown: when it was here, the kind of the message, and its content."""

    at: float
    kind: str
    content: dict[str, Any]

    @property
    def text(self) -> str:
        """What was printed, or the plain form of a result."""
        return str(self.content.get("text") or self.content.get("data", {}).get("text/plain", ""))


class Cell:
    """A cell that was started."""

    def __init__(self, client: BlockingKernelClient, source: str) -> None:
        self._client = client
        self._id = client.execute(textwrap.dedent(source), store_history=True)
        self.shown: list[Shown] = []
        self.error: tuple[str, str] | None = None  # class and text of what it raised

    def next(self) -> Shown | None:
        """Wait for the next thing that it shows; None when the cell is over."""
        while True:
            try:
                message = self._client.get_iopub_msg(timeout=LIMIT)
            except queue.Empty:
                raise AssertionError(f"the cell shows nothing more and does not end; so far: {self.shown}") from None
            kind, content = message["msg_type"], message["content"]
            if message["parent_header"].get("msg_id") != self._id:
                continue
            if kind == "status" and content["execution_state"] == "idle":
                return None
            if kind == "error":
                self.error = content["ename"], content["evalue"]
            elif kind not in ("status", "execute_input"):
                self.shown.append(Shown(time.monotonic(), kind, content))
                return self.shown[-1]

    def wait_for(self, text: str) -> float:
        """Wait until it has printed this; gives the time."""
        while text not in self.printed:
            shown = self.next()
            assert shown is not None, f"the cell ended without {text!r}: {self.printed!r} {self.error}"
        return self.shown[-1].at

    def end(self) -> Self:
        """Wait for its end."""
        while self.next() is not None:
            pass
        return self

    @property
    def printed(self) -> str:
        """All that it has printed so far."""
        return "".join(shown.text for shown in self.shown if shown.kind == "stream")

    @property
    def result(self) -> dict[str, str]:
        """The forms of its last line's value, by MIME type."""
        [result] = [shown for shown in self.shown if shown.kind == "execute_result"]
        data: dict[str, str] = result.content["data"]
        return data


class Kernel:
    """A running kernel.

    Args:
        folder: In which it works.
        environment: More variables for it.
    """

    def __init__(self, folder: Path = ROOT, **environment: str) -> None:
        self._manager = KernelManager(kernel_name="python3")
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._manager.start_kernel(cwd=str(folder), env={**os.environ, "PYTHONPATH": path, **environment})
        self._client: BlockingKernelClient = self._manager.blocking_client()
        self._client.start_channels()
        try:
            self._client.wait_for_ready(timeout=LIMIT)
        except BaseException:
            self.close()
            raise

    def start(self, source: str) -> Cell:
        """Start a cell, and do not wait for it."""
        return Cell(self._client, source)

    def run(self, source: str) -> Cell:
        """Run a cell to its good end."""
        cell = self.start(source).end()
        assert cell.error is None, f"{cell.error}\n{cell.printed}"
        return cell

    def interrupt(self) -> float:
        """Press the stop button; gives the time."""
        at = time.monotonic()
        self._manager.interrupt_kernel()
        return at

    def close(self) -> None:
        """End the kernel."""
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
