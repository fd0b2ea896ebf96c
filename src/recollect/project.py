"""Find the project of a directory, and the places on disk of its files and the user's.

A project is a git common directory, so that all worktrees share it, however they are linked;
outside git it is the directory where `recollect init` was run, else the directory itself. A `.git`
file can point to any repository: it is followed only if that repository lists the directory. Git is
not started: it is too slow for a hook.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from .errors import ConfigError, InvalidInput, Refused
from .fast_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import TextIO

FOLDER = ".recollect"
INIT_MARK = "project"
_LONGEST_NAME = 200
_LARGEST_CONFIG = 1024 * 1024


class Project(NamedTuple):
    """A project: its root, the directory it was found from, and how it was recognised.

    `doubt` is the reason not to trust it, such as files of another user; empty for a safe project.
    """

    root: str
    start: str
    how: str
    doubt: str = ""

    @property
    def folder(self) -> str:
        return os.path.join(self.root, FOLDER)

    @property
    def database(self) -> str:
        return os.path.join(self.folder, "memory.db")


def find_project(path: str) -> Project:
    """Return the project of a directory."""
    try:
        start = os.path.realpath(path)
    except ValueError:  # a null byte, or half of a surrogate pair
        start = ""
    if not os.path.isdir(start):
        raise InvalidInput(
            "the project's path is not a directory",
            where=path,
            hint="name an existing directory with --project or RECOLLECT_PROJECT",
        )
    for directory in _upwards(start):
        git_directory = _git_directory(directory)
        if git_directory:
            return _repository(directory, git_directory, start)
    for directory in _upwards(start):
        if os.path.exists(os.path.join(directory, FOLDER, INIT_MARK)):
            return Project(directory, start, "init", _not_mine(os.path.join(directory, FOLDER)))
    return Project(start, start, "directory", _not_mine(os.path.join(start, FOLDER)))


def _git_directory(directory: str) -> str:
    """Return the target of the `.git` in a directory; empty without one."""
    entry = os.path.join(directory, ".git")
    if os.path.isdir(entry):
        # A repository has HEAD; a stray empty .git directory has not.
        return os.path.realpath(entry) if os.path.exists(os.path.join(entry, "HEAD")) else ""
    linked = _pointer(entry)
    return linked if linked and os.path.isdir(linked) else ""


def _repository(directory: str, git_directory: str, start: str) -> Project:
    common = first_line(os.path.join(git_directory, "commondir"))
    common = os.path.realpath(os.path.join(git_directory, common))
    root = _root_of(common)
    if root == git_directory:
        # A bare or separate git directory does not name its working tree.
        root = directory
    entry = os.path.join(directory, ".git")
    doubt = _not_mine(entry) or _not_mine(common) or _not_mine(os.path.join(root, FOLDER))
    if not doubt and not _lists_worktree(directory, git_directory, common, root):
        doubt = f"{entry} points to {common}, which does not list this directory as a worktree"
    return Project(root, start, "git", doubt)


def _lists_worktree(directory: str, git_directory: str, common: str, root: str) -> bool:
    """Check whether a repository lists the directory as one of its worktrees."""
    if git_directory == common:
        return root == directory
    back = first_line(os.path.join(git_directory, "gitdir"))
    return (
        os.path.dirname(git_directory) == os.path.join(common, "worktrees")
        and os.path.realpath(os.path.join(git_directory, back)) == os.path.join(directory, ".git")
        and (root == common or _git_directory(root) == common)
    )


def _not_mine(path: str) -> str:
    """Return a message if a file belongs to another user, else an empty string."""
    try:
        mine = not hasattr(os, "geteuid") or os.lstat(path).st_uid == os.geteuid()
    except OSError:
        return ""  # an unreachable file fails when it is used
    return "" if mine else f"{path} belongs to another user"


def _root_of(common: str) -> str:
    """Return the directory with the project's files: the main worktree, if there is one."""
    if os.path.basename(common) == ".git":
        return os.path.dirname(common)
    worktree = _configured_worktree(os.path.join(common, "config"))
    if worktree:
        return os.path.realpath(os.path.join(common, worktree))
    return common


def _configured_worktree(config: str) -> str:
    """Return `core.worktree`, which git writes for submodules and separate git directories."""
    if not os.path.isfile(config):  # opening a pipe would block
        return ""
    try:
        with open(config, encoding="utf-8", errors="replace") as file:
            lines = file.read(_LARGEST_CONFIG).splitlines()
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
    """Return the directory that a `.git` file points to."""
    line = first_line(file_path)
    if not line.startswith("gitdir:"):
        return ""
    return os.path.realpath(os.path.join(os.path.dirname(file_path), line[7:].strip()))


def first_line(path: str) -> str:
    """Return the first line of a small file; empty if it is missing or not a regular file."""
    if not os.path.isfile(path):
        return ""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline(4096).strip()
    except OSError:
        return ""


def _upwards(start: str) -> list[str]:
    found = [start]
    while (parent := os.path.dirname(found[-1])) != found[-1]:
        found.append(parent)
    return found


def worktree_root(start: str) -> str:
    """Return the top directory of the working tree at a path; empty outside git."""
    for directory in _upwards(os.path.realpath(start)):
        if os.path.exists(os.path.join(directory, ".git")):
            return directory
    return ""


def current_branch(start: str) -> str:
    """Return the branch checked out at a path; empty when detached or outside git."""
    for directory in _upwards(os.path.realpath(start)):
        entry = os.path.join(directory, ".git")
        git_directory = entry if os.path.isdir(entry) else _pointer(entry)
        if not git_directory:
            continue
        head = first_line(os.path.join(git_directory, "HEAD"))
        return head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else ""
    return ""


def user_directory(environment: Mapping[str, str]) -> str:
    """Return the directory of the user space: the platform's place for a person's data.

    A relative path is ignored: it would put a person's memory into the current repository.
    """
    chosen = environment.get("RECOLLECT_HOME")
    if chosen:
        if not os.path.isabs(chosen):
            raise ConfigError(f"must be an absolute path, not {chosen!r}", where="RECOLLECT_HOME")
        return os.path.normpath(chosen)
    home = _absolute(environment, "HOME") or _home_of_account()
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "recollect")
    if sys.platform == "win32":
        return os.path.join(_absolute(environment, "LOCALAPPDATA") or home, "recollect")
    data = _absolute(environment, "XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    return os.path.join(data, "recollect")


def _absolute(environment: Mapping[str, str], name: str) -> str:
    value = environment.get(name, "")
    return value if os.path.isabs(value) else ""


def _home_of_account() -> str:
    if sys.platform == "win32":
        return os.path.expanduser("~")
    import pwd

    try:
        home = pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:
        home = ""
    if not os.path.isabs(home):
        raise ConfigError(
            "there is no home directory", where="HOME", hint="set RECOLLECT_HOME to a directory"
        )
    return home


def check_folder(path: str) -> None:
    """Raise Refused if a memory's directory is a symbolic link."""
    if os.path.islink(path):
        raise Refused(
            "the memory's directory is a symbolic link, which could point anywhere",
            where=path,
            hint="remove the link; Recollect makes the directory itself",
        )


def make_folder(path: str) -> None:
    """Make a private directory with its own .gitignore."""
    check_folder(path)
    _make_directories(path)
    if os.path.basename(path) == FOLDER:
        os.chmod(path, 0o700)
    ignore = os.path.join(path, ".gitignore")
    if not os.path.exists(ignore):
        write_private(ignore, "*\n")


def _make_directories(path: str) -> None:
    """Make a directory with private parents; `os.makedirs` leaves parents readable by others."""
    if os.path.isdir(path):
        return
    _make_directories(os.path.dirname(path))
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise


class StoreRegistry:
    """The stores that this user created or adopted: one file each in the user's directory, named
    by the store's secret id and holding its path.

    A store that came with a repository is not in the registry. A store that was moved, or restored
    from a backup, is found by its id at any path.
    """

    def __init__(self, user: str, trusting: bool) -> None:
        self._user = user
        self._folder = os.path.join(user, "stores")
        self.trusting = trusting

    def make_folder(self, path: str) -> None:
        """Make the private directory of a store."""
        make_folder(path)

    def hide_from_git(self, path: str) -> None:
        """Make git ignore a directory that was made by hand for a copy of a store."""
        if not os.path.exists(os.path.join(path, ".gitignore")):
            try:
                make_folder(path)
            except OSError:
                pass  # what cannot be written can still be read

    def knows(self, id: str, path: str) -> bool:
        """Check whether a store is the user's own; every store in the user's directory is."""
        if self.trusting or os.path.dirname(path) == self._user:
            return True
        return len(id) == 32 and id.isalnum() and os.path.exists(os.path.join(self._folder, id))

    def note(self, id: str, path: str) -> None:
        """Record that the store with this id is the user's own."""
        if self.trusting:
            return
        make_folder(self._user)
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        write_private(os.path.join(self._folder, id), path + "\n")
        # Sync: after a power cut, a store that is not registered would be foreign.
        handle = os.open(self._folder, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)

    def had_one_at(self, path: str) -> bool:
        """Check whether a store of the user's own was at this path."""
        try:
            ids = os.listdir(self._folder)
        except FileNotFoundError:
            return False
        return any(first_line(os.path.join(self._folder, id)) == path for id in ids)


def private_folder(user: str, root: str) -> str:
    """Return the folder in the user's directory for the private data of one project."""
    name = root.replace("%", "%25")
    for sign in "/\\:":
        name = name.replace(sign, f"%{ord(sign):X}")
    if len(os.fsencode(name)) > _LONGEST_NAME:
        from hashlib import sha256

        name = sha256(os.fsencode(root)).hexdigest()
    return os.path.join(user, "projects", name)


def mark_project(project: Project) -> None:
    """Record that `init` was run here: directories below belong to the project."""
    make_folder(project.folder)
    write_private(
        os.path.join(project.folder, INIT_MARK), "recollect init was run in this directory\n"
    )


def write_once(path: str, text: str) -> None:
    """Write a private file unless it exists; the first writer wins."""
    partial = f"{path}.{os.urandom(4).hex()}.once"
    write_private(partial, text)
    try:
        os.link(partial, path)
    except FileExistsError:
        pass
    finally:
        os.unlink(partial)


def write_private(path: str, text: str) -> None:
    """Write a private file atomically."""
    with PrivateFile(path) as file:
        file.write(text)


class PrivateFile:
    """Writes a private file, which replaces the target when it is complete."""

    def __init__(self, path: str, errors: str = "strict") -> None:
        self._path, self._errors = path, errors
        self._partial = f"{path}.{os.urandom(4).hex()}.partial"

    def __enter__(self) -> TextIO:
        try:
            handle = os.open(self._partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            error.filename = self._path  # the temporary name means nothing to the user
            raise
        self._file = os.fdopen(handle, "w", encoding="utf-8", errors=self._errors, newline="\n")
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
