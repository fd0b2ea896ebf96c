"""The marks that pause the hooks: a file for one project, or for all, in the user's directory.

They are not in the project: a repository could bring one along. A hook looks for two files and
reads none.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from ..project import make_folder, private_folder, user_directory, write_private

_NAME = "paused"


def find_pause(environment: Mapping[str, str], root: str) -> str:
    """Return what is paused: `all`, `project`, or "" while the hooks work."""
    user = user_directory(environment)
    if os.path.exists(os.path.join(user, _NAME)):
        return "all"
    return "project" if os.path.exists(os.path.join(private_folder(user, root), _NAME)) else ""


def set_pause(environment: Mapping[str, str], root: str, since: str) -> None:
    """Pause the hooks of a project; of all projects without a root."""
    user = user_directory(environment)
    folder = private_folder(user, root) if root else user
    make_folder(folder)
    write_private(os.path.join(folder, _NAME), f"{since}\n")


def end_pause(environment: Mapping[str, str], root: str) -> bool:
    """Remove the mark of a project, or of all; return whether there was one."""
    user = user_directory(environment)
    try:
        os.unlink(os.path.join(private_folder(user, root) if root else user, _NAME))
    except FileNotFoundError:
        return False
    return True
