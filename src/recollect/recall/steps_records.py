"""Show one record whole, by its address; add, end and follow links between records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..archive import steps_sessions as archive_steps_sessions
from ..documents import sql as documents_sql
from ..episodes import sql as episodes_sql
from ..errors import InvalidInput, NotFound, Refused
from ..index import sql as index_sql
from ..links import relations as links_relations
from ..links import sql as links_sql
from ..memory import sql as memory_sql
from ..memory import steps_revisions as memory_steps_revisions
from ..procedures import sql as procedures_sql
from ..secrets import redaction
from ..storage import database
from ..storage.database import Tx
from ..text import addresses
from ..types.records import FOREVER, TRUSTED_ORIGINS, Document, Link, Memory, Session, Stored
from ..types.reports import ShownLesson

if TYPE_CHECKING:
    from ..episodes import steps as episodes_steps
    from ..memory import steps_verify as memory_steps_verify
    from ..procedures import steps as procedures_steps


_KEPT = "memory://kept/"


class ShownRecord(NamedTuple):
    """One record with its parts: a memory, session, document, episode, procedure or lesson."""

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
    lesson: ShownLesson | None = None


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
        page = archive_steps_sessions.load_page(tx, address.name, address.first, address.last)
        return show_page(page)._replace(whole=True) if page else None
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
    name = address.name
    if address.kind == "episode" and not name.startswith("e-"):
        name = episodes_steps.address_id(name)
    ids = kept.starting_with(tx, name)
    id = name if name in ids else addresses.pick_unique_id(name, ids)
    if not id:
        return None
    if address.kind == "episode":
        return ShownRecord(episode=episodes_steps.show_row(episodes_steps.get_episode(tx, id)))
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


MOST_EDGES = 5_000

FORMATS = ("json", "dot", "mermaid")


class Linked(NamedTuple):
    """The records linked to one, the nearest first, and the graph as text on request."""

    id: str
    reached: tuple[links_relations.Reached, ...]
    labels: dict[str, str]
    graph: str = ""


def resolve_ref(tx: Tx, address: str) -> str:
    """Return the name of a record in links: its address without `memory://`; empty if missing."""
    place = addresses.parse_address(address if "://" in address else f"{addresses.SCHEME}{address}")
    shown = show_in_space(tx, place)
    if shown is None:
        return ""
    for record in (shown.memory, shown.episode, shown.procedure):
        if record is not None:
            return record.id
    if shown.session is not None:
        span = addresses.format_address(place._replace(name=shown.session.id))
        return span.removeprefix(addresses.SCHEME)
    return addresses.format_address(place).removeprefix(addresses.SCHEME)


def add_link(
    tx: Tx, ends: tuple[str, str], relation: str, reason: str, origin: str, now: int
) -> Link:
    """Link two records."""
    source, target = ends
    if source == target:
        raise InvalidInput("a record is not linked to itself", where=source)
    made = Link(
        source=source,
        relation=links_relations.check_relation(relation),
        target=target,
        reason=redaction.redact(reason),
        origin=origin,
        at=now,
    )
    links_sql.put(tx, made, redaction.redact(reason), now)
    if "supersede" in relation:
        new, old = ends if relation == "supersedes" else ends[::-1]
        _supersede(tx, new, old, origin, now)
    return made


def _supersede(tx: Tx, new: str, old: str, origin: str, now: int) -> None:
    """Close a memory that a linked one replaces. Links between other records are only kept."""
    newer, older = memory_sql.get(tx, new), memory_sql.get(tx, old, lock=True)
    if newer is None or older is None or older.valid_to != FOREVER:
        return
    if newer.valid_to != FOREVER:
        raise InvalidInput("a superseded memory replaces nothing", where=newer.address)
    if origin not in TRUSTED_ORIGINS and older.label in TRUSTED_ORIGINS:
        raise Refused(
            "only a person replaces what a person said",
            where=older.address,
            hint=f"At a terminal: recollect link {new} supersedes {old}",
        )
    end = max(now, older.valid_from + 1)
    memory_sql.update(tx, old, {"valid_to": end, "status": "superseded"})
    index_sql.set_status(tx, "memory", old, "superseded")


def end_link(tx: Tx, ends: tuple[str, str], relation: str, now: int) -> bool:
    """End a link; return False if there is none. A memory that it closed is open again."""
    ended = links_sql.end(tx, ends[0], links_relations.check_relation(relation), ends[1], now)
    old = memory_sql.get(tx, ends[1] if relation == "supersedes" else ends[0], lock=True)
    if ended and old and "supersede" in relation and old.status == "superseded":
        others = links_sql.find_touching(tx, [old.id])
        edges = [links_relations.Edge(one.source, one.relation, one.target) for one in others]
        if links_relations.newest(edges, old.id) == old.id:
            status = "active" if old.label in TRUSTED_ORIGINS else "proposed"
            memory_sql.update(tx, old.id, {"valid_to": FOREVER, "status": status})
            index_sql.set_status(tx, "memory", old.id, status)
    return ended


def follow_links(
    tx: Tx, start: str, depth: int, relations: Sequence[str] = (), format: str = ""
) -> Linked:
    """Follow the links of a record over `depth` steps, both ways."""
    if format and format not in FORMATS:
        raise InvalidInput(
            f"{format!r} is not a format", where="format", hint=f"one of: {', '.join(FORMATS)}"
        )
    edges = _find_edges(tx, start, depth)
    reached = links_relations.walk(edges, start, depth, relations)
    seen = {start, *(one.id for one in reached)}
    near = [edge for edge in edges if edge.source in seen and edge.target in seen]
    labels = {name: _describe_record(tx, name) for name in sorted(seen)}
    write = {
        "json": links_relations.to_json,
        "dot": links_relations.to_dot,
        "mermaid": links_relations.to_mermaid,
    }
    text = write[format](near, labels) if format else ""
    return Linked(start, tuple(reached), labels, text)


def _find_edges(tx: Tx, start: str, depth: int) -> list[links_relations.Edge]:
    """Return the links that a walk of `depth` steps can meet."""
    found: dict[links_relations.Edge, None] = {}
    seen, front = {start}, [start]
    for _ in range(depth):
        met: list[str] = []
        for one in links_sql.find_touching(tx, front):
            found[links_relations.Edge(one.source, one.relation, one.target, one.reason)] = None
            met += (one.source, one.target)
        front = [name for name in dict.fromkeys(met) if name not in seen]
        seen.update(front)
        if not front or len(found) > MOST_EDGES:
            break
    return list(found)


def _describe_record(tx: Tx, name: str) -> str:
    """Return the text of a record for one line."""
    kind = name[:2]
    if kind == "m-":
        memory = database.read_or_none(lambda: memory_sql.get(tx, name))
        return memory.text if memory else name
    if kind in ("e-", "p-"):
        kept = episodes_sql if kind == "e-" else procedures_sql
        held = database.read_or_none(lambda: kept.sketch(tx, name))
        return held.text if held else name
    return name


_HINTS = {
    "notes": "`recollect notes set` writes it",
    "continuity": "`recollect continuity` makes it",
    "task": "`recollect task list` lists them",
    "handoff": "`recollect handoff list` lists them",
    "ledger": "`recollect ledger AGENT` writes one",
    "scratch": "`recollect scratch list` lists them",
    "session": "`recollect session list` lists them",
    "root": "it is made of what was learned: `recollect list`, `recollect procedure list`",
}


def record_not_found(address: str) -> NotFound:
    """Return the error for an address without a record, with the command that makes one."""
    kind = address.removeprefix("memory://").partition("/")[0]
    hint = _HINTS.get(kind) or "`recollect list` and `recollect session list` list the records"
    return NotFound("there is no such record", where=address, hint=hint)
