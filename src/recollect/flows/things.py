"""What can be found, thing by thing: the entry and the text under which each is indexed.

The flows that write a thing index it by the same functions. Here they are told apart by the
source of an entry, for whoever goes through all of them: making vectors, rebuilding the index.
"""

import json
from collections.abc import Callable, Sequence
from functools import partial

from .. import core, flows, store
from ..db.database import Database, Tx
from ..nouns import TYPE_CHECKING
from ..store import search

if TYPE_CHECKING:
    from ..store.vectors import Waiting

Thing = tuple[search.Entry, str]
_BATCH = 200


def texts(tx: Tx, items: Sequence["Waiting"]) -> list[str]:
    """What each entry says; nothing when the thing itself is gone."""
    found = [_thing(tx, item.source, item.ref, item.seq) for item in items]
    return [thing[1] if thing else "" for thing in found]


def rebuild(space: Database, tell: Callable[[int], object] | None = None) -> int:
    """Index everything again from what is stored, and say how much it was.

    A batch is replaced in one transaction: killed at any moment, everything is found by words as
    before. Vectors are waited for again."""
    done = sum(_rebuild(space, source, tell) for source in _THINGS)
    space.write(lambda tx: store.state.remove(tx, search.WORDS_MISSING))
    return done


def count(tx: Tx) -> int:
    """How many things can be found."""
    return sum(search.count(tx, source) for source in _THINGS)


def _rebuild(space: Database, source: str, tell: Callable[[int], object] | None) -> int:
    def next_batch(tx: Tx, after: tuple[str, int]) -> list[tuple[str, int]]:
        keys = search.things(tx, source, after, _BATCH)
        for ref, seq in keys:
            thing = _thing(tx, source, ref, seq)
            if thing:
                flows.index.replace(tx, *thing)
        return keys

    done, last = 0, ("", -1)
    while keys := space.write(partial(next_batch, after=last)):
        last = keys[-1]
        done += len(keys)
        if tell:
            tell(len(keys))
    space.write(lambda tx: search.remove_orphans(tx, source))
    return done


def _thing(tx: Tx, source: str, ref: str, seq: int) -> Thing | None:
    return store.rows.readable(lambda: _THINGS[source](tx, ref, seq))


def _memory(tx: Tx, ref: str, seq: int) -> Thing | None:
    memory = store.memories.get(tx, ref)
    return (flows.learn.entry_of(memory), flows.learn.searchable(memory)) if memory else None


def _message(tx: Tx, ref: str, seq: int) -> Thing | None:
    row = store.sessions.message(tx, ref, seq)
    if row is None:
        return None
    text = core.messages.text_of(core.messages.message_from_body(json.loads(row.body)))
    return flows.record.entry_of(row.session, row.seq, row.role, row.label, row.at), text


def _document(tx: Tx, ref: str, seq: int) -> Thing | None:
    document = store.documents.get(tx, ref)
    return flows.index.document(document) if document else None


def _episode(tx: Tx, ref: str, seq: int) -> Thing | None:
    row = store.episodes.get(tx, ref)
    return (flows.episodes.entry_of(row), flows.episodes.searchable(row)) if row else None


def _procedure(tx: Tx, ref: str, seq: int) -> Thing | None:
    row = store.procedures.get(tx, ref)
    return (flows.procedures.entry_of(row), flows.procedures.searchable(row)) if row else None


_THINGS: dict[str, Callable[[Tx, str, int], Thing | None]] = {
    "memory": _memory,
    "message": _message,
    "document": _document,
    "episode": _episode,
    "procedure": _procedure,
}
