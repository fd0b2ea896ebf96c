"""Records that operations report to a person: status, sizes, settings, review, undo, set-up,
imports, and files written for agents."""

from __future__ import annotations

from collections.abc import Mapping

from ..fast_typing import NamedTuple
from .records import Check, Learned, Memory


class NextStep(NamedTuple):
    """A command to run next, and its purpose."""

    command: str
    purpose: str


class Status(NamedTuple):
    """The state of a project's memory.

    paused: `project`, `all`, or "" while hooks work
    by_kind: memories in use; `waiting` of the rest wait for review
    background: sentences about work that runs by itself
    start_tokens: the price of the block that a new session begins with
    start_left_out: the number of items that do not fit into it
    commands, fixes: commands that worked here and errors with a fix, learned from conversations
    """

    root: str
    database: str
    exists: bool
    paused: str
    mode: str
    agents: tuple[Check, ...]
    by_kind: Mapping[str, int]
    waiting: int
    captures: tuple[Memory, ...]
    sessions: int
    messages: int
    background: tuple[str, ...]
    start_tokens: int
    start_items: int
    next: tuple[NextStep, ...]
    at: int
    commands: int = 0
    fixes: int = 0
    start_left_out: int = 0


class LearnedCommand(NamedTuple):
    """A command that worked here, in a folder, or with an argument that it does not name, such as a
    path below a folder; `left_out` says why no session begins with it, or is ""."""

    command: str
    purpose: str
    sessions: int
    last: int
    left_out: str
    folder: str = ""
    below: str = ""
    with_argument: bool = False


class LearnedFix(NamedTuple):
    """An error and its resolution, which agents are shown when the error comes up again."""

    error: str
    fix: str
    sessions: int
    last: int
    id: str = ""


class LessonSource(NamedTuple):
    """An observation of one session about a lesson; `session` is its address."""

    session: str
    at: int
    what: str


class ShownLesson(NamedTuple):
    """A command, fix, place or conclusion that was learned, with the sessions it was learned from.
    `status` is "in use", "hidden", or the reason why no session begins with it."""

    id: str
    kind: str
    text: str
    status: str
    sources: tuple[LessonSource, ...]


class HiddenLesson(NamedTuple):
    """A command or fix that was hidden from agents, or restored."""

    id: str
    status: str


class Lessons(NamedTuple):
    """Lessons from the work in conversations: commands, best first, and fixes of errors, newest
    first. `more` counts those beyond the limit, `untrusted` the conversations that teach nothing:
    they were imported from outside an agent's own folder; `unfinished` those that may still be
    going on: they are learned from when they end, or after an hour of silence."""

    commands: tuple[LearnedCommand, ...]
    fixes: tuple[LearnedFix, ...]
    more: int = 0
    untrusted: int = 0
    unfinished: int = 0


class SeenItem(NamedTuple):
    """An item shown to an agent: the moment, the reason, and the outcome.

    id: the memory that can be stopped; empty for other records
    outcome: followed, ignored, or "" while that is not known
    """

    id: str
    kind: str
    text: str
    status: str
    moment: str
    why: str
    tokens: int
    outcome: str
    at: int


class Seen(NamedTuple):
    """The items shown to one session, in order; `others` are further sessions that fit the name."""

    session: str
    items: tuple[SeenItem, ...]
    tokens: int
    others: tuple[str, ...] = ()


class SizePart(NamedTuple):
    """A part of the store: its size in bytes, its contents, and a way to keep less of it."""

    name: str
    bytes: int
    holds: str
    less: str


class Sizes(NamedTuple):
    """The sizes of the project's and the user's store, by part, largest first."""

    project: tuple[SizePart, ...]
    user: tuple[SizePart, ...]
    place: str
    is_shared: bool = False
    """Whether the figures are those of a database that other spaces share."""


class Paused(NamedTuple):
    """A pause or its end: `scope` is project or all; `changed` is False when it was so already."""

    scope: str
    paused: bool
    changed: bool
    still: str = ""
    """The scope that is still paused after a resume: `project`, `all` or ""."""


class SettingValue(NamedTuple):
    """An effective setting, and which source set it: default, project, user or environment.
    `ignored` is a value of the repository's file without effect: it can only reduce a setting."""

    name: str
    value: str
    source: str
    help: str
    ignored: str = ""


class SettingChanged(NamedTuple):
    """A setting that was written to a file; `effective` differs where another source wins."""

    name: str
    value: str
    path: str
    effective: str
    source: str


class ConfigPaths(NamedTuple):
    """The files that settings are read from."""

    user: str
    project: str


class Reverted(NamedTuple):
    """The last change: its description, and whether it was undone; `redo` is the command that
    repeats it."""

    what: str
    text: str
    at: int
    applied: bool
    redo: str = ""


class Plotted(NamedTuple):
    """The file of a picture that was written."""

    path: str


# ---------------------------------------------------------------- the review queue


class ReviewEvidence(NamedTuple):
    """A passage that a memory came from: the quoted sentence with the text around it.

    `role` is that of the speaker; empty for an episode."""

    address: str
    role: str = ""
    at: int = 0
    before: str = ""
    quote: str = ""
    after: str = ""


class OpposedMemory(NamedTuple):
    """A memory that says the opposite of one in the queue."""

    id: str
    kind: str
    text: str
    trust: str
    at: int


class ReviewItem(NamedTuple):
    """A memory or procedure that waits for a person.

    `reasons` are some of proposed, quarantined, contradicting and stale; `why` explains each in a
    sentence. `answers` are the possible answers.
    """

    id: str
    address: str
    kind: str
    text: str
    reasons: tuple[str, ...]
    why: tuple[str, ...]
    status: str
    trust: str
    layer: str
    scope: tuple[str, ...]
    at: int
    evidence: tuple[ReviewEvidence, ...] = ()
    against: tuple[OpposedMemory, ...] = ()
    answers: tuple[str, ...] = ()


class ReviewAnswer(NamedTuple):
    """The result of an answer: the item's id, text and new status; `hidden` are the memories that
    contradicted one that was kept."""

    id: str
    answer: str
    text: str
    status: str
    hidden: tuple[str, ...] = ()
    error: str = ""


# ---------------------------------------------------------------- agents


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
    """Whether anybody could have written it: its messages get the origin import."""
    differing: int = 0
    """New messages that an untrusted import had with other words; both are kept."""


class ImportResults(NamedTuple):
    """The results of an import: statements of the user that are in use (`rules`, `decisions`,
    `facts`), commands that work, errors with a fix, episodes; `quarantined` statements come from
    files that anybody could have written, `waiting` counts the new items to review, `unfinished`
    the conversations of the project that may still be going on: nothing is learned from their
    commands before they end, or are silent for an hour."""

    conversations: int = 0
    rules: int = 0
    decisions: int = 0
    facts: int = 0
    commands: int = 0
    fixes: int = 0
    episodes: int = 0
    quarantined: int = 0
    waiting: int = 0
    unfinished: int = 0


class Imported(NamedTuple):
    """The result of an import; `passed_over` maps unread transcripts to the reason, `others`
    the roots of other projects to the number of their conversations. A background process makes
    the vectors of `vectors_left` records, and learns commands, fixes and episodes from
    `lessons_left` conversations: they are not in `results`."""

    messages: int
    known: int
    sessions: int
    transcripts: tuple[ImportedTranscript, ...]
    passed_over: Mapping[str, str]
    captured: tuple[Learned, ...]
    results: ImportResults = ImportResults()
    others: Mapping[str, int] = {}
    vectors_left: int = 0
    lessons_left: int = 0


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
