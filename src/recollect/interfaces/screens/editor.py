"""`recollect edit` and `recollect config edit`: change a memory or the settings in an editor."""

from __future__ import annotations

import os
from tempfile import TemporaryDirectory

from ...errors import InvalidInput, Refused, Unavailable
from ...fast_typing import TYPE_CHECKING
from ...text import display, globs
from ..commands import Arguments
from . import terminal

if TYPE_CHECKING:
    from ...client import Recollect
    from ...types.records import Memory

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


# ---------------------------------------------------------------- a memory


def edit_memory(given: Arguments, id: str = "") -> int:
    """Edit a memory in your editor.

    Its text, and the files it applies to. The editor is VISUAL, EDITOR, or else vi. An unchanged or
    empty file changes nothing.

    id: the memory's id, or the beginning of it; without it, the last one

    Example: recollect edit m-4k9w2c
    Example: EDITOR='code --wait' recollect edit m-4k9w2c
    """
    from ..origin import open_as_caller

    if not terminal.is_attended():
        raise Refused(
            "edit needs a terminal",
            where="recollect edit",
            hint="change the text with: recollect correct ID TEXT",
        )
    with open_as_caller(given)[0] as memory:
        print(_change(memory, id))
    return 0


def _change(memory: Recollect, id: str) -> str:
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
    with TemporaryDirectory(prefix="recollect-") as folder:
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        open_editor(path)
        with open(path, encoding="utf-8") as file:
            return file.read()


# ---------------------------------------------------------------- settings


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
