"""Index texts, make missing vectors, and search by meaning.

Words are indexed in the transaction that writes the record. Its vector is made later, by the next
of: the background process of a hook, the end of an import, a recall (a few), `recollect rebuild`
(all). A kill repeats at most one batch. Without a vector a record is found by its words.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence

from ..errors import Unavailable
from ..fast_typing import Any, NamedTuple
from ..storage.database import Database, Tx
from ..text import display, terms
from ..types import records
from . import sql, sql_vectors, steps_cells, vectors
from .sql_vectors import UnembeddedEntry, VectorBlock

PART_TERMS = 10_000
"""Terms in one part of an entry. Ranking reads the stems of each candidate whole: parts bound what
one long text costs a question, and let a part that answers be weighed without the rest."""


StemParts = tuple[str, ...]
"""The stems of each part of a text."""


def split_stems(*texts: str) -> StemParts:
    """Return the stems of texts that are indexed together."""
    spaced = (
        " ".join(filter(None, map(_stem_visible, texts)))
        if len(texts) != 1
        else _stem_visible(texts[0])
    )
    if len(spaced) < 2 * PART_TERMS or spaced.count(" ") < PART_TERMS:
        return (spaced,)
    stems = spaced.split(" ")
    return tuple(
        " ".join(stems[start : start + PART_TERMS]) for start in range(0, len(stems), PART_TERMS)
    )


def split_stems_many(texts: Sequence[str]) -> list[StemParts]:
    """Return the stems of each of many texts."""
    return list(map(split_stems, texts))


def _stem_visible(text: str) -> str:
    """Stem a text without its terminal colours."""
    if "\x1b" in text:
        text = display.strip_terminal_escapes(text)
    return terms.stem_text(text)


def index_text(tx: Tx, entry: sql.IndexEntry, text: str) -> None:
    """Index a new record by its words."""
    sql.insert_entry(tx, entry, split_stems(text))


def reindex_text(tx: Tx, entry: sql.IndexEntry, text: str) -> None:
    """Index a record whose words may have changed."""
    sql.replace_entry(tx, entry, split_stems(text))


def renew_text(tx: Tx, entry: sql.IndexEntry, text: str) -> bool:
    """Index a record again whose text is the same, but not its terms; return whether they changed.
    Its vector stays."""
    parts = split_stems(text)
    held = sql.stored_stems(tx, entry)
    if tuple(held.values()) == parts:
        return False
    if len(held) != len(parts):
        sql.replace_entry(tx, entry, parts)
        return True
    for id, stems in zip(held, parts, strict=True):
        tx.remove_words(id)
        tx.add_words([(id, stems)])
    return True


# ---------------------------------------------------------------- vectors


class RecordTexts(NamedTuple):
    """Loads records as they are stored, and makes the text of one, which is empty for a deleted
    record. `recall.steps_reindex` has it."""

    load: Callable[[Tx, Sequence[UnembeddedEntry]], list[Any]]
    make: Callable[[Any], str]

    def make_all(self, batch: Sequence[tuple[UnembeddedEntry, Any]]) -> list[str]:
        return [self.make(stored) for _, stored in batch]


BLOCK_SIZE = 1024
"""Vectors in a block; every batch rewrites the last block."""

BATCH_SIZE = 256
RECENT_LIMIT = 64


class VectorCoverage(NamedTuple):
    """Number of vectors and of entries without one, and the embedder."""

    embedder: str
    embedded: int
    unembedded: int


def embedder_id(tx: Tx) -> str:
    """Return the embedder of a space: only vectors of one embedder can be compared."""
    return sql_vectors.get_embedder(tx)


def embed_recent(space: Database, embedder: records.Embedder, now: int, texts: RecordTexts) -> None:
    """Make the vectors of recent entries, if they are few. The recall that calls this neither waits
    for more or for locks, nor fails on a read-only store."""
    batch = space.read_ahead(lambda tx: _load_batch(tx, RECENT_LIMIT, texts))
    if not batch:
        return
    try:
        found = embedder.embed(texts.make_all(batch))
    except Unavailable:
        return  # the recall itself reports that it uses words only

    def save_first(tx: Tx) -> None:
        # The first vectors of a space may come this way; those of another embedder stay.
        if not sql_vectors.get_embedder(tx):
            sql_vectors.switch_embedder(tx, embedder.id, now)
        _save_batch(tx, embedder.id, batch, found, texts)

    space.try_write(save_first)


def embed_missing(
    space: Database,
    embedder: records.Embedder,
    now: int,
    texts: RecordTexts,
    report: Callable[[int], object] | None = None,
    most: int = 0,
) -> int:
    """Make all missing vectors, the newest first, and return how many were made.

    A new embedder makes all of them again. `report` is called with the size of each batch. With
    `most`, it stops after that number; the rest stays queued.
    """
    if space.read(sql_vectors.get_embedder) != embedder.id:
        space.write(lambda tx: _switch_embedder(tx, embedder.id, now))
    while space.read(lambda tx: tx.finds_nearest and sql_vectors.list_blocks(tx)):
        space.write(_hand_over_block)
    made = 0
    while (not most or made < most) and (done := _embed_batch(space, embedder, texts)):
        made += done
        if report:
            report(done)
    if space.read(sql_vectors.list_blocks_with_dead):
        space.write(_drop_dead_places)
    while steps_cells.sort_batch(space) and not most:
        pass
    return made


def _hand_over_block(tx: Tx) -> None:
    """Move the vectors of the last block to the engine's own index, which is newer."""
    block = sql_vectors.lock_last_block(tx)
    alive = sql_vectors.load_block_vectors(tx, block) if block.entries else {}
    if alive:
        tx.add_vectors(list(alive.items()))
    sql_vectors.dissolve_block(tx, block)


def _embed_batch(space: Database, embedder: records.Embedder, texts: RecordTexts) -> int:
    batch = space.read(lambda tx: _load_batch(tx, BATCH_SIZE, texts))
    if not batch:
        return 0
    found = embedder.embed(texts.make_all(batch))
    kept = space.write(lambda tx: _save_batch(tx, embedder.id, batch, found, texts))
    return len(batch) if kept else 0


def _switch_embedder(tx: Tx, embedder: str, now: int) -> None:
    if sql_vectors.get_embedder(tx) != embedder:
        sql_vectors.switch_embedder(tx, embedder, now)


def _load_batch(tx: Tx, limit: int, texts: RecordTexts) -> list[tuple[UnembeddedEntry, Any]]:
    """Return entries without a vector, with their records."""
    items = sql_vectors.list_unembedded(tx, limit)
    return list(zip(items, texts.load(tx, items), strict=True))


def _save_batch(
    tx: Tx,
    embedder: str,
    batch: Sequence[tuple[UnembeddedEntry, Any]],
    found: Sequence[bytes],
    texts: RecordTexts,
) -> bool:
    """Store vectors, unless the embedder was switched meanwhile. An entry whose record has changed
    stays queued."""
    if sql_vectors.get_embedder(tx) != embedder:
        return False
    # PostgreSQL may read the texts in the snapshot in which it begins to wait for these rows. That
    # is safe: a record with other words has a new entry, and the row of the one before is gone.
    waiting = sql_vectors.lock_unembedded(tx, [item.entry for item, _ in batch])
    current = texts.load(tx, [item for item, _ in batch])
    made = [
        (item.entry, vector)
        for (item, stored), vector, stored_now in zip(batch, found, current, strict=True)
        if item.entry in waiting and stored == stored_now
    ]
    if tx.finds_nearest:
        sql_vectors.insert_vectors(tx, made, 0)
    else:
        _append_to_blocks(tx, made)
    return True


def _append_to_blocks(tx: Tx, made: Sequence[tuple[int, bytes]]) -> None:
    """Append vectors to the last block, and to new ones when it is full."""
    block = sql_vectors.lock_last_block(tx)
    while made:
        if len(block.entries) >= BLOCK_SIZE:
            block = VectorBlock(block.block + 1, array("q"), b"")
        here, made = (
            made[: BLOCK_SIZE - len(block.entries)],
            made[BLOCK_SIZE - len(block.entries) :],
        )
        sql_vectors.insert_vectors(tx, here, block.block)
        block = block._replace(
            entries=block.entries + array("q", [entry for entry, _ in here]),
            signs=block.signs + vectors.pack_signs([vector for _, vector in here]),
        )
        sql_vectors.save_block(tx, block)


def _drop_dead_places(tx: Tx) -> None:
    """Pack blocks with dead places again, so that nothing of an erased text remains."""
    for block in sql_vectors.list_blocks_with_dead(tx):
        alive = sql_vectors.load_block_vectors(tx, block)
        entries = array("q", sorted(alive))  # a vector made again is live next to its dead place
        signs = vectors.pack_signs([alive[entry] for entry in entries])
        sql_vectors.replace_block(tx, block._replace(entries=entries, signs=signs))


def measure_coverage(tx: Tx) -> VectorCoverage:
    """Return how much of a space can be searched by meaning."""
    return VectorCoverage(sql_vectors.get_embedder(tx), *sql_vectors.count_vectors(tx))


def embed_comparable(tx: Tx, embedder: records.Embedder, texts: Sequence[str]) -> list[bytes]:
    """Return the vector of each text; none if the embedder is unavailable or is not that of the
    space."""
    try:
        return embedder.embed(texts) if embedder_id(tx) == embedder.id else []
    except Unavailable:
        return []
