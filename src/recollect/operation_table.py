"""Recollect: the one object with every operation, and the table of their names.

Interfaces project `OPERATIONS` and the methods' signatures onto commands, tools and routes;
there is no second list of what the system can do.

The class itself is loaded when it is asked for; a command that needs only memories opens only
those (`class_for`), because a hook or a search pays for every import.
"""

from __future__ import annotations

from collections.abc import Mapping

from .fast_typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .client import Recollect as Recollect
    from .context import Opened

OPERATIONS: Mapping[str, str] = {
    "init": "init",
    "learn": "learn",
    "recall": "recall",
    "show": "show",
    "list": "list",
    "briefing": "briefing",
    "before-task": "before_task",
    "confirm": "confirm",
    "correct": "correct",
    "remember": "remember",
    "archive": "archive",
    "restore": "restore",
    "feedback": "feedback",
    "prune": "prune",
    "clear": "clear",
    "clear undo": "undo_clear",
    "history": "history",
    "for-file": "for_file",
    "add-discovery": "add_discovery",
    "add-solution": "add_solution",
    "add-pattern": "add_pattern",
    "record": "record",
    "session list": "sessions",
    "session show": "session",
    "session recent": "recent",
    "session prepare": "prepare",
    "session overflow": "on_overflow",
    "session trim": "trim",
    "session search": "recall_sessions",
    "session switch": "switch_session",
    "session rename": "rename_session",
    "session end": "end_session",
    "session export": "export_session",
    "session import": "import_session",
    "plugin": "plugin",
    "import": "import_transcripts",
    "capture list": "captures",
    "capture undo": "undo_capture",
    "episode record": "record_episode",
    "episode load": "load_episodes",
    "episode build": "build_episodes",
    "episode list": "episodes",
    "episode show": "episode",
    "episode replay": "replay",
    "learnings": "learnings",
    "consolidate": "consolidate",
    "consolidate undo": "undo_consolidation",
    "procedure learn": "learn_procedure",
    "procedure list": "procedures",
    "procedure show": "procedure",
    "procedure use": "use_procedure",
    "procedure revise": "revise_procedure",
    "procedure accept": "accept_procedure",
    "procedure export": "export_procedure",
    "procedure load": "load_procedure",
    "pattern load": "load_patterns",
    "pattern show": "pattern",
    "link": "link",
    "links": "links",
    "notes show": "notes",
    "notes set": "set_notes",
    "notes lint": "lint_notes",
    "continuity": "continuity",
    "task start": "start_task",
    "task show": "task",
    "task phase": "task_phase",
    "task decide": "decide",
    "task verify": "verify_items",
    "task complete": "complete_task",
    "task list": "tasks",
    "task log": "task_log",
    "ledger": "ledger",
    "handoff give": "give_handoff",
    "handoff accept": "accept_handoff",
    "handoff list": "handoffs",
    "promote": "promote",
    "audit": "audit",
    "event": "event",
    "scratch store": "store",
    "scratch retrieve": "retrieve",
    "scratch search": "search",
    "scratch list": "scratch",
    "scratch delete": "delete",
    "stats": "stats",
    "verify": "verify",
    "eval": "evaluate",
    "rebuild": "rebuild",
    "backup": "backup",
    "adopt": "adopt",
    "doctor": "doctor",
}
"""A command's words, and the method that does it."""

SHORT = {
    "store": "scratch store",
    "retrieve": "scratch retrieve",
    "search": "scratch search",
    "delete": "scratch delete",
}
"""Commands that may be said without their group."""

_OF_MEMORIES = ("learn", "recall", "show", "list")


def class_for(command: str) -> type[Opened]:
    """The smallest class that can do a command."""
    if command in _OF_MEMORIES:
        from .quick_client import Quick

        return Quick
    from .client import Recollect

    return Recollect


def __getattr__(name: str) -> Any:
    if name == "Recollect":
        from .client import Recollect

        return Recollect
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
