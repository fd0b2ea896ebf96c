"""Look at records: by address, or listed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..archive import sql as archive_sql
from ..archive.steps import stored
from ..documents import sql as documents_sql
from ..errors import InvalidInput, NotFound
from ..memory import sql as memory_sql
from ..memory import steps_revisions as memory_steps_revisions
from ..storage import sql as storage_sql
from ..storage.database import Tx
from ..text import addresses
from ..types.records import Document, Memory, Session, Stored

if TYPE_CHECKING:
    from ..episodes import steps as episodes_steps
    from ..memory import steps_verify as memory_steps_verify
    from ..procedures import steps as procedures_steps

MOST_MESSAGES = 1000
IDLE = 3_600_000_000
"""Microseconds without a word after which a conversation counts as over."""
SESSION_STATUSES = ("active", "idle", "ended")
CURRENT = "current"
"""Stands for the session that was switched to, or else the one that was active last."""

CURRENT_SESSION = "current_session"


_KEPT = "memory://kept/"


class Shown(NamedTuple):
    """A record whole: one of memory, session, document, episode and procedure, and its parts."""

    memory: Memory | None = None
    session: Session | None = None
    document: Document | None = None
    versions: tuple[Memory, ...] = ()
    messages: tuple[Stored, ...] = ()
    episode: episodes_steps.Shown | None = None
    procedure: procedures_steps.Shown | None = None
    left_out: int = 0
    claims: tuple[memory_steps_verify.Checked, ...] = ()
    whole: bool = False
    """Whether messages were asked for by their numbers: they are shown to the last word."""


def show_first(txs: Sequence[Tx], address: str) -> Shown | None:
    """The record at an address, in the first space that has it."""
    if address.startswith(_KEPT):
        # What a framework put on a shelf lies under that framework's names, letter for letter.
        found = (documents_sql.get(tx, address) for tx in txs)
        return next((Shown(document=document) for document in found if document), None)
    place = parsed(address)
    return next(filter(None, (show(tx, place) for tx in txs)), None)


def parsed(address: str) -> addresses.Address:
    """An address, or what stands behind `memory://` in one."""
    return addresses.parse(address if "://" in address else f"memory://{address}")


def show(tx: Tx, address: addresses.Address) -> Shown | None:
    """The record at an address; None when this space has none."""
    if address.kind == "memory":
        return _memory(tx, address.name, address.revision)
    if address.kind == "session":
        return session_page(tx, address.name, 0, 0)
    if address.kind == "messages":
        session = archive_sql.get(tx, _session_id(tx, address.name))
        if session is None:
            return None
        return _page(tx, session, address.first, address.last)._replace(whole=True)
    if address.kind in ("episode", "procedure"):
        return _experience(tx, address)
    document = documents_sql.get(tx, addresses.format(address))
    return Shown(document=document) if document else None


def _experience(tx: Tx, address: addresses.Address) -> Shown | None:
    """An episode, or the version of a procedure."""
    from ..episodes import sql as episodes_sql
    from ..episodes import steps as episodes_steps
    from ..procedures import sql as procedures_sql
    from ..procedures import steps as procedures_steps

    kept = episodes_sql if address.kind == "episode" else procedures_sql
    ids = kept.starting_with(tx, address.name)
    id = address.name if address.name in ids else addresses.only(address.name, ids)
    if not id:
        return None
    if address.kind == "episode":
        return Shown(episode=episodes_steps.shown(episodes_steps.existing(tx, id)))
    row = procedures_sql.get(tx, id)
    return Shown(procedure=procedures_steps.shown(row)) if row else None


def _memory(tx: Tx, name: str, revision: int) -> Shown | None:
    memory = memory_steps_revisions.find_revision(tx, name, revision)
    if memory is None:
        return None
    return Shown(memory=memory, versions=tuple(memory_sql.list_chain(tx, memory.root)))


def existing(tx: Tx, name: str) -> Session:
    """The session with this id or beginning of one; `current` is the one last switched to."""
    session = archive_sql.get(tx, _session_id(tx, name))
    if session is None:
        raise none_such(name)
    return session


def none_such(name: str) -> NotFound:
    """There is no session of that name, or none at all."""
    if name == CURRENT:
        return NotFound("there are no sessions yet", hint="`recollect import` reads agents' own")
    hint = "`recollect session list` shows what there is"
    return NotFound("there is no such session", where=name, hint=hint)


def _session_id(tx: Tx, name: str) -> str:
    if archive_sql.get(tx, name):
        return name
    if name == CURRENT:
        chosen = storage_sql.get(tx, CURRENT_SESSION)
        newest = archive_sql.latest(tx, 1)
        return chosen or (newest[0].id if newest else name)
    ids = archive_sql.starting_with(tx, name)
    # A subagent's session has its parent's id in front: whoever begins both means the parent.
    first = min(ids, key=len, default=name)
    addresses.only(name, [id for id in ids if id == first or not id.startswith(f"{first}.")])
    return first


def listing(tx: Tx, where: Mapping[str, str], limit: int, at: int = 0) -> list[Memory]:
    """Open memories with these values, newest first, hidden ones only where they are asked for;
    or those that were believed at a time."""
    if at:
        return memory_sql.list_valid_at(tx, where, at, limit)
    return memory_sql.list_open(tx, where, limit, without="" if "status" in where else "hidden")


def session_page(tx: Tx, name: str, first: int, last: int) -> Shown | None:
    """A session with a range of its messages; the newest ones when no range is given."""
    session = archive_sql.get(tx, _session_id(tx, name))
    if session is None:
        return None
    last = last or session.messages
    first = first or max(last - 49, 1)
    if first > last or first > session.messages > 0:
        raise InvalidInput(
            f"there are no messages {first} to {last}: the session has {session.messages}",
            where=session.id,
        )
    return _page(tx, session, first, last)


def _page(tx: Tx, session: Session, first: int, last: int) -> Shown:
    """Some messages of a session, and how many more of the range there are."""
    rows = archive_sql.messages(tx, session.id, first, last, MOST_MESSAGES)
    left = max(min(last, session.messages) - first + 1 - len(rows), 0)
    return Shown(session=session, messages=tuple(stored(row) for row in rows), left_out=left)


def latest(tx: Tx, limit: int, status: str, now: int) -> list[Session]:
    """Sessions, the most recently active first. One is idle while it is not ended, and nobody
    spoke for an hour: that is seen, not stored."""
    if status not in ("", *SESSION_STATUSES):
        hint = f"one of: {', '.join(SESSION_STATUSES)}"
        raise InvalidInput(f"{status!r} is not a status of a session", where="status", hint=hint)
    quiet = now - IDLE
    if status == "idle":
        found = archive_sql.latest(tx, limit, "active", until=quiet)
    else:
        found = archive_sql.latest(tx, limit, status, since=quiet if status == "active" else 0)
    return [_seen(one, now) for one in found]


def seen(shown: Shown, now: int) -> Shown:
    """What is shown, with the status that its session has by now."""
    return shown._replace(session=_seen(shown.session, now)) if shown.session else shown


def _seen(session: Session, now: int) -> Session:
    idle = session.status == "active" and session.last_active < now - IDLE
    return session._replace(status="idle") if idle else session
