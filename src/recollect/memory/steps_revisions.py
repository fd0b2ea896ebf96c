"""Steps revisions."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..errors import NotFound
from ..index import sql as index_sql
from ..index import steps as index_steps
from ..secrets import redaction
from ..storage.database import Tx
from ..text import addresses, globs
from ..types.records import FOREVER, Memory
from . import sql


def find_same(tx: Tx, row: sql.MemoryRow | Memory) -> Memory | None:
    """Return the open memory with this text for the same files; held until the commit."""
    return _with_scope(sql.find_open_with_text(tx, _place(row)), read_scope(row))


def _place(row: sql.MemoryRow | Memory) -> dict[str, str]:
    return {"layer": row.layer, "owner": row.owner, "kind": row.kind, "digest": row.digest}


def read_scope(row: sql.MemoryRow | Memory) -> tuple[str, ...]:
    return row.scope if isinstance(row, Memory) else tuple(json.loads(row.scope))


def _with_scope(found: Sequence[Memory], scope: Sequence[str]) -> Memory | None:
    return next((memory for memory in found if globs.same_scopes(memory.scope, scope)), None)


def put(tx: Tx, row: sql.MemoryRow, words: index_steps.StemParts) -> Memory | None:
    """Write a version and make it findable; None when an open one has the same text and scope."""
    if not sql.insert(tx, row):
        return None
    index_sql.insert_entry(tx, make_entry(row), words)
    return sql.load_memory(row)


def make_entry(memory: Memory | sql.MemoryRow) -> index_sql.IndexEntry:
    if isinstance(memory, sql.MemoryRow):
        memory = sql.load_memory(memory)
    facets = [("tag", tag) for tag in memory.tags]
    facets += [("scope", scope) for scope in memory.scope or ("",)]
    return index_sql.IndexEntry(
        "memory",
        memory.id,
        memory.kind,
        memory.layer,
        memory.owner,
        memory.status,
        memory.label,
        0,
        memory.valid_from,
        tuple(facets),
    )


def make_searchable_text(memory: Memory) -> str:
    """All the words a memory is found by."""
    pieces = [memory.subject, memory.text, *memory.tags, *memory.scope, *memory.examples]
    pieces += [str(value) for value in memory.detail.values()]
    pieces += [str(item.get("path", "")) for item in memory.citations]
    return "\n".join(piece for piece in pieces if piece)


def make_row(memory: Memory) -> sql.MemoryRow:
    """The row of a memory that is there already; its texts were scrubbed when they came in, and are
    scrubbed again because the rules may have improved."""
    values = memory._asdict()
    for name in ("text", "subject", "reason"):
        values[name] = redaction.redact(values[name])
    for name in ("detail", "scope", "tags", "examples", "citations", "evidence", "sources"):
        values[name] = redaction.redact_json(values[name]).text
    return sql.MemoryRow(**values)


def has_memory(tx: Tx, id: str) -> bool:
    """Whether this space has a memory with this id, or one that begins so."""
    return sql.get(tx, id) is not None or bool(sql.find_ids_starting_with(tx, id, 1))


def open_memory(tx: Tx, id: str) -> Memory:
    """The open version of a memory, by the id (or the beginning of it) of any of its versions."""
    id = id.removeprefix(addresses.SCHEME)
    memory = sql.get(tx, id)
    if memory is None:
        memory = sql.get(tx, addresses.pick_unique_id(id, sql.find_ids_starting_with(tx, id)))
    if memory is None:
        raise NotFound(
            "there is no such memory", where=id, hint="`recollect list` shows what there is"
        )
    return next(
        (item for item in sql.list_chain(tx, memory.root) if item.valid_to == FOREVER), memory
    )


def list_history(tx: Tx, id: str) -> list[Memory]:
    """All versions of a memory, oldest first."""
    return sql.list_chain(tx, open_memory(tx, id).root)
