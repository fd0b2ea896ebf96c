"""The state of the working tree as git itself tells it: branch, last commits, short status.

Only asked for when a window is trimmed; outside git, without git, or when git takes too long,
there is nothing to tell. It does not know who wants to know.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from ..project import branch_of

COMMITS, STATUS_LINES = 5, 20
PATIENCE = 5.0
"""Seconds. A slow disk must not hold up a prompt."""

_CALM = (
    "--no-optional-locks",
    "--no-pager",
    *("-c", "color.ui=false"),
    *("-c", "log.showSignature=false"),
    # Configuration that comes with a repository could name a program to run.
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=" + os.devnull),
)


class GitState(NamedTuple):
    """What git says; commits newest first."""

    branch: str = ""
    commits: tuple[str, ...] = ()
    status: tuple[str, ...] = ()


def read(path: str) -> GitState:
    """The state of the working tree at a path."""
    commits = _lines(path, "log", f"-{COMMITS}", "--format=%h %s")
    status = _lines(path, "status", "--short", "--untracked-files=normal")
    return GitState(branch_of(path), tuple(commits), tuple(status[:STATUS_LINES]))


def _lines(path: str, *words: str) -> list[str]:
    import subprocess

    try:
        done = subprocess.run(
            ["git", "-C", path, *_CALM, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return done.stdout.decode("utf-8", "replace").splitlines()
