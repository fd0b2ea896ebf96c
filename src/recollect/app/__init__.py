"""Recollect: the one object with every operation, and the table of their names.

Interfaces project `OPERATIONS` and the methods' signatures onto commands, tools and routes;
there is no second list of what the system can do.
"""

from __future__ import annotations

from collections.abc import Mapping

from . import checks
from .briefings import Briefings
from .experience import Experience
from .scratch import Scratch
from .sessions import Sessions
from .upkeep import Upkeep
from .windows import Windows
from .work import Work


class Recollect(Briefings, Experience, Work, Sessions, Windows, Scratch, Upkeep):
    """A project's memory together with the user's. Made by `recollect.open()`."""

    def __enter__(self) -> Recollect:
        return self


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
    "episode build": "build_episodes",
    "episode list": "episodes",
    "episode show": "episode",
    "episode replay": "replay",
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
    "backup": "backup",
    "adopt": "adopt",
    "doctor": "doctor",
}
"""A command's words, and the method that does it."""

checks.guard(Recollect, OPERATIONS.values())

SHORT = {
    "store": "scratch store",
    "retrieve": "scratch retrieve",
    "search": "scratch search",
    "delete": "scratch delete",
}
"""Commands that may be said without their group."""
