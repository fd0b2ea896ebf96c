"""`recollect edit` and `recollect config edit`: change a memory or the settings in an editor."""

from __future__ import annotations

import os
from tempfile import TemporaryDirectory

from ...errors import InvalidInput, Refused, Unavailable
from ...fast_typing import TYPE_CHECKING
from ...text import display, globs
from . import terminal

if TYPE_CHECKING:
    from ...client import Recollect
    from ...types.records import Memory

USAGE = """usage: recollect edit ID [options]

Edit a memory in your editor: its text, and the files it applies to.
The editor is VISUAL, EDITOR, or else vi. An unchanged or empty file changes nothing.

  ID                       the memory's id, or the beginning of it; without it, the last one

options:
  -C, --project DIR        a directory of the project, if not the current one
  -h, --help               show this help

examples:
  recollect edit m-4k9w2c
  EDITOR='code --wait' recollect edit m-4k9w2c"""

CONFIG_USAGE = """usage: recollect config edit [--scope project]

Edit your settings in your editor; with --scope project, the recollect.toml of the repository.
They are checked when you leave the editor.

examples:
  recollect config edit"""

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


def edit_memory(words: list[str]) -> int:
    """Run `edit`; return the exit status."""
    project, rest = _take_project(words)
    if set(rest) & {"-h", "--help"}:
        print(USAGE)
        return 0
    if len(rest) > 1 or any(word.startswith("-") for word in rest):
        raise InvalidInput(
            f"unexpected argument {rest[-1]!r}", where="recollect edit", hint="see: edit --help"
        )
    from ...client import Recollect
    from ...opening import open_context
    from ..origin import identify_caller

    by = identify_caller(os.environ)
    if not terminal.is_attended():
        raise Refused(
            "edit needs a terminal",
            where="recollect edit",
            hint="change the text with: recollect correct ID TEXT",
        )
    context = open_context(project, dict(os.environ), False, by.origin)
    with Recollect(context) as memory:
        print(_change(memory, rest[0] if rest else ""))
    return 0


def _take_project(words: list[str]) -> tuple[str | None, list[str]]:
    for place, word in enumerate(words[:-1]):
        if word in ("-C", "--project"):
            return words[place + 1], [*words[:place], *words[place + 2 :]]
    return None, words


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


def edit_settings(words: list[str]) -> int:
    """Run `config edit`; return the exit status."""
    if set(words) & {"-h", "--help"}:
        print(CONFIG_USAGE)
        return 0
    if words not in ([], ["--scope", "project"], ["--scope", "user"]):
        raise InvalidInput(
            f"unexpected argument {words[-1]!r}",
            where="recollect config edit",
            hint="see: recollect config edit --help",
        )
    from ... import config
    from ...project import find_project, make_folder, user_directory, write_private

    # A file with a mistake must open too: settings are not loaded before.
    user = user_directory(os.environ)
    root = find_project(os.environ.get("RECOLLECT_PROJECT") or ".").root
    path = os.path.join(user, config.USER_FILE)
    if words[1:] == ["project"]:
        path = os.path.join(root, config.PROJECT_FILE)
    if not os.path.exists(path) and words[1:] != ["project"]:
        make_folder(user)
        write_private(path, "# Settings of Recollect: `recollect config list` names them.\n")
    open_editor(path)
    config.load_settings(root, user, os.environ)
    print(f"checked {display.format_line(path)}")
    return 0
