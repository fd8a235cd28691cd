"""The processes of a run: the model server, a worker for each side, and programs that run once."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple, Self

from .sides import Side, hiding_code

ROOT = Path(__file__).parents[1]
PROGRAMS = Path(__file__).parent / "programs"


class Output(NamedTuple):
    """What came of a program: its first line, and seconds from the program's start until that was there."""

    line: str
    seconds: float


class Laboratory:
    """Holds the processes while its with block lasts.

    Attributes:
        urls: The server's URLs by scheme; "https" is missing where there is no `openssl` to make a certificate with.
    """

    def __init__(self) -> None:
        self.urls: dict[str, str] = {}
        self._workers: dict[Side, Process] = {}
        # Without proxies, through which both sides would go to this machine's own server.
        self._environment = {name: text for name, text in os.environ.items() if not name.lower().endswith("_proxy")}

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="kova-benchmarks-")
        folder = Path(self._folder.name)
        # Installed packages are compiled to bytecode, a checkout may not be: here all are, by the first run.
        self._environment.pop("PYTHONDONTWRITEBYTECODE", None)
        self._environment["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
        certificate = _make_certificate(folder)
        arguments = [] if certificate is None else ["--certificate", str(certificate)]
        if certificate is not None:
            self._environment["SSL_CERT_FILE"] = str(_bundle_with(certificate))
        self._server = Process(["-m", "benchmarks.server", *arguments], self._environment)
        ports: dict[str, int] = json.loads(self._server.read_line())
        self.urls = {scheme: f"{scheme}://127.0.0.1:{port}" for scheme, port in ports.items()}
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.retire_workers()
        self._server.end()
        self._folder.cleanup()

    def order(self, side: Side, order: dict[str, object]) -> dict[str, Any]:
        """Have a side's worker do something."""
        worker = self._workers.get(side)
        if worker is None:
            worker = self._workers[side] = Process(["-m", "benchmarks.worker", side], self._environment)
        worker.write_line(json.dumps(order))
        reply: dict[str, Any] = json.loads(worker.read_line())
        return reply

    def retire_workers(self) -> None:
        """Let the next orders find new workers, which nothing that was done before has left its traces in."""
        while self._workers:
            self._workers.popitem()[1].end()

    def run(self, side: Side, code: str, *arguments: str) -> Output:
        """Run a program in a fresh process."""
        start = time.perf_counter()
        process = Process(["-c", hiding_code(side) + code, *arguments], self._environment)
        line = process.read_line()
        seconds = time.perf_counter() - start
        process.end()
        return Output(line, seconds)


class Process:
    """A child that is spoken to in lines, and ends when its standard input does."""

    def __init__(self, arguments: list[str], environment: dict[str, str]) -> None:
        command = [sys.executable, *arguments]
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def write_line(self, line: str) -> None:
        """Send a line."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def read_line(self) -> str:
        """The next line that the child prints."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self.end()
            raise RuntimeError(f"{self._process.args!r} ended with {self._process.returncode}: see above")
        return line

    def end(self) -> None:
        """Wait until the child has ended."""
        self._process.communicate()


def program(name: str) -> str:
    """The text of one of the programs."""
    return (PROGRAMS / f"{name}.py").read_text("utf-8")


def _make_certificate(folder: Path) -> Path | None:
    """A key and a certificate for 127.0.0.1 in one file."""
    if shutil.which("openssl") is None:
        return None
    path = folder / "server.pem"
    options = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=127.0.0.1"
    names = ["-addext", "subjectAltName=IP:127.0.0.1"]
    output = ["-keyout", str(path), "-out", f"{path}.crt"]
    subprocess.run(["openssl", *options.split(), *names, *output], check=True, capture_output=True)
    path.write_text(path.read_text() + Path(f"{path}.crt").read_text())
    return path


def _bundle_with(certificate: Path) -> Path:
    """The certificate among all those that are usually trusted, whose loading is a part of the work."""
    import certifi

    bundle = certificate.with_name("bundle.pem")
    bundle.write_text(Path(certifi.where()).read_text("utf-8") + Path(f"{certificate}.crt").read_text(), "utf-8")
    return bundle
