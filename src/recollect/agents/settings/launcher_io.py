"""A small script that agents start in place of a program in a virtual environment.

Its path stays the same when the environment is replaced, so settings and approvals stay valid. When
the program is gone, a hook ends without an error and the agent goes on without memory.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping

from ...project import make_folder, user_directory
from .entries import Command
from .plan_io import write_atomically

_FIRST_LINES = "#!/bin/sh\n# Start Recollect for coding agents. Written by `recollect init`.\n"
_PROGRAM = "program="
SEARCH = """\
[ -x "$program" ] || program=$(PATH="$PATH:$HOME/.local/bin" command -v recollect)
if [ -x "$program" ] && ! [ "$program" -ef "$0" ]; then exec "$program" "$@"; fi
if [ "$1" = hook ]; then cat > /dev/null; exit 0; fi
echo "recollect is not installed where it was. Install it, then run: recollect init" >&2
exit 127
"""
"""What the script does when the program is not at its path: look for another one, or do nothing."""


def find_launcher(environment: Mapping[str, str]) -> str:
    """Return the path of the script."""
    return os.path.join(user_directory(environment), "bin", "recollect")


def write_launcher(path: str, command: Command) -> None:
    """Write the script for a program, unless it is there already."""
    text = _render(command)
    if read_text(path) == text:
        return
    make_folder(os.path.dirname(os.path.dirname(path)))
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    write_atomically(path, text, 0o700)


def _render(command: Command) -> str:
    program, *words = command
    first = f"{_PROGRAM}{shlex.quote(program)}\n"
    # With further words the program is an interpreter, which no search would find.
    run = f'[ -x "$program" ] && exec "$program" {shlex.join(words)} "$@"\n' if words else ""
    return _FIRST_LINES + first + run + SEARCH


def read_program(path: str) -> str:
    """Return the program that the script starts, or "" if there is none."""
    lines = read_text(path).splitlines()
    found = next((line for line in lines if line.startswith(_PROGRAM)), "")
    return shlex.split(found.removeprefix(_PROGRAM))[0] if found else ""


def read_text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return ""
