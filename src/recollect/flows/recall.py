"""Recall: terms, candidates from each space, what they are, rank, pack into the budget."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import core, store
from ..core import rank, terms, tokens
from ..db.database import Matched, Tx
from ..store import memories, search
from ..store.rows import load
from ..types import KINDS, Hit, Recalled

if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object  # a real one takes a third of a millisecond to make, in every process

COMMON_SHARE = 0.1
COMMON_FROM = 20_000
"""In a store of at least this many entries, a term held by more than this share of them says
nothing about any, and costs the most: it is dropped while a rarer one is left."""


class Freshness(Protocol):
    """Whether what a memory says of the code still holds."""

    @property
    def state(self) -> str: ...
    @property
    def moved_to(self) -> str: ...


_EXPERIENCE = ("episode", "procedure")
_SEARCHED = ("active", "proposed", "archived")


class Question(NamedTuple):
    """What is asked, and which records may answer."""

    query: str
    limit: int
    budget: int = 0
    kinds: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    statuses: tuple[str, ...] = _SEARCHED
    tags: tuple[str, ...] = ()
    file: str = ""
    session: str = ""
    since: int = 0
    until: int = 0
    as_of: int = 0


def recall(txs: Sequence[Tx], question: Question, now: int) -> Recalled:
    """The best records of all given spaces for a question; nothing when nothing matches."""
    asked = terms.query_terms(question.query)
    if not asked:
        return Recalled(notes=("the question has no words to search for",))
    hits: list[Hit] = []
    for tx in txs:
        hits += _answers(tx, asked, question, now)
    hits.sort(key=lambda hit: (-hit.score, -hit.at, hit.address))
    return packed(hits, question.limit, question.budget)


def _answers(tx: Tx, asked: Sequence[str], question: Question, now: int) -> list[Hit]:
    wanted = _wanted(asked)
    total, counts = tx.frequencies(wanted)
    searched = _rarer(wanted, total, counts)
    # The nudges of ranking are small, so what can come out on top is near the top already; where
    # terms were left out, or filters apply that SQL cannot see, a deeper look is needed.
    deep = question.tags or question.file or question.as_of or not set(asked) <= set(searched)
    depth = question.limit * 5 if deep else question.limit * 3 // 2 + 1
    scale = rank.scale(total, [counts[term] for term in asked])
    found = [
        item._replace(score=item.score * scale)
        for item in search.candidates(tx, searched, depth, _filters(question))
    ]
    hits = _memory_hits(tx, [item for item in found if item.source == "memory"], question, now)
    hits += _message_hits(tx, [item for item in found if item.source == "message"], searched)
    hits += _document_hits(tx, [item for item in found if item.source == "document"], searched)
    hits += _experience_hits(tx, [item for item in found if item.source in _EXPERIENCE])
    hits = _with_contradictions(tx, hits)
    # Candidates came by the rarer terms; all that was asked decides between them.
    return [
        hit._replace(score=hit.score * rank.coverage(asked, terms.terms(hit.text))) for hit in hits
    ]


def distinctive(tx: Tx, asked: Sequence[str]) -> list[str]:
    """The terms and stems to look for, without those that almost every entry holds."""
    wanted = _wanted(asked)
    return _rarer(wanted, *tx.frequencies(wanted))


def _wanted(asked: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*asked, *terms.stems(asked)]))


def _rarer(wanted: list[str], total: int, counts: Mapping[str, int]) -> list[str]:
    if total < COMMON_FROM:
        return wanted
    rare = [term for term in wanted if counts[term] <= total * COMMON_SHARE]
    return rare if any(counts[term] for term in rare) else wanted


def _filters(question: Question) -> dict[str, Sequence[Any]]:
    filters: dict[str, Sequence[Any]] = {"status": question.statuses}
    if question.as_of:
        filters["status"] = (*_SEARCHED, "superseded")
        filters["until"] = (question.as_of,)
    if question.kinds:
        filters["kind"] = question.kinds
    if question.layers:
        filters["layer"] = question.layers
    if question.tags or question.file:
        # Only memories have tags and a scope.
        filters["source"] = ("memory",)
    elif question.sources:
        filters["source"] = question.sources
    if question.session:
        filters["owner"] = (question.session,)
    if question.since:
        filters["since"] = (question.since,)
    if question.until:
        filters["until"] = (min(question.until, question.as_of or question.until),)
    return filters


def _memory_hits(tx: Tx, found: Sequence[Matched], question: Question, now: int) -> list[Hit]:
    held = memories.sketches(tx, [item.ref for item in found])
    hits = []
    for item in found:
        memory = held[item.ref]
        if question.as_of and not memory.valid_from <= question.as_of < memory.valid_to:
            continue
        if question.tags and not set(question.tags) <= set(load(memory.tags)):
            continue
        if question.file and not _applies(load(memory.scope), question.file):
            continue
        strong = rank.strength(memory, now)
        hits.append(
            Hit(
                memory.id,
                f"memory://{memory.id}",
                memory.kind,
                memory.text,
                rank.score(item.score, memory.label, memory.status, strong),
                f"words {item.score:.2f}, strength {strong:.2f}",
                memory.layer,
                memory.status,
                memory.label,
                memory.valid_from,
                freshness="unchecked" if memory.claims and memory.layer != "user" else "",
            )
        )
    return hits


def _applies(scope: Sequence[str], path: str) -> bool:
    return not scope or any(core.scopes.matches(pattern, path) for pattern in scope)


def _message_hits(tx: Tx, found: Sequence[Matched], searched: Sequence[str]) -> list[Hit]:
    hits = []
    for item in found:
        row = store.sessions.message(tx, item.ref, item.seq)
        if row is None:
            continue
        text = core.messages.text_of(core.messages.message_from_body(load(row.body)))
        address = f"memory://session/{row.session}/messages/{row.seq}-{row.seq}"
        hits.append(
            Hit(
                f"{row.session}:{row.seq}",
                address,
                "message",
                rank.snippet(text, searched),
                rank.score(item.score, row.label, "active"),
                f"words {item.score:.2f}",
                "session",
                "active",
                row.label,
                row.at,
                row.session,
                row.role,
            )
        )
    return hits


def _document_hits(tx: Tx, found: Sequence[Matched], searched: Sequence[str]) -> list[Hit]:
    hits = []
    for item in found:
        document = store.documents.get(tx, item.ref)
        if document is None:
            continue
        hits.append(
            Hit(
                document.address.removeprefix("memory://"),
                document.address,
                document.type,
                rank.snippet(document.text, searched),
                rank.score(item.score, document.label, "active"),
                f"words {item.score:.2f}",
                document.layer,
                document.status,
                document.label,
                document.valid_from,
            )
        )
    return hits


def _experience_hits(tx: Tx, found: Sequence[Matched]) -> list[Hit]:
    """Episodes and procedures."""
    hits = []
    for item in found:
        kept = (
            store.episodes.sketch(tx, item.ref)
            if item.source == "episode"
            else store.procedures.sketch(tx, item.ref)
        )
        if kept is None:
            continue
        hits.append(
            Hit(
                item.ref,
                f"memory://{item.ref}",
                item.source,
                kept.text,
                rank.score(item.score, kept.label, kept.status),
                f"words {item.score:.2f}",
                "project",
                kept.status,
                kept.label,
                kept.at,
                item.owner,
            )
        )
    return hits


def _with_contradictions(tx: Tx, hits: Sequence[Hit]) -> list[Hit]:
    """Hits that something else in use contradicts say so."""
    ids = memory_ids(hits)
    if not ids:
        return list(hits)
    found = store.links.touching(tx, ids, "contradicts")
    pairs = [(link.source, link.target) for link in found]
    if not pairs:
        return list(hits)
    known = memories.sketches(tx, sorted({id for pair in pairs for id in pair}))
    used = {id for id, one in known.items() if one.status in ("active", "proposed")}
    against: dict[str, list[str]] = {}
    for one, other in pairs:
        if {one, other} <= used:
            against.setdefault(one, []).append(other)
            against.setdefault(other, []).append(one)
    return [
        hit._replace(why=f"{hit.why}, contradicts {', '.join(sorted(against[hit.id]))}")
        if hit.id in against
        else hit
        for hit in hits
    ]


def packed(hits: Sequence[Hit], limit: int, budget: int) -> Recalled:
    """The best hits whole, as many as limit and budget take; what does not fit is counted."""
    chosen: list[Hit] = []
    spent = 0
    for hit in hits:
        if len(chosen) == limit:
            break
        cost = tokens.count_text(hit.text)
        if not budget or spent + cost <= budget:
            chosen.append(hit._replace(tokens=cost))
            spent += cost
    notes: tuple[str, ...] = ()
    left = len(hits) - len(chosen)
    if left and len(chosen) < limit:
        notes = (f"{left} more did not fit into {budget} tokens",)
    return Recalled(chosen, left, spent, notes)


def moment(text: str, now: int) -> int:
    """The time that a filter names; 0 when it names none."""
    return core.dates.parse_when(text, now) if text else 0


def marked(found: Recalled, fresh: Mapping[str, Freshness]) -> Recalled:
    """The hits with what the working tree says of them."""
    hits = [
        hit._replace(freshness=_mark(fresh[hit.id]) if hit.id in fresh else "") for hit in found
    ]
    return Recalled(hits, found.left_out, found.tokens, found.notes)


def _mark(fresh: Freshness) -> str:
    return f"{fresh.state} to {fresh.moved_to}" if fresh.moved_to else fresh.state


def memory_ids(hits: Sequence[Hit]) -> list[str]:
    """The ids of those hits that are memories."""
    return [hit.id for hit in hits if hit.address == f"memory://{hit.id}" and hit.kind in KINDS]


def note(tx: Tx, noted: Mapping[str, tuple[int, int]]) -> None:
    """Write down how often memories were recalled; ids of another space are not found here."""
    memories.note_recalls(tx, noted)
