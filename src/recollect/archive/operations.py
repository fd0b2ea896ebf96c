"""Operations on sessions: record messages; list, rename, end, export and import sessions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain

from .. import context as context_module
from ..context import Context
from ..errors import Conflict
from ..fast_typing import TypedDict, Unpack
from ..project import PrivateFile, current_branch
from ..storage.database import Tx
from ..types.records import Json, Message, Recorded, Session
from . import attachments, steps, steps_files, steps_sessions


class SessionAbout(TypedDict, total=False):
    """Details of the session and of the message.

    name: a title for the session
    agent: the agent that speaks, such as claude-code
    origin: where the message comes from, if it is less trusted than you: agent, tool or import
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
    """Append a message to a session; the first message creates it.

    session: the session's id; any name without spaces or slashes
    message: text, or a message as a JSON object in OpenAI's or Anthropic's format; - reads stdin
    role: the speaker of a text: user, assistant, tool, system or developer

    Example: recollect record s-1 "Why does the build fail?"
    Example: recollect record s-1 '{"role": "assistant", "content": "A missing header."}'
    """
    # Only a new session needs the branch, which takes a tenth of the whole call to find.
    build = partial(build_session, context, session, about.get("name", ""), about.get("agent", ""))
    likely = steps.LikelySession(steps.check_session_id(session), build)
    now = context.clock()
    incoming = steps.parse_incoming(
        message, role, about.get("origin", ""), about.get("key", ""), context.origin
    )
    ready = [steps.prepare(item, now) for item in incoming]
    found = chain.from_iterable(item.attachments for item in ready)
    attachments.refuse_large(found, context.settings.attachment_limit)
    sent = _claim_sent_prompt(context, session, ready)

    def work(tx: Tx) -> list[Recorded]:
        done = steps.record(tx, likely, ready, now, repeated=True)
        if sent and any(item.new for item in done):
            answers = [(item.model, item.usage) for item in ready]
            steps_sessions.learn_chars_per_token(tx, sent, answers, now)
        return done

    return steps.merge_recorded(context.project_space.write(work))


def _claim_sent_prompt(
    context: Context, session: str, ready: Sequence[steps.PreparedMessage]
) -> context_module.SentPrompt | None:
    """Return the prompt that these messages answer, if they report its cost; only once."""
    sent = context.sent.get(session)
    if (
        sent is None
        or not sent.chars
        or not steps_sessions.has_input_tokens(item.usage for item in ready)
    ):
        return None
    context.sent[session] = sent._replace(chars=0)
    return sent


def list_sessions(context: Context, limit: int = 50, status: str = "") -> tuple[Session, ...]:
    """List the sessions of this project, the most recently active first.

    limit: maximum number of sessions
    status: only active, idle (no message for an hour) or ended ones

    Example: recollect session list
    """
    now = context.clock()
    found = context.project_space.read(
        lambda tx: steps_sessions.list_sessions(tx, limit, status, now)
    )
    return tuple(found)


def switch_session(context: Context, session: str) -> Session:
    """Make a session the current one, the default of all session commands.

    session: its id, or a prefix of it

    Example: recollect session switch s-1
    """
    now = context.clock()
    return context.project_space.write(lambda tx: steps_sessions.switch_session(tx, session, now))


def rename_session(context: Context, session: str, name: str) -> Session:
    """Rename a session.

    session: its id, or a prefix of it; current for the current one
    name: the new title

    Example: recollect session rename s-1 "The Redis migration"
    """
    return context.project_space.write(lambda tx: steps_sessions.rename_session(tx, session, name))


def end_session(context: Context, session: str = "current") -> Session:
    """Mark a session as ended; a new message makes it active again.

    session: its id, or a prefix of it; the current one by default

    Example: recollect session end s-1
    """
    return context.project_space.write(lambda tx: steps_sessions.end_session(tx, session))


def export_session(
    context: Context, path: str, session: str = "current", form: str = "", replace: bool = False
) -> steps_files.ExportedSession:
    """Export a session to one file: a self-contained HTML page, Markdown or JSONL.

    path: the new file; its extension chooses the format: .html, .md or .jsonl
    session: its id, or a prefix of it; the current one by default
    form: html, md or jsonl, if the extension is another one
    replace: overwrite an existing file

    Example: recollect session export talk.html --session s-1
    """
    wanted = steps_files.choose_form(path, form)
    target = os.path.abspath(os.path.expanduser(path))
    if os.path.lexists(target) and not replace:
        raise Conflict("the file already exists", where=target, hint="--replace overwrites it")
    with PrivateFile(target) as file:
        written = context.project_space.read(
            lambda tx: steps_files.export_session(tx, session, wanted, file.write)
        )
    size = os.path.getsize(target)
    return steps_files.ExportedSession(
        session=written.id, path=target, form=wanted, messages=written.messages, bytes=size
    )


def import_session(
    context: Context, path: str, session: str = "", provider: str = "auto"
) -> steps_files.ImportedFile:
    """Import a file of messages into the archive; known messages are skipped.

    path: JSON or JSON lines of OpenAI's or Anthropic's messages, or an exported .jsonl
    session: the session's id; by default made from the file's name
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
    """Build the record of a new session of this project."""
    return steps.build_session(
        id,
        name=name,
        agent=agent,
        cwd=context.project.start,
        branch=current_branch(context.project.start),
        origin=context.origin,
    )
