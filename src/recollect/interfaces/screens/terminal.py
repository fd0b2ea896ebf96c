"""Read keys, lines and standard input; show progress; run the pager, and the editor of
`recollect edit` and `recollect config edit`."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from ...errors import InvalidInput, Refused, Unavailable
from ...fast_typing import TYPE_CHECKING
from ...text import display, globs
from . import style

if TYPE_CHECKING:
    from ...archive.steps_files import FileProgress
    from ...client import Recollect
    from ...context import Progress
    from ...types.records import Memory
    from ..commands import Arguments


def is_attended() -> bool:
    """Check whether standard input and output are a terminal."""
    return all(stream and stream.isatty() for stream in (sys.stdin, sys.stdout))


_CONTROL = "[\x00-\x06\x0e-\x1a\x1c-\x1f\ufffd]"
_MOST_CONTROL = 0.3


def read_stdin(name: str) -> str:
    """Read a text from standard input; refuse binary data."""
    if not sys.stdin:
        raise InvalidInput("standard input is closed", where=name)
    text = sys.stdin.read()
    if "\0" in text or len(re.findall(_CONTROL, text)) > _MOST_CONTROL * len(text):
        raise InvalidInput(
            "standard input is not text", where=name, hint="pass UTF-8 text; nothing was saved"
        )
    return text


class Keyboard:
    """Reads single keys, and lines with a text to start from."""

    def __init__(
        self, read: Callable[[], str], cooked: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self.read_key = read
        self._cooked = cooked

    def read_line(self, question: str, start: str = "") -> str:
        """Return a line that the person typed or edited; empty after Ctrl-C or Ctrl-D."""
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
    """Read keys without Enter inside this context; restore the terminal afterwards."""
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
    """Return the next key; "" at the end of the input or for Ctrl-D, "?" for a special key."""
    from select import select

    # A signal just before a read does not end it: Ctrl-C would be seen with the next key.
    while not select([terminal], [], [], 0.5)[0]:
        pass
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
    answer = read_answer(question)
    return answer is not None and (answer.lower() in ("y", "yes") or (default and not answer))


def read_answer(question: str) -> str | None:
    """Ask a person for a line; return None at the end of the input."""
    try:
        return input(question).strip()
    except EOFError:
        print()
        return None


# ---------------------------------------------------------------- progress

_STDERR = 2
_BAR = 20
_SHORTEST_ESTIMATE = 2.0
"""Seconds before an estimate is worth showing."""

_WORK = {
    "words": "indexing words",
    "meaning": "making vectors",
    "lessons": "learning from imported conversations",
    "questions": "asking questions",
}
"""How tasks are shown on the screen; other names are files that are read."""

KEPT = {
    "import": "What was read is kept; the same command reads the rest.",
    "init": "The memory is kept; `recollect init` continues.",
    "rebuild": "What was indexed is kept; `recollect rebuild` finishes it.",
    "episode build": "The episodes so far are kept; `recollect episode build` makes the rest.",
    "session import": "The messages so far are kept; the same command reads the rest.",
    "consolidate": "Nothing was changed.",
    "eval": "Nothing was changed.",
    "backup": "No copy was written.",
    "demo": "Its temporary project is deleted.",
}
"""The state after Ctrl-C, by command."""


class ProgressLine:
    """Prints progress on one line, overwriting the last one."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._shown = False

    def show(self, progress: Progress | FileProgress) -> None:
        """Show the progress of the work."""
        number, of = getattr(progress, "number", 1), getattr(progress, "of", 1)
        part = min(progress.done / max(progress.total, 1), 1.0)
        whole = (number - 1 + part) / max(of, 1)
        line = render_progress(progress, whole, time.monotonic() - self._began)
        self._shown = whole < 1
        end = "\r\033[K" if whole >= 1 else ""
        print(f"\r\033[K{line}", end=end, file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Clear the line, so that the next output starts on an empty one."""
        if self._shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
            self._shown = False


def render_progress(progress: Progress | FileProgress, whole: float, seconds: float) -> str:
    """Return a bar, the percentage, the remaining time, counts and the current item."""
    number, of = getattr(progress, "number", 1), getattr(progress, "of", 1)
    filled = round(whole * _BAR)
    parts = [f"{'█' * filled}{'░' * (_BAR - filled)} {whole:4.0%}"]
    if seconds >= _SHORTEST_ESTIMATE and 0 < whole < 1:
        parts.append(f"{_format_seconds(seconds * (1 - whole) / whole)} left")
    if of > 1:
        parts.append(f"{number} of {of}")
    if progress.messages:
        parts.append(f"{progress.messages} new")
    start = "  ".join(parts)
    room = max(style.terminal_size(_STDERR)[0] - len(start) - 3, 10)
    path = display.format_line(_WORK.get(progress.path, progress.path))
    # The end of a path is the informative part.
    shown = path if len(path) <= room else "…" + path[1 - room :]
    return f"{start}  {shown}"


def _format_seconds(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


# ---------------------------------------------------------------- pager


def run_pager(text: str) -> bool:
    """Show a text in RECOLLECT_PAGER, PAGER or less; return False without one."""
    from shlex import split
    from shutil import which

    chosen = os.environ.get("RECOLLECT_PAGER", os.environ.get("PAGER", "less"))
    words = split(chosen)
    if not words or words[0] == "cat" or not which(words[0]) or os.environ.get("TERM") == "dumb":
        return False
    from subprocess import PIPE, Popen

    # As git does: quit if it fits, pass colours, leave the text on the screen.
    environment = {"LESS": "FRX", "LV": "-c", **os.environ}
    sys.stdout.flush()
    with Popen(words, stdin=PIPE, env=environment) as pager:
        assert pager.stdin is not None
        try:
            pager.stdin.write(f"{text}\n".encode(errors="replace"))
            pager.stdin.close()
        except BrokenPipeError:
            pass  # the reader quit before the end
        while True:
            try:
                pager.wait()
                break
            except KeyboardInterrupt:
                continue  # Ctrl-C belongs to the pager
    return True


# ---------------------------------------------------------------- editor

_SCOPE = "files:"
_NOTE = "# Text of {id} ({kind}). Lines that begin with # are left out."
_SCOPE_NOTE = "# Path globs, separated by spaces; empty means all files."


def open_editor(path: str) -> None:
    """Open a file in the person's editor, and wait until it is closed."""
    import subprocess
    from shlex import split
    from shutil import which

    chosen = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    program = split(chosen)
    if not which(program[0]):
        raise Unavailable(
            f"the editor {program[0]!r} was not found",
            where="EDITOR",
            hint="set EDITOR to an editor, such as: export EDITOR=nano",
        )
    status = subprocess.call([*program, path])
    if status:
        raise InvalidInput(
            f"the editor ended with status {status}", where=chosen, hint="nothing was changed"
        )


def edit_memory(given: Arguments, id: str = "") -> int:
    """Edit a memory in your editor.

    Its text, and the files it applies to. The editor is VISUAL, EDITOR, or else vi. An unchanged or
    empty file changes nothing.

    id: the memory's id, or the beginning of it; without it, the last one

    Example: recollect edit m-4k9w2c
    Example: EDITOR='code --wait' recollect edit m-4k9w2c
    """
    from ..origin import open_as_caller

    if not is_attended():
        raise Refused(
            "edit needs a terminal",
            where="recollect edit",
            hint="change the text with: recollect correct ID TEXT",
        )
    with open_as_caller(given)[0] as memory:
        print(_edit(memory, id))
    return 0


def _edit(memory: Recollect, id: str) -> str:
    if not id:
        newest = memory.list(limit=1)
        if not newest:
            return "there is no memory to edit yet"
        id = newest[0].id
    old = memory.memories.history(id)[-1]
    text, scope = parse_edited(_edit_text(render_editable(old), f"{old.id}.md"))
    done = []
    if not text:
        return "the text is empty: nothing was changed"
    if text != old.text.strip():
        memory.memories.correct(old.id, text)
        done.append("text")
    if not globs.same_scopes(old.scope, scope):
        memory.memories.scope(old.id, scope)
        done.append("files")
    if not done:
        return "nothing was changed"
    return f"changed the {' and '.join(done)} of {old.id}. Undo: recollect undo"


def render_editable(memory: Memory) -> str:
    """Return the file that a person edits."""
    head = _NOTE.format(id=memory.id, kind=memory.kind)
    scope = " ".join(memory.scope)
    return f"{head}\n{memory.text}\n\n{_SCOPE_NOTE}\n{_SCOPE} {scope}\n"


def parse_edited(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the text and the path globs of an edited file."""
    lines = [line for line in text.splitlines() if not line.startswith("# ")]
    scopes = [line.removeprefix(_SCOPE).split() for line in lines if line.startswith(_SCOPE)]
    kept = "\n".join(line for line in lines if not line.startswith(_SCOPE))
    return kept.strip(), tuple(scopes[-1]) if scopes else ()


def _edit_text(text: str, name: str) -> str:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="recollect-") as folder:
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        open_editor(path)
        with open(path, encoding="utf-8") as file:
            return file.read()


def edit_settings(given: Arguments, scope: str = "user") -> int:
    """Edit your settings in your editor.

    They are checked when you leave the editor.

    scope: user (your own) or project (recollect.toml in the repository)

    Example: recollect config edit
    Example: recollect config edit --scope project
    """
    from ... import config
    from ...project import find_project, make_folder, user_directory, write_private

    if scope not in ("user", "project"):
        raise InvalidInput.choice("scope", scope, ("user", "project"))
    # A file with a mistake must open too: settings are not loaded before.
    user = user_directory(os.environ)
    root = find_project(given.project or os.environ.get("RECOLLECT_PROJECT") or ".").root
    path = os.path.join(root, config.PROJECT_FILE)
    if scope == "user":
        path = os.path.join(user, config.USER_FILE)
        if not os.path.exists(path):
            make_folder(user)
            write_private(path, "# Settings of Recollect: `recollect config list` names them.\n")
    open_editor(path)
    config.load_settings(root, user, os.environ)
    print(f"checked {display.format_line(path)}")
    return 0
