"""Public records about agents: imported transcripts, changed settings, written plugins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .records import Learned


class ImportedTranscript(NamedTuple):
    """The import of one transcript.

    messages: number of new messages; `known` were in the archive already
    skipped, damaged: number of records by reason
    error: why the transcript could not be read, or ""
    """

    host: str
    path: str
    sessions: tuple[str, ...] = ()
    messages: int = 0
    known: int = 0
    skipped: Mapping[str, int] = {}
    damaged: Mapping[str, int] = {}
    captured: tuple[Learned, ...] = ()
    error: str = ""
    foreign: bool = False
    """Whether anybody could have written it: all that it says is an import."""


class ImportResults(NamedTuple):
    """What an import taught: statements of the user that are in use (`rules`, `decisions`,
    `facts`), commands that work, errors with a fix, episodes; `quarantined` statements come from
    files that anybody could have written, `waiting` is the length of the review queue."""

    conversations: int = 0
    rules: int = 0
    decisions: int = 0
    facts: int = 0
    commands: int = 0
    fixes: int = 0
    episodes: int = 0
    quarantined: int = 0
    waiting: int = 0


class Imported(NamedTuple):
    """The result of an import; `passed_over` maps what was not read to the reason, `others`
    the roots of other projects to the number of their conversations. A background process makes
    the vectors of `vectors_left` records."""

    messages: int
    known: int
    sessions: int
    transcripts: tuple[ImportedTranscript, ...]
    passed_over: Mapping[str, str]
    captured: tuple[Learned, ...]
    results: ImportResults = ImportResults()
    others: Mapping[str, int] = {}
    vectors_left: int = 0


class SettingsChange(NamedTuple):
    """A planned change of an agent's settings file.

    state: of our entries: missing, stale, current or error
    before, after: the text of the file; an empty `after` removes the file, unless it `stays`
    """

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
        """Check whether the file differs from the plan."""
        return not self.error and self.before != self.after


class Initialised(NamedTuple):
    """The result of `init`: the project's memory, and the changes of agents' settings."""

    root: str
    database: str
    created: bool
    changes: tuple[SettingsChange, ...] = ()
    applied: bool = False
    checked: bool = False
    below: tuple[str, ...] = ()
    """Stores in directories of this project, which are not used."""
    past: int = 0
    """Number of past conversations of this project that are not imported yet."""
    former: Mapping[str, int] = {}
    """Other directories that the project seems to have been in, with their conversations."""
    unstarted: tuple[str, ...] = ()
    """Agents that are installed and were never started."""
    imported: Imported | None = None
    removing: bool = False
    exists: bool = True
    backups: str = ""
    """Folder with backups of the changed files."""
    declined: bool = False
    diff: bool = False
    """Whether every changed line is shown."""
    warning: str = ""
    """Why the program that agents start may disappear, or ""."""

    @property
    def ok(self) -> bool:
        """Check that no file has an error and, for --check, that everything is connected."""
        wrong = any(change.error for change in self.changes)
        return not wrong and not (
            self.checked and any(change.state != "current" for change in self.changes)
        )


class WrittenPlugin(NamedTuple):
    """The folder and files of a written plugin; `warning` as for `init`."""

    path: str
    files: tuple[str, ...]
    warning: str = ""
