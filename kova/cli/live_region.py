"""The lines at the end of the terminal that may still change, redrawn without flicker.

What is written moves the cursor to the first line that differs and goes on from there: nothing is erased that is then
written again. The cursor is always at the beginning of the line below the region.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from .._terminal import plain

__all__ = ["LiveRegion"]


class LiveRegion:
    """Gives what to write to the terminal; writes nothing itself."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._width = 0

    def draw(self, settled: Sequence[str], live: Sequence[str], width: int, height: int) -> str:
        """Replace the region.

        Args:
            settled: Lines to be left for good where the region begins.
            live: Lines of the region, which then comes below; only its end if it is longer than the terminal.
            width: Columns of the terminal.
            height: Its lines.
        """
        live = _last_rows(live, width, height - 1)
        wanted = [*settled, *live]
        same = 0
        if width == self._width:
            same = next(
                (number for number, (old, new) in enumerate(zip(self._lines, wanted, strict=False)) if old != new),
                min(len(self._lines), len(wanted)),
            )
        up = sum(_rows(line, width) for line in self._lines[same:])
        written = f"\x1b[{up}A" if up else ""
        for line in wanted[same:]:
            # At the right margin the cursor stands on the last character, which must not be erased.
            written += line + ("\x1b[K\n" if cell_len(plain(line)) % width or not line else "\n")
        if up:
            written += "\x1b[J"
        self._lines, self._width = list(live), width
        return written


def _rows(line: str, width: int) -> int:
    """Rows that a line takes, which may have been written for a wider terminal."""
    return max(1, -(-cell_len(plain(line)) // width))


def _last_rows(lines: Sequence[str], width: int, rows: int) -> list[str]:
    """The lines at the end that fit into so many rows."""
    fitting: list[str] = []
    for line in reversed(lines):
        rows -= _rows(line, width)
        if rows < 0:
            break
        fitting.append(line)
    return fitting[::-1]
