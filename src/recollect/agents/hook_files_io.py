"""Files that hooks write and read: the log of hook runs, notices, and the marks that pause hooks.

The log has one line a run, without any text of the conversation. Notices of runs without a terminal
are shown when a person is there. A pause is a file for one project, or for all; a hook checks
whether two files exist and reads none.

The log is a file, not a table, because it must record stores that cannot be opened. All are kept in
the user's directory, per project: a repository could contain a forged file, or a link in its place.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from ..errors import RecollectError
from ..fast_typing import NamedTuple
from ..project import find_project, make_folder, private_folder, user_directory, write_private
from ..text import display

MAX_BYTES = 64 * 1024

TOO_LATE = "too_late"
"""The outcome of a hook that gave up before its agent would have killed it."""

_NAME = os.path.join("log", "hook.log")


_NOTICES = "notices.txt"

_MOST_NOTICES = 16 * 1024


class HookRun(NamedTuple):
    """One hook run: time, agent, event, duration and outcome."""

    at: str
    host: str
    event: str
    milliseconds: int
    outcome: str


def append_run(cwd: str, environment: Mapping[str, str], run: HookRun) -> None:
    """Append a line; the log keeps between one and two times `MAX_BYTES`."""
    folder = _find_folder(cwd, environment)
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


def _find_folder(cwd: str, environment: Mapping[str, str]) -> str:
    """Return the user's folder for a project, or the user's directory without a project."""
    folder = user_directory(environment)
    try:
        project = find_project(cwd or ".")
        if os.path.isdir(project.folder):
            folder = private_folder(folder, project.root)
    except (RecollectError, OSError):
        pass  # the directory is gone or not readable
    return folder


def keep_notice(cwd: str, environment: Mapping[str, str], notice: str) -> None:
    """Keep a notice that no person saw; the oldest ones are dropped when there are many."""
    folder = _find_folder(cwd, environment)
    make_folder(folder)
    path = os.path.join(folder, _NOTICES)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        if os.fstat(handle).st_size > _MOST_NOTICES:
            os.ftruncate(handle, 0)
        os.write(handle, f"{notice}\n".encode())
    finally:
        os.close(handle)


def find_notices(cwd: str, environment: Mapping[str, str]) -> str:
    """Return the path of the kept notices, or "" if there are none. Asked at every start."""
    path = os.path.join(_find_folder(cwd, environment), _NOTICES)
    return path if os.path.exists(path) else ""


def read_notices(path: str, take: bool = False) -> list[str]:
    """Return the kept notices, and remove them when they are taken: two readers share none."""
    held = f"{path}.{os.getpid()}"
    try:
        if take:
            os.replace(path, held)
        with open(held if take else path, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
        if take:
            os.unlink(held)
    except FileNotFoundError:
        return []
    return list(dict.fromkeys(filter(None, lines)))


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


_PAUSE = "paused"


def find_pause(environment: Mapping[str, str], root: str) -> str:
    """Return the scope of the pause: `all`, `project`, or "" while the hooks work."""
    user = user_directory(environment)
    if os.path.exists(os.path.join(user, _PAUSE)):
        return "all"
    return "project" if os.path.exists(os.path.join(private_folder(user, root), _PAUSE)) else ""


def set_pause(environment: Mapping[str, str], root: str, since: str) -> None:
    """Pause the hooks of a project; of all projects without a root."""
    user = user_directory(environment)
    folder = private_folder(user, root) if root else user
    make_folder(folder)
    write_private(os.path.join(folder, _PAUSE), f"{since}\n")


def end_pause(environment: Mapping[str, str], root: str) -> bool:
    """Remove the mark of a project, or of all; return whether there was one."""
    user = user_directory(environment)
    try:
        os.unlink(os.path.join(private_folder(user, root) if root else user, _PAUSE))
    except FileNotFoundError:
        return False
    return True
