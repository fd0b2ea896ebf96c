"""Agents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .records import Learned


class ImportedTranscript(NamedTuple):
    """What became of one transcript; `skipped` counts records by the reason for it."""

    host: str
    path: str
    sessions: tuple[str, ...] = ()
    messages: int = 0
    known: int = 0
    skipped: Mapping[str, int] = {}
    damaged: Mapping[str, int] = {}
    captured: tuple[Learned, ...] = ()
    error: str = ""


class Imported(NamedTuple):
    """What an import brought, transcript by transcript; `passed_over` says what was not read."""

    messages: int
    known: int
    sessions: int
    transcripts: tuple[ImportedTranscript, ...]
    passed_over: Mapping[str, str]
    captured: tuple[Learned, ...]


class SettingsChange(NamedTuple):
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
    changes: tuple[SettingsChange, ...] = ()
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


class WrittenPlugin(NamedTuple):
    """A plugin that was written: its folder and its files; `warning` as for `init`."""

    path: str
    files: tuple[str, ...]
    warning: str = ""
