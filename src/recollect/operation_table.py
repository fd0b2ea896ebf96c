"""The table of operations: name, command and function of each.

A row is the name in Python (`sessions.export` is `mem.sessions.export(…)`), the words of the
command (`recollect session export`, `/session export`) and the function behind both. Commands,
help, MCP tools, the client and the docs are derived from these rows and the functions' signatures.
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


_ROWS = (
    # Start
    ("store.status", "status", "maintenance.operations_overview.show_status"),
    ("agents.init", "init", "maintenance.operations.initialise"),
    ("import_transcripts", "import", "agents.operations_transcripts.import_transcripts"),
    ("store.doctor", "doctor", "maintenance.operations.doctor"),
    # Save and find
    ("learn", "learn", "memory.operations.learn"),
    ("learn_many", "learn-many", "memory.operations_many.learn_many"),
    ("recall", "recall", "briefing.operations_views.recall"),
    ("show", "show", "briefing.operations_views.show"),
    ("list", "list", "memory.operations_many.list_memories"),
    ("memories.for_file", "for-file", "memory.operations.for_file"),
    ("memories.history", "history", "memory.operations.memory_history"),
    # Review
    ("memories.review", "review", "review.operations.review"),
    ("memories.answer", "review answer", "review.operations.answer_review"),
    ("memories.confirm", "confirm", "memory.operations.confirm"),
    ("memories.correct", "correct", "memory.operations.correct"),
    ("memories.scope", "scope", "memory.operations.scope"),
    ("memories.undo", "history undo", "memory.operations.undo"),
    ("memories.reinforce", "reinforce", "memory.operations.reinforce"),
    ("memories.hide", "hide", "lessons.operations.hide"),
    ("memories.restore", "restore", "lessons.operations.restore"),
    ("memories.feedback", "feedback", "memory.operations.feedback"),
    ("memories.prune", "prune", "memory.operations.prune"),
    ("memories.clear", "clear", "memory.operations.clear_memories"),
    ("memories.undo_clear", "clear undo", "memory.operations.undo_clear"),
    ("store.undo", "undo", "maintenance.operations_undo.undo_last"),
    # Context for the model
    ("briefing", "briefing", "briefing.operations.make_briefing"),
    ("tasks.before", "before-task", "briefing.operations_views.before_task"),
    # Short forms of learn
    ("memories.add_discovery", "add-discovery", "memory.operations_many.add_discovery"),
    ("memories.add_solution", "add-solution", "memory.operations_many.add_solution"),
    ("memories.add_pattern", "add-pattern", "memory.operations_many.add_pattern"),
    # Conversations
    ("record", "record", "archive.operations.record"),
    ("sessions.list", "session list", "archive.operations.list_sessions"),
    ("sessions.show", "session show", "recall.operations.show_session"),
    ("sessions.recent", "session recent", "window.operations.recent_messages"),
    ("prepare", "session prepare", "window.operations.prepare"),
    ("sessions.overflow", "session overflow", "window.operations.handle_overflow"),
    ("sessions.trim", "session trim", "window.operations.trim_window"),
    ("sessions.search", "session search", "recall.operations.search_sessions"),
    ("sessions.switch", "session switch", "archive.operations.switch_session"),
    ("sessions.rename", "session rename", "archive.operations.rename_session"),
    ("sessions.end", "session end", "archive.operations.end_session"),
    ("sessions.export", "session export", "archive.operations.export_session"),
    ("sessions.import_file", "session import", "archive.operations.import_session"),
    # Episodes, lessons, procedures, links
    ("episodes.record", "episode record", "lessons.operations.record_episode"),
    ("episodes.load", "episode load", "lessons.operations.load_episodes"),
    ("episodes.build", "episode build", "lessons.operations.build_episodes"),
    ("episodes.list", "episode list", "lessons.operations.list_episodes"),
    ("episodes.show", "episode show", "lessons.operations.show_episode"),
    ("episodes.replay", "episode replay", "lessons.operations.replay_episode"),
    ("episodes.learnings", "learnings", "lessons.operations.list_learnings"),
    ("lessons.list", "lessons", "maintenance.operations_overview.list_lessons"),
    ("lessons.consolidate", "consolidate", "lessons.operations.consolidate"),
    ("lessons.undo", "consolidate undo", "lessons.operations.undo_consolidation"),
    ("procedures.learn", "procedure learn", "procedures.operations.learn_procedure"),
    ("procedures.list", "procedure list", "procedures.operations.list_procedures"),
    ("procedures.show", "procedure show", "procedures.operations.show_procedure"),
    ("procedures.use", "procedure use", "procedures.operations.use_procedure"),
    ("procedures.revise", "procedure revise", "procedures.operations.revise_procedure"),
    ("procedures.accept", "procedure accept", "procedures.operations.accept_procedure"),
    ("procedures.export", "procedure export", "procedures.operations.export_procedure"),
    ("procedures.load", "procedure load", "procedures.operations.load_procedure"),
    ("patterns.load", "pattern load", "procedures.operations.load_patterns"),
    ("patterns.show", "pattern show", "procedures.operations.show_pattern"),
    ("links.add", "link", "lessons.operations.link_records"),
    ("links.list", "links", "lessons.operations.list_links"),
    # Tasks and handoffs
    ("notes.show", "notes show", "work.operations.show_notes"),
    ("notes.set", "notes set", "work.operations.set_notes"),
    ("notes.lint", "notes lint", "work.operations.lint_notes"),
    ("work.continuity", "continuity", "work.operations.show_continuity"),
    ("tasks.start", "task start", "briefing.operations_views.start_task"),
    ("tasks.phase", "task phase", "briefing.operations_views.enter_phase"),
    ("tasks.show", "task show", "work.operations_tasks.show_task"),
    ("tasks.decide", "task decide", "work.operations_tasks.record_decision"),
    ("tasks.verify", "task verify", "work.operations_tasks.verify_task_items"),
    ("tasks.deliver", "task deliver", "work.operations_tasks.add_deliverable"),
    ("tasks.complete", "task complete", "work.operations_tasks.complete_task"),
    ("tasks.list", "task list", "work.operations_tasks.list_tasks"),
    ("tasks.log", "task log", "work.operations_tasks.task_log"),
    ("work.todo", "todo", "work.operations.list_todos"),
    ("work.ledger", "ledger", "work.operations_tasks.write_ledger"),
    ("handoffs.give", "handoff give", "work.operations_tasks.give_handoff"),
    ("handoffs.accept", "handoff accept", "work.operations_tasks.accept_handoff"),
    ("handoffs.list", "handoff list", "work.operations_tasks.list_handoffs"),
    ("work.promote", "promote", "work.operations.promote"),
    ("work.audit", "audit", "work.operations.audit_memory"),
    ("work.event", "event", "work.operations.handle_event"),
    # Autonomous memory
    ("autonomous.view", "memory view", "autonomous.operations.view"),
    ("autonomous.rebuild", "memory rebuild", "autonomous.operations.rebuild"),
    ("autonomous.enqueue", "memory enqueue", "autonomous.operations.enqueue"),
    ("autonomous.diagnose", "memory diagnose", "autonomous.operations.diagnose"),
    ("autonomous.clear", "memory clear", "autonomous.operations.clear"),
    ("autonomous.reset", "memory reset", "autonomous.operations.reset"),
    ("jobs.list", "jobs list", "jobs.operations.list_jobs"),
    ("jobs.show", "jobs show", "jobs.operations.show_job"),
    ("jobs.retry", "jobs retry", "jobs.operations.retry_job"),
    ("jobs.cancel", "jobs cancel", "jobs.operations.cancel_job"),
    # Scratch notes
    ("scratch.store", "scratch store", "work.operations.store_scratch"),
    ("scratch.retrieve", "scratch retrieve", "work.operations.retrieve_scratch"),
    ("scratch.search", "scratch search", "work.operations.search_scratch"),
    ("scratch.list", "scratch list", "work.operations.list_scratch"),
    ("scratch.delete", "scratch delete", "work.operations.delete_scratch"),
    # Agents
    ("captures.list", "capture list", "capture.operations.list_captures"),
    ("captures.undo", "capture undo", "capture.operations.undo_capture"),
    ("agents.plugin", "plugin", "agents.operations.write_plugin"),
    ("agents.notices", "notices", "agents.operations.list_notices"),
    ("agents.seen", "seen", "maintenance.operations_overview.list_seen"),
    ("agents.pause", "pause", "maintenance.operations_overview.pause"),
    ("agents.resume", "resume", "maintenance.operations_overview.resume"),
    # The store
    ("store.stats", "stats", "maintenance.operations.stats"),
    ("store.sizes", "sizes", "maintenance.operations_overview.measure_sizes"),
    ("store.plot", "stats plot", "maintenance.operations_overview.plot_stats"),
    ("store.plot_evaluation", "eval plot", "maintenance.operations_overview.plot_evaluation"),
    ("verify", "verify", "briefing.operations_views.verify"),
    ("store.evaluate", "eval", "recall.operations.evaluate"),
    ("store.rebuild", "rebuild", "maintenance.operations.rebuild"),
    ("store.backup", "backup", "maintenance.operations.backup"),
    ("store.adopt", "adopt", "maintenance.operations.adopt"),
    ("server.setup", "server setup", "maintenance.operations.server_setup"),
    ("server.grant", "server grant", "maintenance.operations.server_grant"),
    ("server.revoke", "server revoke", "maintenance.operations.server_revoke"),
    ("server.members", "server members", "maintenance.operations.server_members"),
    ("memories.forget", "forget", "maintenance.operations_erase.forget"),
    ("memories.blame", "blame", "maintenance.operations_lineage.blame"),
    ("memories.retract", "retract", "maintenance.operations_lineage.retract"),
    ("store.export", "export", "interchange.operations.export_memory"),
    ("store.load", "load", "interchange.operations.load_memory"),
    ("store.migrate", "migrate", "interchange.operations.migrate"),
    ("store.scrub", "scrub", "maintenance.operations_repair.scrub"),
    ("store.recover", "recover", "maintenance.operations_repair.recover"),
    # Settings
    ("config.get", "config get", "maintenance.operations.get_setting"),
    ("config.set", "config set", "maintenance.operations.set_setting"),
    ("config.unset", "config unset", "maintenance.operations.unset_setting"),
    ("config.list", "config list", "maintenance.operations.list_settings"),
    ("config.path", "config path", "maintenance.operations.find_paths"),
)
"""Name, words of the command and function, in the order of the reference."""

EVERYDAY = (
    *("status", "init", "import", "learn", "recall"),
    *("review", "briefing", "show", "edit", "undo"),
)
"""The commands of the short help."""

OPERATIONS: Mapping[str, Operation] = {
    words: Operation(name, words, *place.rsplit(".", 1)) for name, words, place in _ROWS
}
"""The operations by command."""

BY_NAME: Mapping[str, Operation] = {operation.name: operation for operation in OPERATIONS.values()}

SHORT_COMMANDS: Mapping[str, str] = {
    "search": "recall",
    "find": "recall",
    "add": "learn",
    "remember": "learn",
    "ls": "list",
    "rm": "hide",
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
