"""Look at records: by address, or listed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..archive import sql as archive_sql
from ..archive import steps_sessions as archive_steps_sessions
from ..archive.steps import stored_message
from ..documents import sql as documents_sql
from ..errors import InvalidInput
from ..memory import sql as memory_sql
from ..storage.database import Tx
from ..text import addresses
from ..types.records import Document, Memory, Session, Stored

if TYPE_CHECKING:
    from ..episodes import steps as episodes_steps
    from ..memory import steps_verify as memory_steps_verify
    from ..procedures import steps as procedures_steps


_KEPT = "memory://kept/"


class ShownRecord(NamedTuple):
    """A record whole: one of memory, session, document, episode and procedure, and its parts."""

    memory: Memory | None = None
    session: Session | None = None
    document: Document | None = None
    versions: tuple[Memory, ...] = ()
    messages: tuple[Stored, ...] = ()
    episode: episodes_steps.Shown | None = None
    procedure: procedures_steps.ShownProcedure | None = None
    left_out: int = 0
    claims: tuple[memory_steps_verify.Checked, ...] = ()
    whole: bool = False
    """Whether messages were asked for by their numbers: they are shown to the last word."""


def show_record(txs: Sequence[Tx], address: str) -> ShownRecord | None:
    """The record at an address, in the first space that has it."""
    if address.startswith(_KEPT):
        # What a framework put on a shelf lies under that framework's names, letter for letter.
        found = (documents_sql.get_document(tx, address) for tx in txs)
        return next((ShownRecord(document=document) for document in found if document), None)
    place = parse_address(address)
    return next(filter(None, (show_in_space(tx, place) for tx in txs)), None)


def parse_address(address: str) -> addresses.Address:
    """An address, or what stands behind `memory://` in one."""
    return addresses.parse_address(address if "://" in address else f"memory://{address}")


def show_in_space(tx: Tx, address: addresses.Address) -> ShownRecord | None:
    """The record at an address; None when this space has none."""
    if address.kind == "memory":
        return _memory(tx, address.name)
    if address.kind == "session":
        return session_page(tx, address.name, 0, 0)
    if address.kind == "messages":
        session = archive_sql.get(tx, archive_steps_sessions.resolve_session_id(tx, address.name))
        if session is None:
            return None
        return _page(tx, session, address.first, address.last)._replace(whole=True)
    if address.kind in ("episode", "procedure"):
        return _experience(tx, address)
    document = documents_sql.get_document(tx, addresses.format_address(address))
    return ShownRecord(document=document) if document else None


def _experience(tx: Tx, address: addresses.Address) -> ShownRecord | None:
    """An episode, or the version of a procedure."""
    from ..episodes import sql as episodes_sql
    from ..episodes import steps as episodes_steps
    from ..procedures import sql as procedures_sql
    from ..procedures import steps as procedures_steps

    kept = episodes_sql if address.kind == "episode" else procedures_sql
    ids = kept.starting_with(tx, address.name)
    id = address.name if address.name in ids else addresses.pick_unique_id(address.name, ids)
    if not id:
        return None
    if address.kind == "episode":
        return ShownRecord(episode=episodes_steps.shown(episodes_steps.existing(tx, id)))
    row = procedures_sql.get(tx, id)
    return ShownRecord(procedure=procedures_steps.show_row(row)) if row else None


def _memory(tx: Tx, name: str) -> ShownRecord | None:
    memory = memory_sql.get(tx, name)
    if memory is None:
        memory = memory_sql.get(
            tx, addresses.pick_unique_id(name, memory_sql.find_ids_starting_with(tx, name))
        )
    if memory is None:
        return None
    return ShownRecord(memory=memory, versions=tuple(memory_sql.list_chain(tx, memory.root)))


def session_page(tx: Tx, name: str, first: int, last: int) -> ShownRecord | None:
    """A session with a range of its messages; the newest ones when no range is given."""
    session = archive_sql.get(tx, archive_steps_sessions.resolve_session_id(tx, name))
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


def _page(tx: Tx, session: Session, first: int, last: int) -> ShownRecord:
    """Some messages of a session, and how many more of the range there are."""
    rows = archive_sql.messages(tx, session.id, first, last, archive_steps_sessions.MOST_MESSAGES)
    left = max(min(last, session.messages) - first + 1 - len(rows), 0)
    return ShownRecord(
        session=session, messages=tuple(stored_message(row) for row in rows), left_out=left
    )


def with_session_status(shown: ShownRecord, now: int) -> ShownRecord:
    """What is shown, with the status that its session has by now."""
    return (
        shown._replace(session=archive_steps_sessions.with_idle_status(shown.session, now))
        if shown.session
        else shown
    )
