"""Connect agents: plan what their settings files would be, and write exactly what was planned.

Each agent's module says where its files are and how our entries look. Here a plan is made of them
(the text before, the text after), and carried out: a backup first, then one rename. A file that
changed since it was planned is left alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...errors import Conflict, InvalidInput, Refused
from .. import registry
from ..operations_import import Imported
from ..transcripts.find_io import stays
from ..transcripts.reader_io import open_file
from .entries import Command, Place, Trust

NEXT_STEP = {
    "claude-code": "start a new session; accept the folder's trust dialog if it asks",
    "codex": "run /hooks in Codex and approve the hooks: it runs no others",
    "gemini": "start a new session and approve the hooks when it asks",
    "opencode": "start OpenCode again",
    "cursor": "start a new chat",
}
"""What the user has to do before an agent takes notice."""

_SIGNS = {
    "claude-code": (".claude", ".claude.json"),
    "codex": (".codex",),
    "gemini": (".gemini",),
    "opencode": (".config/opencode", ".local/share/opencode"),
    "cursor": (".cursor",),
}


_MOVED = {"claude-code": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME"}


class Change(NamedTuple):
    """One file of an agent: its state (missing, stale, current or error) and its text before and
    after. Without a text the file goes away, unless it `stays` as empty as it was."""

    agent: str
    path: str
    what: str
    state: str
    before: str = ""
    after: str = ""
    error: str = ""
    stays: bool = False

    @property
    def pending(self) -> bool:
        return not self.error and self.before != self.after


class Initialised(NamedTuple):
    """Where the project's memory is now, and what was or would be changed for its agents."""

    root: str
    database: str
    created: bool
    changes: tuple[Change, ...] = ()
    applied: bool = False
    checked: bool = False
    below: tuple[str, ...] = ()
    """Stores of directories that belong to this project: they are not used."""
    past: int = 0
    """Conversations of this project that agents have written down and nobody read yet."""
    imported: Imported | None = None
    removing: bool = False
    exists: bool = True
    backups: str = ""
    """Where the files lie as they were before they were changed."""
    declined: bool = False
    warning: str = ""
    """Why the program that agents are told to start may not stay where it is."""

    @property
    def ok(self) -> bool:
        """A check fails when something is not as it should be; so does a file we cannot read."""
        wrong = any(change.error for change in self.changes)
        return not wrong and not (
            self.checked and any(change.state != "current" for change in self.changes)
        )


class Where(NamedTuple):
    """The places to look in: the user's home, the project, the variables, and one scope."""

    home: str
    project: str
    environment: Mapping[str, str]
    scope: str = "user"


def detected(where: Where) -> tuple[str, ...]:
    """The agents that have left a sign of themselves in the user's home, or where it was moved."""
    return tuple(
        agent
        for agent, signs in _SIGNS.items()
        if any(os.path.exists(os.path.join(where.home, sign)) for sign in signs)
        or os.path.isdir(where.environment.get(_MOVED.get(agent, ""), ""))
    )


def plan(agents: Sequence[str], where: Where, command: Command, remove: bool) -> list[Change]:
    """What each file of these agents would become."""
    for agent in agents:
        if agent not in registry.HOOKED:
            raise InvalidInput(
                f"{agent!r} is not an agent that can be connected",
                where="agent",
                hint=f"one of: {', '.join(registry.HOOKED)}",
            )
    return [
        _change(agent, place, command, remove, where.project)
        for agent in agents
        for place in registry.setup(agent).places(where.home, where.project, where.environment)
        if place.scope == where.scope
    ]


def _change(agent: str, place: Place, command: Command, remove: bool, project: str) -> Change:
    before = ""
    try:
        if place.scope == "project" and not stays(place.path, project):
            raise Refused(
                "a link leads out of the project", hint="Remove the link; nothing was changed."
            )
        before = _text(place.path)
        state = place.setting.status(before, command)
        after = place.setting.remove(before) if remove else place.setting.install(before, command)
        blank = _blank_before(place, before)
        empty = blank is not None and remove and not after.strip()
        if empty:
            after = blank or ""
        elif blank is not None and not remove and not place.setting.remove(after).strip():
            after = f"{after.rstrip()}\n\n{blank}"
    except (InvalidInput, Refused) as error:
        return Change(agent, place.path, place.what, "error", before, before, str(error))
    return Change(agent, place.path, place.what, state, before, after, stays=empty)


def _blank_before(place: Place, text: str) -> str | None:
    """What a file held that was there before us, and blank; None if there was no such file. An
    empty line behind what we wrote says so."""
    if place.what == "plugin":
        return None  # a file of our own
    if not text.strip():
        return text if os.path.isfile(place.path) else None
    if place.setting.remove(text).strip():
        return None
    behind = text[len(text.rstrip()) :]
    return behind[2:] if behind.startswith("\n\n") else None


def _text(path: str) -> str:
    try:
        with open_file(path) as file:
            return file.read().decode()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", "") or error
        raise InvalidInput(
            f"cannot be read: {why}", where=path, hint="Nothing was changed."
        ) from error


def trust(agent: str, where: Where) -> Trust | None:
    """Whether an agent runs our hooks, as far as it notes that somewhere; None if it does not."""
    about = registry.setup(agent)
    if not hasattr(about, "trust"):
        return None
    noted = _text(about.trust_file(where.home, where.environment))
    places = about.places(where.home, where.project, where.environment)
    found = [
        about.trust(noted, place.path, _text(place.path), where.scope, where.project)
        for place in places
        if place.scope == where.scope and place.what != "mcp"
    ]
    return next((one for one in found if one.wanted), None)


def apply(changes: Sequence[Change], backups: str, stamp: str) -> None:
    """Carry out a plan. What stood in a file before is kept in a folder of its own."""
    for change in changes:
        if not change.pending:
            continue
        if _text(change.path) != change.before:
            raise Conflict(
                "the file was changed since the plan was made",
                where=change.path,
                hint="run the command again and look at the new plan",
            )
        if change.before:
            os.makedirs(backups, mode=0o700, exist_ok=True)
            name = f"{stamp}-{change.agent}-{os.path.basename(change.path)}"
            _write(os.path.join(backups, name), change.before, 0o600)
        # A link stays a link: many keep their settings elsewhere and link to them.
        target = os.path.realpath(change.path)
        if change.after or change.stays:
            os.makedirs(os.path.dirname(target), mode=0o755, exist_ok=True)
            mode = os.stat(target).st_mode & 0o777 if os.path.exists(target) else 0o600
            _write(target, change.after, mode)
        elif os.path.exists(target):
            os.unlink(target)


def drop_empty_folders(changes: Sequence[Change], root: str) -> None:
    """Take away the folders below a repository's root that hold nothing any more."""
    for change in changes:
        folder = os.path.dirname(change.path)
        while folder.startswith(root + os.sep) and _is_empty(folder):
            os.rmdir(folder)
            folder = os.path.dirname(folder)


def _is_empty(folder: str) -> bool:
    return os.path.isdir(folder) and not os.path.islink(folder) and not os.listdir(folder)


class Packaged(NamedTuple):
    """A plugin that was written: its folder and its files; `warning` as for `init`."""

    path: str
    files: tuple[str, ...]
    warning: str = ""


def package(folder: str, files: Mapping[str, str], manifest: str) -> Packaged:
    """Write a plugin's files; a folder that holds something else is left alone."""
    ours = '"name": "recollect"' in _text(os.path.join(folder, manifest))
    if os.path.isdir(folder) and os.listdir(folder) and not ours:
        raise Refused(
            "the folder holds something that is not our plugin",
            where=folder,
            hint="name a new or empty folder; nothing was changed",
        )
    for name, text in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        _write(path, text, 0o644)
    return Packaged(folder, tuple(sorted(files)))


def _write(path: str, text: str, mode: int) -> None:
    partial = f"{path}.{os.urandom(4).hex()}.partial"
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(partial, mode)
        _tidy(path, os.stat(partial).st_mtime)
        os.replace(partial, path)
    finally:
        if os.path.exists(partial):
            os.unlink(partial)


_ABANDONED = 3600.0


def _tidy(path: str, now: float) -> None:
    """Take away what a killed writer of this file left; one that is at work is younger."""
    folder, name = os.path.split(path)
    left = re.compile(re.escape(name) + r"\.[0-9a-f]{8}\.partial")
    for other in filter(left.fullmatch, os.listdir(folder)):
        old = os.path.join(folder, other)
        if os.lstat(old).st_mtime < now - _ABANDONED:
            os.unlink(old)
