"""Find a memory by what was typed, write its row, and make its next revision.

A memory keeps its id. A person or a repair that changes it makes a revision with the next number,
and the one before is kept as it was. Ids that were printed before memories kept theirs are aliases.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import Conflict, InvalidInput, NotFound, Refused
from ..index import sql as index_sql
from ..index import steps as index_steps
from ..links import sql as links_sql
from ..secrets import redaction
from ..storage.database import Tx, load_json
from ..text import addresses, globs
from ..types.records import FOREVER, ORIGINS, Memory
from . import sql, sql_lists


def find(tx: Tx, name: str, lock: bool = False) -> Memory | None:
    """Return the memory with this id, this alias, or the beginning of one; None without any."""
    memory = sql.get(tx, name, lock)
    if memory is None:
        id = sql.find_alias(tx, name) or addresses.pick_unique_id(
            name, sql.find_ids_starting_with(tx, name)
        )
        memory = sql.get(tx, id, lock) if id else None
    return memory


def has_memory(tx: Tx, name: str) -> bool:
    """Check whether this space has a memory with this id, or one that begins so."""
    id, _ = addresses.split_revision(name)
    return sql.get(tx, id) is not None or bool(sql.find_ids_starting_with(tx, id, 1))


def find_revision(tx: Tx, name: str, revision: int) -> Memory | None:
    """Return a memory as it was in the revision with this number; None without the memory."""
    memory = find(tx, name)
    if memory is None or revision in (0, memory.revision):
        return memory
    earlier = sql.get_revision(tx, memory.id, revision)
    if earlier is None:
        raise NotFound(
            f"there is no revision {revision}: the memory is at revision {memory.revision}",
            where=memory.address,
            hint=f"`recollect history {memory.id}` lists them",
        )
    return earlier


def open_memory(tx: Tx, name: str, lock: bool = False) -> Memory:
    """Return the memory that is believed: the one with this id or the beginning of it, or the one
    that took its place. `m-4k9w2c@2` means: while it is at revision 2.

    With `lock`, its row is locked until the commit.
    """
    id, revision = addresses.split_revision(name.removeprefix(addresses.SCHEME))
    memory = find(tx, id, lock)
    if memory is None:
        raise NotFound("there is no such memory", where=id, hint="`recollect list` lists them")
    if revision not in (0, memory.revision):
        raise changed_meanwhile(memory, revision)
    if memory.valid_to == FOREVER:
        return memory
    return sql.find_open_in_chain(tx, memory.root, lock) or memory


def changed_meanwhile(memory: Memory, revision: int) -> Conflict:
    """Return the error for a change of a revision that is not the current one."""
    return Conflict(
        f"the memory is at revision {memory.revision} by now, not {revision}",
        where=memory.address,
        hint=f"look at it (`recollect show {memory.id}`), then repeat the command",
    )


def list_history(tx: Tx, name: str) -> list[Memory]:
    """Return every revision of a memory, and of the statements whose place it took, oldest
    first."""
    id, _ = addresses.split_revision(name)
    return sql.list_chain(tx, open_memory(tx, id).root)


def find_before(tx: Tx, id: str) -> Memory:
    """Return the revision before the current one: what an undo goes back to."""
    memory = open_memory(tx, id)
    earlier = sql.get_revision(tx, memory.id, memory.revision - 1)
    if earlier is None:
        raise NotFound(
            "nothing was changed in this memory since it was learned",
            where=memory.address,
            hint=f"`recollect hide {memory.id}` takes it out of use",
        )
    return earlier


def may_change(origin: str, memory: Memory) -> bool:
    """Check whether a writer is trusted as much as the author of a memory."""
    return ORIGINS.index(origin) <= ORIGINS.index(memory.label)


def check_trust(memory: Memory, origin: str, hint: str) -> None:
    """Refuse a change by a writer that is trusted less than the author of a memory."""
    if not may_change(origin, memory):
        raise Refused(
            f"what comes from the {origin} cannot change what the {memory.label} stated",
            where=memory.address,
            hint=hint,
        )


def revise(tx: Tx, old: Memory, row: sql.MemoryRow, change: str, now: int) -> Memory:
    """Make a row the next revision of a memory, and findable in place of the one before."""
    check_text_is_free(tx, row, old.id)
    row = row._replace(
        id=old.id,
        root=old.root,
        revision=old.revision + 1,
        first_seen=old.first_seen,
        valid_from=max(now, old.valid_from + 1),
        valid_to=FOREVER,
        change=change,
    )
    if not sql.revise(tx, row, old.revision):
        moved = sql.get(tx, old.id) or old
        raise changed_meanwhile(moved, old.revision)
    memory = sql.load_memory(row)
    index_sql.keep_revision(tx, "memory", old.id, old.revision)
    index_sql.insert_entry(
        tx, make_entry(memory), index_steps.split_stems(make_searchable_text(memory))
    )
    return memory


def check_text_is_free(tx: Tx, row: sql.MemoryRow | Memory, current: str) -> None:
    """Raise InvalidInput if an open memory other than the current one has this text."""
    same = find_same(tx, row)
    if same is not None and same.id != current:
        raise InvalidInput(
            "another memory in use has exactly this text",
            where=same.address,
            hint=f"hide one of them: `recollect hide {current}`",
        )


def put(
    tx: Tx, row: sql.MemoryRow, memory: Memory, words: index_steps.StemParts, free: bool
) -> bool:
    """Write a memory, which the row holds, and make it findable; false when an open one has the
    same text and scope, or when the text was forgotten on request. `free`: see `sql.insert`."""
    if not sql.insert(tx, row, free):
        return False
    index_sql.insert_entry(tx, make_entry(memory), words)
    return True


def find_same(tx: Tx, row: sql.MemoryRow | Memory) -> Memory | None:
    """Return the open memory with this text for the same files; held until the commit."""
    return pick_scope(find_same_text(tx, row), read_scope(row))


def find_same_text(tx: Tx, row: sql.MemoryRow | Memory) -> list[Memory]:
    """Return the open memories with this text, one for each scope; held until the commit."""
    return next(iter(sql_lists.find_open_with_texts(tx, [row]).values()), [])


def pick_scope(found: Sequence[Memory], scope: Sequence[str]) -> Memory | None:
    """Return the memory that applies to the same files; None without one."""
    return next((memory for memory in found if globs.same_scopes(memory.scope, scope)), None)


def read_scope(row: sql.MemoryRow | Memory) -> tuple[str, ...]:
    """Return the path globs of a memory or of its row."""
    return row.scope if isinstance(row, Memory) else tuple(load_json(row.scope))


_EVERYWHERE: tuple[tuple[str, str], ...] = (("scope", ""),)


def make_entry(memory: Memory, earlier: bool = False) -> index_sql.IndexEntry:
    """Return the index entry of a memory, or of an `earlier` revision: it has its number, and is
    found only among what is superseded."""
    facets = _EVERYWHERE
    if memory.tags or memory.scope:
        tags = [("tag", tag) for tag in memory.tags]
        facets = (*tags, *[("scope", scope) for scope in memory.scope or ("",)])
    return index_sql.IndexEntry(
        source="memory",
        ref=memory.id,
        kind=memory.kind,
        layer=memory.layer,
        owner=memory.owner,
        status="superseded" if earlier else memory.status,
        label=memory.label,
        seq=memory.revision if earlier else 0,
        at=memory.valid_from,
        facets=facets,
    )


def make_searchable_text(memory: Memory) -> str:
    """Return all the words a memory is found by: subject, tags, scope, examples, details and
    cited paths besides its text."""
    before, behind = make_searchable_fields(memory)
    return before + memory.text + behind


def make_searchable_fields(memory: Memory) -> tuple[str, str]:
    """Return the words that a memory is found by before its text, and those behind it."""
    pieces = [*memory.tags, *memory.scope, *memory.examples]
    pieces += [str(value) for value in memory.detail.values()]
    pieces += [str(item.get("path", "")) for item in memory.citations]
    before = f"{memory.subject}\n" if memory.subject else ""
    return before, "".join([f"\n{piece}" for piece in pieces if piece])


def make_row(memory: Memory) -> sql.MemoryRow:
    """Return the row of a stored memory. Its texts were scrubbed when they came in, and are
    scrubbed again because the rules may have improved."""
    values = memory._asdict()
    for name in ("text", "subject", "reason"):
        values[name] = redaction.redact(values[name])
    for name in ("detail", "scope", "tags", "examples", "citations", "evidence", "sources"):
        values[name] = redaction.redact_json(values[name]).text
    return sql.MemoryRow(**values)


NEWER = "newer"
"""The detail of a memory that names a newer statement of the user against it."""


def mark_outdated(tx: Tx, memory: Memory, others: Sequence[str]) -> None:
    """Mark the user's older statements that cannot hold together with a new one of theirs: until
    a person decided, a briefing shows the newer one only."""
    for other in sql.get_many(tx, others).values() if memory.label == "user" else ():
        if other.label == "user" and globs.same_scopes(other.scope, memory.scope):
            detail = redaction.redact_json({**other.detail, NEWER: memory.id}).text
            sql.update(tx, other.id, {"detail": detail})


def unmark_outdated(tx: Tx, ids: Sequence[str]) -> None:
    """Remove the marks between statements that a person keeps."""
    for memory in sql.get_many(tx, ids).values():
        if memory.detail.get(NEWER) in ids:
            detail = {name: value for name, value in memory.detail.items() if name != NEWER}
            sql.update(tx, memory.id, {"detail": redaction.redact_json(detail).text})


def end_contradictions(tx: Tx, memory: str, now: int) -> None:
    """End the links to what a memory contradicted before its text was changed."""
    for one in links_sql.find_touching(tx, [memory], "contradicts"):
        links_sql.end(tx, one.source, one.relation, one.target, now)
        unmark_outdated(tx, (one.source, one.target))
