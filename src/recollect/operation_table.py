"""The table of operations: each one's name, command and function.

A row is the name in Python (`sessions.export` is `mem.sessions.export(…)`), the words of the
command (`recollect session export`, `/session export`) and the function behind both. Commands,
help, MCP tools, the client and the docs are derived from this table and the functions' signatures;
there is no second list.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

from .fast_typing import Any, NamedTuple


class Operation(NamedTuple):
    """One row of the table."""

    name: str
    words: str
    module: str
    function: str


def _rows(module: str, *rows: tuple[str, str, str]) -> tuple[Operation, ...]:
    return tuple(Operation(name, words, module, function) for name, words, function in rows)


GROUPS: tuple[tuple[str, tuple[Operation, ...]], ...] = (
    (
        "Start",
        (
            *_rows("maintenance.operations", ("agents.init", "init", "initialise")),
            *_rows(
                "agents.operations_transcripts",
                ("import_transcripts", "import", "import_transcripts"),
            ),
            *_rows("maintenance.operations", ("store.doctor", "doctor", "doctor")),
        ),
    ),
    (
        "Save and find",
        (
            *_rows("memory.operations", ("learn", "learn", "learn")),
            *_rows("memory.operations_many", ("learn_many", "learn-many", "learn_many")),
            *_rows("recall.operations", ("recall", "recall", "recall")),
            *_rows("briefing.operations_show", ("show", "show", "show")),
            *_rows("memory.operations", ("list", "list", "list_memories")),
            *_rows(
                "memory.operations",
                ("memories.for_file", "for-file", "for_file"),
                ("memories.history", "history", "memory_history"),
            ),
        ),
    ),
    (
        "Review",
        (
            *_rows(
                "review.operations",
                ("memories.review", "review", "review"),
                ("memories.answer", "review answer", "answer_review"),
            ),
            *_rows(
                "memory.operations",
                ("memories.confirm", "confirm", "confirm"),
                ("memories.correct", "correct", "correct"),
                ("memories.scope", "scope", "scope"),
                ("memories.undo", "undo", "undo"),
                ("memories.remember", "remember", "remember"),
                ("memories.hide", "hide", "hide"),
                ("memories.restore", "restore", "restore"),
                ("memories.feedback", "feedback", "feedback"),
                ("memories.prune", "prune", "prune"),
                ("memories.clear", "clear", "clear_memories"),
                ("memories.undo_clear", "clear undo", "undo_clear"),
            ),
        ),
    ),
    (
        "Context for the model",
        (
            *_rows("briefing.operations", ("briefing", "briefing", "make_briefing")),
            *_rows("briefing.operations_task", ("tasks.before", "before-task", "before_task")),
        ),
    ),
    (
        "Short forms of learn",
        _rows(
            "memory.operations",
            ("memories.add_discovery", "add-discovery", "add_discovery"),
            ("memories.add_solution", "add-solution", "add_solution"),
            ("memories.add_pattern", "add-pattern", "add_pattern"),
        ),
    ),
    (
        "Conversations",
        (
            *_rows(
                "archive.operations",
                ("record", "record", "record"),
                ("sessions.list", "session list", "list_sessions"),
            ),
            *_rows("recall.operations", ("sessions.show", "session show", "show_session")),
            *_rows(
                "window.operations",
                ("sessions.recent", "session recent", "recent_messages"),
                ("prepare", "session prepare", "prepare"),
                ("sessions.overflow", "session overflow", "handle_overflow"),
                ("sessions.trim", "session trim", "trim_window"),
            ),
            *_rows("recall.operations", ("sessions.search", "session search", "search_sessions")),
            *_rows(
                "archive.operations",
                ("sessions.switch", "session switch", "switch_session"),
                ("sessions.rename", "session rename", "rename_session"),
                ("sessions.end", "session end", "end_session"),
                ("sessions.export", "session export", "export_session"),
                ("sessions.import_file", "session import", "import_session"),
            ),
        ),
    ),
    (
        "Episodes, lessons, procedures, links",
        (
            *_rows(
                "lessons.operations",
                ("episodes.record", "episode record", "record_episode"),
                ("episodes.load", "episode load", "load_episodes"),
                ("episodes.build", "episode build", "build_episodes"),
                ("episodes.list", "episode list", "list_episodes"),
                ("episodes.show", "episode show", "show_episode"),
                ("episodes.replay", "episode replay", "replay_episode"),
                ("episodes.learnings", "learnings", "list_learnings"),
                ("lessons.consolidate", "consolidate", "consolidate"),
                ("lessons.undo", "consolidate undo", "undo_consolidation"),
            ),
            *_rows(
                "procedures.operations",
                ("procedures.learn", "procedure learn", "learn_procedure"),
                ("procedures.list", "procedure list", "list_procedures"),
                ("procedures.show", "procedure show", "show_procedure"),
                ("procedures.use", "procedure use", "use_procedure"),
                ("procedures.revise", "procedure revise", "revise_procedure"),
                ("procedures.accept", "procedure accept", "accept_procedure"),
                ("procedures.export", "procedure export", "export_procedure"),
                ("procedures.load", "procedure load", "load_procedure"),
                ("patterns.load", "pattern load", "load_patterns"),
                ("patterns.show", "pattern show", "show_pattern"),
            ),
            *_rows(
                "lessons.operations",
                ("links.add", "link", "link_records"),
                ("links.list", "links", "list_links"),
            ),
        ),
    ),
    (
        "Tasks and handoffs",
        (
            *_rows(
                "work.operations",
                ("notes.show", "notes show", "show_notes"),
                ("notes.set", "notes set", "set_notes"),
                ("notes.lint", "notes lint", "lint_notes"),
                ("work.continuity", "continuity", "show_continuity"),
            ),
            *_rows(
                "briefing.operations_task",
                ("tasks.start", "task start", "start_task"),
                ("tasks.phase", "task phase", "enter_phase"),
            ),
            *_rows(
                "work.operations_tasks",
                ("tasks.show", "task show", "show_task"),
                ("tasks.decide", "task decide", "record_decision"),
                ("tasks.verify", "task verify", "verify_task_items"),
                ("tasks.complete", "task complete", "complete_task"),
                ("tasks.list", "task list", "list_tasks"),
                ("tasks.log", "task log", "task_log"),
                ("work.ledger", "ledger", "write_ledger"),
                ("handoffs.give", "handoff give", "give_handoff"),
                ("handoffs.accept", "handoff accept", "accept_handoff"),
                ("handoffs.list", "handoff list", "list_handoffs"),
            ),
            *_rows(
                "work.operations",
                ("work.promote", "promote", "promote"),
                ("work.audit", "audit", "audit_memory"),
                ("work.event", "event", "handle_event"),
            ),
        ),
    ),
    (
        "Scratch notes",
        _rows(
            "work.operations",
            ("scratch.store", "scratch store", "store_scratch"),
            ("scratch.retrieve", "scratch retrieve", "retrieve_scratch"),
            ("scratch.search", "scratch search", "search_scratch"),
            ("scratch.list", "scratch list", "list_scratch"),
            ("scratch.delete", "scratch delete", "delete_scratch"),
        ),
    ),
    (
        "Agents",
        (
            *_rows(
                "capture.operations",
                ("captures.list", "capture list", "list_captures"),
                ("captures.undo", "capture undo", "undo_capture"),
            ),
            *_rows("agents.operations", ("agents.plugin", "plugin", "write_plugin")),
        ),
    ),
    (
        "The store",
        (
            *_rows("maintenance.operations", ("store.stats", "stats", "stats")),
            *_rows("briefing.operations_task", ("verify", "verify", "verify")),
            *_rows("recall.operations", ("store.evaluate", "eval", "evaluate")),
            *_rows(
                "maintenance.operations",
                ("store.rebuild", "rebuild", "rebuild"),
                ("store.backup", "backup", "backup"),
                ("store.adopt", "adopt", "adopt"),
            ),
            *_rows(
                "maintenance.operations_server",
                ("server.setup", "server setup", "server_setup"),
                ("server.grant", "server grant", "server_grant"),
                ("server.revoke", "server revoke", "server_revoke"),
                ("server.members", "server members", "server_members"),
            ),
        ),
    ),
)
"""The operations, grouped under the headings of the help."""

OPERATIONS: Mapping[str, Operation] = {
    operation.words: operation for _, rows in GROUPS for operation in rows
}
"""The operations by command."""

BY_NAME: Mapping[str, Operation] = {operation.name: operation for operation in OPERATIONS.values()}

SHORT_COMMANDS: Mapping[str, str] = {
    "search": "recall",
    "store": "scratch store",
    "retrieve": "scratch retrieve",
    "delete": "scratch delete",
}
"""Aliases of commands, and commands that work without their group."""


def load_function(operation: Operation) -> Callable[..., Any]:
    """Import the module of an operation and return the function."""
    module = f"{__package__}.{operation.module}"
    __import__(module)  # `importlib` costs half a millisecond
    function: Callable[..., Any] = getattr(sys.modules[module], operation.function)
    return function
