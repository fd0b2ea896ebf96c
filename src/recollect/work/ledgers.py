"""What agents leave for each other: a ledger (where one stands) and a handoff (one to another).

Both are JSON that other programs write too: all that is given comes back. Decides whether the
tree has moved since a handoff was written. It does not know git nor files; it is told.
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
    """Where an agent stands: its last checkpoint, its task, its files, what it has learned."""

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
    """What one agent hands to another. `accepted_at` is 0 until the receiver took it."""

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
    """The ledger in a JSON object."""
    return load_record(Ledger, _LEDGER, given, "ledger")


def ledger_to_json(ledger: Ledger) -> dict[str, Json]:
    """The ledger as JSON; all that was given comes back."""
    return dump_record(ledger, _LEDGER)


def handoff_from_json(given: Json) -> Handoff:
    """The handoff in a JSON object."""
    return load_record(Handoff, _HANDOFF, given, "handoff")


def handoff_to_json(handoff: Handoff) -> dict[str, Json]:
    """The handoff as JSON; all that was given comes back."""
    return dump_record(handoff, _HANDOFF)


# ---------------------------------------------------------------- has the tree moved?


class TreeState(NamedTuple):
    """How the tree stands: its commit, and the content of a handoff's files as a digest of each,
    empty where there is no such file."""

    commit: str = ""
    contents: Mapping[str, str] = {}


class Moved(NamedTuple):
    """How the tree has moved since a handoff: from which commit to which, and whose files."""

    before: str
    now: str
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    def __str__(self) -> str:
        told = []
        if self.before != self.now:
            told.append(f"the tree moved from {self.before or 'no commit'} to {self.now or 'none'}")
        if self.changed:
            told.append(f"changed since: {', '.join(self.changed)}")
        if self.gone:
            told.append(f"gone since: {', '.join(self.gone)}")
        return "; ".join(told)


def commit_in(git_state: str) -> str:
    """The commit that a handoff names: `commit abc123`, a bare hash, or nothing."""
    found = re.findall(r"\b[0-9a-f]{6,40}\b", git_state.casefold())
    return found[0] if found else ""


def moved_since(handoff: Handoff, then: Mapping[str, str], now: TreeState) -> Moved | None:
    """How the tree has moved since the handoff was written; None if it has not. `then` is what its
    files held: what was not committed yet counts as much as what was."""
    before, current = commit_in(handoff.git_state), now.commit.casefold()
    same = not before or before.startswith(current[:40] or "-") or current.startswith(before)
    other = [path for path, held in then.items() if now.contents.get(path, "") != held]
    changed = tuple(path for path in other if now.contents.get(path))
    gone = tuple(path for path in other if not now.contents.get(path))
    if same and not other:
        return None
    return Moved(before, before if same else now.commit, changed, gone)
