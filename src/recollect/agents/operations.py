"""Operations that keep up with agents: read their transcripts, show captures, write the plugin."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice

from .. import context as context_module
from ..briefing import operations_task as briefing_operations_task
from ..capture import operations as capture_operations
from ..context import Context, new_id
from ..errors import InvalidInput, NotFound, RecollectError, Refused, Unavailable
from ..fast_typing import TYPE_CHECKING
from ..lessons import operations as lessons_operations
from ..project import find_project, first_line
from ..recall import operations as recall_operations
from ..types import agents
from ..window import operations as window_operations
from ..window import steps as window_steps
from . import operations_import, registry, steps_hooks
from .settings import plan_io

if TYPE_CHECKING:
    from .transcripts.reader_io import Transcript

_LOOKED_AT = 50
_CHECKPOINT_WINDOW = 1_000_000


def catch_up(context: Context) -> int:
    """Read what hooks asked for, learn from conversations that are over, make what is missing
    of the index; returns at once when others are at it already."""
    return steps_hooks.catch_up(
        steps_hooks.requests_folder(context),
        partial(_answer_request, context),
        partial(_afterwards, context),
    )


def _afterwards(context: Context, over: bool) -> None:
    recall_operations.reindex_outdated(context)
    if over:
        lessons_operations.learn_from_finished_work(context)
    recall_operations.make_vectors(context)


def _answer_request(context: Context, request: steps_hooks.Request) -> None:
    """One transcript that cannot be read must not keep the others from being read."""
    if request.host not in registry.AGENT_NAMES:
        return
    from .transcripts.reader_io import Transcript

    found = [Transcript(request.host, request.path)]
    if not os.path.isfile(request.path):
        found = [item for item in _discover(context, request.host, {}) if _is_ours(context, item)]
    done = _read(context, found)
    if request.ended or not request.path:
        over = (session for one in done for session in one.sessions)
        capture_operations.learn_from_sessions(context, {request.session, *over} - {""})
    if request.checkpoint and request.session:
        _checkpoint(context, request.session)
    if request.ended and request.session:
        context.project_space.write(lambda tx: operations_import.mark_ended(tx, request.session))
        briefing_operations_task.follow_up(context, request.session)


def _checkpoint(context: Context, session: str) -> None:
    """How things stand, for after a compaction; a session that has no message yet has none."""
    trees = window_operations.read_tree_lines(context)
    now = context.clock()
    request = context_module.PromptRequest(_CHECKPOINT_WINDOW)

    try:
        loaded = context.project_space.read(
            lambda tx: window_steps.load_window(tx, session, request)
        )
    except NotFound:
        return
    context.project_space.write(lambda tx: window_steps.write_checkpoint(tx, loaded, trees, now))


def import_transcripts(
    context: Context, path: str = "", agent: str = "", all: bool = False
) -> agents.Imported:
    """Bring agents' transcripts into the archive; what is there already is not kept twice.

    path: a transcript, or a folder of them; without it, those of this project are found
    agent: only this agent's (or who wrote the file, if it does not say so itself): claude-code,
        codex, gemini, opencode, cursor, copilot, specstory, aider, clio or messages
    all: those of every project on this machine, each into its own project's memory; only a
        person can

    Example: recollect import
    Example: recollect import ~/.codex/sessions --agent codex
    """
    if agent and agent not in registry.AGENT_NAMES:
        raise InvalidInput(
            f"{agent!r} is not an agent we know",
            where="agent",
            hint=f"one of: {', '.join(registry.AGENT_NAMES)}",
        )
    passed: dict[str, str] = {}
    if path:
        found = list(_given(os.path.abspath(os.path.expanduser(path)), agent, passed))
        return operations_import.combine_results(
            _read_all(context, found, _foreign(context, found)), passed
        )
    if all:
        return _import_all(context, agent, passed)
    found = [item for item in _discover(context, agent, passed) if _is_ours(context, item)]
    return operations_import.combine_results(_read_all(context, found), passed)


def _foreign(context: Context, named: Sequence[Transcript]) -> frozenset[str]:
    """Those of the named transcripts that anybody could have written: what lies in the project
    may have come with it, and an agent may name what it wrote itself."""
    root = os.path.join(os.path.realpath(context.project.root), "")
    paths = {item.path for item in named}
    found = {path for path in paths if os.path.realpath(path).startswith(root)}
    if context.origin != "user":
        kept = (_discover(context, host, {}, True) for host in {item.host for item in named})
        found |= paths - {item.path for items in kept for item in items}
    return frozenset(found)


def unread(context: Context) -> int:
    """How many conversations of this project agents have written down and nobody read yet."""
    found = [item for item in _discover(context, "", {}) if _is_ours(context, item)]
    return context.project_space.read(lambda tx: operations_import.count_unread(tx, found))


def write_plugin(context: Context, path: str) -> agents.WrittenPlugin:
    """Write a Claude Code plugin with our hooks, MCP server and Agent Skills.

    path: the plugin's folder: new, empty, or written by this command before

    Example: recollect plugin ~/.claude/skills/recollect
    """
    from ..version import __version__
    from .claude_code import plugin
    from .connections import describe_unstable_install, find_own_command

    folder = os.path.abspath(os.path.expanduser(path))
    files = plugin.render_plugin(find_own_command(), __version__)
    return plan_io.write_plugin_files(folder, files, plugin.MANIFEST)._replace(
        warning=describe_unstable_install()
    )


def _read_all(
    context: Context, found: Iterable[Transcript], foreign: frozenset[str] = frozenset()
) -> list[agents.ImportedTranscript]:
    """Read transcripts, then make the vectors of what was new: there are too many for whoever
    recalls first."""
    done = _read(context, found, foreign)
    capture_operations.learn_from_sessions(
        context, dict.fromkeys(session for one in done for session in one.sessions)
    )
    try:
        recall_operations.make_vectors(context)
    except Unavailable:
        return done  # words find everything, and `doctor` says what is wrong with the embedder
    return done


def _read(
    context: Context, found: Iterable[Transcript], foreign: frozenset[str] = frozenset()
) -> list[agents.ImportedTranscript]:
    how = operations_import.ImportOptions(
        context.settings.capture,
        new_id,
        context.clock,
        context.progress,
        foreign,
        partial(capture_operations.keep, context),
    )
    return operations_import.import_files(context.project_space, found, how)


def _discover(
    context: Context, agent: str, passed: dict[str, str], everywhere: bool = False
) -> Iterator[Transcript]:
    """The transcripts on this machine. An agent whose files cannot be looked through is passed
    over: that must not keep the others from being read."""
    home = context.environment.get("HOME") or os.path.expanduser("~")
    roots = () if everywhere else _roots(context.project.root, context.project.start)
    for host in (agent,) if agent else registry.AGENT_NAMES:
        reader = registry.load_transcripts(host)
        try:
            if hasattr(reader, "discover"):
                yield from reader.discover(home, roots, context.environment)
        except (InvalidInput, NotFound, Unavailable, OSError) as error:
            passed[host] = str(error)


def _is_ours(context: Context, transcript: Transcript) -> bool:
    """Whether it tells of this project, not of a repository that lies inside of it."""
    cwd = transcript.cwd or _cwd_in(transcript)
    return os.path.isdir(cwd) and find_project(cwd).root == context.project.root


def _import_all(context: Context, agent: str, passed: dict[str, str]) -> agents.Imported:
    if context.origin != "user":
        raise Refused(
            "only a person imports into the memory of other projects",
            where="all",
            hint="the user can run `recollect import --all` at a terminal; without --all this "
            "project's conversations are imported",
        )
    places: dict[str, list[Transcript]] = {}
    for item in _discover(context, agent, passed, everywhere=True):
        cwd = item.cwd or _cwd_in(item)
        if os.path.isdir(cwd):
            places.setdefault(find_project(cwd).root, []).append(item)
        else:
            gone = f"its project is gone: {cwd}"
            passed[item.path] = gone if cwd else "it does not say of which project it is"
    done = []
    for root, items in sorted(places.items()):
        try:
            memory = context.open_other(root)
            with memory:
                memory.progress = context.progress
                done += _read_all(memory.context, items)
        except RecollectError as error:
            passed[root] = str(error)
    return operations_import.combine_results(done, passed)


def _given(path: str, agent: str, passed: dict[str, str]) -> Iterator[Transcript]:
    """The transcripts at a path that somebody named."""
    from .transcripts.find_io import make_transcript, walk_files

    if not os.path.exists(path):
        raise NotFound("there is no such file or folder", where=path)
    whole = not os.path.isdir(path) or os.path.isdir(os.path.join(path, "message"))
    for file in [path] if whole else walk_files(path, ""):
        try:
            yield make_transcript(agent or registry.detect_transcript(file), file)
        except (InvalidInput, Unavailable, OSError) as error:
            if whole:
                raise
            passed[file] = getattr(error, "message", str(error))


def _cwd_in(transcript: Transcript) -> str:
    """The directory that the first records of a transcript name."""
    reader = registry.load_transcripts(transcript.host)
    try:
        items = islice(reader.read(transcript.path, None, transcript.session), _LOOKED_AT)
        return next((cwd for item in items if (cwd := getattr(item, "cwd", ""))), "")
    except RecollectError:
        return ""


def _roots(root: str, start: str) -> tuple[str, ...]:
    """The project's directories: its root, where we are, and its worktrees."""
    from .transcripts.find_io import list_names

    found = {root: None, start: None}
    linked = os.path.join(root, ".git", "worktrees")
    for name in list_names(linked):
        if gitdir := first_line(os.path.join(linked, name, "gitdir")):
            found[os.path.dirname(gitdir)] = None
    return tuple(found)
