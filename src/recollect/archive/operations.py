"""Operations on sessions: record messages, look at them, find, name, export and import them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial

from .. import context as context_module
from ..context import Context
from ..errors import Conflict
from ..fast_typing import TypedDict, Unpack
from ..project import PrivateFile, current_branch
from ..recall import steps_show as recall_steps_show
from ..storage.database import Tx
from ..types.records import Json, Message, Recorded, Session
from . import steps, steps_files, steps_sessions


class SessionAbout(TypedDict, total=False):
    """What is known of the session when its first message arrives.

    name: a name for people
    agent: which agent speaks, such as claude-code
    origin: on which path the message came, if it is less trusted than you: agent, tool or import
    key: makes the call idempotent: the same key in the session again changes nothing
    """

    name: str
    agent: str
    origin: str
    key: str


def record(
    context: Context,
    session: str,
    message: Message | Mapping[str, Json] | str,
    role: str = "user",
    **about: Unpack[SessionAbout],
) -> Recorded:
    """Append a message to a session's archive; the session is made with its first message.

    session: the session's id; any name without spaces or slashes
    message: text, or a message as a JSON object in OpenAI's or Anthropic's form; - reads stdin
    role: who speaks, when the message is text: user, assistant, tool, system or developer

    Example: recollect record s-1 "Why does the build fail?"
    Example: recollect record s-1 '{"role": "assistant", "content": "A missing header."}'
    """
    new = build_session(context, session, about.get("name", ""), about.get("agent", ""))
    now = context.clock()
    incoming = steps.parse_incoming(
        message, role, about.get("origin", ""), about.get("key", ""), context.origin
    )
    ready = [steps.prepare(item, now) for item in incoming]
    sent = _answered(context, session, ready)

    def work(tx: Tx) -> list[Recorded]:
        done = steps.record(tx, new, ready, now, repeated=True)
        if sent and any(item.new for item in done):
            steps.learn_chars_per_token(tx, sent, ready, now)
        return done

    return steps.merge_recorded(context.project_space.write(work))


def _answered(
    context: Context, session: str, ready: Sequence[steps.PreparedMessage]
) -> context_module.SentPrompt | None:
    """The prompt that these messages answer, if they say what it cost; it is told once."""
    sent = context.sent.get(session)
    if sent is None or not sent.chars or not steps.has_usage(ready):
        return None
    context.sent[session] = sent._replace(chars=0)
    return sent


def list_sessions(context: Context, limit: int = 50, status: str = "") -> tuple[Session, ...]:
    """The sessions of this project, the most recently active first.

    limit: at most so many
    status: only active, idle (nobody spoke for an hour) or ended ones

    Example: recollect session list
    """
    now = context.clock()
    found = context.project_space.read(
        lambda tx: steps_sessions.list_sessions(tx, limit, status, now)
    )
    return tuple(found)


def show_session(
    context: Context, session: str = "current", first: int = 0, last: int = 0
) -> recall_steps_show.ShownRecord:
    """One session with its messages; the newest 50 when no range is given.

    session: its id, or the beginning of it; without one, the session switched to, or else the
        one that was active last
    first: the first message of the range
    last: the last message of the range

    Example: recollect session show s-1 --first 10 --last 20
    """
    shown = context.project_space.read(
        lambda tx: recall_steps_show.session_page(tx, session, first, last)
    )
    if shown is None:
        raise steps_sessions.session_not_found(session)
    return recall_steps_show.with_session_status(shown, context.clock())


def switch_session(context: Context, session: str) -> Session:
    """Make a session the current one: commands that name none mean it.

    session: its id, or the beginning of it

    Example: recollect session switch s-1
    """
    now = context.clock()
    return context.project_space.write(lambda tx: steps_sessions.switch_session(tx, session, now))


def rename_session(context: Context, session: str, name: str) -> Session:
    """Give a session a name for people.

    session: its id, or the beginning of it; current for the current one
    name: the new name

    Example: recollect session rename s-1 "The Redis migration"
    """
    return context.project_space.write(lambda tx: steps_sessions.rename_session(tx, session, name))


def end_session(context: Context, session: str = "current") -> Session:
    """Mark a session as ended; a new message makes it active again.

    session: its id, or the beginning of it; the current one by default

    Example: recollect session end s-1
    """
    return context.project_space.write(lambda tx: steps_sessions.end_session(tx, session))


def export_session(
    context: Context, path: str, session: str = "current", form: str = "", replace: bool = False
) -> steps_files.ExportedSession:
    """Write a session to one file: an HTML page that needs nothing else, Markdown or JSONL.

    path: the new file; its ending says the form: .html, .md or .jsonl
    session: its id, or the beginning of it; the current one by default
    form: html, md or jsonl, when the path's ending does not say it
    replace: overwrite an existing file

    Example: recollect session export talk.html --session s-1
    """
    wanted = steps_files.choose_form(path, form)
    target = os.path.abspath(os.path.expanduser(path))
    if os.path.lexists(target) and not replace:
        raise Conflict("the file exists already", where=target, hint="--replace overwrites it")
    with PrivateFile(target) as file:
        written = context.project_space.read(
            lambda tx: steps_files.export_session(tx, session, wanted, file.write)
        )
    size = os.path.getsize(target)
    return steps_files.ExportedSession(written.id, target, wanted, written.messages, size)


def import_session(
    context: Context, path: str, session: str = "", provider: str = "auto"
) -> steps_files.ImportedFile:
    """Bring a file of messages into the archive; what is there already is not kept twice.

    path: JSON or JSON lines of OpenAI's or Anthropic's messages, or an exported .jsonl
    session: the session's id; made from the file's name by default
    provider: auto, openai, openai-responses or anthropic

    Example: recollect session import talk.jsonl --session s-7
    """
    target = os.path.abspath(os.path.expanduser(path))
    return steps_files.import_messages(
        context.project_space,
        target,
        partial(build_session, context),
        session,
        provider,
        context.clock(),
        context.progress,
    )


def build_session(context: Context, id: str, name: str = "", agent: str = "") -> steps.NewSession:
    return steps.build_session(
        id,
        name=name,
        agent=agent,
        cwd=context.project.start,
        branch=current_branch(context.project.start),
        origin=context.origin,
    )
