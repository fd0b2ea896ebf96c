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
from ...types import agents as types_agents
from .. import registry
from ..transcripts.find_io import is_inside
from ..transcripts.reader_io import open_regular_file
from .entries import Command, HookApproval, SettingsFile

NEXT_STEPS = {
    "claude-code": "start a new session; accept the folder's trust dialog if it asks",
    "codex": "run /hooks in Codex and approve the hooks: it runs no others",
    "gemini": "start a new session and approve the hooks when it asks",
    "opencode": "start OpenCode again",
    "cursor": "start a new chat",
}
"""What the user has to do before an agent takes notice."""

_HOME_FILES = {
    "claude-code": (".claude", ".claude.json"),
    "codex": (".codex",),
    "gemini": (".gemini",),
    "opencode": (".config/opencode", ".local/share/opencode"),
    "cursor": (".cursor",),
}


_HOME_VARIABLES = {"claude-code": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME"}


class SettingsPlaces(NamedTuple):
    """The places to look in: the user's home, the project, the variables, and one scope."""

    home: str
    project: str
    environment: Mapping[str, str]
    scope: str = "user"


def detect_agents(where: SettingsPlaces) -> tuple[str, ...]:
    """The agents that have left a sign of themselves in the user's home, or where it was moved."""
    return tuple(
        agent
        for agent, signs in _HOME_FILES.items()
        if any(os.path.exists(os.path.join(where.home, sign)) for sign in signs)
        or os.path.isdir(where.environment.get(_HOME_VARIABLES.get(agent, ""), ""))
    )


def plan_changes(
    agents: Sequence[str], where: SettingsPlaces, command: Command, remove: bool
) -> list[types_agents.SettingsChange]:
    """What each file of these agents would become."""
    for agent in agents:
        if agent not in registry.AGENTS_WITH_HOOKS:
            raise InvalidInput(
                f"{agent!r} is not an agent that can be connected",
                where="agent",
                hint=f"one of: {', '.join(registry.AGENTS_WITH_HOOKS)}",
            )
    return [
        _plan_file(agent, place, command, remove, where.project)
        for agent in agents
        for place in registry.load_settings(agent).places(
            where.home, where.project, where.environment
        )
        if place.scope == where.scope
    ]


def _plan_file(
    agent: str, place: SettingsFile, command: Command, remove: bool, project: str
) -> types_agents.SettingsChange:
    before = ""
    try:
        if place.scope == "project" and not is_inside(place.path, project):
            raise Refused(
                "a link leads out of the project", hint="Remove the link; nothing was changed."
            )
        before = _read_text(place.path)
        state = place.setting.status(before, command)
        after = place.setting.remove(before) if remove else place.setting.install(before, command)
        blank = _find_blank_original(place, before)
        empty = blank is not None and remove and not after.strip()
        if empty:
            after = blank or ""
        elif blank is not None and not remove and not place.setting.remove(after).strip():
            after = f"{after.rstrip()}\n\n{blank}"
    except (InvalidInput, Refused) as error:
        return types_agents.SettingsChange(
            agent, place.path, place.what, "error", before, before, str(error)
        )
    return types_agents.SettingsChange(
        agent, place.path, place.what, state, before, after, stays=empty
    )


def _find_blank_original(place: SettingsFile, text: str) -> str | None:
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


def _read_text(path: str) -> str:
    try:
        with open_regular_file(path) as file:
            return file.read().decode()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", "") or error
        raise InvalidInput(
            f"cannot be read: {why}", where=path, hint="Nothing was changed."
        ) from error


def load_approval(agent: str, where: SettingsPlaces) -> HookApproval | None:
    """Whether an agent runs our hooks, as far as it notes that somewhere; None if it does not."""
    about = registry.load_settings(agent)
    if not hasattr(about, "trust"):
        return None
    noted = _read_text(about.trust_file(where.home, where.environment))
    places = about.places(where.home, where.project, where.environment)
    found = [
        about.trust(noted, place.path, _read_text(place.path), where.scope, where.project)
        for place in places
        if place.scope == where.scope and place.what != "mcp"
    ]
    return next((one for one in found if one.wanted), None)


def apply_changes(changes: Sequence[types_agents.SettingsChange], backups: str, stamp: str) -> None:
    """Carry out a plan. What stood in a file before is kept in a folder of its own."""
    for change in changes:
        if not change.pending:
            continue
        if _read_text(change.path) != change.before:
            raise Conflict(
                "the file was changed since the plan was made",
                where=change.path,
                hint="run the command again and look at the new plan",
            )
        if change.before:
            os.makedirs(backups, mode=0o700, exist_ok=True)
            name = f"{stamp}-{change.agent}-{os.path.basename(change.path)}"
            _write_atomically(os.path.join(backups, name), change.before, 0o600)
        # A link stays a link: many keep their settings elsewhere and link to them.
        target = os.path.realpath(change.path)
        if change.after or change.stays:
            os.makedirs(os.path.dirname(target), mode=0o755, exist_ok=True)
            mode = os.stat(target).st_mode & 0o777 if os.path.exists(target) else 0o600
            _write_atomically(target, change.after, mode)
        elif os.path.exists(target):
            os.unlink(target)


def drop_empty_folders(changes: Sequence[types_agents.SettingsChange], root: str) -> None:
    """Take away the folders below a repository's root that hold nothing any more."""
    for change in changes:
        folder = os.path.dirname(change.path)
        while folder.startswith(root + os.sep) and _is_empty(folder):
            os.rmdir(folder)
            folder = os.path.dirname(folder)


def _is_empty(folder: str) -> bool:
    return os.path.isdir(folder) and not os.path.islink(folder) and not os.listdir(folder)


def write_plugin_files(
    folder: str, files: Mapping[str, str], manifest: str
) -> types_agents.WrittenPlugin:
    """Write a plugin's files; a folder that holds something else is left alone."""
    ours = '"name": "recollect"' in _read_text(os.path.join(folder, manifest))
    if os.path.isdir(folder) and os.listdir(folder) and not ours:
        raise Refused(
            "the folder holds something that is not our plugin",
            where=folder,
            hint="name a new or empty folder; nothing was changed",
        )
    for name, text in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        _write_atomically(path, text, 0o644)
    return types_agents.WrittenPlugin(folder, tuple(sorted(files)))


def _write_atomically(path: str, text: str, mode: int) -> None:
    partial = f"{path}.{os.urandom(4).hex()}.partial"
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(partial, mode)
        _remove_abandoned(path, os.stat(partial).st_mtime)
        os.replace(partial, path)
    finally:
        if os.path.exists(partial):
            os.unlink(partial)


_ABANDONED = 3600.0


def _remove_abandoned(path: str, now: float) -> None:
    """Take away what a killed writer of this file left; one that is at work is younger."""
    folder, name = os.path.split(path)
    left = re.compile(re.escape(name) + r"\.[0-9a-f]{8}\.partial")
    for other in filter(left.fullmatch, os.listdir(folder)):
        old = os.path.join(folder, other)
        if os.lstat(old).st_mtime < now - _ABANDONED:
            os.unlink(old)
