"""Find the memories that a new statement changes, contradicts or repeats.

A statement with another value takes the place of the old one if only one can hold. The opposite is
linked, shown and put up for review, and so are statements of which it is unclear whether both hold,
and one whose value the new one says is gone, if the wording differs; the user who names the old
value ("X, not Y") replaces their own statement. Near-duplicates are
shown to the writer and never merged silently. A less trusted statement replaces nothing, and
neither does one for other files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log

from ..fast_typing import NamedTuple
from ..freshness import sql as freshness_sql
from ..freshness.claims import PinnedClaim
from ..index import sql as index_sql
from ..links import sql as links_sql
from ..secrets import redaction
from ..storage.database import StemFrequencies, Tx, load_json
from ..text import globs, replacements, terms
from ..types import trust
from ..types.records import (
    FOREVER,
    ORIGINS,
    STATUSES_IN_USE,
    Link,
    Memory,
)
from . import similarity, sql, sql_lists, steps_revisions

LOOKED_AT, COMPARED = 10, 4
"""So many memories with the rarest words of a statement are loaded, and those that share most words
with it are compared."""

ENOUGH_SHARED = 0.25

MOST_WORDS = 16
"""Words from the beginning of a long text that are looked up."""

MOST_HERE = 500

"""Among so many of the newest memories with exactly its scope a statement's neighbours are found,
besides those among all."""

LARGE, RAREST, PROMISED = 2_000, 4, 100
"""With so many entries, at least so many of the rarest words are looked up, and more until they
promise so many candidates: what says the same, the opposite or another value lacks fewer of them
than that, and common words would cost as much as all that was ever learned."""

MOST_PROMISED = 2_000
"""If even the rarest words have more candidates than this, only two words are looked up."""


class Neighbours(NamedTuple):
    """Open memories that a new statement stands in a relation to, by id. Those that say the same
    or another value of other files come with these files, in words. The `opposite` ones include the
    `replaced` ones: their value is gone by the new statement. `same` has the same text and
    files, and another kind."""

    revised: str = ""
    same: str = ""
    opposite: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    twins: Mapping[str, str] = {}
    otherwise: Mapping[str, str] = {}


NONE = Neighbours()


def add_twins(around: Neighbours, same_text: Sequence[Memory]) -> Neighbours:
    """Add those in use that say the same of other files: the writer decides what becomes of it."""
    used = [memory for memory in same_text if memory.status in ("active", "proposed")]
    twins = {memory.id: globs.describe_scopes(memory.scope) for memory in used}
    return around._replace(near=tuple(dict.fromkeys((*twins, *around.near))), twins=twins)


def find_neighbours(tx: Tx, row: sql.MemoryRow) -> Neighbours:
    """Look for memories that the statement changes, contradicts or repeats."""
    revised, same, opposite, replaced, near, otherwise = "", "", [], [], [], {}
    scope = load_json(row.scope)
    for memory, relation in _find_related(tx, row):
        theirs = load_json(memory.scope)
        if relation == "revises" and not globs.same_scopes(theirs, scope):
            otherwise[memory.id] = globs.describe_scopes(theirs)
        elif (relation == "revises" and not revised and _may_replace(row, memory)) or (
            relation == "replaces"
            and not revised
            and _is_own(row, memory)
            and globs.same_scopes(theirs, scope)
        ):
            revised = memory.id
        elif relation == "contradicts" and not globs.are_disjoint(theirs, scope):
            opposite.append(memory.id)
        elif relation == "replaces" and globs.same_scopes(theirs, scope):
            replaced.append(memory.id)
        elif relation == "near":
            near.append(memory.id)
            same = same or (memory.id if _is_same(row, memory) else "")
    return Neighbours(
        revised=revised,
        same=same,
        opposite=(*opposite, *replaced),
        replaced=tuple(replaced),
        near=tuple(near),
        otherwise=otherwise,
    )


def _find_related(tx: Tx, row: sql.MemoryRow) -> list[tuple[sql.MemoryStatement, str]]:
    """Return the memories that the statement stands in a relation to, each with the relation."""
    statement = (row.subject, row.text)
    there = sql.load_statements(tx, _find_candidates(tx, row), check=tx.is_remote)
    found = [
        (one, relation)
        for one in _pick_nearest(there, row)
        if (relation := _relate(one, row, statement))
    ]
    if tx.is_remote or not found:
        return found
    # To check a seal costs more than to compare two statements; few are related.
    checked = sql.get_many(tx, [one.id for one, _ in found])
    return [(one, relation) for one, relation in found if one.id in checked]


_KIND_GROUPS = {
    **dict.fromkeys(("policy", "preference", "decision", "pattern"), "rule"),
    **dict.fromkeys(("fact", "reference"), "fact"),
}
"""Kinds whose statements change and contradict each other; others only those of their own."""


def _relate(one: sql.MemoryStatement, row: sql.MemoryRow, statement: similarity.Statement) -> str:
    """Return the relation of a statement to a memory; between other kinds, only that they say
    almost the same, or that a rule or fact names the value of the other as gone."""
    before = one.subject, one.text
    groups = {_KIND_GROUPS.get(kind, kind) for kind in (one.kind, row.kind)}
    if len(groups) == 1 or (groups == {"rule", "fact"} and replacements.is_plain(row.text)):
        return similarity.find_relation(before, statement)
    return "near" if similarity.is_near(before, statement) else ""


def _is_own(row: sql.MemoryRow, memory: sql.MemoryStatement) -> bool:
    """Check whether the user replaces their own statement in plain words ("X, not Y")."""
    return (
        row.label == memory.label == "user"
        and _may_replace(row, memory)
        and replacements.is_plain(row.text)
    )


def _is_same(row: sql.MemoryRow, memory: sql.MemoryStatement) -> bool:
    """Check whether a memory has the text and the files of a statement, and another kind."""
    is_text = memory.text == row.text and memory.kind != row.kind
    return is_text and globs.same_scopes(load_json(memory.scope), load_json(row.scope))


def find_statements(tx: Tx, row: sql.MemoryRow) -> list[sql.MemoryStatement]:
    """Return the open memories that share the rarest words of a row."""
    return sql.load_statements(tx, _find_candidates(tx, row))


def _pick_nearest(
    memories: Sequence[sql.MemoryStatement], row: sql.MemoryRow
) -> list[sql.MemoryStatement]:
    """Return the few memories to compare with a statement: those for the same files, then those
    that share most words, and enough of them, unless both have a subject or the statement may share
    little but an old value."""
    words = similarity.split_words(row.subject, row.text)
    least = 0.0 if replacements.find_gone(row.text)[0] else ENOUGH_SHARED
    near: list[tuple[bool, float, sql.MemoryStatement]] = []
    for one in memories:
        if one.owner != row.owner:
            continue
        shared = similarity.jaccard(words, similarity.split_words(one.subject, one.text))
        if shared >= least or (row.subject and one.subject):
            near.append((one.scope == row.scope, shared, one))
    near.sort(key=lambda found: found[:2], reverse=True)
    return [one for _, _, one in near[:COMPARED]]


def _find_candidates(tx: Tx, row: sql.MemoryRow) -> list[str]:
    stems = terms.query_stems(f"{row.subject} {row.text}")[:MOST_WORDS]
    known = tx.frequencies_lately(stems)
    asked = pick_rarest(known)
    weights = {stem: log(1 + known.entries / known.holding[stem]) for stem in asked}
    filters = {"source": ("memory",), "status": STATUSES_IN_USE, "layer": (row.layer,)}
    found = index_sql.find_sharing(tx, weights, LOOKED_AT, filters)
    if row.scope != "[]":
        # Where the same is said of many places, what is said of this one is looked for by itself.
        here = sql_lists.find_ids_with_scope(tx, row.scope, MOST_HERE)
        only = {**filters, "ref": tuple(here)}
        found += index_sql.find_sharing(tx, weights, LOOKED_AT, only) if here else []
    return list(dict.fromkeys(found))


def pick_rarest(
    known: StemFrequencies, enough: int = 0, least: int = RAREST, share: float = 1.0
) -> list[str]:
    """Return the stems to look neighbours up by: in a large store, the rarest, until they promise
    `enough` candidates (0: `PROMISED`). After the `least` number of them, none that more than a
    `share` of all entries holds."""
    entries, holding = known.entries, known.holding
    found = filter(holding.get, holding)
    if entries < LARGE:
        return list(found)
    chosen = terms.pick_rarest(found, holding, enough or PROMISED, least, share * entries)
    while len(chosen) > 2 and sum(map(holding.__getitem__, chosen)) > MOST_PROMISED:
        chosen.pop()
    return chosen


def _may_replace(row: sql.MemoryRow, memory: sql.MemoryStatement) -> bool:
    """Check whether a statement may replace another: it is active and at least as trusted, or both
    wait for a person and are of one origin."""
    if row.status != "active":
        return memory.status == row.status and row.label == memory.label
    return ORIGINS.index(row.label) <= ORIGINS.index(memory.label)


def supersede(tx: Tx, old: Memory, row: sql.MemoryRow, now: int) -> sql.MemoryRow:
    """Return the row of the statement that takes the place of a memory that was just closed. The
    numbers of its revisions follow on."""
    index_sql.set_status(tx, "memory", old.id, "superseded")
    return row._replace(
        root=old.root,
        revision=old.revision + 1,
        first_seen=old.first_seen,
        valid_from=max(now, old.valid_from + 1),
    )


def find_replaced(tx: Tx, memory: Memory) -> Memory | None:
    """Return the memory whose place this one took when it was learned; None without one."""
    links = links_sql.find_touching(tx, [memory.id], "supersedes")
    replaced = sql.get_many(tx, [one.target for one in links if one.source == memory.id])
    return next((one for one in replaced.values() if one.root == memory.root), None)


def take_back(tx: Tx, memory: Memory, now: int) -> None:
    """Undo that a memory was saved: open the one whose place it took, or only hide it."""
    if replaced := find_replaced(tx, memory):
        reopen(tx, replaced, memory, now)
    else:
        sql.update(tx, memory.id, {"status": "hidden"})
        index_sql.set_status(tx, "memory", memory.id, "hidden")


def reopen(tx: Tx, memory: Memory, current: Memory, now: int) -> None:
    """Open a superseded memory again, in place of the current one of its chain. The older of the
    two was believed until the newer one began, or all the time."""
    steps_revisions.check_text_is_free(tx, memory, current.id)
    end = max(current.valid_from, memory.valid_from)
    status = trust.default_status(memory.kind, memory.label)
    sql.update(tx, current.id, {"valid_to": end, "status": "superseded"})
    sql.update(tx, memory.id, {"valid_to": FOREVER, "status": status})
    index_sql.set_status(tx, "memory", current.id, "superseded")
    index_sql.set_status(tx, "memory", memory.id, status)
    for one in links_sql.find_touching(tx, [memory.id], "supersedes"):
        if one.target == memory.id:
            links_sql.end(tx, one.source, one.relation, one.target, now)
    if memory.valid_from > current.valid_from:
        link(tx, memory.id, "supersedes", [current.id], "another value", now)


def anchor(
    tx: Tx,
    memory: str,
    known: Sequence[PinnedClaim],
    now: int,
    stored: Sequence[freshness_sql.ClaimRow] | None = None,
) -> None:
    """Pin a memory to what was seen of its claims just now; what was not seen stays as it was.
    `stored` are its claims, if the caller has them."""
    if stored is None:
        stored = freshness_sql.load_claims(tx, [memory]).get(memory, [])
    held = {item.target: item for item in map(freshness_sql.claim_of, stored)}
    before = list(held.values())
    held |= {item.target: item for item in known if item.blob or item.target not in held}
    if not before:
        add_claims(tx, {memory: known}, now)
    elif list(held.values()) != before:
        replace_claims(tx, memory, list(held.values()), now)


def replace_claims(tx: Tx, memory: str, known: Sequence[PinnedClaim], now: int) -> None:
    """Pin a memory to the claims seen just now, and to nothing else."""
    rows = [freshness_sql.make_row(memory, place, item) for place, item in enumerate(known)]
    freshness_sql.replace_claims(tx, memory, rows, now)


def add_claims(tx: Tx, known: Mapping[str, Sequence[PinnedClaim]], now: int) -> None:
    """Pin new memories, given by their ids, to the claims seen just now."""
    rows = [
        freshness_sql.make_row(memory, place, item)
        for memory, claims in known.items()
        for place, item in enumerate(claims)
    ]
    freshness_sql.add_claims(tx, rows, now)


def link(tx: Tx, source: str, relation: str, targets: Sequence[str], why: str, now: int) -> None:
    """Connect a memory with others."""
    reason = redaction.redact(why)
    for target in targets:
        links_sql.put(tx, Link(source, relation, target), reason, now)
