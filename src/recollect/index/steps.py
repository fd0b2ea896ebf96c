"""Index a text under its entry, inside the transaction that writes it."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence

from ..errors import Unavailable
from ..fast_typing import TYPE_CHECKING, Any, NamedTuple
from ..recall import steps_reindex as recall_steps_reindex
from ..secrets import word_scan
from ..storage.database import Database, Tx
from ..text import display, terms
from ..types import records
from . import sql, sql_vectors, vectors
from .sql_vectors import UnembeddedEntry, VectorBlock

PART_TERMS = 10_000

"""Terms in one part of an entry: PostgreSQL keeps 16,383 positions and a megabyte for each."""


StemParts = tuple[str, ...]

"""The stems of each part of a text."""


def split_stems(*texts: str) -> StemParts:
    """What texts are found by together."""
    spaced = " ".join(filter(None, map(_spaced, texts))) if len(texts) != 1 else _spaced(texts[0])
    if len(spaced) < 2 * PART_TERMS or spaced.count(" ") < PART_TERMS:
        return (spaced,)
    stems = spaced.split(" ")
    return tuple(
        " ".join(stems[start : start + PART_TERMS]) for start in range(0, len(stems), PART_TERMS)
    )


def _spaced(text: str) -> str:
    """A terminal's colours are not part of the words they surround."""
    if "\x1b" in text:
        text = display.strip_terminal_escapes(text)
    seen = word_scan.glance(text)
    return seen.stems if seen else terms.stem_text(text)


def index_text(tx: Tx, entry: sql.IndexEntry, text: str) -> None:
    """Make a thing findable by its words."""
    sql.insert_entry(tx, entry, split_stems(text))


def reindex_text(tx: Tx, entry: sql.IndexEntry, text: str) -> None:
    """The same for a thing whose words may have changed."""
    sql.replace_entry(tx, entry, split_stems(text))


if TYPE_CHECKING:
    from typing import Protocol

else:
    Protocol = object  # a real one takes a third of a millisecond to make, in every process

BLOCK_SIZE = 1024

"""Vectors in a block: the last one is written again with each batch."""

BATCH_SIZE = 256

RECENT_LIMIT = 64


class VectorCoverage(NamedTuple):
    """How many vectors there are and are missing, and who made them."""

    embedder: str
    embedded: int
    unembedded: int


def embedder_id(tx: Tx) -> str:
    """Whose vectors a space holds: only those of one embedder can be compared."""
    return sql_vectors.get_embedder(tx)


def embed_recent(space: Database, embedder: records.Embedder, now: int) -> None:
    """Make the vectors of what was just written, if it is little; whoever recalls does not wait
    for more, nor for others, and does not fail where nothing can be written."""
    batch = space.read(
        lambda tx: _batch(tx, RECENT_LIMIT) if sql_vectors.has_unembedded(tx) else []
    )
    if batch:
        try:
            found = embedder.embed([text for _, text in batch])
        except Unavailable:
            return  # the recall itself says that it goes by words
        space.note(lambda tx: _keep_first(tx, embedder.id, batch, found, now))


def _keep_first(
    tx: Tx,
    embedder: str,
    batch: Sequence[tuple[UnembeddedEntry, str]],
    found: Sequence[bytes],
    now: int,
) -> None:
    """The first vectors of a space may come this way; those of another embedder stay."""
    if not sql_vectors.get_embedder(tx):
        sql_vectors.switch_embedder(tx, embedder, now)
    _keep(tx, embedder, batch, found)


def embed_missing(
    space: Database,
    embedder: records.Embedder,
    now: int,
    most: int = 0,
    tell: Callable[[int], object] | None = None,
) -> int:
    """Make missing vectors, at most so many (0: all of them), and say how many were made.

    With another embedder than last time all are made anew. `tell` hears of each batch."""
    if space.read(sql_vectors.get_embedder) != embedder.id:
        space.write(lambda tx: _begin(tx, embedder.id, now))
    while space.read(lambda tx: tx.finds_nearest and sql_vectors.list_blocks(tx)):
        space.write(_hand_over)
    made = 0
    while not most or made < most:
        done = _one_batch(space, embedder, min(BATCH_SIZE, most - made if most else BATCH_SIZE))
        if not done:
            break
        made += done
        if tell:
            tell(done)
    if space.read(sql_vectors.list_blocks_with_dead):
        space.write(_without_dead)
    return made


def _hand_over(tx: Tx) -> None:
    """Tell the engine of the vectors in the last block, made before it could find them itself."""
    block = sql_vectors.lock_last_block(tx)
    alive = sql_vectors.load_block_vectors(tx, block) if block.entries else {}
    if alive:
        tx.point(list(alive.items()))
    sql_vectors.dissolve_block(tx, block)


def _one_batch(space: Database, embedder: records.Embedder, most: int) -> int:
    batch = space.read(lambda tx: _batch(tx, most))
    if not batch:
        return 0
    found = embedder.embed([text for _, text in batch])
    kept = space.write(lambda tx: _keep(tx, embedder.id, batch, found))
    return len(batch) if kept else 0


def _begin(tx: Tx, embedder: str, now: int) -> None:
    if sql_vectors.get_embedder(tx) != embedder:
        sql_vectors.switch_embedder(tx, embedder, now)


def _batch(tx: Tx, most: int) -> list[tuple[UnembeddedEntry, str]]:
    """Entries without a vector, and what they say."""
    items = sql_vectors.list_unembedded(tx, most)
    return list(zip(items, recall_steps_reindex.load_texts(tx, items), strict=True))


def _keep(
    tx: Tx, embedder: str, batch: Sequence[tuple[UnembeddedEntry, str]], found: Sequence[bytes]
) -> bool:
    """Keep vectors, unless another embedder has begun meanwhile: then nothing is kept. What says
    something else by now goes on waiting."""
    if sql_vectors.get_embedder(tx) != embedder:
        return False
    waiting = sql_vectors.lock_unembedded(tx, [item.entry for item, _ in batch])
    said = recall_steps_reindex.load_texts(tx, [item for item, _ in batch])
    made = [
        (item.entry, vector)
        for (item, text), vector, now in zip(batch, found, said, strict=True)
        if item.entry in waiting and text == now
    ]
    if tx.finds_nearest:
        sql_vectors.insert_vectors(tx, made, 0)
        tx.point(made)
    else:
        _append(tx, made)
    return True


def _append(tx: Tx, made: Sequence[tuple[int, bytes]]) -> None:
    """Put vectors into the last block, and into new ones when it is full."""
    pack = vectors.pack_signs
    block = sql_vectors.lock_last_block(tx)
    while made:
        if len(block.entries) >= BLOCK_SIZE:
            block = VectorBlock(block.block + 1, array("q"), b"")
        here, made = (
            made[: BLOCK_SIZE - len(block.entries)],
            made[BLOCK_SIZE - len(block.entries) :],
        )
        sql_vectors.insert_vectors(tx, here, block.block)
        planes = vectors.join_blocks(
            block.planes, len(block.entries), pack([vector for _, vector in here]), len(here)
        )
        block = block._replace(
            entries=block.entries + array("q", [entry for entry, _ in here]), planes=planes
        )
        sql_vectors.save_block(tx, block)


def _without_dead(tx: Tx) -> None:
    """Pack the blocks again in which vectors died: nothing of what was erased stays there."""
    for block in sql_vectors.list_blocks_with_dead(tx):
        alive = sql_vectors.load_block_vectors(tx, block)
        entries = array("q", sorted(alive))  # one made again lives beside its dead place
        planes = vectors.pack_signs([alive[entry] for entry in entries])
        sql_vectors.replace_block(tx, block._replace(entries=entries, planes=planes))


def measure_coverage(tx: Tx) -> VectorCoverage:
    """How far a space can be searched by meaning."""
    return VectorCoverage(sql_vectors.get_embedder(tx), *sql_vectors.count_vectors(tx))


def embed_comparable(tx: Tx, embedder: records.Embedder, texts: Sequence[str]) -> list[bytes]:
    """Return the vector of each text, or none at all where there are none to be had, or none in the
    space to compare them with."""
    try:
        return embedder.embed(texts) if embedder_id(tx) == embedder.id else []
    except Unavailable:
        return []


def cosines_by_entry(question: bytes, held: Mapping[int, bytes]) -> dict[int, float]:
    """How near the question the vector of each entry is."""
    found = vectors.cosine_similarities(question, list(held.values())) if held else []
    return dict(zip(held, found, strict=True))


def find_nearest(
    tx: Tx, question: bytes, count: int, filters: Mapping[str, Sequence[Any]] | None = None
) -> dict[int, float]:
    """The entries nearest to the question, with their cosines, best first; with filters, of those
    that fulfil them, however many others are nearer."""
    entries = list(sql.find_nearest(tx, question, count, filters or {}))
    # An engine that finds them itself may not know all of them yet: the others are in blocks.
    blocks = [block for block in sql_vectors.list_blocks(tx) if block.entries]
    scores = vectors.score_blocks(question, [block.planes for block in blocks])
    numbers = array("q")
    for block in blocks:
        numbers += block.entries
    if filters and numbers:
        through = sql.list_entries(tx, filters)
        places = [place for place, entry in enumerate(numbers) if entry in through]
        scores = bytes([scores[place] for place in places])
        numbers = array("q", [numbers[place] for place in places])
    entries += [numbers[place] for place in vectors.pick_best(scores, count)]
    found = cosines_by_entry(question, sql_vectors.load_vectors(tx, list(dict.fromkeys(entries))))
    return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))
