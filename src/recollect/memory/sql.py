"""Memories: one row for each, its current revision; earlier revisions and aliases beside them.

It does not know what makes a memory strong, trusted or true.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from ..fast_typing import TYPE_CHECKING, Any, NamedTuple
from ..storage.database import (
    Row,
    Tx,
    batches,
    list_columns,
    list_parameters,
    load_json,
    read_or_none,
    set_columns,
)
from ..text import seals
from ..types.records import FOREVER, STATUSES, Json, Memory, SafeText

_COLUMNS = Memory._fields
SELECT = f"SELECT {list_columns(_COLUMNS)}, seal FROM memories WHERE space = :space"
SELECT_EARLIER = f"SELECT {list_columns(_COLUMNS)}, seal FROM memory_revisions WHERE space = :space"
_INSERT = (
    f"INSERT INTO memories (space, {list_columns(_COLUMNS)}) "
    f"SELECT :space, {list_parameters(_COLUMNS)} WHERE NOT EXISTS "
    "(SELECT 1 FROM tombstones WHERE space = :space AND digest = :digest) "
    "ON CONFLICT DO NOTHING RETURNING id"
)
_HELD = (
    "SELECT 1 FROM tombstones WHERE space = :space AND digest = :digest UNION ALL "
    "SELECT 1 FROM memories WHERE space = :space AND layer = :layer AND owner = :owner "
    f"AND kind = :kind AND digest = :digest AND valid_to = {FOREVER}"
)
_TAKEN = f"{_HELD} AND scope = :scope"
_PLACE = ("layer", "owner", "kind", "digest", "scope")
ALL = 2**62
"""A limit for `list_open` that nothing reaches."""

_JSON = tuple(
    _COLUMNS.index(name)
    for name in ("detail", "scope", "tags", "examples", "citations", "evidence", "sources")
)


class MemoryRow(NamedTuple):
    """A revision of a memory as it is written: every text was scrubbed, JSON is text."""

    id: str
    root: str
    revision: int
    kind: str
    text: SafeText
    subject: SafeText
    detail: SafeText
    category: str
    scope: SafeText
    tags: SafeText
    examples: SafeText
    citations: SafeText
    evidence: SafeText
    reason: SafeText
    confidence: float
    priority: str
    layer: str
    owner: str
    status: str
    origin: str
    label: str
    sources: SafeText
    reinforcement: int
    successes: int
    failures: int
    recalls: int
    first_seen: int
    last_confirmed: int
    last_reinforced: int
    last_recalled: int
    valid_from: int
    valid_to: int
    digest: str
    change: str = "learn"
    author: str = ""


if TYPE_CHECKING:
    from typing import TypeVar

    Written = TypeVar("Written", MemoryRow, Memory)

_IN_CHAIN = (
    "root = :root AND id IN (SELECT CAST(:root AS TEXT) UNION ALL SELECT m.id FROM memories m "
    "WHERE m.space = :space AND m.root = :root AND m.root <> m.id)"
)
"""The condition of the memories that share a root: most are alone, and in no index of roots."""

_ID, _ROOT, _TEXT, _DIGEST = map(_COLUMNS.index, ("id", "root", "text", "digest"))


def put_text(record: Written, id: str, text: SafeText, digest: str) -> Written:
    """Return a new memory, or its row, with this id and text and all other fields of a record."""
    values: list[Any] = list(record)
    values[_ID] = values[_ROOT] = id
    values[_TEXT], values[_DIGEST] = text, digest
    made: Written = tuple.__new__(type(record), values)
    return made


_SEALED = tuple(_COLUMNS.index(name) for name in seals.COLUMNS["memories"])
_STATUS = _COLUMNS.index("status")
_NUMBERS = tuple(_COLUMNS.index(name) for name in seals.NUMBERS)


def load_memory(row: Row | MemoryRow) -> Memory:
    """Return the memory in a row; raise StoreCorrupt if its seal, which follows, does not fit, or
    if a column beside the seal holds what it cannot."""
    fields = list(row[: len(_COLUMNS)])
    # None where the engine has checked it, and for a row that was not read.
    seal = row[len(_COLUMNS)] if len(row) > len(_COLUMNS) else None
    if seal is not None and seal != seals.make_seal(*[fields[place] for place in _SEALED]):
        raise seals.altered_error(fields[0])
    numbers = {type(fields[place]) for place in _NUMBERS}
    if fields[_STATUS] not in STATUSES or not numbers <= {int, float}:
        raise seals.altered_error(fields[0])
    try:
        for place in _JSON:
            fields[place] = load_json(fields[place])
    except ValueError as error:
        raise seals.altered_error(fields[0]) from error
    return Memory._make(fields)


def load_all(rows: Iterable[Row]) -> list[Memory]:
    """Return the memories in rows, without those that were altered: they are set aside alone."""
    found = [read_or_none(partial(load_memory, row)) for row in rows]
    return [memory for memory in found if memory is not None]


def load_owners(
    tx: Tx, session: str, chosen: str, limit: int, owned: bool
) -> list[tuple[str, str, str]]:
    """Return what tells the session and the task that are worked on: the `session` with its
    status, the value of state `chosen`, and each `task` with its fields. With `owned`, return
    nothing unless an open memory belongs to a session or a task."""
    if_owned = (
        "EXISTS (SELECT 1 FROM memories WHERE space = :space "
        f"AND layer IN ('session', 'task') AND layer <> 'project' AND valid_to = {FOREVER})"
        if owned
        else "1 = 1"
    )
    rows = tx.run(
        "SELECT 'session' AS what, CAST(:session AS TEXT) AS name, coalesce((SELECT status FROM "
        f"sessions WHERE space = :space AND id = :session), '') AS value WHERE {if_owned} "
        "UNION ALL SELECT 'chosen', value, '' FROM state "
        f"WHERE space = :space AND key = :chosen AND {if_owned} "
        "UNION ALL SELECT 'task', owner, fields FROM (SELECT owner, fields FROM documents "
        f"WHERE space = :space AND type = 'task' AND valid_to = {FOREVER} AND {if_owned} "
        "ORDER BY address LIMIT :limit) AS tasks",
        {"session": session, "chosen": chosen, "limit": limit},
    )
    return [(row[0], row[1], row[2]) for row in rows]


def is_free(tx: Tx, row: MemoryRow) -> bool:
    """Check whether no open memory has the text of a row, for whatever files, and nobody asked to
    forget it. Only SQLite tells: on a server another writer may add it meanwhile."""
    return not tx.for_update and not tx.one(
        _HELD, {name: getattr(row, name) for name in _PLACE if name != "scope"}
    )


def insert(tx: Tx, row: MemoryRow, free: bool = False) -> bool:
    """Write a new memory; false when an open one with the same text and scope is there, or when
    the text was forgotten on request. `free`: `is_free` has found neither in this transaction."""
    if tx.for_update:
        return tx.one(_INSERT, row._asdict()) is not None
    # The only writer can look first. For a statement that may insert nothing, SQLite copies every
    # page that it changes, which takes four times as long as the insertion.
    if not free and tx.one(_TAKEN, {name: getattr(row, name) for name in _PLACE}):
        return False
    tx.insert("memories", list_columns(_COLUMNS), [row])
    return True


def insert_many(tx: Tx, rows: Sequence[MemoryRow]) -> set[str]:
    """Write new memories, whose texts are not in `sql_lists.find_kept_texts`; return the ids of
    those that were written: another writer may have added the same text meanwhile."""
    one_writer = not tx.for_update
    tx.insert("memories", list_columns(MemoryRow._fields), rows, skip=not one_writer)
    ids = [row.id for row in rows]
    if one_writer:
        return {*ids}
    return {
        row[0]
        for names, params in batches("id", ids)
        for row in tx.run(
            f"SELECT id FROM memories WHERE space = :space AND id IN ({names})", params
        )
    }


_KEPT = list_columns(name for name in _COLUMNS if name != "valid_to")
_KEEP = (
    f"INSERT INTO memory_revisions (space, {_KEPT}, valid_to) SELECT space, {_KEPT}, :valid_from "
    "FROM memories WHERE space = :space AND id = :id AND revision = :was "
    "ON CONFLICT DO NOTHING RETURNING id"
)
_REVISE = (
    f"UPDATE memories SET {', '.join(f'{name} = :{name}' for name in _COLUMNS)} "
    "WHERE space = :space AND id = :id AND revision = :was RETURNING id"
)


def revise(tx: Tx, row: MemoryRow, was: int) -> bool:
    """Write the next revision of a memory and keep the one before, which was believed until then.

    The number of the revision is the fence: false when `was` is not the current one any more.
    """
    params = {**row._asdict(), "was": was}
    return tx.one(_KEEP, params) is not None and tx.one(_REVISE, params) is not None


def update(tx: Tx, memory: str, changes: Mapping[str, Json]) -> None:
    """Set columns of the current revision; JSON columns take JSON text."""
    set_columns(tx, "memories", memory, changes)


def update_and_get(tx: Tx, memory: Memory, changes: Mapping[str, Json]) -> Memory:
    """Set columns of the current revision and return it; it keeps the label it is seen with."""
    sets = ", ".join(f"{name} = :{name}" for name in changes)
    row = tx.one(
        f"UPDATE memories SET {sets} WHERE space = :space AND id = :its_id "
        f"RETURNING {list_columns(_COLUMNS)}",
        {**changes, "its_id": memory.id},
    )
    return load_memory(row)._replace(label=memory.label) if row else memory


def get(tx: Tx, memory: str, lock: bool = False) -> Memory | None:
    """Return a memory by its whole id; with `lock`, it is locked until the commit."""
    clause = tx.for_update if lock else ""
    row = tx.one(f"{SELECT} AND id = :id {clause}", {"id": memory})
    return load_memory(row) if row else None


def find_open_for_text(tx: Tx, memory: str, row: MemoryRow) -> list[Memory]:
    """Return an open memory of the same kind, layer and owner that a row is to change, first, and
    those with its text, one for each scope; held until the commit. None if the text of the row was
    forgotten on request."""
    rows = tx.run(
        f"{SELECT} AND layer = :layer AND owner = :owner AND kind = :kind AND digest = "
        "(SELECT m.digest FROM memories m WHERE m.space = :space AND m.id = :like) "
        f"AND valid_to = {FOREVER} AND NOT EXISTS "
        "(SELECT 1 FROM tombstones t WHERE t.space = :space AND t.digest = :digest) "
        f"{tx.for_update}",
        {**row._asdict(), "like": memory},
    )
    found = sorted(load_all(rows), key=lambda one: one.id != memory)
    return found if found and found[0].id == memory else []


def close_for_text(tx: Tx, memory: str, digest: str, now: int) -> Memory | None:
    """Close an open memory whose place a text with this digest takes, and return it; None if it is
    closed already, or if that text was forgotten on request."""
    row = tx.one(
        "UPDATE memories SET valid_to = :now, status = 'superseded' WHERE space = :space "
        f"AND id = :id AND valid_to = {FOREVER} AND NOT EXISTS "
        "(SELECT 1 FROM tombstones t WHERE t.space = :space AND t.digest = :digest) "
        f"RETURNING {list_columns(_COLUMNS)}",
        {"id": memory, "digest": digest, "now": now},
    )
    return load_memory(row) if row else None


def get_revision(tx: Tx, memory: str, revision: int) -> Memory | None:
    """Return an earlier revision of a memory."""
    row = tx.one(
        f"{SELECT_EARLIER} AND id = :id AND revision = :revision",
        {"id": memory, "revision": revision},
    )
    return load_memory(row) if row else None


def find_forgotten_at(tx: Tx, digest: str) -> int:
    """Return when the text with this digest was forgotten; 0 if it was not."""
    found = "SELECT at FROM tombstones WHERE space = :space AND digest = :digest"
    row = tx.one(found, {"digest": digest})
    return int(row[0]) if row else 0


def allow_again(tx: Tx, digest: str) -> None:
    """Remove the tombstone of a forgotten text."""
    tx.run("DELETE FROM tombstones WHERE space = :space AND digest = :digest", {"digest": digest})


def find_alias(tx: Tx, alias: str) -> str:
    """Return the id of the memory that was printed under another id once; empty without one."""
    row = tx.one(
        "SELECT id FROM memory_aliases WHERE space = :space AND alias = :alias", {"alias": alias}
    )
    return str(row[0]) if row else ""


def put_alias(tx: Tx, alias: SafeText, memory: Memory) -> None:
    """Let another id mean a memory from now on; one in use is only taken over by an active memory,
    not by one that waits for a person."""
    is_taken = "DO UPDATE SET id = excluded.id, revision = excluded.revision"
    tx.run(
        "INSERT INTO memory_aliases (space, alias, id, revision) "
        "VALUES (:space, :alias, :id, :revision) ON CONFLICT (space, alias) "
        f"{is_taken if memory.status == 'active' else 'DO NOTHING'}",
        {"alias": alias, "id": memory.id, "revision": memory.revision},
    )


class MemoryStatement(NamedTuple):
    """What a memory says, and how far it is trusted."""

    id: str
    subject: str
    text: str
    status: str
    label: str
    scope: str
    kind: str
    owner: str


def load_statements(tx: Tx, ids: Sequence[str], check: bool = True) -> list[MemoryStatement]:
    """Return what several memories say, in the order of their ids' list; without those that were
    changed from outside, unless `check` is false (on SQLite, where a text may be a blob)."""
    texts = "AND typeof(subject) = 'text' AND typeof(text) = 'text' AND typeof(scope) = 'text'"
    unaltered = f"AND NOT ({tx.altered('memories')})" if check else texts
    found: dict[str, MemoryStatement] = {}
    for names, params in batches("id", ids):
        rows = tx.run(
            f"SELECT {list_columns(MemoryStatement._fields)} FROM memories WHERE space = :space "
            f"AND id IN ({names}) {unaltered}",
            params,
        )
        # The statement selects its fields: `_make` would count them.
        found.update((row[0], tuple.__new__(MemoryStatement, row)) for row in rows)
    return [found[id] for id in dict.fromkeys(ids) if id in found]


def get_many(tx: Tx, ids: Sequence[str]) -> dict[str, Memory]:
    """Return several memories by id."""
    found: dict[str, Memory] = {}
    for names, params in batches("id", ids):
        rows = tx.run(f"{SELECT} AND id IN ({names})", params)
        found.update((memory.id, memory) for memory in load_all(rows))
    return found


def list_chain(tx: Tx, root: str) -> list[Memory]:
    """Return every revision of the memories that share a root, oldest first: of a memory, and of
    the statements whose place it took."""
    rows = tx.run(f"{SELECT} AND {_IN_CHAIN}", {"root": root})
    rows += tx.run(f"{SELECT_EARLIER} AND root = :root", {"root": root})
    found = load_all(rows)
    return sorted(found, key=lambda memory: (memory.revision, memory.valid_from, memory.id))


def find_open_in_chain(tx: Tx, root: str, lock: bool = False) -> Memory | None:
    """Return the memory that is still believed among those that share a root."""
    clause = tx.for_update if lock else ""
    rows = tx.run(f"{SELECT} AND {_IN_CHAIN} AND valid_to = {FOREVER} {clause}", {"root": root})
    found = map(load_memory, rows)
    return min(found, key=lambda memory: (-memory.revision, memory.id), default=None)


def find_ids_starting_with(tx: Tx, prefix: str, limit: int = 10) -> list[str]:
    """Return the ids of memories whose id, or an alias, begins with the prefix: a person need not
    type a whole one."""
    rows = tx.run(
        "SELECT id FROM memories WHERE space = :space AND id >= :low AND id < :high UNION "
        "SELECT id FROM memory_aliases WHERE space = :space AND alias >= :low AND alias < :high "
        "ORDER BY id LIMIT :limit",
        {"low": prefix, "high": prefix + "\U0010ffff", "limit": limit},
    )
    return [row[0] for row in rows]
