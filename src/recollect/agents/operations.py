"""Operations that keep up with agents: read their transcripts, show captures, write the plugin."""

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
from . import operations_transcripts, registry, steps_hooks, steps_import
from .settings import plan_io
from .transcripts import find_io

if TYPE_CHECKING:
    from .transcripts.reader_io import Transcript

_CHECKPOINT_WINDOW = 1_000_000


def catch_up(context: Context, parent: int = 0) -> int:
    """Read the transcripts that hooks requested, learn from ended conversations, and complete the
    index; return at once if other processes do it already. Then run autonomous memory, if it is
    enabled, while the process `parent` lives. Of a member that only reads nothing is kept: the
    requests are dropped."""
    folder = steps_hooks.requests_folder(context)
    if not context.project_space.is_writable():
        return steps_hooks.catch_up(folder, lambda request: None, lambda over: None)
    done = steps_hooks.catch_up(
        folder,
        partial(_answer_request, context),
        partial(_afterwards, context),
    )
    # Not under the lock of the requests: a model takes its time.
    if context.settings.memories_enabled:
        autonomous_operations.start(context, parent)
    return done


def _afterwards(context: Context, over: bool) -> None:
    recall_operations.reindex_outdated(context)
    if context.project_space.present():
        tree = freshness_steps.open_working_tree(context)
        memory_steps_verify.pin_waiting(context.project_space, tree, context.clock())
    if over:
        lessons_operations.learn_from_finished_work(context)
        _back_up(context)
    recall_operations.make_vectors(context)


def _back_up(context: Context) -> None:
    """Make the backup of the day, of each store that is a file."""
    for space in context.present_spaces():
        context.load_repair().rotate_backups(getattr(space, "path", ""))


def _answer_request(context: Context, request: steps_hooks.Request) -> None:
    """Read the transcripts of a request; an unreadable one does not stop the others."""
    if request.host not in registry.AGENT_NAMES:
        return
    from .transcripts.reader_io import Transcript

    found = [Transcript(request.host, request.path)]
    if not os.path.isfile(request.path):
        found = _find_unread(context, request.host)
    done = operations_transcripts.read(context, found)
    if request.ended or not request.path:
        over = (session for one in done for session in one.sessions)
        capture_operations.learn_from_sessions(context, {request.session, *over} - {""})
    if request.checkpoint and request.session:
        _checkpoint(context, request.session)
    if request.ended and request.session:
        context.project_space.write(lambda tx: steps_import.mark_ended(tx, request.session))
        briefing_operations_views.follow_up(context, request.session)


def _find_unread(context: Context, host: str) -> list[Transcript]:
    """Return an agent's transcripts of this project, and recent ones of other agents: an agent that
    was killed sends no last event.

    Other agents are those whose hooks ran in this project.
    """
    folder = private_folder(user_directory(context.environment), context.project.root)
    since = steps_hooks.mark_sweep(steps_hooks.requests_folder(context))
    heard = {run.host for run in steps_hooks.read_runs((folder,))} - {host}
    known = [find_io.discover(context, host, {})]
    known += [
        find_io.discover(context, other, {}, since=since)
        for other in registry.AGENTS_WITH_HOOKS
        if other in heard
    ]
    return [item for item in chain(*known) if find_io.is_ours(context, item)]


def _checkpoint(context: Context, session: str) -> None:
    """Return the checkpoint of a session for after a compaction; empty without messages."""
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

    The next session that you start in an agent shows it, too.

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
    done = plan_io.write_plugin_files(folder, files, packages.MANIFEST, packages.is_program)
    # The package looks for the launcher where no program is on the search path.
    connections.write_launcher(context.environment)
    return done._replace(warning=connections.warn_of_install())
