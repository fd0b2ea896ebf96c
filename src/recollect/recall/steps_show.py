"""Show one record whole, by its address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..archive import sql as archive_sql
from ..archive import steps_sessions as archive_steps_sessions
from ..documents import sql as documents_sql
from ..memory import sql as memory_sql
from ..memory import steps_revisions as memory_steps_revisions
from ..storage.database import Tx
from ..text import addresses
from ..types.records import Document, Memory, Session, Stored

if TYPE_CHECKING:
    from ..episodes import steps as episodes_steps
    from ..memory import steps_verify as memory_steps_verify
    from ..procedures import steps as procedures_steps


_KEPT = "memory://kept/"


class ShownRecord(NamedTuple):
    """One record with its parts: a memory, session, document, episode or procedure."""

    memory: Memory | None = None
    session: Session | None = None
    document: Document | None = None
    versions: tuple[Memory, ...] = ()
    messages: tuple[Stored, ...] = ()
    episode: episodes_steps.ShownEpisode | None = None
    procedure: procedures_steps.ShownProcedure | None = None
    left_out: int = 0
    claims: tuple[memory_steps_verify.Checked, ...] = ()
    whole: bool = False
    """Whether messages were requested by number, and are shown in full."""


def show_record(txs: Sequence[Tx], address: str) -> ShownRecord | None:
    """Return the record at an address from the first space that has it."""
    if address.startswith(_KEPT):
        # A framework's own names are part of the address, and are not normalised.
        found = (documents_sql.get_document(tx, address) for tx in txs)
        return next((ShownRecord(document=document) for document in found if document), None)
    place = parse_address(address)
    return next(filter(None, (show_in_space(tx, place) for tx in txs)), None)


def parse_address(address: str) -> addresses.Address:
    """Parse an address, with or without `memory://`."""
    return addresses.parse_address(address if "://" in address else f"memory://{address}")


def show_in_space(tx: Tx, address: addresses.Address) -> ShownRecord | None:
    """Return the record at an address in one space, or None."""
    if address.kind == "memory":
        return _show_memory(tx, address.name, address.revision)
    if address.kind == "session":
        page = archive_steps_sessions.load_page(tx, address.name)
        return show_page(page) if page else None
    if address.kind == "messages":
        session = archive_sql.get(tx, archive_steps_sessions.resolve_session_id(tx, address.name))
        if session is None:
            return None
        page = archive_steps_sessions.load_range(tx, session, address.first, address.last)
        return show_page(page)._replace(whole=True)
    if address.kind in ("episode", "procedure"):
        return _show_experience(tx, address)
    document = documents_sql.get_document(tx, addresses.format_address(address))
    return ShownRecord(document=document) if document else None


def _show_experience(tx: Tx, address: addresses.Address) -> ShownRecord | None:
    """Return an episode or a version of a procedure."""
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


def _show_memory(tx: Tx, name: str, revision: int) -> ShownRecord | None:
    memory = memory_steps_revisions.find_revision(tx, name, revision)
    if memory is None:
        return None
    return ShownRecord(memory=memory, versions=tuple(memory_sql.list_chain(tx, memory.root)))


def show_page(page: archive_steps_sessions.SessionPage) -> ShownRecord:
    """Return a page of a session as a record."""
    return ShownRecord(session=page.session, messages=page.messages, left_out=page.left_out)


def with_session_status(shown: ShownRecord, now: int) -> ShownRecord:
    """Return the record with the status that its session has now."""
    return (
        shown._replace(session=archive_steps_sessions.with_idle_status(shown.session, now))
        if shown.session
        else shown
    )
