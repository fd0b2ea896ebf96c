"""Read single keys and lines at a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager


def is_attended() -> bool:
    """Check whether a person can see an item and press a key."""
    return all(stream and stream.isatty() for stream in (sys.stdin, sys.stdout))


class Keyboard:
    """Reads single keys, and lines with a text to start from."""

    def __init__(
        self, read: Callable[[], str], cooked: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self.read_key = read
        self._cooked = cooked

    def read_line(self, question: str, start: str = "") -> str:
        """Return a line that the person typed or edited; empty when they gave up."""
        with self._cooked():
            try:
                import readline

                readline.set_startup_hook(lambda: readline.insert_text(start))
            except ImportError:
                readline = None  # type: ignore[assignment]
            try:
                return input(question).strip()
            except (EOFError, KeyboardInterrupt):
                print()
                return ""
            finally:
                if readline:
                    readline.set_startup_hook(None)


@contextmanager
def one_key_input() -> Iterator[Keyboard]:
    """Read keys without Enter while this lasts; the terminal is as before afterwards."""
    import termios
    import tty

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)

    @contextmanager
    def cooked() -> Iterator[None]:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
        try:
            yield
        finally:
            tty.setcbreak(terminal, termios.TCSADRAIN)

    tty.setcbreak(terminal, termios.TCSADRAIN)  # keys that were typed ahead stay
    try:
        yield Keyboard(lambda: _read_key(terminal), cooked)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _read_key(terminal: int) -> str:
    """Return the next key; "" at the end of the input or for Ctrl-D, "?" for what is no letter."""
    from select import select

    first = os.read(terminal, 1)
    if first in (b"", b"\x04"):
        return ""
    if first == b"\x1b":
        while select([terminal], [], [], 0.05)[0]:
            os.read(terminal, 1)  # the rest of an arrow or function key
        return "?"
    return first.decode("ascii", "replace")


def agrees(question: str, default: bool = False) -> bool:
    """Ask a person a question; Enter means the default."""
    said = read_answer(question)
    return said is not None and (said.lower() in ("y", "yes") or (default and not said))


def read_answer(question: str) -> str | None:
    """Ask a person for a line; return None at the end of the input."""
    try:
        return input(question).strip()
    except EOFError:
        print()
        return None
