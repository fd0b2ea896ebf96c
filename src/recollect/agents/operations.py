"""Operations around agents: catch up with their transcripts, list notices, write the plugin."""

from __future__ import annotations

import os
from functools import partial
from itertools import chain

from .. import context as context_module
from ..autonomous import operations as autonomous_operations
from ..briefing import operations_views as briefing_operations_views
from ..capture import operations as capture_operations
from ..context import Context
from ..errors import NotFound
from ..fast_typing import TYPE_CHECKING
from ..freshness import steps as freshness_steps
from ..lessons import operations as lessons_operations
from ..memory import steps_verify as memory_steps_verify
from ..project import private_folder, user_directory
from ..recall import operations as recall_operations
from ..types import reports
from ..window import operations as window_operations
from ..window import steps as window_steps
from . import operations_import_project, registry, steps_hooks, steps_import
from .settings import plan_io
from .transcripts import find_io

if TYPE_CHECKING:
    from .transcripts.reader_io import Transcript

_CHECKPOINT_WINDOW = 1_000_000


def catch_up(context: Context, parent: int = 0) -> int:
    """Read the transcripts that hooks requested, learn from ended conversations, and complete the
    index; return immediately if other processes do it already. Then run autonomous memory, if it
    is enabled, while the process `parent` lives. For a read-only member the requests are dropped.
    """
    folder = steps_hooks.make_requests_folder(context)
    if not context.project_space.is_writable():
        return steps_hooks.catch_up(folder, lambda request: None)
    done = steps_hooks.catch_up(
        folder, partial(_read_requested, context), partial(_finish_catch_up, context, folder)
    )
    # Not under the lock of the requests: a model is slow.
    if context.settings.memories_enabled:
        autonomous_operations.start(context, parent)
    return done


def _finish_catch_up(context: Context, folder: str, has_ended: bool) -> None:
    """Complete the index; if a conversation has ended or was imported, learn from it; if one has
    ended, make a backup."""
    recall_operations.reindex_outdated(context)
    if has_ended or steps_hooks.is_unlearned(folder):
        steps_hooks.learn_imported(folder, partial(_learn, context))
    if context.project_space.present():  # after the lessons, which may name code
        tree = freshness_steps.open_working_tree(context)
        memory_steps_verify.pin_waiting(context.project_space, tree, context.clock())
    if has_ended:
        for space in context.present_spaces():
            context.load_repair().rotate_backups(getattr(space, "path", ""))
    recall_operations.make_vectors(context)


def finish_learning(context: Context) -> None:
    """Learn from the conversations that an import left to a background process, or wait until that
    process has done it: for operations that show lessons and episodes."""
    if context.settings.mode == "incognito" or not context.project_space.is_writable():
        return
    if advance := context.progress_of("lessons", 1):
        advance(0)
    steps_hooks.finish_imported(steps_hooks.requests_folder(context), partial(_learn, context))


def _learn(context: Context) -> None:
    """Learn from ended and imported conversations, also those of an import that was broken off."""
    capture_operations.learn_from_imported(context)
    lessons_operations.learn_from_finished_work(context)


def _read_requested(context: Context, request: steps_hooks.Request) -> None:
    """Read the transcripts of a request; an unreadable one does not stop the others."""
    if request.host not in registry.AGENT_NAMES:
        return
    from .transcripts.reader_io import Transcript

    found = [Transcript(request.host, request.path)]
    if not os.path.isfile(request.path):
        found = _find_unread(context, request.host)
    done = operations_import_project.read(context, found)
    if request.ended or not request.path:
        ended = (session for one in done for session in one.sessions)
        capture_operations.learn_from_sessions(context, {request.session, *ended} - {""})
    if request.checkpoint and request.session:
        _write_checkpoint(context, request.session)
    if request.ended and request.session:
        context.project_space.write(lambda tx: steps_import.mark_ended(tx, request.session))
        briefing_operations_views.follow_up(context, request.session)


def _find_unread(context: Context, host: str) -> list[Transcript]:
    """Return an agent's transcripts of this project, and recent ones of other agents whose hooks
    ran here: an agent that was killed sends no last event."""
    folder = private_folder(user_directory(context.environment), context.project.root)
    since = steps_hooks.mark_sweep(steps_hooks.make_requests_folder(context))
    others = {run.host for run in steps_hooks.read_runs((folder,))} - {host}
    found = [find_io.discover(context, host, {})]
    found += [
        find_io.discover(context, other, {}, since=since)
        for other in registry.AGENTS_WITH_HOOKS
        if other in others
    ]
    return find_io.select_of_project(context, chain(*found))


def _write_checkpoint(context: Context, session: str) -> None:
    """Write the checkpoint of a session before a compaction; nothing without messages."""
    trees = window_operations.read_git_state(context)
    now = context.clock()
    request = context_module.PromptRequest(_CHECKPOINT_WINDOW)

    try:
        loaded = context.project_space.read(
            lambda tx: window_steps.load_window(tx, session, request)
        )
    except NotFound:
        return
    context.project_space.write(lambda tx: window_steps.write_checkpoint(tx, loaded, trees, now))


def list_notices(context: Context) -> tuple[str, ...]:
    """Show the notices of runs without a terminal that you have not seen yet.

    The next session that you start in an agent shows them, too.

    Example: recollect notices
    """
    path = steps_hooks.find_notices(context.project.start, context.environment)
    return tuple(steps_hooks.read_notices(path)) if path else ()


def write_plugin(context: Context, path: str) -> reports.WrittenPlugin:
    """Write a plugin for Claude Code, Codex and Copilot CLI: hooks, MCP server, Agent Skills.

    path: the plugin's folder: new, empty, or written by this command before

    Example: recollect plugin ~/.claude/skills/recollect
    """
    from ..version import __version__
    from . import connections, packages

    folder = os.path.abspath(os.path.expanduser(path))
    files = packages.render_plugin(__version__)
    done = plan_io.write_plugin_files(folder, files)
    # The package looks for the launcher where no program is on the search path.
    connections.write_launcher(context.environment)
    return done._replace(warning=connections.warn_of_install())
