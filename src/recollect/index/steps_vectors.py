"""Search by meaning: make the vectors that are missing, and find the nearest to a question.

Nobody waits for a vector when something is written: the entry is noted as unembedded in the same
transaction, and the vector is made later, by whoever comes first: the process that a hook leaves
behind, an import when it is done, a recall (a few), `recollect rebuild` (all). Killed at any
moment, at worst a batch is made again. What has no vector yet is found by its words.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence

from ..errors import Unavailable
from ..fast_typing import TYPE_CHECKING, Any, NamedTuple
from ..recall import steps_reindex as recall_steps_reindex
from ..storage.database import Database, Tx
from . import nearest as index_nearest
from . import sql, sql_vectors
from .sql_vectors import Block, Waiting

if TYPE_CHECKING:
    from typing import Protocol

    from ..maintenance import steps as maintenance_steps
else:
    Protocol = object  # a real one takes a third of a millisecond to make, in every process

BLOCK = 1024
"""Vectors in a block: the last one is written again with each batch."""

BATCH = 256
A_LITTLE = 64
_REBUILD = "`recollect rebuild --missing` makes them again"


class Rebuilt(NamedTuple):
    """What was indexed anew by its words, how many vectors were made, and who made them."""

    indexed: int
    embedded: int
    embedder: str


class Coverage(NamedTuple):
    """How many vectors there are and are missing, and who made them."""

    embedder: str
    embedded: int
    unembedded: int


class Embedder(Protocol):
    """Who turns a text into a vector of `dims` bytes; `id` changes when vectors would."""

    @property
    def id(self) -> str: ...
    @property
    def dims(self) -> int: ...
    @property
    def local(self) -> bool:
        """Whether a vector costs no more than a look-up in this process."""

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """The vector of each text; raises `Unavailable` when there is none to be had."""

    def rarity(self, word: str) -> float:
        """How much a word tells by itself, from 0 to 1."""

    def knows(self, question: str) -> bool:
        """Whether a question has a word that the model was taught."""


def maker(tx: Tx) -> str:
    """Whose vectors a space holds: only those of one embedder can be compared."""
    return sql_vectors.embedder(tx)


def catch_up_a_little(space: Database, embedder: Embedder, now: int) -> None:
    """Make the vectors of what was just written, if it is little; whoever recalls does not wait
    for more, nor for others, and does not fail where nothing can be written."""
    batch = space.read(lambda tx: _batch(tx, A_LITTLE) if sql_vectors.any_waiting(tx) else [])
    if batch:
        try:
            found = embedder.embed([text for _, text in batch])
        except Unavailable:
            return  # the recall itself says that it goes by words
        space.note(lambda tx: _keep_first(tx, embedder.id, batch, found, now))


def _keep_first(
    tx: Tx,
    embedder: str,
    batch: Sequence[tuple[Waiting, str]],
    found: Sequence[bytes],
    now: int,
) -> None:
    """The first vectors of a space may come this way; those of another embedder stay."""
    if not sql_vectors.embedder(tx):
        sql_vectors.begin(tx, embedder, now)
    _keep(tx, embedder, batch, found)


def catch_up(
    space: Database,
    embedder: Embedder,
    now: int,
    most: int = 0,
    tell: Callable[[int], object] | None = None,
) -> int:
    """Make missing vectors, at most so many (0: all of them), and say how many were made.

    With another embedder than last time all are made anew. `tell` hears of each batch."""
    if space.read(sql_vectors.embedder) != embedder.id:
        space.write(lambda tx: _begin(tx, embedder.id, now))
    while space.read(lambda tx: tx.finds_nearest and sql_vectors.blocks(tx)):
        space.write(_hand_over)
    made = 0
    while not most or made < most:
        done = _one_batch(space, embedder, min(BATCH, most - made if most else BATCH))
        if not done:
            break
        made += done
        if tell:
            tell(done)
    if space.read(sql_vectors.with_dead):
        space.write(_without_dead)
    return made


def _hand_over(tx: Tx) -> None:
    """Tell the engine of the vectors in the last block, made before it could find them itself."""
    block = sql_vectors.last(tx)
    alive = sql_vectors.in_block(tx, block) if block.entries else {}
    if alive:
        tx.point(list(alive.items()))
    sql_vectors.dissolve(tx, block)


def _one_batch(space: Database, embedder: Embedder, most: int) -> int:
    batch = space.read(lambda tx: _batch(tx, most))
    if not batch:
        return 0
    found = embedder.embed([text for _, text in batch])
    kept = space.write(lambda tx: _keep(tx, embedder.id, batch, found))
    return len(batch) if kept else 0


def _begin(tx: Tx, embedder: str, now: int) -> None:
    if sql_vectors.embedder(tx) != embedder:
        sql_vectors.begin(tx, embedder, now)


def _batch(tx: Tx, most: int) -> list[tuple[Waiting, str]]:
    """Entries without a vector, and what they say."""
    items = sql_vectors.waiting(tx, most)
    return list(zip(items, recall_steps_reindex.texts(tx, items), strict=True))


def _keep(
    tx: Tx, embedder: str, batch: Sequence[tuple[Waiting, str]], found: Sequence[bytes]
) -> bool:
    """Keep vectors, unless another embedder has begun meanwhile: then nothing is kept. What says
    something else by now goes on waiting."""
    if sql_vectors.embedder(tx) != embedder:
        return False
    waiting = sql_vectors.still_waiting(tx, [item.entry for item, _ in batch])
    said = recall_steps_reindex.texts(tx, [item for item, _ in batch])
    made = [
        (item.entry, vector)
        for (item, text), vector, now in zip(batch, found, said, strict=True)
        if item.entry in waiting and text == now
    ]
    if tx.finds_nearest:
        sql_vectors.put(tx, made, 0)
        tx.point(made)
    else:
        _append(tx, made)
    return True


def _append(tx: Tx, made: Sequence[tuple[int, bytes]]) -> None:
    """Put vectors into the last block, and into new ones when it is full."""
    pack = index_nearest.pack
    block = sql_vectors.last(tx)
    while made:
        if len(block.entries) >= BLOCK:
            block = Block(block.block + 1, array("q"), b"")
        here, made = made[: BLOCK - len(block.entries)], made[BLOCK - len(block.entries) :]
        sql_vectors.put(tx, here, block.block)
        planes = index_nearest.joined(
            block.planes, len(block.entries), pack([vector for _, vector in here]), len(here)
        )
        block = block._replace(
            entries=block.entries + array("q", [entry for entry, _ in here]), planes=planes
        )
        sql_vectors.set_block(tx, block)


def _without_dead(tx: Tx) -> None:
    """Pack the blocks again in which vectors died: nothing of what was erased stays there."""
    for block in sql_vectors.with_dead(tx):
        alive = sql_vectors.in_block(tx, block)
        entries = array("q", sorted(alive))  # one made again lives beside its dead place
        planes = index_nearest.pack([alive[entry] for entry in entries])
        sql_vectors.replace_block(tx, block._replace(entries=entries, planes=planes))


def coverage(tx: Tx) -> Coverage:
    """How far a space can be searched by meaning."""
    return Coverage(sql_vectors.embedder(tx), *sql_vectors.counts(tx))


def examined(embedder: Embedder | None, held: Sequence[Coverage]) -> maintenance_steps.Check:
    """Whether things are found by meaning."""
    from ..maintenance.steps import Check

    if embedder is None:
        return Check("meaning", True, "switched off: recall works by words only")
    try:
        embedder.embed(["a trial"])
    except Unavailable as error:
        return Check("meaning", False, f"recall works by words only: {error}")
    others = {one.embedder for one in held if one.embedder not in ("", embedder.id)}
    if others:
        return Check("meaning", False, f"vectors are of {', '.join(others)}: {_REBUILD}")
    made, missing = sum(one.embedded for one in held), sum(one.unembedded for one in held)
    lag = f", {missing} to be made" if missing else ""
    return Check("meaning", True, f"{embedder.id}: {made} vectors{lag}")


def comparable(tx: Tx, embedder: Embedder, texts: Sequence[str]) -> list[bytes]:
    """Return the vector of each text, or none at all where there are none to be had, or none in the
    space to compare them with."""
    try:
        return embedder.embed(texts) if maker(tx) == embedder.id else []
    except Unavailable:
        return []


def cosines(question: bytes, held: Mapping[int, bytes]) -> dict[int, float]:
    """How near the question the vector of each entry is."""
    found = index_nearest.similarities(question, list(held.values())) if held else []
    return dict(zip(held, found, strict=True))


def nearest(
    tx: Tx, question: bytes, count: int, filters: Mapping[str, Sequence[Any]] | None = None
) -> dict[int, float]:
    """The entries nearest to the question, with their cosines, best first; with filters, of those
    that fulfil them, however many others are nearer."""
    entries = list(sql.nearest(tx, question, count, filters or {}))
    # An engine that finds them itself may not know all of them yet: the others are in blocks.
    blocks = [block for block in sql_vectors.blocks(tx) if block.entries]
    scores = index_nearest.scan(question, [block.planes for block in blocks])
    numbers = array("q")
    for block in blocks:
        numbers += block.entries
    if filters and numbers:
        through = sql.passing(tx, filters)
        places = [place for place, entry in enumerate(numbers) if entry in through]
        scores = bytes([scores[place] for place in places])
        numbers = array("q", [numbers[place] for place in places])
    entries += [numbers[place] for place in index_nearest.best(scores, count)]
    found = cosines(question, sql_vectors.of(tx, list(dict.fromkeys(entries))))
    return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))
