"""Lists of memories: the strongest, by scope, in use, at a time."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ..storage.database import Tx, visible_to
from ..types.records import FOREVER, Memory
from . import sql


def list_valid_at(tx: Tx, where: Mapping[str, str], at: int, limit: int) -> list[Memory]:
    """Return the revisions with these column values that were believed at a time, newest first."""
    chosen = "".join(f" AND {name} = :{name}" for name in where)
    believed = (
        f"{chosen} AND valid_from <= :at AND valid_to > :at AND status <> 'quarantined' "
        "ORDER BY first_seen DESC, id LIMIT :limit"
    )
    params = {**where, "at": at, "limit": limit}
    rows = tx.run(f"{sql.SELECT}{believed}", params) + tx.run(
        f"{sql.SELECT_EARLIER}{believed}", params
    )
    found = sql.load_all(rows)
    return sorted(found, key=lambda memory: (-memory.first_seen, memory.id))[:limit]


def list_strongest(tx: Tx, kinds: Sequence[str], limit: int, owners: Sequence[str]) -> list[Memory]:
    """Return active memories that these owners see: at most `limit` of each kind, in the order of
    the kinds, the last reinforced first."""
    seen, params = visible_to(owners)
    # Ids first: to prepare a list of all columns for each kind takes longer than to read the rows.
    parts = [
        f"SELECT * FROM (SELECT id FROM memories WHERE space = :space AND kind = :kind{place} "
        f"AND status = 'active' AND valid_to = {FOREVER} AND {seen} "
        f"ORDER BY last_reinforced DESC, id LIMIT :limit) AS strongest{place}"
        for place in range(len(kinds))
    ]
    bound = {f"kind{place}": kind for place, kind in enumerate(kinds)}
    chosen = f"{sql.SELECT} AND id IN ({' UNION ALL '.join(parts)})"
    found = sql.load_all(tx.run_batched(chosen, {**params, **bound, "limit": limit}))
    order = {kind: place for place, kind in enumerate(kinds)}
    return sorted(found, key=lambda one: (order[one.kind], -one.last_reinforced, one.id))


def list_scopes(tx: Tx) -> list[str]:
    """Return the scopes of open memories as JSON, each once."""
    rows = tx.run(
        "SELECT DISTINCT scope FROM memories "
        f"WHERE space = :space AND valid_to = {FOREVER} AND scope <> '[]'"
    )
    return [row[0] for row in rows]


def list_in_scopes(
    tx: Tx, scopes: Sequence[str], limit: int, owners: Sequence[str]
) -> list[Memory]:
    """Return memories in use that these owners see: at most `limit` of each scope, in the order of
    the scopes, newest first."""
    if not scopes:
        return []
    seen, params = visible_to(owners)
    parts = [
        f"SELECT * FROM ({sql.SELECT} AND scope = :scope{place} AND scope <> '[]' "
        f"AND status IN ('active', 'proposed') AND valid_to = {FOREVER} AND {seen} "
        f"ORDER BY first_seen DESC, id LIMIT :limit) AS scoped{place}"
        for place in range(len(scopes))
    ]
    bound = {f"scope{place}": scope for place, scope in enumerate(scopes)}
    found = sql.load_all(tx.run(" UNION ALL ".join(parts), {**params, **bound, "limit": limit}))
    order = {tuple(json.loads(scope)): place for place, scope in enumerate(scopes)}
    return sorted(found, key=lambda one: (order[one.scope], -one.first_seen, one.id))


def list_in_force(tx: Tx, limit: int, owners: Sequence[str]) -> list[Memory]:
    """Return active memories that these owners see, newest first."""
    seen, params = visible_to(owners)
    rows = tx.run(
        f"{sql.SELECT} AND status = 'active' AND valid_to = {FOREVER} AND {seen} "
        "ORDER BY first_seen DESC, id LIMIT :limit",
        {**params, "limit": limit},
    )
    return sql.load_all(rows)


def find_ids_with_scope(tx: Tx, scope: str, limit: int) -> list[str]:
    """Return the ids of the newest open memories in use whose scope is this JSON."""
    rows = tx.run(
        f"SELECT id FROM memories WHERE space = :space AND valid_to = {FOREVER} "
        "AND scope <> '[]' AND status IN ('active', 'proposed') AND scope = :scope "
        "ORDER BY first_seen DESC, id LIMIT :limit",
        {"scope": scope, "limit": limit},
    )
    return [row[0] for row in rows]


Place = tuple[int, str]
"""Where a page of a list ended: the time at which a memory was first seen, and its id."""


def list_open(
    tx: Tx, where: Mapping[str, str], limit: int, after: Place | None = None, without: str = ""
) -> list[Memory]:
    """Return open memories with these column values, newest first, from the one `after` a place
    on; `without` one status."""
    chosen = "".join(f" AND {name} = :{name}" for name in where)
    params: dict[str, str | int] = {**where, "limit": limit, "without": without}
    if after:
        chosen += " AND first_seen <= :seen AND (first_seen < :seen OR id > :last)"
        params |= {"seen": after[0], "last": after[1]}
    rows = tx.run(
        f"{sql.SELECT}{chosen} AND valid_to = {FOREVER} AND status <> :without "
        "ORDER BY first_seen DESC, id LIMIT :limit",
        params,
    )
    return sql.load_all(rows)
