"""The rows of the table of operations: see `operation_table`."""

from __future__ import annotations

from .fast_typing import NamedTuple


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
            *_rows("maintenance.operations_overview", ("store.status", "status", "show_status")),
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
            *_rows("briefing.operations_views", ("show", "show", "show")),
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
                ("memories.undo", "history undo", "undo"),
                ("memories.reinforce", "reinforce", "reinforce"),
                ("memories.hide", "hide", "hide"),
                ("memories.restore", "restore", "restore"),
                ("memories.feedback", "feedback", "feedback"),
                ("memories.prune", "prune", "prune"),
                ("memories.clear", "clear", "clear_memories"),
                ("memories.undo_clear", "clear undo", "undo_clear"),
            ),
            *_rows("maintenance.operations_undo", ("store.undo", "undo", "undo_last")),
        ),
    ),
    (
        "Context for the model",
        (
            *_rows("briefing.operations", ("briefing", "briefing", "make_briefing")),
            *_rows("briefing.operations_views", ("tasks.before", "before-task", "before_task")),
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
                "briefing.operations_views",
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
        "Autonomous memory",
        (
            *_rows(
                "autonomous.operations",
                ("autonomous.view", "memory view", "view"),
                ("autonomous.rebuild", "memory rebuild", "rebuild"),
                ("autonomous.enqueue", "memory enqueue", "enqueue"),
                ("autonomous.diagnose", "memory diagnose", "diagnose"),
                ("autonomous.clear", "memory clear", "clear"),
                ("autonomous.reset", "memory reset", "reset"),
            ),
            *_rows(
                "jobs.operations",
                ("jobs.list", "jobs list", "list_jobs"),
                ("jobs.show", "jobs show", "show_job"),
                ("jobs.retry", "jobs retry", "retry_job"),
                ("jobs.cancel", "jobs cancel", "cancel_job"),
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
            *_rows(
                "agents.operations",
                ("agents.plugin", "plugin", "write_plugin"),
                ("agents.notices", "notices", "list_notices"),
            ),
            *_rows(
                "maintenance.operations_overview",
                ("agents.seen", "seen", "list_seen"),
                ("agents.pause", "pause", "pause"),
                ("agents.resume", "resume", "resume"),
            ),
        ),
    ),
    (
        "The store",
        (
            *_rows("maintenance.operations", ("store.stats", "stats", "stats")),
            *_rows(
                "maintenance.operations_overview",
                ("store.sizes", "sizes", "measure_sizes"),
                ("store.plot", "stats plot", "plot_stats"),
                ("store.plot_evaluation", "eval plot", "plot_evaluation"),
            ),
            *_rows("briefing.operations_views", ("verify", "verify", "verify")),
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
            *_rows(
                "maintenance.operations_erase",
                ("memories.forget", "forget", "forget"),
                ("memories.blame", "blame", "blame"),
                ("memories.retract", "retract", "retract"),
            ),
            *_rows(
                "interchange.operations",
                ("store.export", "export", "export_memory"),
                ("store.load", "load", "load_memory"),
                ("store.migrate", "migrate", "migrate"),
            ),
            *_rows("maintenance.operations_scrub", ("store.scrub", "scrub", "scrub")),
            *_rows(
                "maintenance.operations_recover",
                ("store.recover", "recover", "recover"),
            ),
        ),
    ),
    (
        "Settings",
        _rows(
            "maintenance.operations_config",
            ("config.get", "config get", "get_setting"),
            ("config.set", "config set", "set_setting"),
            ("config.unset", "config unset", "unset_setting"),
            ("config.list", "config list", "list_settings"),
            ("config.path", "config path", "find_paths"),
        ),
    ),
)
"""The operations, in the order of the reference."""
