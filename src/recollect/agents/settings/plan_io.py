"""Plan changes of agents' settings files, and write exactly what was planned.

Each agent's `hooks` module lists its files and the format of our entries. A plan holds the text
before and after; applying it writes a backup first and replaces the file by one rename. A file that
changed since it was planned is not touched.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...errors import Conflict, InvalidInput, Refused
from ...types.reports import SettingsChange, WrittenPlugin
from .. import packages, registry
from ..transcripts.find_io import is_inside
from ..transcripts.reader_io import open_regular_file
from .entries import Command, HookApproval, SettingsFile

NEXT_STEPS = {
    "claude-code": "start a new session; accept the folder's trust dialog if it asks",
    "codex": "run /hooks in Codex and approve the hooks",
    "gemini": "start a new session; approve the hooks if it asks",
    "opencode": "restart OpenCode",
    "copilot": "start a new session",
    "cursor": "start a new chat",
}
"""The user's next step, after which a change takes effect."""

_HOME_FILES = {
    "claude-code": (".claude", ".claude.json"),
    "codex": (".codex",),
    "gemini": (".gemini",),
    "opencode": (".config/opencode", ".local/share/opencode"),
    "copilot": (".copilot",),
    "cursor": (".cursor",),
}
PROGRAMS = {
    "claude-code": "claude",
    "codex": "codex",
    "gemini": "gemini",
    "opencode": "opencode",
    "copilot": "copilot",
    "cursor": "cursor-agent",
}
"""The program of each agent."""

_HOME_VARIABLES = {
    "claude-code": "CLAUDE_CONFIG_DIR",
    "codex": "CODEX_HOME",
    "copilot": "COPILOT_HOME",
}
_ABANDONED_AFTER = 3600.0


class SettingsPlaces(NamedTuple):
    """Where to look for settings files: home, project, environment and one scope."""

    home: str
    project: str
    environment: Mapping[str, str]
    scope: str = "user"


def detect_agents(where: SettingsPlaces) -> tuple[str, ...]:
    """Return the agents that have files in the user's home, or in the folder that replaces it."""
    return tuple(
        agent
        for agent, signs in _HOME_FILES.items()
        if any(os.path.exists(os.path.join(where.home, sign)) for sign in signs)
        or os.path.isdir(where.environment.get(_HOME_VARIABLES.get(agent, ""), ""))
    )


def find_unstarted_agents(where: SettingsPlaces) -> tuple[str, ...]:
    """Return the agents that are on PATH and were never started: the home has no files of them."""
    from shutil import which

    known, path = detect_agents(where), where.environment.get("PATH", "")
    return tuple(
        agent
        for agent, program in PROGRAMS.items()
        if agent not in known and which(program, path=path)
    )


def plan_changes(
    agents: Sequence[str], where: SettingsPlaces, command: Command, remove: bool
) -> list[SettingsChange]:
    """Return the planned change of each settings file of these agents, given by the name of the
    agent or of its program."""
    programs = {program: agent for agent, program in PROGRAMS.items()}
    agents = [programs.get(agent, agent) for agent in agents]
    for agent in agents:
        if agent not in registry.AGENTS_WITH_HOOKS:
            raise InvalidInput(
                f"unknown agent {agent!r}",
                where="agent",
                hint=f"one of: {', '.join(registry.AGENTS_WITH_HOOKS)}",
            )
    return [
        _plan_file(agent, place, command, remove, where.project)
        for agent in agents
        for place in registry.load_hooks(agent).list_settings_files(
            where.home, where.project, where.environment
        )
        if place.scope == where.scope
    ]


def cancel_partial(changes: Sequence[SettingsChange]) -> list[SettingsChange]:
    """Cancel the changes of an agent that has a file with an error: an agent is connected
    completely or not at all."""
    broken = {change.agent: change.path for change in changes if change.error}
    return [
        change._replace(
            after=change.before,
            state="error",
            error=f"not changed, because of the error in {os.path.basename(broken[change.agent])}",
        )
        if change.pending and change.agent in broken
        else change
        for change in changes
    ]


def _plan_file(
    agent: str, place: SettingsFile, command: Command, remove: bool, project: str
) -> SettingsChange:
    change = SettingsChange(agent, place.path, place.what, state="error")
    try:
        if place.scope == "project" and not is_inside(place.path, project):
            raise Refused(
                "a link leads out of the project", hint="Remove the link. It was not changed."
            )
        before = _read_text(place.path)
        change = change._replace(before=before, after=before)
        state = place.editor.status(before, command)
        after = place.editor.remove(before) if remove else place.editor.install(before, command)
        blank = _find_blank_original(place, before)
        empty = blank is not None and remove and not after.strip()
        if empty:
            after = blank or ""
        elif blank is not None and not remove and not place.editor.remove(after).strip():
            after = f"{after.rstrip()}\n\n{blank}"
    except (InvalidInput, Refused) as error:
        return change._replace(error=str(error))
    return change._replace(state=state, after=after, stays=empty)


def _find_blank_original(place: SettingsFile, text: str) -> str | None:
    """Return the blank text that a file had before we wrote to it; None if it had none.

    An empty line after our text marks such a file.
    """
    if place.what == "plugin":
        return None  # a file of our own
    if not text.strip():
        return text if os.path.isfile(place.path) else None
    if place.editor.remove(text).strip():
        return None
    tail = text[len(text.rstrip()) :]
    return tail[2:] if tail.startswith("\n\n") else None


def _read_text(path: str) -> str:
    try:
        with open_regular_file(path) as file:
            return file.read().decode()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", "") or error
        raise InvalidInput(
            f"cannot be read: {why}", where=path, hint="It was not changed."
        ) from error


def load_approval(agent: str, where: SettingsPlaces) -> HookApproval | None:
    """Return how many of our hooks the user approved; None if the agent keeps no approvals."""
    about = registry.load_hooks(agent)
    if not hasattr(about, "count_approved"):
        return None
    approvals = _read_text(about.find_approval_file(where.home, where.environment))
    places = about.list_settings_files(where.home, where.project, where.environment)
    found = [
        about.count_approved(
            approvals, place.path, _read_text(place.path), where.scope, where.project
        )
        for place in places
        if place.scope == where.scope and place.what != "mcp"
    ]
    return next((one for one in found if one.wanted), None)


def apply_changes(changes: Sequence[SettingsChange], backups: str, stamp: str) -> None:
    """Write the planned changes; the former text of each file goes to the backup folder."""
    for change in changes:
        if not change.pending:
            continue
        if _read_text(change.path) != change.before:
            raise Conflict(
                "the file was changed since the plan was made",
                where=change.path,
                hint="run the command again",
            )
        if change.before:
            os.makedirs(backups, mode=0o700, exist_ok=True)
            name = f"{stamp}-{change.agent}-{os.path.basename(change.path)}"
            write_atomically(os.path.join(backups, name), change.before, 0o600)
        # A link stays a link: many users keep their settings elsewhere and link to them.
        target = os.path.realpath(change.path)
        if change.after or change.stays:
            os.makedirs(os.path.dirname(target), mode=0o755, exist_ok=True)
            mode = os.stat(target).st_mode & 0o777 if os.path.exists(target) else 0o600
            write_atomically(target, change.after, mode)
        elif os.path.exists(target):
            os.unlink(target)


def drop_empty_folders(changes: Sequence[SettingsChange], root: str) -> None:
    """Remove the folders of the changed files that are empty now, below a repository's root."""
    for change in changes:
        folder = os.path.dirname(change.path)
        while folder.startswith(root + os.sep) and _is_empty(folder):
            os.rmdir(folder)
            folder = os.path.dirname(folder)


def _is_empty(folder: str) -> bool:
    return os.path.isdir(folder) and not os.path.islink(folder) and not os.listdir(folder)


def write_plugin_files(folder: str, files: Mapping[str, str]) -> WrittenPlugin:
    """Write a plugin's files; refuse a folder that holds anything but our plugin."""
    ours = '"name": "recollect"' in _read_text(os.path.join(folder, packages.MANIFEST))
    if os.path.isdir(folder) and os.listdir(folder) and not ours:
        raise Refused(
            "the folder contains other files",
            where=folder,
            hint="name a new or empty folder. Nothing was changed.",
        )
    for name, text in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_atomically(path, text, 0o755 if packages.is_program(name) else 0o644)
    return WrittenPlugin(folder, tuple(sorted(files)))


def write_atomically(path: str, text: str, mode: int) -> None:
    """Write a file by one rename."""
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


def _remove_abandoned(path: str, now: float) -> None:
    """Remove partial files that a killed writer left an hour ago or earlier."""
    folder, name = os.path.split(path)
    left = re.compile(re.escape(name) + r"\.[0-9a-f]{8}\.partial")
    for other in filter(left.fullmatch, os.listdir(folder)):
        old = os.path.join(folder, other)
        if os.lstat(old).st_mtime < now - _ABANDONED_AFTER:
            os.unlink(old)
