"""Operations that keep up with agents: hear their hooks, read their transcripts, show captures."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice

from .. import context as context_module
from ..briefing import operations as briefing_operations
from ..briefing import rendering
from ..briefing import steps as briefing_steps
from ..capture import operations as capture_operations
from ..capture import sentences
from ..capture import steps as capture_steps
from ..context import Context, new_id
from ..errors import InvalidInput, NotFound, RecollectError, Refused, StoreError, Unavailable
from ..fast_typing import TYPE_CHECKING
from ..lessons import operations as lessons_operations
from ..project import (
    find_project,
    first_line,
    make_folder,
    private_folder,
    user_directory,
    worktree_root,
)
from ..recall import operations as recall_operations
from ..types import agents
from ..types.records import Learned
from ..window import operations as window_operations
from ..window import steps as window_steps
from ..window import steps_contexts as window_steps_contexts
from . import events, operations_import, registry, steps_hooks
from .session_names import make_session_id
from .settings import plan_io

if TYPE_CHECKING:
    from .events import Event
    from .transcripts.reader_io import Transcript

_SPOKEN = ("session_start", "user_prompt")
_WRITTEN = ("stop", "before_compact", "session_end")
_LOOKED_AT = 50
_CHECKPOINT_WINDOW = 1_000_000
_LONGEST_PROMPT = 200_000
"""Characters. Of what is longer a hook looks at both ends; nobody typed all of it."""


def answer_event(context: Context, event: Event) -> steps_hooks.Answer:
    """What to answer to a hook; quick, whatever it finds."""
    if event.name in _WRITTEN:
        words = steps_hooks.compacting(event.session) if event.name == "before_compact" else ""
        answer = steps_hooks.Answer(words, trouble=_forget_context(context, event))
        return _catch_up_later(context, event, answer)
    heard = ("tool_use",) if event.subagent else (*_SPOKEN, "tool_use")
    if event.name not in heard:
        return steps_hooks.Answer()
    if not all(space.current() for space in context.present_spaces()):
        # Upgrading a store takes its time: the agent goes on without memory meanwhile.
        return _catch_up_later(context, _sweep(event), steps_hooks.Answer())
    if event.name == "tool_use":
        return _remind(context, event)
    now = context.clock()
    if not steps_hooks.is_first(context.project_space, event, now):
        return steps_hooks.Answer()
    if event.name == "session_start":
        return _catch_up_later(context, _sweep(event), _briefed(context, event))
    # What the user says now need not be told to the model again: the briefing comes first.
    answer = _briefed(context, event)
    try:
        captured = _capture(context, event, now)
        return answer._replace(notice=capture_steps.notice(captured)) if captured else answer
    except StoreError as trouble:
        # It is captured from the transcript, later.
        return answer._replace(trouble=trouble)


def _briefed(context: Context, event: Event) -> steps_hooks.Answer:
    """What the model sees: all of it when its context starts, or is heard of for the first
    time; then what each turn adds, and on resuming what is new."""
    ask = briefing_steps.Ask(event.session, _ends(event.prompt), context=event.context)
    briefing, trouble = briefing_operations.brief(context, ask)
    goes_on = event.name != "session_start" or event.context == "kept"
    if goes_on and not briefing.begins:
        return steps_hooks.Answer(str(briefing.turn), trouble=trouble)
    words = [str(briefing.text)]
    if event.source == "compact" and event.session:
        words.append(rendering.after_compaction(event.session))
    return steps_hooks.Answer("\n".join(filter(None, words)), trouble=trouble)


def _forget_context(context: Context, event: Event) -> StoreError | None:
    """Note that the model's context is about to be thrown away; gives why that failed."""
    if event.context != "fresh" or not event.session:
        return None
    session, now = _context_of(event), context.clock()
    try:
        # Whoever starts afresh after the compaction does without this note.
        for space in [one for one in context.present_spaces() if one.current()]:
            space.note(lambda tx: window_steps_contexts.forget_context(tx, session, now))
    except StoreError as trouble:
        return trouble
    return None


def _remind(context: Context, event: Event) -> steps_hooks.Answer:
    """What applies to the files that a tool was used on; each memory once a context."""
    files = [path for name in events.touched(event) if (path := _inside(context, name, event.cwd))]
    if not files or not event.session:
        return steps_hooks.Answer()
    told, trouble = briefing_operations.remind_of_files(context, _context_of(event), files)
    now = context.clock()
    if told and not steps_hooks.is_first(context.project_space, event, now):
        told = ""
    return steps_hooks.Answer(told, trouble=trouble)


def _inside(context: Context, name: str, cwd: str) -> str:
    """A file's path from the root of its working tree; empty when it is elsewhere."""
    path = os.path.realpath(os.path.join(cwd or ".", name))
    top = os.path.realpath(worktree_root(context.project.start) or context.project.root)
    return path[len(top) + 1 :] if path.startswith(top + os.sep) else ""


def _capture(context: Context, event: Event, now: int) -> list[Learned]:
    if not (context.settings.capture and event.typed and event.session):
        return []
    if context.settings.mode == "incognito":
        return []  # nothing would be left of it
    if len(event.prompt) > _LONGEST_PROMPT:
        return []  # whoever reads the transcript has the time
    if not sentences.capture(event.prompt):
        return []
    space = context.project_space
    new = not space.present()
    said = capture_steps.Said(event.prompt, event.session, now)
    captured = capture_operations.capture_message(context, said)
    if new:
        # Before there was a store nobody could say that this event is answered.
        steps_hooks.is_first(space, event, now)
    return captured


def _catch_up_later(
    context: Context, event: Event, answer: steps_hooks.Answer
) -> steps_hooks.Answer:
    """Have the transcript read beside the agent; a request that cannot be left does not cost
    the answer."""
    if context.settings.mode == "incognito":
        return answer
    # A path that leads nowhere says nothing; whatever else it holds is not written down.
    path = event.transcript if os.path.isfile(event.transcript) else ""
    request = steps_hooks.Request(
        event.host,
        event.session,
        path,
        event.name == "session_end",
        event.name == "before_compact",
    )
    try:
        steps_hooks.ask(requests_folder(context), request)
    except OSError as trouble:
        return answer._replace(trouble=trouble)
    return answer._replace(work=True)


def requests_folder(context: Context) -> str:
    """Not in the project: what a repository brings along must not be read as requests."""
    folder = private_folder(user_directory(context.environment), context.project.root)
    make_folder(folder)
    return os.path.join(folder, "catch-up")


def catch_up(context: Context) -> int:
    """Read what hooks asked for, learn from conversations that are over, make what is missing
    of the index; returns at once when others are at it already."""
    return steps_hooks.catch_up(
        requests_folder(context),
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


def _context_of(event: Event) -> str:
    """Return whose context an event happened in: a subagent has one of its own."""
    return make_session_id(event.session, event.subagent) if event.subagent else event.session


def _sweep(event: Event) -> Event:
    """A request to read whatever earlier conversations left unread."""
    return event._replace(transcript="", session="")


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


def _ends(prompt: str) -> str:
    """A prompt that can be looked at while somebody waits."""
    if len(prompt) <= _LONGEST_PROMPT:
        return prompt
    return f"{prompt[: _LONGEST_PROMPT // 2]}\n{prompt[-_LONGEST_PROMPT // 2 :]}"


def _roots(root: str, start: str) -> tuple[str, ...]:
    """The project's directories: its root, where we are, and its worktrees."""
    from .transcripts.find_io import list_names

    found = {root: None, start: None}
    linked = os.path.join(root, ".git", "worktrees")
    for name in list_names(linked):
        if gitdir := first_line(os.path.join(linked, name, "gitdir")):
            found[os.path.dirname(gitdir)] = None
    return tuple(found)
