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
from ..capture import statements as capture_statements
from ..capture import steps as capture_steps
from ..context import Context
from ..errors import StoreError
from ..fast_typing import TYPE_CHECKING, NamedTuple
from ..storage import sql as storage_sql
from ..storage.database import Tx
from ..window import sql as window_sql
from . import events, steps_hooks
from .registry import make_session_id

if TYPE_CHECKING:
    from ..memory.steps import PreparedMemory
    from ..types.records import Learned
    from .events import Event

_TURNS = ("session_start", "user_prompt")
_ACTIONS = ("before_tool", "tool_use")
_CATCH_UPS = ("stop", "before_compact", "session_end")
"""Events after which the transcript is read."""
_LONGEST_PROMPT = 200_000
"""Characters. Of a longer prompt a hook reads both ends: most of it was pasted."""

_LONGEST_OUTPUT = 20_000
_SILENT = steps_hooks.Answer()


class _LoadedPrompt(NamedTuple):
    """The records that a prompt needs; `known` are stored memories that its statements match."""

    turn: briefing_steps_turn.LoadedTurn
    start: briefing_steps.LoadedStart
    known: capture_operations.LookedUp


class _AnsweredPrompt(NamedTuple):
    """The statements of a prompt to save, and the answer to it: its text and the shown records."""

    statements: list[PreparedMemory]
    now: int
    known: Mapping[str, capture_steps.FoundBefore | None] = {}
    text: str = ""
    shown: Sequence[briefing_operations.ShownMoment] = ()


def answer_event(context: Context, event: Event) -> steps_hooks.Answer:
    """Return the answer to a hook. It must be quick."""
    if steps_hooks.find_pause(context.environment, context.project.root):
        return _SILENT
    if event.name in _CATCH_UPS:
        text = ""
        if event.name == "before_compact":
            is_kept = _keeps_conversations(context)
            text = steps_hooks.compaction_instructions(event.session, is_kept)
        answer = steps_hooks.Answer(text, trouble=_forget_context(context, event))
        return _catch_up_later(context, event, answer)
    if event.name not in (_ACTIONS if event.subagent else (*_TURNS, *_ACTIONS)):
        return _SILENT
    if event.name == "before_tool" and not context.project_space.current():
        return _SILENT
    if event.name != "before_tool" and not all(
        space.current() for space in context.present_spaces()
    ):
        # Upgrading a store takes long: meanwhile the agent goes on without memory.
        return _catch_up_later(context, _without_transcript(event), _SILENT)
    if event.name in _ACTIONS:
        return _answer_action(context, event)
    now = context.clock()
    if event.name == "session_start":
        is_first, answer = _answer_start(context, event, now)
        return _catch_up_later(context, _without_transcript(event), answer) if is_first else answer
    return _answer_prompt(context, event, now)


# ---------------------------------------------------------------- start and turn


def _answer_start(context: Context, event: Event, now: int) -> tuple[bool, steps_hooks.Answer]:
    """Answer with the start block, or on resuming with new records only; once a day, add a notice
    with the length of the review queue. Return false if the event was answered before."""
    ask = _make_ask(event)
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
    if steps_hooks.is_unlearned(steps_hooks.requests_folder(context)):
        notice = "\n".join(filter(None, (notice, steps_hooks.UNLEARNED_NOTICE)))
    shown = shown._replace(values={**shown.values, **notice_state})
    is_first, trouble = briefing_operations.log_shown(context, ask, [shown])
    if not is_first:
        return False, _SILENT
    if event.context == "kept" and not briefing.begins:
        return True, steps_hooks.Answer(str(briefing.turn), notice, trouble=trouble)
    texts = [str(briefing.text)]
    if event.source == "compact" and event.session and _keeps_conversations(context):
        texts.append(rendering.after_compaction(event.session))
    return True, steps_hooks.Answer("\n".join(filter(None, texts)), notice, trouble=trouble)


def _answer_prompt(context: Context, event: Event, now: int) -> steps_hooks.Answer:
    """Answer a prompt with matching records, and with the start block if the context has none.
    Save the statements of the prompt, with a notice for the user."""
    ask = _make_ask(event)._replace(query=_cut_middle(event.prompt))
    statements = _find_statements(context, event, now)
    if briefing_steps.why_silent(context.settings.mode, ask.query):
        return _save_prompt(context, event, ask, _AnsweredPrompt(statements, now))
    has_store = context.project_space.present()
    start = briefing_operations.start_loader(context, ask)
    turn = briefing_operations.turn_loader(context, ask)

    def load(txs: Sequence[Tx]) -> _LoadedPrompt:
        is_first = not (has_store and steps_hooks.was_answered(txs[0], event))
        known = capture_operations.look_up(txs, statements) if statements and has_store else {}
        return _LoadedPrompt(turn(txs, is_first), start(txs), known)

    loaded = context.read_both(load, ahead=True)
    if statements:
        from . import steps_replaced  # few prompts state something

        loaded = loaded._replace(
            start=steps_replaced.drop_replaced(loaded.start, statements, loaded.known),
            turn=steps_replaced.drop_stated(loaded.turn, statements, loaded.known),
        )
    briefing, block = briefing_operations.make_start(context, ask, loaded.start)
    start_items = briefing.items if briefing.begins else ()
    matched, shown_turn = briefing_operations.make_turn(context, loaded.turn, start_items)
    texts = [str(briefing.stable) if briefing.begins else "", matched.text]
    answered = _AnsweredPrompt(
        statements=statements,
        now=now,
        known=loaded.known,
        text="\n".join(filter(None, texts)),
        shown=[block, shown_turn],
    )
    return _save_prompt(context, event, ask, answered)


def _save_prompt(
    context: Context, event: Event, ask: briefing_steps.Ask, answered: _AnsweredPrompt
) -> steps_hooks.Answer:
    """Save the answer to a prompt and its statements in one transaction; return an empty answer
    if the event was answered before."""
    statements, now, known = answered.statements, answered.now, answered.known
    captured: list[Learned] = []
    is_file = False

    def learn(tx: Tx) -> None:
        nonlocal is_file
        captured[:] = capture_operations.keep_in(context, tx, statements, now, known)
        is_file = not tx.is_remote

    is_new = not context.project_space.present()
    is_first, trouble = briefing_operations.log_shown(
        context, ask, answered.shown, learn if statements and not is_new else None
    )
    if not is_first:
        return _SILENT
    if trouble:
        captured.clear()
    try:
        if statements and is_new:
            captured = capture_operations.keep(context, statements, now)
            # Before there was a store the event could not be marked as answered.
            mark = steps_hooks.event_mark(event)
            context.project_space.try_write(lambda tx: storage_sql.put_values(tx, {}, now, mark))
        elif statements and not context.project_space.is_writable():
            captured = capture_operations.keep_own(context, statements, now, known)
        elif is_file and not trouble:
            # The user's store is another file: if it is busy, the project's write must stay.
            captured += capture_operations.keep_own(context, statements, now, known)
    except StoreError as error:
        trouble = error  # the statements are captured from the transcript later
    notice = capture_operations.word_notice(captured) if captured else ""
    return steps_hooks.Answer(answered.text, notice, trouble=trouble)


def _make_ask(event: Event) -> briefing_steps.Ask:
    return briefing_steps.Ask(
        session=event.session,
        context=event.context,
        host=event.host,
        cwd=event.cwd,
        mark=steps_hooks.event_mark(event),
    )


def _count_review(txs: Sequence[Tx], now: int) -> int:
    """Return the length of the review queue; 0 if it cannot be read, which `doctor` reports."""
    try:
        return steps_hooks.count_review(txs, now)
    except StoreError:
        return 0


# ---------------------------------------------------------------- command, edit, failure


def _answer_action(context: Context, event: Event) -> steps_hooks.Answer:
    """Answer a tool call: before a command or an edit, or after a failure."""
    if not event.session:
        return _SILENT
    if event.name == "tool_use" and event.tool_failed:
        output = events.output_text(event)[:_LONGEST_OUTPUT]
        given = event.tool_input if isinstance(event.tool_input, dict) else {}
        ask = _make_action_ask(event)
        briefing = briefing_operations.brief_failure(context, ask, given, output)
        return steps_hooks.Answer(briefing.text)
    if line := events.command_line(event):
        return _answer_command(context, event, line) if event.name == "before_tool" else _SILENT
    paths = [_path_in_worktree(context, name, event.cwd) for name in events.files_touched(event)]
    files = tuple(filter(None, paths))
    if not files:
        return _SILENT
    ask = _make_action_ask(event)._replace(files=files)
    return steps_hooks.Answer(briefing_operations.brief_edit(context, ask).text)


def _make_action_ask(event: Event) -> briefing_steps.Ask:
    return _make_ask(event)._replace(session=_context_id(event))


def _answer_command(context: Context, event: Event, line: str) -> steps_hooks.Answer:
    """Answer before a shell command. This runs before every command: unless it names a watched
    program, one value is read, and nothing else is opened or loaded."""
    space, user = context.project_space, context.user_space
    if not space.present() or context.settings.mode == "no-ltm":
        return _SILENT
    session = _context_id(event)

    def load(tx: Tx) -> list[rendering.Item]:
        watched = briefing_sql.get_prepared(tx, briefing_sql.WATCHED)
        if not watched or not command_rules.find_watched(watched, line):
            return []
        find = partial(
            briefing_steps_action.before_command, session=session, line=line, watched=watched
        )
        return user.read(lambda user_tx: find((tx, user_tx))) if user.present() else find((tx,))

    items = space.read_ahead(load)
    if not items:
        return _SILENT
    briefing = briefing_operations.brief_command(context, _make_action_ask(event), items)
    return steps_hooks.Answer(briefing.text)


def _path_in_worktree(context: Context, name: str, cwd: str) -> str:
    """Return a file's path relative to the top of the working tree; empty if it is outside."""
    path = os.path.realpath(os.path.join(cwd or ".", name))
    return path[len(context.top) + 1 :] if path.startswith(context.top + os.sep) else ""


# ---------------------------------------------------------------- around the briefing


def _keeps_conversations(context: Context) -> bool:
    """Check whether conversations are stored; those of a read-only member are not."""
    return not context.project_space.current() or context.project_space.is_writable()


def _forget_context(context: Context, event: Event) -> StoreError | None:
    """Record that the model's context is about to be discarded; return the error if that failed."""
    if event.context != "fresh" or not event.session:
        return None
    session, now = _context_id(event), context.clock()
    try:
        # A busy store may skip it: the session start after the compaction has the same effect.
        for space in context.present_spaces():
            if space.current():
                space.try_write(lambda tx: window_sql.forget_context(tx, session, now))
    except StoreError as trouble:
        return trouble
    return None


def _find_statements(context: Context, event: Event, now: int) -> list[PreparedMemory]:
    """Return the durable statements of a prompt, ready to be saved."""
    if not (context.settings.capture and event.typed and event.session):
        return []
    if context.settings.mode == "incognito":
        return []
    if len(event.prompt) > _LONGEST_PROMPT:
        return []  # they are captured from the transcript later
    if not (sentences.capture(event.prompt) or capture_statements.may_withdraw(event.prompt)):
        return []
    return capture_operations.prepare_message(
        capture_steps.UserMessage(event.prompt, event.session, now)
    )


def _catch_up_later(
    context: Context, event: Event, answer: steps_hooks.Answer
) -> steps_hooks.Answer:
    """Request that a background process reads the transcript; ignore a failed request."""
    if context.settings.mode == "incognito":
        return answer
    # The path of a missing file is not stored: it could be any text.
    path = event.transcript if os.path.isfile(event.transcript) else ""
    request = steps_hooks.Request(
        host=event.host,
        session=event.session,
        path=path,
        ended=event.name == "session_end",
        checkpoint=event.name == "before_compact",
    )
    try:
        steps_hooks.write_request(steps_hooks.make_requests_folder(context), request)
    except OSError as trouble:
        return answer._replace(trouble=trouble)
    return answer._replace(work=True)


def _context_id(event: Event) -> str:
    """Return the id of the model's context: that of the session, or of a subagent in it."""
    return make_session_id(event.session, event.subagent) if event.subagent else event.session


def _without_transcript(event: Event) -> Event:
    """Return the event without its transcript and session. A request made from it asks for all
    unread transcripts of the agent."""
    return event._replace(transcript="", session="")


def _cut_middle(prompt: str) -> str:
    """Return the beginning and the end of a long prompt."""
    if len(prompt) <= _LONGEST_PROMPT:
        return prompt
    return f"{prompt[: _LONGEST_PROMPT // 2]}\n{prompt[-_LONGEST_PROMPT // 2 :]}"
