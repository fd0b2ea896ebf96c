"""Stores of subdirectories, which are not used since these belong to a project."""

from __future__ import annotations

import os

from .project import FOLDER, INIT_MARK, Project

_MOST_DIRECTORIES = 5_000


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
