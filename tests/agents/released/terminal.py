"""A program at a pseudo-terminal: type into it, and wait until it shows a text."""

from __future__ import annotations

import errno
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROWS, COLUMNS = 50, 160
_CODES = re.compile(
    rb"\x1b\[[0-9;:?<>=!]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[P_^][^\x1b]*\x1b\\|\x1b[()][A-Z0-9]|\x1b."
)
_ANSWERS = {
    b"\x1b[c": b"\x1b[?62;22c",
    b"\x1b[6n": b"\x1b[1;1R",
    b"\x1b[?u": b"\x1b[?0u",
    b"\x1b]10;?": b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\",
    b"\x1b]11;?": b"\x1b]11;rgb:0000/0000/0000\x1b\\",
}
"""What programs ask a terminal, and what one answers; some wait for it."""


class Terminal:
    """A program with a terminal of its own; what it draws is kept as plain text."""

    def __init__(self, command: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.child = subprocess.Popen(
            command,
            cwd=cwd,
            env={**env, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": str(ROWS)},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0) and None,
        )
        os.close(slave)
        self.drawn = b""
        self.mark = 0

    @property
    def text(self) -> str:
        """Return what was drawn since the last `type`, without codes and blanks."""
        return _plain(self.drawn[self.mark :])

    def read(self, seconds: float) -> bool:
        """Take in what is drawn in this time; False when the program has ended."""
        ready, _, _ = select.select([self.master], [], [], seconds)
        if not ready:
            return self.child.poll() is None
        try:
            found = os.read(self.master, 65_536)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return False
        for asked, answer in _ANSWERS.items():
            if asked in found:
                os.write(self.master, answer)
        self.drawn += found
        return bool(found)

    def wait_for(self, *texts: str, seconds: float) -> str:
        """Return the first of the texts that is drawn, or "" after this time or at the end."""
        until = time.monotonic() + seconds
        while True:
            shown = self.text
            for one in texts:
                if one.replace(" ", "") in shown:
                    return one
            if time.monotonic() > until or not self.read(0.1):
                return ""

    def settle(self, seconds: float) -> None:
        """Read until nothing is drawn for this time."""
        until = time.monotonic() + 20
        while time.monotonic() < until:
            before = len(self.drawn)
            last = time.monotonic() + seconds
            while time.monotonic() < last:
                if not self.read(0.05):
                    return
            if len(self.drawn) == before:
                return

    def type(self, keys: str) -> None:
        """Type keys; what was drawn before is forgotten."""
        self.mark = len(self.drawn)
        os.write(self.master, keys.encode())

    def submit(self, line: str) -> None:
        """Type a line, and Enter after it: an Enter that comes with it counts as pasted."""
        self.type(line)
        self.settle(0.7)
        os.write(self.master, b"\r")

    def close(self) -> None:
        """End the program and all that it started."""
        if self.child.poll() is None:
            os.killpg(self.child.pid, signal.SIGTERM)
            until = time.monotonic() + 10
            while self.child.poll() is None and time.monotonic() < until:
                self.read(0.1)
        if self.child.poll() is None:
            os.killpg(self.child.pid, signal.SIGKILL)
            self.child.wait()
        os.close(self.master)


def _plain(drawn: bytes) -> str:
    text = _CODES.sub(b"", drawn).decode("utf-8", "replace")
    return "".join(text.split())
