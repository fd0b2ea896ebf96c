"""Turn what a search found into hits: the records themselves, read from the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..archive import sql as archive_sql
from ..documents import sql as documents_sql
from ..episodes import sql as episodes_sql
from ..fast_typing import TYPE_CHECKING, NamedTuple, Protocol
from ..links import sql as links_sql
from ..memory import lifecycle
from ..memory import sql as memory_sql
from ..procedures import sql as procedures_sql
from ..storage import database
from ..storage.database import IndexMatch, Tx
from ..text import messages, tokens
from ..types.records import KINDS, Hit, Message, NearbyMessage, Recalled

if TYPE_CHECKING:
    from .steps import RecallQuestion


class LoadedHit(NamedTuple):
    """A hit without its score, by how much its record nudges it, and the words in which the user
    themselves may state something."""

    hit: Hit
    nudge: float
    stated: str = ""


def load_hits(
    tx: Tx, found: Sequence[IndexMatch], question: RecallQuestion, searched: Sequence[str], now: int
) -> dict[int, LoadedHit]:
    """The hits of entries by their numbers, as far as their records are there."""
    ids = [item.ref for item in found if item.source == "memory"]
    held = memory_sql.load_sketches(tx, ids)
    hits: dict[int, LoadedHit] = {}
    for item in found:
        if item.source == "memory":
            one = _memory(held.get(item.ref), now)
        elif item.source == "message":
            one = _message(tx, item, question, searched)
        elif item.source == "document":
            one = _document(tx, item, searched)
        else:
            one = _experience(tx, item)
        if one:
            hits[item.entry] = one
    return _with_contradictions(tx, _with_successors(tx, hits))


def _memory(memory: memory_sql.MemorySketch | None, now: int) -> LoadedHit | None:
    if memory is None:
        return None
    strong = lifecycle.compute_strength(memory, now)
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
    stated = memory.text if memory.label in ("system", "user") else ""
    return LoadedHit(hit, lifecycle.nudge(memory.label, memory.status, strong), stated)


def _message(
    tx: Tx, item: IndexMatch, question: RecallQuestion, searched: Sequence[str]
) -> LoadedHit | None:
    around = question.around
    rows = archive_sql.messages(tx, item.ref, item.seq - around, item.seq + around)
    said = {row.seq: messages.searchable_text(_message_of(row)) for row in rows}
    (row,) = [row for row in rows if row.seq == item.seq] or (None,)
    if row is None:
        return None
    hit = Hit(
        f"{row.session}:{row.seq}",
        messages.range_address(row.session, row.seq, row.seq),
        "message",
        lifecycle.cut_snippet(said[row.seq], searched),
        0.0,
        "",
        "session",
        "active",
        row.label,
        row.at,
        row.session,
        row.role,
        around=tuple(
            NearbyMessage(
                messages.range_address(other.session, other.seq, other.seq),
                other.role,
                lifecycle.cut_snippet(said[other.seq], searched),
            )
            for other in rows
            if other.seq != row.seq
        ),
    )
    own = row.role == row.label == "user"
    stated = messages.typed_text(_message_of(row)) if own else ""
    # Trust can only lower a message: which side's words are asked for is the ranking's to judge.
    return LoadedHit(hit, min(lifecycle.nudge(row.label, "active"), 1.0), stated)


def _message_of(row: archive_sql.MessageRow) -> Message:
    from json import loads

    return messages.message_from_body(loads(row.body))


def _document(tx: Tx, item: IndexMatch, searched: Sequence[str]) -> LoadedHit | None:
    document = database.read_or_none(lambda: documents_sql.get_document(tx, item.ref))
    if document is None:
        return None
    hit = Hit(
        document.address.removeprefix("memory://"),
        document.address,
        document.type,
        lifecycle.cut_snippet(document.text, searched),
        0.0,
        "",
        document.layer,
        document.status,
        document.label,
        document.valid_from,
    )
    return LoadedHit(hit, lifecycle.nudge(document.label, "active"))


def _experience(tx: Tx, item: IndexMatch) -> LoadedHit | None:
    """An episode or a procedure."""
    sketch = episodes_sql.sketch if item.source == "episode" else procedures_sql.sketch
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
    return LoadedHit(hit, lifecycle.nudge(kept.label, kept.status))


def _with_successors(tx: Tx, hits: Mapping[int, LoadedHit]) -> dict[int, LoadedHit]:
    """Versions that were superseded name what is believed in their place."""
    old = [one.hit.id for one in hits.values() if one.hit.status == "superseded"]
    newer = memory_sql.find_successors(tx, old)
    found = dict(hits)
    for entry, loaded in hits.items():
        if loaded.hit.id in newer:
            address = f"memory://{newer[loaded.hit.id]}"
            found[entry] = loaded._replace(hit=loaded.hit._replace(outdated_by=address))
    return found


def _with_contradictions(tx: Tx, hits: Mapping[int, LoadedHit]) -> dict[int, LoadedHit]:
    """Hits that something else in use contradicts say so."""
    ids = memory_ids([loaded.hit for loaded in hits.values()])
    pairs = [(link.source, link.target) for link in links_sql.find_touching(tx, ids, "contradicts")]
    if not pairs:
        return dict(hits)
    known = memory_sql.load_sketches(tx, sorted({id for pair in pairs for id in pair}))
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


class FreshnessState(Protocol):
    """Whether what a memory says of the code still holds."""

    @property
    def state(self) -> str: ...
    @property
    def moved_to(self) -> str: ...


def pack_hits(
    found: Sequence[Hit], limit: int, budget: int, notes: tuple[str, ...] = ()
) -> Recalled:
    """The best hits whole, as many as limit and budget take; what does not fit is counted."""
    chosen: list[Hit] = []
    spent = 0
    for hit in found:
        if len(chosen) == limit:
            break
        texts = [hit.text, *[said.text for said in hit.around]]
        cost = sum(map(tokens.count_text, texts))
        if not budget or spent + cost <= budget:
            chosen.append(hit._replace(tokens=cost))
            spent += cost
    left = len(found) - len(chosen)
    if left and len(chosen) < limit:
        notes += (f"{left} more did not fit into {budget} tokens",)
    return Recalled(chosen, left, spent, notes)


def mark_freshness(found: Recalled, fresh: Mapping[str, FreshnessState]) -> Recalled:
    """The hits with what the working tree says of them."""
    answer = [
        hit._replace(freshness=_freshness_mark(fresh[hit.id]) if hit.id in fresh else "")
        for hit in found
    ]
    return Recalled(answer, found.left_out, found.tokens, found.notes)


def _freshness_mark(fresh: FreshnessState) -> str:
    return f"{fresh.state} to {fresh.moved_to}" if fresh.moved_to else fresh.state
