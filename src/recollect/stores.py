"""The stores of this user: which ones are their own, and which are hidden below a project."""

from __future__ import annotations

import os

from .project import FOLDER, INIT_MARK, Project, first_line, make_folder, write_private

_MOST_DIRECTORIES = 5_000


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


def find_below(project: Project) -> tuple[str, ...]:
    """Return the stores of subdirectories that are unused since these belong to the project."""
    found: list[str] = []
    if project.how == "directory":
        return ()
    for number, (directory, names, _) in enumerate(os.walk(project.root)):
        if number >= _MOST_DIRECTORIES:
            break
        inner = directory != project.root
        own = os.path.exists(os.path.join(directory, FOLDER, INIT_MARK)) and project.how != "git"
        if inner and (own or os.path.exists(os.path.join(directory, ".git"))):
            names.clear()
        elif inner and os.path.exists(os.path.join(directory, FOLDER, "memory.db")):
            found.append(os.path.join(directory, FOLDER, "memory.db"))
        names[:] = sorted(name for name in names if name not in (".git", FOLDER, "node_modules"))
    return tuple(found)
