"""Ledgers (the state of an agent) and handoffs (work passed from one agent to another) as JSON.

Other programs write this JSON too: reading and writing again loses nothing. Also decides whether
the working tree has changed since a handoff; the caller reads the tree.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from ..types.json_records import (
    boolean_field,
    dump_record,
    integer_field,
    load_record,
    text_field,
    texts_field,
    time_field,
)
from ..types.records import Json


class Ledger(NamedTuple):
    """The state of an agent: its last checkpoint, task, files, and what it has learned."""

    agent_id: str = ""
    last_checkpoint: int = 0
    tasks_completed: int = 0
    current_task: str = ""
    files_modified: tuple[str, ...] = ()
    uncommitted_changes: bool = False
    last_commit: str = ""
    tech_stack: tuple[str, ...] = ()
    patterns_learned: tuple[str, ...] = ()
    current_goal: str = ""
    extra: Mapping[str, Json] = {}


class Handoff(NamedTuple):
    """Work passed to another agent. `accepted_at` is 0 until the receiver accepts it."""

    id: str = ""
    from_agent: str = ""
    to_agent: str = ""
    at: int = 0
    what_was_done: str = ""
    artifacts: tuple[str, ...] = ()
    git_state: str = ""
    needs_testing: tuple[str, ...] = ()
    known_issues: tuple[str, ...] = ()
    relevant_patterns: tuple[str, ...] = ()
    accepted_at: int = 0
    extra: Mapping[str, Json] = {}


_LEDGER = (
    text_field("agent_id"),
    time_field("last_checkpoint"),
    integer_field("tasks_completed"),
    text_field("current_task"),
    texts_field("files_modified", "state.files_modified"),
    boolean_field("uncommitted_changes", "state.uncommitted_changes"),
    text_field("last_commit", "state.last_git_commit"),
    texts_field("tech_stack", "context.tech_stack"),
    texts_field("patterns_learned", "context.patterns_learned"),
    text_field("current_goal", "context.current_goal"),
)
_HANDOFF = (
    text_field("id"),
    text_field("from_agent"),
    text_field("to_agent"),
    time_field("at", "timestamp"),
    text_field("what_was_done", "context.what_was_done"),
    texts_field("artifacts", "context.artifacts"),
    text_field("git_state", "context.git_state"),
    texts_field("needs_testing", "context.needs_testing"),
    texts_field("known_issues", "context.known_issues"),
    texts_field("relevant_patterns", "context.relevant_patterns"),
    time_field("accepted_at"),
)


def ledger_from_json(given: Json) -> Ledger:
    """Parse a ledger from a JSON object."""
    return load_record(Ledger, _LEDGER, given, "ledger")


def ledger_to_json(ledger: Ledger) -> dict[str, Json]:
    """Convert a ledger to JSON, lossless."""
    return dump_record(ledger, _LEDGER)


def handoff_from_json(given: Json) -> Handoff:
    """Parse a handoff from a JSON object."""
    return load_record(Handoff, _HANDOFF, given, "handoff")


def handoff_to_json(handoff: Handoff) -> dict[str, Json]:
    """Convert a handoff to JSON, lossless."""
    return dump_record(handoff, _HANDOFF)


# ---------------------------------------------------------------- changes of the tree


class TreeState(NamedTuple):
    """The commit of the tree, and a digest of each of a handoff's files, empty if missing."""

    commit: str = ""
    contents: Mapping[str, str] = {}


class TreeChanges(NamedTuple):
    """Changes of the tree since a handoff: the two commits, changed and missing files."""

    before: str
    now: str
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = []
        if self.before != self.now:
            parts.append(
                f"the tree moved from {self.before or 'no commit'} to {self.now or 'none'}"
            )
        if self.changed:
            parts.append(f"changed since: {', '.join(self.changed)}")
        if self.gone:
            parts.append(f"gone since: {', '.join(self.gone)}")
        return "; ".join(parts)


def commit_in(git_state: str) -> str:
    """Return the commit named in a git state (`commit abc123` or a bare hash), or nothing."""
    found = re.search(r"\b[0-9a-f]{6,40}\b", git_state.casefold())
    return found[0] if found else ""


def moved_since(handoff: Handoff, then: Mapping[str, str], now: TreeState) -> TreeChanges | None:
    """Compare the tree with a handoff; None if it has not changed.

    `then` are the digests of the handoff's files: uncommitted changes count too.
    """
    before, current = commit_in(handoff.git_state), now.commit.casefold()
    same = not before or before.startswith(current[:40] or "-") or current.startswith(before)
    other = [path for path, held in then.items() if now.contents.get(path, "") != held]
    changed = tuple(path for path in other if now.contents.get(path))
    gone = tuple(path for path in other if not now.contents.get(path))
    if same and not other:
        return None
    return TreeChanges(before, before if same else now.commit, changed, gone)
