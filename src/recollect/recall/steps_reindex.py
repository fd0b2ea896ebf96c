"""Rebuild the index: the entry and the text of every record that can be found.

The steps that write a record index it by the same functions; here they are chosen by the source of
an entry, to go through all records: to rebuild the index or to make vectors.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial

from ..actions import echo
from ..archive import sql as archive_sql
from ..archive import steps as archive_steps
from ..documents import sql as documents_sql
from ..documents import steps as documents_steps
from ..episodes import sql as episodes_sql
from ..episodes import steps as episodes_steps
from ..errors import StoreError
from ..fast_typing import TYPE_CHECKING
from ..index import sql as index_sql
from ..index import steps as index_steps
from ..memory import sql as memory_sql
from ..memory import steps_revisions as memory_steps_revisions
from ..procedures import sql as procedures_sql
from ..procedures import steps as procedures_steps
from ..storage import database
from ..storage import sql as storage_sql
from ..storage.database import Database, Tx
from ..text import messages
from . import sql

if TYPE_CHECKING:
    from ..index.sql_vectors import UnembeddedEntry
    from ..types.records import Embedder, Memory

IndexedText = tuple[index_sql.IndexEntry, str]
StoredRecord = archive_sql.MessageRow | IndexedText | None
"""A record as it is stored: a message whose text is not read yet, or an entry with its text."""

_BATCH = 200


def load_stored(tx: Tx, items: Sequence[UnembeddedEntry]) -> list[StoredRecord]:
    """Return each entry's record as it is stored, messages and memories by a few statements; None
    if it is gone."""
    places = [(item.ref, item.seq, item.seq) for item in items if item.source == "message"]
    rows = {(row.session, row.seq): row for row in archive_sql.message_ranges(tx, places)}
    ids = [item.ref for item in items if item.source == "memory"]
    memories = memory_sql.get_many(tx, ids)

    def load(item: UnembeddedEntry) -> StoredRecord:
        if item.source == "message":
            return rows.get((item.ref, item.seq))
        if item.source == "memory" and item.seq == 0:
            return _read_memory(memories.get(item.ref), 0)
        return _load_record(tx, item.source, item.ref, item.seq)

    return [load(item) for item in items]


def make_text(stored: StoredRecord) -> str:
    """Return the text that a record is found by; empty for one that is gone."""
    thing = _read_message(stored) if isinstance(stored, archive_sql.MessageRow) else stored
    return thing[1] if thing else ""


def rebuild_index(space: Database, tell: Callable[[int], object] | None = None) -> int:
    """Index all stored records again; return the count.

    Each batch is replaced in one transaction: killed at any moment, everything is still found by
    words. Vectors are queued again.
    """
    done = 0
    for source in _LOADERS:
        done += _walk(space, source, partial(_index, source), tell)
        space.write(partial(sql.remove_orphans, source=source))
    space.write(lambda tx: storage_sql.delete_value(tx, index_sql.REINDEX_KEY))
    return done


def renew_index(space: Database, tell: Callable[[int], object] | None = None) -> int:
    """Index records again that an earlier version indexed differently; return the count."""
    if space.read(index_sql.lacks_words):
        return rebuild_index(space, tell)
    done = sum(_walk(space, source, partial(_renew, source), tell) for source in _LOADERS)
    space.write(lambda tx: storage_sql.delete_value(tx, index_sql.REINDEX_KEY))
    return done


def reindex_record(tx: Tx, source: str, ref: str, seq: int = 0) -> None:
    """Index one record again after its text changed, or remove it from the index."""
    _index(source, tx, ref, seq, False)


def count_indexed(tx: Tx) -> int:
    """Count the indexed records."""
    return sum(sql.count_records(tx, source) for source in _LOADERS)


def count_unindexed(tx: Tx) -> int:
    """Count the records of a space that has no index yet, such as a copy of another engine's; the
    first search makes it."""
    if not index_sql.needs_reindex(tx) or tx.frequencies(()).entries:
        return 0
    return count_indexed(tx)


_Step = Callable[[Tx, str, int, bool], bool]
"""Handles a record, given its reference, its number and whether it is an echo; returns whether it
changed anything."""


def _walk(space: Database, source: str, step: _Step, tell: Callable[[int], object] | None) -> int:
    """Apply a step to every record of a source, one batch a transaction."""

    def next_batch(tx: Tx, after: tuple[str, int]) -> tuple[list[tuple[str, int]], int]:
        keys = sql.list_records(tx, source, after, _BATCH)
        done, echoes = 0, _EchoDetectors(tx)
        for ref, seq in keys:
            done += step(tx, ref, seq, source == "message" and echoes.is_echo(ref, seq))
        return keys, done

    count, last = 0, ("", -1)
    while True:
        keys, done = space.write(partial(next_batch, after=last))
        if not keys:
            return count
        last = keys[-1]
        count += done
        if tell:
            tell(len(keys))


class _EchoDetectors:
    """Detects echoes, session by session, each in its order."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self._session = ""
        self._listener: echo.EchoDetector | None = None

    def is_echo(self, session: str, seq: int) -> bool:
        row = archive_sql.message(self._tx, session, seq)
        if self._listener is None or session != self._session:
            self._session = session
            self._listener = archive_steps.make_echo_listener(self._tx, session, seq)
        return row is not None and self._listener.is_echo(archive_steps.echo_part(row))


def _index(source: str, tx: Tx, ref: str, seq: int, is_echo: bool) -> bool:
    thing = None if is_echo else _load_record(tx, source, ref, seq)
    if thing:
        index_steps.reindex_text(tx, *thing)
    else:
        index_sql.remove_entry(tx, source, ref, seq)
    return True


def _renew(source: str, tx: Tx, ref: str, seq: int, is_echo: bool) -> bool:
    """Index a record again if an earlier version found other terms, or left no facets."""
    thing = None if is_echo else _load_record(tx, source, ref, seq)
    if thing is None or (source == "document" and _is_generated(tx, ref)):
        known = index_sql.find_message(tx, ref, seq) if source == "message" else ref
        return bool(known) and _index(source, tx, ref, seq, is_echo)
    changed = index_steps.renew_text(tx, *thing)
    if source == "memory":
        index_sql.set_facets(tx, thing[0])
    return changed or source == "memory"


def _is_generated(tx: Tx, ref: str) -> bool:
    document = documents_sql.get_document(tx, ref)
    return document is not None and documents_steps.is_generated(document)


def _load_record(tx: Tx, source: str, ref: str, seq: int) -> IndexedText | None:
    return database.read_or_none(lambda: _LOADERS[source](tx, ref, seq))


def _load_memory(tx: Tx, ref: str, seq: int) -> IndexedText | None:
    """Return the current revision of a memory (number 0), or an earlier one."""
    return _read_memory(
        memory_sql.get_revision(tx, ref, seq) if seq else memory_sql.get(tx, ref), seq
    )


def _read_memory(memory: Memory | None, seq: int) -> IndexedText | None:
    if memory is None:
        return None
    entry = memory_steps_revisions.make_entry(memory, earlier=seq > 0)
    return entry, memory_steps_revisions.make_searchable_text(memory)


def _load_message(tx: Tx, ref: str, seq: int) -> IndexedText | None:
    row = archive_sql.message(tx, ref, seq)
    return _read_message(row) if row else None


def _read_message(row: archive_sql.MessageRow) -> IndexedText | None:
    message = messages.message_from_body(json.loads(row.body))
    left = echo.strip_own_calls(message)
    text = messages.searchable_text(left)
    if left is not message and not text:
        return None
    return archive_steps.entry_of(row.session, row.seq, row.role, row.label, row.at), text


def _load_document(tx: Tx, ref: str, seq: int) -> IndexedText | None:
    document = documents_sql.get_document(tx, ref)
    return documents_steps.document_entry(document) if document else None


def _load_episode(tx: Tx, ref: str, seq: int) -> IndexedText | None:
    row = episodes_sql.get(tx, ref)
    return (episodes_steps.entry_of(row), episodes_steps.searchable(row)) if row else None


def _load_procedure(tx: Tx, ref: str, seq: int) -> IndexedText | None:
    row = procedures_sql.get(tx, ref)
    return (procedures_steps.entry_of(row), procedures_steps.searchable(row)) if row else None


_LOADERS: dict[str, Callable[[Tx, str, int], IndexedText | None]] = {
    "memory": _load_memory,
    "message": _load_message,
    "document": _load_document,
    "episode": _load_episode,
    "procedure": _load_procedure,
}

RECORD_TEXTS = index_steps.RecordTexts(load_stored, make_text)


def embed_recent(space: Database, embedder: Embedder, now: int) -> bool:
    """Make the vectors of recent entries, if they are few; return whether the store let us. The
    next recall tries again."""
    try:
        index_steps.embed_recent(space, embedder, now, RECORD_TEXTS)
    except StoreError:
        return False
    return True
