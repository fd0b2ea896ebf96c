"""Records of the overview: status, what agents were shown, sizes, pauses, settings, undo."""

from __future__ import annotations

from collections.abc import Mapping

from ..fast_typing import NamedTuple
from .records import Check, Memory


class NextStep(NamedTuple):
    """A command to run next, and what for."""

    command: str
    purpose: str


class Status(NamedTuple):
    """The state of a project's memory.

    paused: `project`, `all`, or "" while hooks work
    by_kind: memories in use; `waiting` of the rest wait for review
    background: sentences about work that runs by itself
    start_tokens: the price of the block that a new session begins with
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


class LearnedCommand(NamedTuple):
    """A command that worked here, in or below a folder; `left_out` says why no session begins with
    it, or is ""."""

    command: str
    purpose: str
    sessions: int
    last: int
    left_out: str
    folder: str = ""


class LearnedFix(NamedTuple):
    """An error, and after what it went away; agents are told when it comes up again."""

    error: str
    fix: str
    sessions: int
    last: int


class Lessons(NamedTuple):
    """Lessons from the work in conversations: commands, best first, and fixes of errors, newest
    first. `more` counts those beyond the limit."""

    commands: tuple[LearnedCommand, ...]
    fixes: tuple[LearnedFix, ...]
    more: int = 0


class SeenItem(NamedTuple):
    """One thing that an agent was shown: at which moment, why, and what came of it.

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
    """What one session was shown, in order; `others` are further sessions that fit the name."""

    session: str
    items: tuple[SeenItem, ...]
    tokens: int
    others: tuple[str, ...] = ()


class SizePart(NamedTuple):
    """A part of the store: its bytes, what it holds, and how to keep less of it."""

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
    """What is still paused after a resume: `project`, `all` or ""."""


class SettingValue(NamedTuple):
    """An effective setting, and which source set it: default, project, user or environment."""

    name: str
    value: str
    source: str
    help: str


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
    """The last change: what it was, and whether it was undone; `redo` is the command that brings
    it back."""

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

    `role` is who said it; empty for an episode."""

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

    `reasons` are of proposed, quarantined, contradicting and stale; `why` says each in a sentence.
    `answers` are those that this item takes.
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
    """What an answer did: the item's id, its text and its status now; `hidden` are the memories
    that said the opposite of one that was kept."""

    id: str
    answer: str
    text: str
    status: str
    hidden: tuple[str, ...] = ()
    error: str = ""
