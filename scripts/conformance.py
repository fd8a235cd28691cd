"""Plays the public conformance suite for MCP clients to kova, in both twins, and keeps the results as a page.

    python -P scripts/conformance.py                 all that kova is to pass
    python -P scripts/conformance.py --only NAME     scenarios whose name contains NAME; the page is left as it is

The suite (npm `@modelcontextprotocol/conformance`) and the Node that it needs are installed by npm into `.conformance`.
A scenario passes with no failure and no warning. Exit status: 0 all passed, 1 not all did, 2 the suite is not to be had.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / ".conformance"
PAGE = ROOT / "docs" / "mcp-conformance.md"
SUITE = "@modelcontextprotocol/conformance"
VERSION = "0.2.0-alpha.12"
NODE = "22"
TWINS = ("blocking", "asyncio", "trio")
ATTEMPTS_SECONDS = 120

AUTHORIZATION = (
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/basic-cimd",
    "auth/scope-from-www-authenticate",
    "auth/scope-from-scopes-supported",
    "auth/scope-omitted-when-undefined",
    "auth/scope-step-up",
    "auth/scope-retry-limit",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none",
    "auth/pre-registration",
)

EXTENSION = "extension"  # scenarios of extensions belong to no revision

SCENARIOS = {
    "2025-11-25": (
        "initialize",
        "tools_call",
        "elicitation-sep1034-client-defaults",
        "sse-retry",
        "json-schema-2020-12-preservation",
        *AUTHORIZATION,
    ),
    "2026-07-28": (
        "tools_call",
        "request-metadata",
        "sep-2322-client-request-state",
        "http-standard-headers",
        "http-custom-headers",
        "http-invalid-tool-headers",
        "json-schema-ref-no-deref",
        "json-schema-2020-12-preservation",
        *AUTHORIZATION,
        "auth/resource-mismatch",
        "auth/offline-access-scope",
        "auth/offline-access-not-supported",
        "auth/authorization-server-migration",
        "auth/iss-supported",
        "auth/iss-not-advertised",
        "auth/iss-supported-missing",
        "auth/iss-wrong-issuer",
        "auth/iss-unexpected",
        "auth/iss-normalized",
        "auth/metadata-issuer-mismatch",
    ),
    EXTENSION: ("auth/client-credentials-jwt", "auth/client-credentials-basic"),
}

SUMMARY = re.compile(r"Passed: (\d+)/(\d+), (\d+) failed, (\d+) warnings")


def main() -> int:
    """Run the suite."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="NAME")
    only = parser.parse_args().only
    if not install():
        return 2
    results: dict[tuple[str, str], dict[str, str]] = {}
    for version, scenario in planned(only):
        for twin in TWINS:
            outcome, output = play(version, scenario, twin)
            results.setdefault((version, scenario), {})[twin] = outcome
            print(f"{version}  {scenario:42} {twin:9} {outcome}", flush=True)
            if not outcome.startswith("passed"):
                print(output)
    if not only:
        PAGE.write_text(page(results))
    return 0 if all(is_passed for row in results.values() for is_passed in map(_is_passed, row.values())) else 1


def planned(only: str) -> Iterator[tuple[str, str]]:
    """The scenarios, with the revision of the specification that they are played for."""
    for version, scenarios in SCENARIOS.items():
        for scenario in scenarios:
            if only in scenario:
                yield version, scenario


def install() -> bool:
    """Have the suite and its Node in their folder."""
    if (HOME / "node_modules" / SUITE / "dist" / "index.js").exists() and installed_version() == VERSION:
        return True
    npm = shutil.which("npm")
    if npm is None:
        print("the conformance suite is installed by npm, which this machine has not", file=sys.stderr)
        return False
    HOME.mkdir(exist_ok=True)
    command = [npm, "install", "--no-audit", "--no-fund", "--silent", f"{SUITE}@{VERSION}", f"node@{NODE}"]
    return subprocess.run(command, cwd=HOME, check=False).returncode == 0


def installed_version() -> str:
    """The suite's version."""
    text = (HOME / "node_modules" / SUITE / "package.json").read_text()
    found = re.search(r'"version": "([^"]+)"', text)
    return found.group(1) if found else ""


def play(version: str, scenario: str, twin: str) -> tuple[str, str]:
    """Play one scenario; what came of it, and all that was said."""
    client = f"{sys.executable} {ROOT / 'tests' / 'conformance' / 'client.py'} {twin}"
    environment = dict(os.environ, PATH=f"{HOME / 'node_modules' / '.bin'}{os.pathsep}{os.environ['PATH']}")
    with tempfile.TemporaryDirectory() as folder:
        command = ["node", str(HOME / "node_modules" / SUITE / "dist" / "index.js"), "client", "--command", client]
        command += ["--scenario", scenario, "-o", folder]
        if version != EXTENSION:
            command += ["--spec-version", version]
        try:
            run = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=ATTEMPTS_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return "no end", ""
    output = run.stdout + run.stderr
    summary = SUMMARY.search(output)
    if summary is None:
        return "no result", output
    passed, of, failed, warnings = map(int, summary.groups())
    if run.returncode == 0 and not failed and not warnings:
        return f"passed {passed}/{of}", output
    return f"FAILED: {failed} failed, {warnings} warnings, exit status {run.returncode}", output


def _is_passed(outcome: str) -> bool:
    return outcome.startswith("passed")


def page(results: dict[tuple[str, str], dict[str, str]]) -> str:
    """The results as a page of the documentation."""
    rows = [
        f"| {version} | `{scenario}` | {' | '.join(row[twin] for twin in TWINS)} |"
        for (version, scenario), row in results.items()
    ]
    return "\n".join(
        [
            "# MCP conformance",
            "",
            "<!-- Written by scripts/conformance.py (`make conformance`). -->",
            "",
            "Results of the [public conformance suite](https://github.com/modelcontextprotocol/conformance) for MCP",
            f"clients, version {VERSION}, played to `kova.MCPClient` and to `kova.AsyncMCPClient` on asyncio and trio. A",
            "scenario passes with no failure and no warning; the numbers are its checks. Run it: `make conformance`.",
            "",
            "| revision | scenario | blocking | asyncio | trio |",
            "|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
