"""Screens of sessions, their messages and windows."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from ...fast_typing import TYPE_CHECKING
from ...text import display
from . import style
from .results import render_redacted
from .style import render_table

if TYPE_CHECKING:
    from ...archive.steps_files import ExportedSession, ImportedFile
    from ...recall.steps_records import ShownRecord
    from ...recall.steps_session_search import SessionMatch
    from ...types.records import Message, Recorded, Session, Stored
    from ...window.steps import Prompt, Trimmed


def render_conversation(shown: ShownRecord) -> str:
    """Return a session with its messages, one line each, or in full for `whole`."""
    session, messages = shown.session, shown.messages
    assert session is not None
    place = f"{session.address}/messages"
    lines = [_render_session(session), *_render_usage(session)]
    lines += map(_render_whole, messages) if shown.whole else map(_render_stored, messages)
    if messages and messages[0].seq > 1 and not shown.whole:
        lines.append(f"(earlier: {place}/1-{messages[0].seq - 1})")
    if shown.left_out:
        after = messages[-1].seq + 1
        lines.append(f"({shown.left_out} more: {place}/{after}-{after + shown.left_out - 1})")
    cut = next((one.seq for one in messages if _render_stored(one).endswith("…")), 0)
    if cut and not shown.whole:
        lines.append(f"(in full: recollect show {place}/{cut})")
    return "\n".join(lines)


def _render_session(session: Session) -> str:
    name = f" {display.format_line(session.name)}" if session.name else ""
    return (
        f"session {session.id}{name}: {display.format_count(session.messages, 'message')}, "
        f"{session.status}, last active "
        f"{display.format_time(session.last_active)[:16]}"
    )


def _render_usage(session: Session) -> list[str]:
    """Return a line with the tokens that the model counted, if any were reported."""
    counted = {name: count for name, count in session.usage.items() if isinstance(count, int)}
    parts = [f"{name.replace('_', ' ')} {count:,}" for name, count in counted.items() if count]
    return [f"usage: {', '.join(parts)}"] if parts else []


def render_message(seq: int, message: Message) -> str:
    """Return a message on one line; without a number for 0."""
    from ...text.messages import searchable_text

    calls = "".join(f" [{call.name}]" for call in message.calls)
    number = f"{seq:>5}" if seq else "     "
    return f"{number}  {message.role}{calls}: {display.format_line(searchable_text(message), 300)}"


def _render_stored(stored: Stored) -> str:
    return render_message(stored.seq, stored.message)


def _render_whole(stored: Stored) -> str:
    from ...text.messages import searchable_text

    message = stored.message
    calls = "".join(f" [{call.name}]" for call in message.calls)
    text = display.escape_invisible(searchable_text(message)).replace("\n", "\n       ")
    time = display.format_time(message.at)[:16]
    return f"{stored.seq:>5}  {message.role}{calls}, {time}:\n       {text}"


def _render_recorded(recorded: Recorded) -> str:
    done = "recorded" if recorded.new else "already recorded:"
    return "\n".join([f"{done} {recorded.address}", *render_redacted(recorded.redacted)])


def _render_sessions(sessions: Sequence[Session]) -> str:
    if not sessions:
        return style.render_none(
            "no sessions yet. Import those of your agents: recollect import", "session"
        )
    short = _shorten_ids([item.id for item in sessions]) if sys.stdout.isatty() else {}
    rows = (
        (
            short.get(item.id, item.id),
            item.status,
            str(item.messages),
            display.format_time(item.last_active)[:16],
            item.name,
        )
        for item in sessions
        if not short or item.id in short
    )
    table = render_table(("ID", "STATUS", "MESSAGES", "LAST ACTIVE", "NAME"), rows)
    others = len(sessions) - len(short) if short else 0
    hidden = f"\n({display.format_count(others, 'session')} of subagents; --json lists them)"
    return table + (hidden if others else "")


def _shorten_ids(ids: Sequence[str]) -> dict[str, str]:
    """Return unique prefixes of agents' long ids, like those of commits.

    Sessions of subagents are left out: their ids begin with their conversation's id.
    """
    own = [id for id in ids if not any(id.startswith(f"{one}.") for one in ids)]
    short = [_shorten_id(id) for id in own]
    return {
        id: start if short.count(start) == 1 else id for id, start in zip(own, short, strict=True)
    }


def _shorten_id(id: str) -> str:
    """Return `codex.019efedf` for `codex.019efedf-a8dc-…`; other ids unchanged."""
    agent, dot, rest = id.partition(".")
    digits = rest.partition("-")[0]
    is_hex = len(digits) == 8 and all(digit in "0123456789abcdef" for digit in digits)
    return f"{agent}.{digits}" if dot and is_hex else id


def _render_recent(messages: Sequence[Stored]) -> str:
    return "\n".join(map(_render_stored, messages))


def _render_prompt(prompt: Prompt) -> str:
    head = f"{len(prompt.messages)} messages, about {prompt.tokens} of {prompt.limit} tokens"
    notes = [", trimmed" if prompt.trimmed else "", "" if prompt.fits else ", TOO LONG"]
    lines = (render_message(0, item) for item in prompt.messages)
    return "\n".join([head + "".join(notes), *lines])


def _render_trimmed(trimmed: Trimmed) -> str:
    if not trimmed.changed:
        return f"nothing to trim: about {trimmed.before} tokens, {trimmed.kept} messages"
    removed = ", ".join(f"{first}-{last}" for first, last in trimmed.dropped) or "none"
    return (
        f"trimmed {trimmed.session}: about {trimmed.before} to {trimmed.after} tokens\n"
        f"  kept {trimmed.kept} messages, {trimmed.elided} of them shortened; removed: {removed}\n"
        "  state of the work: recollect retrieve session_progress"
    )


def _render_matches(found: Sequence[SessionMatch]) -> str:
    return "\n".join(map(_render_match, found)) if found else "nothing found"


def _render_match(found: SessionMatch) -> str:
    name = f" {display.format_line(found.name, 60)}" if found.name else ""
    day = display.format_time(found.at)[:10]
    head = f"{found.score:.3f}  {found.address}  ({found.role}, {day}){name}"
    preview = display.escape_invisible(found.preview).splitlines()
    return "\n".join([head, *("       " + line for line in preview)])


def _make_screen(done: str) -> Callable[[Session], str]:
    """Return a screen that prints what was done to a session."""
    return lambda session: (
        f"{done} {session.id}" + (f": {display.format_line(session.name)}" if session.name else "")
    )


def _render_exported(done: ExportedSession) -> str:
    return f"wrote {done.path} ({done.messages} messages, {done.bytes:,} bytes)"


def _render_imported(done: ImportedFile) -> str:
    sessions = ", ".join(done.sessions[:5]) + (", …" if len(done.sessions) > 5 else "")
    return f"{done.messages} new messages, {done.known} already known, in {sessions}"


def _show_session(shown: ShownRecord) -> str:
    from .memories import render_record

    return render_record(shown)


SCREENS: dict[str, Callable[..., str]] = {
    "record": _render_recorded,
    "session list": _render_sessions,
    "session show": _show_session,
    "session recent": _render_recent,
    "session prepare": _render_prompt,
    "session overflow": _render_prompt,
    "session trim": _render_trimmed,
    "session search": _render_matches,
    "session switch": _make_screen("current session:"),
    "session rename": _make_screen("renamed"),
    "session end": _make_screen("ended"),
    "session export": _render_exported,
    "session import": _render_imported,
}
