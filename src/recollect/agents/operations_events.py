"""Answer the events of agents: the five moments of the briefing, captures, catching up later.

Every prompt and every tool call runs this module: import only what is needed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial

from ..briefing import command_rules, rendering
from ..briefing import operations as briefing_operations
from ..briefing import sql as briefing_sql
from ..briefing import steps as briefing_steps
from ..briefing import steps_action as briefing_steps_action
from ..briefing import steps_turn as briefing_steps_turn
from ..capture import operations as capture_operations
from ..capture import sentences
from ..capture import steps as capture_steps
from ..context import Context
from ..errors import StoreError
from ..fast_typing import TYPE_CHECKING, NamedTuple
from ..project import worktree_root
from ..storage import sql as storage_sql
from ..storage.database import Tx
from ..window import sql as window_sql
from . import events, steps_hooks
from .registry import make_session_id

if TYPE_CHECKING:
    from ..memory.steps import PreparedMemory
    from ..types.records import Learned
    from .events import Event

_SPOKEN = ("session_start", "user_prompt")
_ACTIONS = ("before_tool", "tool_use")
_WRITTEN = ("stop", "before_compact", "session_end")
_LONGEST_PROMPT = 200_000
"""Characters. Of a longer prompt a hook looks at both ends: most of it was pasted."""

_LONGEST_OUTPUT = 20_000
_SILENT = steps_hooks.Answer()


class _LoadedPrompt(NamedTuple):
    """The records that a prompt needs; `looked` holds the memories that its statements touch."""

    turn: briefing_steps_turn.LoadedTurn
    start: briefing_steps.LoadedStart
    looked: capture_operations.LookedUp


class _Prompted(NamedTuple):
    """The statements of a prompt, ready to be saved, and the answer to it."""

    ready: list[PreparedMemory]
    now: int
    looked: Mapping[str, capture_steps.FoundBefore | None] = {}
    words: str = ""
    shown: Sequence[briefing_operations.ShownMoment] = ()


def answer_event(context: Context, event: Event) -> steps_hooks.Answer:
    """Return the answer to a hook. It must be quick."""
    if steps_hooks.find_pause(context.environment, context.project.root):
        return steps_hooks.Answer()
    if event.name in _WRITTEN:
        words = ""
        if event.name == "before_compact":
            words = steps_hooks.compacting(event.session, _keeps_conversations(context))
        answer = steps_hooks.Answer(words, trouble=_forget_context(context, event))
        return _catch_up_later(context, event, answer)
    heard = _ACTIONS if event.subagent else (*_SPOKEN, *_ACTIONS)
    if event.name not in heard:
        return steps_hooks.Answer()
    if event.name == "before_tool" and not context.project_space.current():
        return steps_hooks.Answer()
    if event.name != "before_tool" and not all(
        space.current() for space in context.present_spaces()
    ):
        # Upgrading a store takes its time: the agent goes on without memory meanwhile.
        return _catch_up_later(context, _sweep(event), steps_hooks.Answer())
    if event.name in _ACTIONS:
        return _on_action(context, event)
    now = context.clock()
    if event.name == "session_start":
        is_first, answer = _answer_start(context, event, now)
        return _catch_up_later(context, _sweep(event), answer) if is_first else answer
    return _answer_prompt(context, event, now)


# ---------------------------------------------------------------- start and turn


def _answer_start(context: Context, event: Event, now: int) -> tuple[bool, steps_hooks.Answer]:
    """Answer with the start block, or on resuming with new records only; tell the person once a
    day how much waits for review. Return false if the event was answered before."""
    ask = _ask(event)
    briefing, shown = briefing_steps.EMPTY, briefing_operations.ShownMoment("start")
    silent = briefing_steps.why_silent(context.settings.mode, "")
    start = briefing_operations.start_loader(context, ask)
    has_store = context.project_space.present()

    def load(txs: Sequence[Tx]) -> tuple[briefing_steps.LoadedStart | None, int]:
        return None if silent else start(txs), _count_review(txs[:1] if has_store else (), now)

    loaded, waiting = context.read_both(load, ahead=True)
    if loaded:
        briefing, shown = briefing_operations.make_start(context, ask, loaded)
    notice, notice_state = steps_hooks.review_notice(waiting, now)
    shown = shown._replace(values={**shown.values, **notice_state})
    is_first, trouble = briefing_operations.log_shown(context, ask, [shown])
    if not is_first:
        return False, steps_hooks.Answer()
    if event.context == "kept" and not briefing.begins:
        return True, steps_hooks.Answer(str(briefing.turn), notice, trouble=trouble)
    words = [str(briefing.text)]
    if event.source == "compact" and event.session and _keeps_conversations(context):
        words.append(rendering.after_compaction(event.session))
    return True, steps_hooks.Answer("\n".join(filter(None, words)), notice, trouble=trouble)


def _answer_prompt(context: Context, event: Event, now: int) -> steps_hooks.Answer:
    """Answer a prompt with matching records, and with the start block if the context has none.
    Save the statements of the prompt, and tell the person."""
    ask = _ask(event)._replace(query=_ends(event.prompt))
    ready = _find_statements(context, event, now)
    if briefing_steps.why_silent(context.settings.mode, ask.query):
        return _keep_prompt(context, event, ask, _Prompted(ready, now))
    has_store = context.project_space.present()
    start = briefing_operations.start_loader(context, ask)
    turn = briefing_operations.turn_loader(context, ask)

    def load(txs: Sequence[Tx]) -> _LoadedPrompt:
        first = not (has_store and steps_hooks.was_heard(txs[0], event))
        looked = capture_operations.look_up(txs, ready) if ready and has_store else {}
        return _LoadedPrompt(turn(txs, first), start(txs), looked)

    loaded = context.read_both(load, ahead=True)
    briefing, block = briefing_operations.make_start(context, ask, loaded.start)
    start_items = briefing.items if briefing.begins else ()
    matched, shown_turn = briefing_operations.make_turn(context, loaded.turn, start_items)
    words = [str(briefing.stable) if briefing.begins else "", matched.text]
    prompted = _Prompted(
        ready, now, loaded.looked, "\n".join(filter(None, words)), [block, shown_turn]
    )
    return _keep_prompt(context, event, ask, prompted)


def _keep_prompt(
    context: Context, event: Event, ask: briefing_steps.Ask, prompted: _Prompted
) -> steps_hooks.Answer:
    """Save the answer to a prompt and its statements in one transaction; return an empty answer
    if the event was answered before."""
    ready, now = prompted.ready, prompted.now
    captured: list[Learned] = []
    files: list[bool] = []

    def learn(tx: Tx) -> None:
        captured[:] = capture_operations.keep_in(context, tx, ready, now, prompted.looked)
        files[:] = [not tx.is_remote]

    is_new = not context.project_space.present()
    is_first, trouble = briefing_operations.log_shown(
        context, ask, prompted.shown, learn if ready and not is_new else None
    )
    if not is_first:
        return _SILENT
    if trouble:
        captured.clear()
    try:
        if ready and is_new:
            captured = capture_operations.keep(context, ready, now)
            # Before there was a store the event could not be marked as answered.
            mark = steps_hooks.mark_of(event)
            context.project_space.try_write(lambda tx: storage_sql.put_values(tx, {}, now, mark))
        elif ready and not context.project_space.is_writable():
            captured = capture_operations.keep_own(context, ready, now, prompted.looked)
        elif any(files) and not trouble:
            # Another file: a busy one must not undo what the project's has saved.
            captured += capture_operations.keep_own(context, ready, now, prompted.looked)
    except StoreError as error:
        trouble = error  # it is captured from the transcript, later
    notice = capture_steps.notice(captured) if captured else ""
    return steps_hooks.Answer(prompted.words, notice, trouble=trouble)


def _ask(event: Event) -> briefing_steps.Ask:
    return briefing_steps.Ask(
        session=event.session,
        context=event.context,
        host=event.host,
        cwd=event.cwd,
        mark=steps_hooks.mark_of(event),
    )


def _count_review(txs: Sequence[Tx], now: int) -> int:
    """Return the length of the review queue; 0 if it cannot be read, which `doctor` reports."""
    try:
        return steps_hooks.count_review(txs, now)
    except StoreError:
        return 0


# ---------------------------------------------------------------- command, edit, failure


def _on_action(context: Context, event: Event) -> steps_hooks.Answer:
    """Return the lines for an action of the agent, each once in a context."""
    if not event.session:
        return _SILENT
    if event.name == "tool_use" and event.tool_failed:
        output = events.output_text(event)[:_LONGEST_OUTPUT]
        given = event.tool_input if isinstance(event.tool_input, dict) else {}
        briefing = briefing_operations.brief_failure(context, _ask_of_action(event), given, output)
        return steps_hooks.Answer(briefing.text)
    if line := events.command_line(event):
        return _before_command(context, event, line) if event.name == "before_tool" else _SILENT
    files = tuple(
        path for name in events.files_touched(event) if (path := _inside(context, name, event.cwd))
    )
    if not files:
        return _SILENT
    ask = _ask_of_action(event)._replace(files=files)
    return steps_hooks.Answer(briefing_operations.brief_edit(context, ask).text)


def _ask_of_action(event: Event) -> briefing_steps.Ask:
    return _ask(event)._replace(session=_context_of(event))


def _before_command(context: Context, event: Event, line: str) -> steps_hooks.Answer:
    """Return the lines for a shell line. Asked before every command: unless it names a watched
    program, one value is read, and nothing else is opened or loaded."""
    space, user = context.project_space, context.user_space
    if not space.present() or context.settings.mode == "no-ltm":
        return _SILENT
    session = _context_of(event)

    def load(tx: Tx) -> list[rendering.Item]:
        watched = briefing_sql.get_prepared(tx, briefing_sql.WATCHED)
        if not watched or not command_rules.find_watched(watched, line):
            return []
        find = partial(
            briefing_steps_action.before_command, session=session, line=line, watched=watched
        )
        return user.read(lambda other: find((tx, other))) if user.present() else find((tx,))

    items = space.read_ahead(load)
    if not items:
        return _SILENT
    briefing = briefing_operations.brief_command(context, _ask_of_action(event), items)
    return steps_hooks.Answer(briefing.text)


def _inside(context: Context, name: str, cwd: str) -> str:
    """Return a file's path from the root of its working tree; empty when it is elsewhere."""
    path = os.path.realpath(os.path.join(cwd or ".", name))
    top = os.path.realpath(worktree_root(context.project.start) or context.project.root)
    return path[len(top) + 1 :] if path.startswith(top + os.sep) else ""


# ---------------------------------------------------------------- around the briefing


def _keeps_conversations(context: Context) -> bool:
    """Check whether conversations are stored; those of a member that only reads are not."""
    return not context.project_space.current() or context.project_space.is_writable()


def _forget_context(context: Context, event: Event) -> StoreError | None:
    """Note that the model's context is about to be thrown away; return why that failed."""
    if event.context != "fresh" or not event.session:
        return None
    session, now = _context_of(event), context.clock()
    try:
        # A session that starts afresh after the compaction does without this note.
        for space in [one for one in context.present_spaces() if one.current()]:
            space.try_write(lambda tx: window_sql.forget_context(tx, session, now))
    except StoreError as trouble:
        return trouble
    return None


def _find_statements(context: Context, event: Event, now: int) -> list[PreparedMemory]:
    """Return the durable statements of a prompt, ready to be saved."""
    if not (context.settings.capture and event.typed and event.session):
        return []
    if context.settings.mode == "incognito":
        return []  # nothing would be left of it
    if len(event.prompt) > _LONGEST_PROMPT:
        return []  # it is captured from the transcript, later
    if not sentences.capture(event.prompt):
        return []
    return capture_operations.prepare_message(capture_steps.Said(event.prompt, event.session, now))


def _catch_up_later(
    context: Context, event: Event, answer: steps_hooks.Answer
) -> steps_hooks.Answer:
    """Request that a background process reads the transcript; ignore a failed request."""
    if context.settings.mode == "incognito":
        return answer
    # A path to nothing is not written down, whatever it holds.
    path = event.transcript if os.path.isfile(event.transcript) else ""
    request = steps_hooks.Request(
        event.host,
        event.session,
        path,
        event.name == "session_end",
        event.name == "before_compact",
    )
    try:
        steps_hooks.ask(steps_hooks.requests_folder(context), request)
    except OSError as trouble:
        return answer._replace(trouble=trouble)
    return answer._replace(work=True)


def _context_of(event: Event) -> str:
    """Return whose context an event happened in: a subagent has one of its own."""
    return make_session_id(event.session, event.subagent) if event.subagent else event.session


def _sweep(event: Event) -> Event:
    """Return a request to read the unread transcripts of earlier conversations."""
    return event._replace(transcript="", session="")


def _ends(prompt: str) -> str:
    """Return a prompt short enough to be looked at in a hook: its beginning and end."""
    if len(prompt) <= _LONGEST_PROMPT:
        return prompt
    return f"{prompt[: _LONGEST_PROMPT // 2]}\n{prompt[-_LONGEST_PROMPT // 2 :]}"
