"""Turn what a search found into hits: the records themselves, read from the store."""

from collections.abc import Mapping, Sequence

from .. import core, store
from ..core import rank
from ..db.database import Matched, Tx
from ..nouns import TYPE_CHECKING, NamedTuple
from ..store import memories
from ..store.rows import load
from ..types import KINDS, Hit, Message, Said

if TYPE_CHECKING:
    from .recall import Question


class Loaded(NamedTuple):
    """A hit without its score, and by how much its record nudges it."""

    hit: Hit
    nudge: float


def of_entries(
    tx: Tx, found: Sequence[Matched], question: "Question", searched: Sequence[str], now: int
) -> dict[int, Loaded]:
    """The hits of entries by their numbers, without those that the question does not want."""
    ids = [item.ref for item in found if item.source == "memory"]
    held = memories.sketches(tx, ids)
    hits: dict[int, Loaded] = {}
    for item in found:
        if item.source == "memory":
            one = _memory(held.get(item.ref), question, now)
        elif item.source == "message":
            one = _message(tx, item, question, searched)
        elif item.source == "document":
            one = _document(tx, item, searched)
        else:
            one = _experience(tx, item)
        if one:
            hits[item.entry] = one
    return _with_contradictions(tx, hits)


def _memory(memory: memories.Sketch | None, question: "Question", now: int) -> Loaded | None:
    if memory is None:
        return None
    if question.as_of and not memory.valid_from <= question.as_of < memory.valid_to:
        return None
    if question.tags and not set(question.tags) <= set(load(memory.tags)):
        return None
    if question.file and not _applies(load(memory.scope), question.file):
        return None
    strong = rank.strength(memory, now)
    hit = Hit(
        memory.id,
        f"memory://{memory.id}",
        memory.kind,
        memory.text,
        0.0,
        f"strength {strong:.2f}",
        memory.layer,
        memory.status,
        memory.label,
        memory.valid_from,
        freshness="unchecked" if memory.claims and memory.layer != "user" else "",
    )
    return Loaded(hit, rank.nudge(memory.label, memory.status, strong))


def _applies(scope: Sequence[str], path: str) -> bool:
    return not scope or any(core.scopes.matches(pattern, path) for pattern in scope)


def _message(tx: Tx, item: Matched, question: "Question", searched: Sequence[str]) -> Loaded | None:
    around = question.around
    rows = store.sessions.messages(tx, item.ref, item.seq - around, item.seq + around)
    said = {row.seq: core.messages.text_of(_message_of(row)) for row in rows}
    (row,) = [row for row in rows if row.seq == item.seq] or (None,)
    if row is None:
        return None
    hit = Hit(
        f"{row.session}:{row.seq}",
        core.messages.address_of(row.session, row.seq, row.seq),
        "message",
        rank.snippet(said[row.seq], searched),
        0.0,
        "",
        "session",
        "active",
        row.label,
        row.at,
        row.session,
        row.role,
        around=tuple(
            Said(
                core.messages.address_of(other.session, other.seq, other.seq),
                other.role,
                rank.snippet(said[other.seq], searched),
            )
            for other in rows
            if other.seq != row.seq
        ),
    )
    # Trust can only lower a message: which side's words are asked for is the ranking's to judge.
    return Loaded(hit, min(rank.nudge(row.label, "active"), 1.0))


def _message_of(row: "store.sessions.MessageRow") -> Message:
    from json import loads

    return core.messages.message_from_body(loads(row.body))


def _document(tx: Tx, item: Matched, searched: Sequence[str]) -> Loaded | None:
    document = store.rows.readable(lambda: store.documents.get(tx, item.ref))
    if document is None:
        return None
    hit = Hit(
        document.address.removeprefix("memory://"),
        document.address,
        document.type,
        rank.snippet(document.text, searched),
        0.0,
        "",
        document.layer,
        document.status,
        document.label,
        document.valid_from,
    )
    return Loaded(hit, rank.nudge(document.label, "active"))


def _experience(tx: Tx, item: Matched) -> Loaded | None:
    """An episode or a procedure."""
    sketch = store.episodes.sketch if item.source == "episode" else store.procedures.sketch
    kept = sketch(tx, item.ref)
    if kept is None:
        return None
    hit = Hit(
        item.ref,
        f"memory://{item.ref}",
        item.source,
        kept.text,
        0.0,
        "",
        "project",
        kept.status,
        kept.label,
        kept.at,
        item.owner,
    )
    return Loaded(hit, rank.nudge(kept.label, kept.status))


def _with_contradictions(tx: Tx, hits: Mapping[int, Loaded]) -> dict[int, Loaded]:
    """Hits that something else in use contradicts say so."""
    ids = memory_ids([loaded.hit for loaded in hits.values()])
    pairs = [(link.source, link.target) for link in store.links.touching(tx, ids, "contradicts")]
    if not pairs:
        return dict(hits)
    known = memories.sketches(tx, sorted({id for pair in pairs for id in pair}))
    used = {id for id, one in known.items() if one.status in ("active", "proposed")}
    against: dict[str, list[str]] = {}
    for one, other in pairs:
        if {one, other} <= used:
            against.setdefault(one, []).append(other)
            against.setdefault(other, []).append(one)
    return {
        entry: loaded._replace(hit=_contradicted(loaded.hit, against.get(loaded.hit.id, ())))
        for entry, loaded in hits.items()
    }


def _contradicted(hit: Hit, others: Sequence[str]) -> Hit:
    said = f"{hit.why}, contradicts {', '.join(sorted(others))}"
    return hit._replace(why=said) if others else hit


def memory_ids(hits: Sequence[Hit]) -> list[str]:
    """The ids of those hits that are memories."""
    return [hit.id for hit in hits if hit.address == f"memory://{hit.id}" and hit.kind in KINDS]
