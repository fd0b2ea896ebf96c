"""Ledgers (the state of an agent) and handoffs (work passed from one agent to another) as JSON.

Other programs write this JSON too: reading and writing again loses nothing. Also decides whether
the working tree has changed since a handoff; the caller reads the tree.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from ..types.json_records import (
    Field,
    dump_record,
    load_record,
    read_boolean,
    read_integer,
    read_text,
    read_texts,
    read_time,
    write_plain,
    write_time,
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
    Field("agent_id", "agent_id", read_text, write_plain),
    Field("last_checkpoint", "last_checkpoint", read_time, write_time),
    Field("tasks_completed", "tasks_completed", read_integer, write_plain),
    Field("current_task", "current_task", read_text, write_plain),
    Field("files_modified", "state.files_modified", read_texts, list),
    Field("uncommitted_changes", "state.uncommitted_changes", read_boolean, write_plain),
    Field("last_commit", "state.last_git_commit", read_text, write_plain),
    Field("tech_stack", "context.tech_stack", read_texts, list),
    Field("patterns_learned", "context.patterns_learned", read_texts, list),
    Field("current_goal", "context.current_goal", read_text, write_plain),
)
_HANDOFF = (
    Field("id", "id", read_text, write_plain),
    Field("from_agent", "from_agent", read_text, write_plain),
    Field("to_agent", "to_agent", read_text, write_plain),
    Field("at", "timestamp", read_time, write_time),
    Field("what_was_done", "context.what_was_done", read_text, write_plain),
    Field("artifacts", "context.artifacts", read_texts, list),
    Field("git_state", "context.git_state", read_text, write_plain),
    Field("needs_testing", "context.needs_testing", read_texts, list),
    Field("known_issues", "context.known_issues", read_texts, list),
    Field("relevant_patterns", "context.relevant_patterns", read_texts, list),
    Field("accepted_at", "accepted_at", read_time, write_time),
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


class Moved(NamedTuple):
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
    found = re.findall(r"\b[0-9a-f]{6,40}\b", git_state.casefold())
    return found[0] if found else ""


def moved_since(handoff: Handoff, then: Mapping[str, str], now: TreeState) -> Moved | None:
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
    return Moved(before, before if same else now.commit, changed, gone)
