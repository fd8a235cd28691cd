"""Brings what the documentation site shows besides its text: two fonts, and the program that draws Mermaid's diagrams.

They come from npm once, into `.docs-assets`, and the site serves them itself: its readers load nothing from elsewhere.
Without npm the site is built all the same, with the system's fonts, and with diagrams as text.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
ASSETS = ROOT / ".docs-assets"

# The files of each package that the site needs. The theme of the site speaks to version 11 of Mermaid.
PACKAGES = {
    "mermaid@11.12.0": ["dist/mermaid.min.js"],
    "@fontsource-variable/inter@5.2.8": [
        "files/inter-latin-wght-normal.woff2",
        "files/inter-latin-wght-italic.woff2",
    ],
    "@fontsource-variable/jetbrains-mono@5.2.8": ["files/jetbrains-mono-latin-wght-normal.woff2"],
}


def bring(package: str, files: list[str]) -> None:
    """Unpack these files of an npm package into `ASSETS`, unless they are there."""
    if all((ASSETS / Path(name).name).exists() for name in files):
        return
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", "--silent", "--pack-destination", folder, package], check=True, timeout=300)
        (archive,) = Path(folder).iterdir()
        with tarfile.open(archive) as unpacked:
            for name in files:
                content = unpacked.extractfile(f"package/{name}")
                assert content is not None, f"{package} has no {name}"
                (ASSETS / Path(name).name).write_bytes(content.read())


def main() -> None:
    """Bring all of them, or say why the site will be plainer."""
    ASSETS.mkdir(exist_ok=True)
    if shutil.which("npm") is None:
        print("npm is not installed: the site will have the system's fonts, and diagrams as text", file=sys.stderr)
        return
    for package, files in PACKAGES.items():
        try:
            bring(package, files)
        except (subprocess.SubprocessError, OSError) as error:
            print(f"cannot get {package}: {error}; the site will do without", file=sys.stderr)


if __name__ == "__main__":
    main()
