"""The log of hook runs: one line each, without any text of the conversation.

It is a file, not a table, because it must record stores that cannot be opened. It is kept in the
user's directory, per project: a repository could contain a forged log, or a link in its place.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from ..errors import RecollectError
from ..fast_typing import NamedTuple
from ..project import find_project, make_folder, private_folder, user_directory
from ..text import display

MAX_BYTES = 64 * 1024
TOO_LATE = "too_late"
"""The outcome of a hook that gave up before its agent would have killed it."""

_NAME = os.path.join("log", "hook.log")


class HookRun(NamedTuple):
    """One hook run: time, agent, event, duration and outcome."""

    at: str
    host: str
    event: str
    milliseconds: int
    outcome: str


def append_run(cwd: str, environment: Mapping[str, str], run: HookRun) -> None:
    """Append a line; the log keeps between one and two times `MAX_BYTES`."""
    folder = user_directory(environment)
    try:
        project = find_project(cwd or ".")
        if os.path.isdir(project.folder):
            folder = private_folder(folder, project.root)
    except (RecollectError, OSError):
        pass  # the directory is gone or not readable
    path = os.path.join(folder, _NAME)
    make_folder(folder)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        words = (display.format_line(str(value), 60).replace(" ", "_") or "-" for value in run)
        os.write(handle, (" ".join(words) + "\n").encode())
        if os.fstat(handle).st_size > MAX_BYTES:
            os.replace(path, f"{path}.1")
    finally:
        os.close(handle)


def read_runs(folders: tuple[str, ...]) -> list[HookRun]:
    """Return the runs in the logs of these folders, oldest first."""
    found = []
    for folder in folders:
        for name in (f"{_NAME}.1", _NAME):
            try:
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    lines = file.read().splitlines()
            except OSError:
                continue
            found += [run for line in lines if (run := _parse_line(line))]
    return sorted(found)


def _parse_line(line: str) -> HookRun | None:
    words = line.split(" ")
    if len(words) != 5 or not words[3].isdigit():
        return None
    at, host, event, milliseconds, outcome = words
    return HookRun(at=at, host=host, event=event, milliseconds=int(milliseconds), outcome=outcome)
