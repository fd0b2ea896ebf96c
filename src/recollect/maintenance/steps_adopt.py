"""Adopt a store that was made elsewhere: check that it can be read, and put it in quarantine."""

from __future__ import annotations

from typing import NamedTuple

from ..archive import sql as archive_sql
from ..errors import Refused, StoreCorrupt
from ..memory import sql as memory_sql
from ..memory import sql_upkeep as memory_sql_upkeep
from ..storage.database import Database, Tx
from ..types.records import KINDS, LAYERS, ORIGINS, PRIORITIES, STATUSES
from . import sql

_PAGE = 500
_WORDS = (frozenset(KINDS), LAYERS, STATUSES, PRIORITIES, ORIGINS, ORIGINS)


class Adopted(NamedTuple):
    """A store that is the user's own now; what is not trusted is kept out of use."""

    path: str
    memories: int
    sessions: int
    trusted: bool


def adopt(space: Database, path: str, trust: bool, origin: str) -> Adopted:
    """Take a store over. Only a person can: an agent may have been talked into it."""
    if origin != "user":
        raise Refused(
            "only a person can adopt a store",
            where=path,
            hint="run `recollect adopt` at a terminal; where every store is yours, "
            "set RECOLLECT_TRUST=1",
        )
    return space.adopt(lambda tx: _take(tx, path, trust))


def _take(tx: Tx, path: str, trust: bool) -> Adopted:
    _check(tx, path)
    if not trust:
        sql.quarantine(tx)
    held = sum(int(row[3]) for row in memory_sql_upkeep.count_by_kind(tx))
    return Adopted(path, held, archive_sql.counts(tx)[0], trust)


def _check(tx: Tx, path: str) -> None:
    """Refuse what Recollect never writes: the rest of the code relies on its own words."""
    for row in sql.words(tx):
        for word, known in zip(row, _WORDS, strict=True):
            if word not in known:
                raise StoreCorrupt(
                    f"this store holds a memory that Recollect did not write: {word!r}",
                    where=path,
                    hint="remove the store, and do not trust where it came from",
                )
    ids = sql.every_id(tx)
    try:
        for start in range(0, len(ids), _PAGE):
            memory_sql.get_many(tx, ids[start : start + _PAGE])
        after = ("", 0)
        while found := memory_sql.list_revisions(tx, _PAGE, after):
            after = (found[-1].id, found[-1].revision)
    except (ValueError, TypeError) as error:
        raise StoreCorrupt(
            f"this store holds a memory that cannot be read: {error}",
            where=path,
            hint="restore a copy made by `recollect backup`",
        ) from error
