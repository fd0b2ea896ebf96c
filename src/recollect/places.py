"""Where things are: which project a directory belongs to, and where its files and the user's lie.

A project is its repository's git common directory, so that all worktrees share it, however
they are linked; outside git it is the directory where `recollect init` was run, else the
directory itself. Git is not started: a hook has no time for it.
"""

import os
import sys
from collections.abc import Mapping
from typing import NamedTuple, TextIO

from .errors import InvalidInput, Refused

FOLDER = ".recollect"
_INIT_MARK = "project"


class Project(NamedTuple):
    """A project: its root, the directory it was reached from, and how it was recognised."""

    root: str
    start: str
    how: str

    @property
    def folder(self) -> str:
        return os.path.join(self.root, FOLDER)

    @property
    def database(self) -> str:
        return os.path.join(self.folder, "memory.db")


def find_project(path: str) -> Project:
    """The project that a directory belongs to."""
    start = os.path.realpath(path)
    if not os.path.isdir(start):
        raise InvalidInput(
            "the project's path is not a directory",
            where=path,
            hint="name an existing directory with --project or RECOLLECT_PROJECT",
        )
    common = git_common_directory(start)
    if common:
        return Project(_root_of(common), start, "git")
    for directory in _upwards(start):
        if os.path.exists(os.path.join(directory, FOLDER, _INIT_MARK)):
            return Project(directory, start, "init")
    return Project(start, start, "directory")


def git_common_directory(start: str) -> str:
    """The common git directory above a path; empty outside git."""
    for directory in _upwards(start):
        entry = os.path.join(directory, ".git")
        if os.path.isdir(entry):
            # A repository has HEAD; a stray empty .git directory is none.
            if os.path.exists(os.path.join(entry, "HEAD")):
                return os.path.realpath(entry)
        elif os.path.isfile(entry):
            linked = _pointer(entry)
            if linked and os.path.isdir(linked):
                return _common_of(linked)
    return ""


def _common_of(git_directory: str) -> str:
    """A linked worktree's git directory names the common one in `commondir`."""
    try:
        with open(os.path.join(git_directory, "commondir"), encoding="utf-8") as file:
            return os.path.realpath(os.path.join(git_directory, file.read().strip()))
    except OSError:
        return os.path.realpath(git_directory)


def _root_of(common: str) -> str:
    """The directory that holds the project's files: the main worktree where there is one."""
    if os.path.basename(common) == ".git":
        return os.path.dirname(common)
    worktree = _configured_worktree(os.path.join(common, "config"))
    if worktree:
        return os.path.realpath(os.path.join(common, worktree))
    return common


def _configured_worktree(config: str) -> str:
    """`core.worktree`, which git writes for submodules and separate git directories."""
    try:
        with open(config, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except OSError:
        return ""
    section = ""
    for line in (line.strip() for line in lines):
        if line.startswith("["):
            section = line
        elif section == "[core]" and line.replace(" ", "").startswith("worktree="):
            return line.split("=", 1)[1].strip().strip('"')
    return ""


def _pointer(file_path: str) -> str:
    """The directory that a `.git` file points to."""
    try:
        with open(file_path, encoding="utf-8", errors="replace") as file:
            line = file.readline().strip()
    except OSError:
        return ""
    if not line.startswith("gitdir:"):
        return ""
    return os.path.realpath(os.path.join(os.path.dirname(file_path), line[7:].strip()))


def _upwards(start: str) -> list[str]:
    found = [start]
    while (parent := os.path.dirname(found[-1])) != found[-1]:
        found.append(parent)
    return found


def top_of(start: str) -> str:
    """The top directory of the working tree at a path; empty outside git."""
    for directory in _upwards(os.path.realpath(start)):
        if os.path.exists(os.path.join(directory, ".git")):
            return directory
    return ""


def branch_of(start: str) -> str:
    """The branch that is checked out at a path; empty when detached or outside git."""
    for directory in _upwards(os.path.realpath(start)):
        entry = os.path.join(directory, ".git")
        git_directory = entry if os.path.isdir(entry) else _pointer(entry)
        if not git_directory:
            continue
        try:
            with open(os.path.join(git_directory, "HEAD"), encoding="utf-8") as file:
                head = file.read().strip()
        except OSError:
            return ""
        return head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else ""
    return ""


def user_directory(environment: Mapping[str, str]) -> str:
    """The user space's directory: the platform's place for a person's data."""
    if environment.get("RECOLLECT_HOME"):
        return os.path.abspath(environment["RECOLLECT_HOME"])
    home = environment.get("HOME") or os.path.expanduser("~")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "recollect")
    if sys.platform == "win32":
        return os.path.join(environment.get("LOCALAPPDATA") or home, "recollect")
    data = environment.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    return os.path.join(data, "recollect")


def make_folder(path: str) -> None:
    """A private directory that git ignores by itself."""
    if os.path.islink(path):
        raise Refused(
            "the memory's directory is a symbolic link: it could lead anywhere",
            where=path,
            hint="remove the link; Recollect makes the directory itself",
        )
    os.makedirs(path, mode=0o700, exist_ok=True)
    ignore = os.path.join(path, ".gitignore")
    if not os.path.exists(ignore):
        write_private(ignore, "*\n")


def mark_project(project: Project) -> None:
    """Remember that `init` was run here, so that directories below belong to it."""
    make_folder(project.folder)
    write_private(
        os.path.join(project.folder, _INIT_MARK), "recollect init was run in this directory\n"
    )


def write_once(path: str, text: str) -> None:
    """Write a private file unless somebody else did; whoever comes first wins."""
    partial = f"{path}.{os.urandom(4).hex()}.once"
    write_private(partial, text)
    try:
        os.link(partial, path)
    except FileExistsError:
        pass
    finally:
        os.unlink(partial)


def write_private(path: str, text: str) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    with private_file(path) as file:
        file.write(text)


class private_file:  # noqa: N801
    """A new file that only its owner can read; it takes its place when it is whole."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._partial = f"{path}.{os.urandom(4).hex()}.partial"

    def __enter__(self) -> TextIO:
        handle = os.open(self._partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self._file = os.fdopen(handle, "w", encoding="utf-8", newline="\n")
        return self._file

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        with self._file as file:
            if kind is None:
                file.flush()
                os.fsync(file.fileno())
        if kind is None:
            os.replace(self._partial, self._path)
        else:
            os.unlink(self._partial)
