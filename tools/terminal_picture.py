"""Run a command at a terminal of a given size, and draw what is on the screen as SVG.

python tools/terminal_picture.py docs/demo.svg 88x40 -- recollect demo --short
python tools/terminal_picture.py --readme          # draws docs/demo.svg anew

The picture follows the reader's theme, dark or light. Letters are text: it can be searched and
compared.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
README_PICTURE = ROOT / "docs" / "demo.svg"
README_COMMAND = ("demo", "--short")
README_SIZE = (88, 200)

_WIDTH, _HEIGHT, _MARGIN = 8.4, 18, 12
_SEQUENCE = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|\x1b[()].|\x1b.|[\x00-\x1f]|[^\x00-\x1f\x1b]")
_COLOURS = {
    31: "red",
    32: "green",
    33: "yellow",
    34: "blue",
    35: "magenta",
    36: "cyan",
}
_STYLE = """\
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace;
  fill: #1f2328; white-space: pre; }
.screen { fill: #ffffff; stroke: #d1d9e0; }
.b { font-weight: bold; } .d { opacity: .6; }
.red { fill: #cf222e; } .green { fill: #116329; } .yellow { fill: #7d4e00; }
.blue { fill: #0550ae; } .magenta { fill: #8250df; } .cyan { fill: #1b7c83; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .screen { fill: #0d1117; stroke: #3d444d; }
  .red { fill: #ff7b72; } .green { fill: #3fb950; } .yellow { fill: #d29922; }
  .blue { fill: #58a6ff; } .magenta { fill: #bc8cff; } .cyan { fill: #39c5cf; }
}"""


class Cell(NamedTuple):
    """One place of the screen: a character and its classes; "" follows a wide character."""

    character: str = " "
    classes: str = ""


class Screen:
    """A terminal: what is printed moves the cursor, sets colours, erases lines."""

    def __init__(self, columns: int, lines: int) -> None:
        self.columns, self.lines = columns, lines
        self.rows: list[list[Cell]] = [[]]
        self._row = self._column = 0
        self._codes: set[int] = set()

    def feed(self, text: str) -> None:
        """Print a text with control sequences."""
        for found in _SEQUENCE.finditer(text):
            if found[2]:
                self._control(found[1], found[2])
            elif found[0] == "\n":
                self._move(self._row + 1, self._column)
            elif found[0] == "\r":
                self._column = 0
            elif found[0] == "\b":
                self._column = max(self._column - 1, 0)
            elif found[0] == "\t":
                self._column = (self._column // 8 + 1) * 8
            elif found[0] >= " ":
                self._put(found[0])

    def _control(self, given: str, command: str) -> None:
        numbers = [int(part) for part in given.split(";") if part.isdecimal()]
        if command == "m":
            for number in numbers or [0]:
                self._codes = set() if number == 0 else self._codes | {number}
        elif command == "K":
            del self.rows[self._row][self._column :]
        elif command == "J":
            self.rows = [[]]
            self._row = self._column = 0
        elif command == "H":
            row, column = (*numbers, 1, 1)[:2]
            self._move(row - 1, column - 1)

    def _move(self, row: int, column: int) -> None:
        self._row, self._column = row, column
        while len(self.rows) <= row:
            self.rows.append([])

    def _put(self, character: str) -> None:
        wide = unicodedata.east_asian_width(character) in "WF"
        if self._column + 1 + wide > self.columns:
            self._move(self._row + 1, 0)
        row = self.rows[self._row]
        row += [Cell()] * (self._column + 1 + wide - len(row))
        row[self._column] = Cell(character, self._classes())
        if wide:
            row[self._column + 1] = Cell("", self._classes())
        self._column += 1 + wide

    def _classes(self) -> str:
        names = [_COLOURS[code] for code in sorted(self._codes) if code in _COLOURS]
        names += ["b"] if 1 in self._codes else []
        names += ["d"] if 2 in self._codes else []
        return " ".join(names)

    def text(self) -> str:
        """Return the screen without colours."""
        lines = ["".join(cell.character for cell in row).rstrip() for row in self.rows]
        return "\n".join(lines).rstrip("\n")


def draw(screen: Screen) -> str:
    """Return the screen as SVG."""
    rows = screen.text().count("\n") + 1
    width = round(screen.columns * _WIDTH + 2 * _MARGIN)
    height = rows * _HEIGHT + 2 * _MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img">',
        f"<style>{_STYLE}</style>",
        f'<rect class="screen" x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="8"/>',
    ]
    for number, row in enumerate(screen.rows[:rows]):
        y = _MARGIN + number * _HEIGHT + 13
        for column, text, classes in _runs(row):
            x = f"{_MARGIN + column * _WIDTH:.1f}"
            named = f' class="{classes}"' if classes else ""
            lines.append(f'<text x="{x}" y="{y}"{named} xml:space="preserve">{escape(text)}</text>')
    return "\n".join([*lines, "</svg>", ""])


def _runs(row: Sequence[Cell]) -> Iterator[tuple[int, str, str]]:
    """Yield column, text and classes of each run of one style; blanks at the ends are left out."""
    start = 0
    while start < len(row):
        end = start
        while end < len(row) and row[end].classes == row[start].classes:
            end += 1
        text = "".join(cell.character for cell in row[start:end])
        if text.strip():
            lead = len(text) - len(text.lstrip())
            yield start + lead, text.strip(), row[start].classes
        start = end


def run(
    command: Sequence[str],
    size: tuple[int, int],
    environment: Mapping[str, str],
    folder: str | Path = ".",
    keys: str = "",
) -> tuple[str, int]:
    """Run a command at a terminal; return all that it printed, and its exit status."""
    columns, lines = size
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    said = b""
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdin=slave, stdout=slave, stderr=slave
    ) as running:
        os.close(slave)
        if keys:
            os.write(master, keys.encode())
        while True:
            try:
                more = os.read(master, 10_000)
            except OSError:  # the terminal is gone with its last reader
                break
            if not more:
                break
            said += more
    os.close(master)
    return said.decode(errors="replace"), running.returncode


def picture(
    command: Sequence[str], size: tuple[int, int], environment: Mapping[str, str]
) -> Screen:
    """Return the screen of a command."""
    said, status = run(command, size, environment)
    if status:
        raise SystemExit(f"{' '.join(command)} ended with status {status}:\n{said}")
    screen = Screen(*size)
    screen.feed(said)
    return screen


def readme_screen() -> Screen:
    """Return the screen of the README's picture."""
    environment = {**os.environ, "TERM": "xterm-256color", "RECOLLECT_PAGER": "cat"}
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "recollect", *README_COMMAND]
    return picture(command, README_SIZE, environment)


def main(words: Sequence[str]) -> int:
    """Draw the README's picture, or that of any command."""
    if list(words) == ["--readme"]:
        README_PICTURE.write_text(draw(readme_screen()), encoding="utf-8")
        return 0
    if len(words) < 4 or words[2] != "--":
        print(__doc__)
        return 2
    target, size, _, *command = words
    columns, lines = map(int, size.split("x"))
    environment = {**os.environ, "RECOLLECT_PAGER": "cat", "TERM": "xterm-256color"}
    screen = picture(command, (columns, lines), environment)
    Path(target).write_text(draw(screen), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
