"""Results about sessions and windows as text for people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...text import display
from ...types.records import Message, Session, Stored


def render_message(seq: int, message: Message) -> str:
    """One message on one line; number 0 stands for what is not in the archive."""
    from ...text.messages import searchable_text

    calls = "".join(f" [{call.name}]" for call in message.calls)
    number = f"{seq:>5}" if seq else "     "
    return f"{number}  {message.role}{calls}: {display.format_line(searchable_text(message), 300)}"


def _recent(messages: Sequence[Stored]) -> str:
    return "\n".join(render_message(item.seq, item.message) for item in messages)


def _prompt(prompt: Any) -> str:
    head = f"{len(prompt.messages)} messages, about {prompt.tokens} of {prompt.limit} tokens"
    notes = [", trimmed" if prompt.trimmed else "", "" if prompt.fits else ", TOO LONG"]
    return "\n".join(
        [head + "".join(notes), *(render_message(0, item) for item in prompt.messages)]
    )


def _trimmed(trimmed: Any) -> str:
    if not trimmed.changed:
        return f"nothing to trim: about {trimmed.before} tokens, {trimmed.kept} messages"
    gone = ", ".join(f"{first}-{last}" for first, last in trimmed.dropped) or "none"
    return (
        f"trimmed {trimmed.session}: about {trimmed.before} to {trimmed.after} tokens\n"
        f"  {trimmed.kept} messages stay, {trimmed.elided} of them shortened; left: {gone}\n"
        "  recollect retrieve session_progress shows where the work stands"
    )


def _found(found: Sequence[Any]) -> str:
    if not found:
        return "nothing found"
    return "\n".join(map(_found_lines, found))


def _found_lines(found: Any) -> str:
    name = f" {display.format_line(found.name, 60)}" if found.name else ""
    day = display.format_time(found.at)[:10]
    head = f"{found.score:.3f}  {found.address}  ({found.role}, {day}){name}"
    body = "\n".join(
        "       " + line for line in display.escape_invisible(found.preview).splitlines()
    )
    return f"{head}\n{body}"


def _session(done: str) -> Callable[[Session], str]:
    return lambda session: (
        f"{done} {session.id}" + (f": {display.format_line(session.name)}" if session.name else "")
    )


def _exported(done: Any) -> str:
    return f"wrote {done.path} ({done.messages} messages, {done.bytes:,} bytes)"


def _imported(done: Any) -> str:
    into = ", ".join(done.sessions[:5]) + (", …" if len(done.sessions) > 5 else "")
    return f"{done.messages} new messages, {done.known} there already, in {into}"


SCREENS: dict[str, Callable[[Any], str]] = {
    "session recent": _recent,
    "session prepare": _prompt,
    "session overflow": _prompt,
    "session trim": _trimmed,
    "session search": _found,
    "session switch": _session("the current session is"),
    "session rename": _session("renamed"),
    "session end": _session("ended"),
    "session export": _exported,
    "session import": _imported,
}
