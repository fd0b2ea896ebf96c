"""Queries over many memories: lists, counts, what ages, and which texts are there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..fast_typing import Any, NamedTuple
from ..index import sql as index_sql
from ..storage.database import (
    Row,
    Tx,
    batches,
    list_columns,
    load_json,
    placeholders,
    visible_to,
)
from ..types.records import FOREVER, Memory
from . import sql

DAY = 86_400_000_000
_USUAL = {"status": "active", "layer": "project"}

TextPlace = tuple[str, str, str, str]
"""Layer, owner, kind and digest: open memories that share them differ in scope."""

REPEATED = ("reinforcement", "last_reinforced", "last_confirmed")
"""The columns that change when the same is said again."""


class Period(NamedTuple):
    """From when on, and before when, memories were first seen; 0 for any time."""

    since: int = 0
    until: int = 0


ANY_TIME = Period()


def _in_period(tx: Tx, period: Period) -> str:
    """Return the condition of a period, whose limits are parameters."""
    limits = ("first_seen >= :since", period.since), ("first_seen < :until", period.until)
    # SQLite expects few rows in any period, and would not look at the index of a rare status.
    is_usual = "{}" if tx.is_remote else "likely({})"
    return "".join(f" AND {is_usual.format(condition)}" for condition, limit in limits if limit)


def list_valid_at(
    tx: Tx, where: Mapping[str, str], at: int, limit: int, period: Period = ANY_TIME
) -> list[Memory]:
    """Return the revisions with these column values that were believed at a time, newest first."""
    chosen = "".join(f" AND {name} = :{name}" for name in where) + _in_period(tx, period)
    believed = (
        f"{chosen} AND valid_from <= :at AND valid_to > :at AND status <> 'quarantined' "
        "ORDER BY first_seen DESC, id LIMIT :limit"
    )
    params = {**where, **period._asdict(), "at": at, "limit": limit}
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
    # Materialised: without statistics, PostgreSQL would choose them again for each memory.
    chosen = (
        f"WITH strongest AS MATERIALIZED ({' UNION ALL '.join(parts)}) "
        f"{sql.SELECT} AND id IN (SELECT id FROM strongest)"
    )
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
        f"SELECT * FROM ({sql.SELECT} AND {_in_scope(tx, f'scope{place}')} AND scope <> '[]' "
        f"AND status IN ('active', 'proposed') AND valid_to = {FOREVER} AND {seen} "
        f"ORDER BY first_seen DESC, id LIMIT :limit) AS scoped{place}"
        for place in range(len(scopes))
    ]
    bound = {f"scope{place}": scope for place, scope in enumerate(scopes)}
    found = sql.load_all(tx.run(" UNION ALL ".join(parts), {**params, **bound, "limit": limit}))
    order = {load_json(scope): place for place, scope in enumerate(scopes)}
    return sorted(found, key=lambda one: (order[one.scope], -one.first_seen, one.id))


def _in_scope(tx: Tx, name: str) -> str:
    """Return the condition of a scope that is a parameter. A server's index has its hash."""
    plain = f"scope = :{name}"
    return f"md5(scope) = md5(CAST(:{name} AS text)) AND {plain}" if tx.is_remote else plain


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
        f"AND scope <> '[]' AND status IN ('active', 'proposed') AND {_in_scope(tx, 'scope')} "
        "ORDER BY first_seen DESC, id LIMIT :limit",
        {"scope": scope, "limit": limit},
    )
    return [row[0] for row in rows]


Place = tuple[int, str]
"""Where a page of a list ended: the time at which a memory was first seen, and its id."""


def list_open_ids(tx: Tx) -> list[str]:
    """Return the ids of all open memories."""
    found = f"SELECT id FROM memories WHERE space = :space AND valid_to = {FOREVER} ORDER BY id"
    return [row[0] for row in tx.run(found)]


def list_revisions(tx: Tx, limit: int, after: tuple[str, int] = ("", 0)) -> list[Memory]:
    """Return earlier revisions of all memories, by id and number, following on one of them."""
    rows = tx.run(
        f"{sql.SELECT_EARLIER} AND (id, revision) > (:id, :revision) ORDER BY id, revision "
        "LIMIT :limit",
        {"id": after[0], "revision": after[1], "limit": limit},
    )
    return sql.load_all(rows)


def list_open(
    tx: Tx,
    where: Mapping[str, str],
    limit: int,
    after: Place | None = None,
    without: str = "",
    period: Period = ANY_TIME,
) -> list[Memory]:
    """Return open memories with these column values, newest first, from the one `after` a place
    on; `without` one status. Superseded ones, which are closed, only by this status."""
    chosen, params = _open_with(tx, where, after, without, period)
    rows = tx.run(
        f"{sql.SELECT}{chosen} ORDER BY first_seen DESC, id LIMIT :limit",
        {**params, "limit": limit},
    )
    return sql.load_all(rows)


def list_tagged(
    tx: Tx,
    tags: Sequence[str],
    where: Mapping[str, str],
    limit: int,
    after: Place | None = None,
    without: str = "",
    period: Period = ANY_TIME,
) -> list[Memory]:
    """Return the memories of `list_open` that have all these tags. They are sorted: a walk through
    the index of times would read all memories for a tag that no new one has."""
    chosen, params = _open_with(tx, where, after, without, period)
    tagged = " INTERSECT ".join(
        "SELECT e.ref FROM facets t CROSS JOIN entries e WHERE t.space = :space AND t.name = 'tag' "
        f"AND t.value = :tag_{place} AND e.id = t.entry AND e.space = :space "
        "AND e.source = 'memory' AND e.seq = 0"
        for place in range(len(tags))
    )
    bound = {f"tag_{place}": index_sql.facet_value(tag) for place, tag in enumerate(tags)}
    rows = tx.run(
        f"{sql.SELECT}{chosen} AND id IN ({tagged}) ORDER BY first_seen + 0 DESC, id LIMIT :limit",
        {**params, **bound, "limit": limit},
    )
    return sql.load_all(rows)


def _open_with(
    tx: Tx, where: Mapping[str, str], after: Place | None, without: str, period: Period
) -> tuple[str, dict[str, str | int]]:
    """Return the conditions of a list of open memories, and their parameters."""
    # The usual values are in no index of their own: see the migration `0026_rare_values`.
    chosen = "".join(
        f" AND {name} = :{name}"
        + (f" AND {name} <> '{_USUAL[name]}'" if value != _USUAL.get(name, value) else "")
        for name, value in where.items()
    )
    chosen += _in_period(tx, period)
    params: dict[str, str | int] = {**where, **period._asdict(), "without": without}
    if after:
        chosen += " AND first_seen <= :seen AND (first_seen < :seen OR id > :last)"
        params |= {"seen": after[0], "last": after[1]}
    if where.get("status") != "superseded":
        chosen += f" AND valid_to = {FOREVER}"
    return f"{chosen} AND status <> :without", params


# ---------------------------------------------------------------- upkeep and statistics


def find_reinforced_after(tx: Tx, place: tuple[int, str], limit: int) -> list[tuple[int, str]]:
    """Return time and id of the first memories in use that were learned or reinforced after a
    time, or at it with a greater id, in this order."""
    rows = tx.run(
        f"SELECT last_reinforced, id FROM memories WHERE space = :space AND valid_to = {FOREVER} "
        "AND status IN ('active', 'proposed') AND (last_reinforced, id) > (:at, :id) "
        "ORDER BY last_reinforced, id LIMIT :limit",
        {"at": place[0], "id": place[1], "limit": limit},
    )
    return [(row[0], row[1]) for row in rows]


def find_ids(tx: Tx, kinds: Sequence[str], statuses: Sequence[str], limit: int) -> list[str]:
    """Return the ids of open memories of these kinds with one of these statuses."""
    of_kind, params = placeholders("kind", kinds)
    having, more = placeholders("status", statuses)
    rows = tx.run(
        f"SELECT id FROM memories WHERE space = :space AND valid_to = {FOREVER} "
        f"AND kind IN ({of_kind}) AND status IN ({having}) LIMIT :limit",
        {**params, **more, "limit": limit},
    )
    return [row[0] for row in rows]


class AgeingRow(NamedTuple):
    """The columns of a memory that decide whether it has faded."""

    id: str
    kind: str
    status: str
    origin: str
    label: str
    reinforcement: int
    recalls: int
    first_seen: int
    last_reinforced: int
    valid_to: int


def list_ageing(tx: Tx, reinforced_before: int, tools_before: int) -> list[AgeingRow]:
    """Return the memories in use that were last reinforced before a time, and those of tools
    that were first seen before another one."""
    select = (
        f"SELECT {list_columns(AgeingRow._fields)} FROM memories WHERE space = :space "
        f"AND valid_to = {FOREVER} AND status IN ('active', 'proposed') "
    )
    old = tx.run(f"{select} AND last_reinforced < :before", {"before": reinforced_before})
    noted = tx.run(
        f"{select} AND label = 'tool' AND first_seen < :before", {"before": tools_before}
    )
    return list(map(AgeingRow._make, dict.fromkeys((*old, *noted))))


def list_references(tx: Tx, after: str, limit: int) -> list[Row]:
    """Return id, sources and evidence (JSON) of memories in use that have any, after an id."""
    return tx.run(
        f"SELECT id, sources, evidence FROM memories WHERE space = :space AND valid_to = {FOREVER} "
        "AND status IN ('active', 'proposed') AND (sources <> '[]' OR evidence <> '[]') "
        "AND id > :after ORDER BY id LIMIT :limit",
        {"after": after, "limit": limit},
    )


def count_by_kind(tx: Tx) -> list[Row]:
    """Count open memories by kind, layer and status, with the length of their text.

    The database keeps these counts up to date by triggers.
    """
    return tx.run(
        "SELECT kind, layer, status, sum(number), sum(length) FROM memory_counts "
        "WHERE space = :space GROUP BY kind, layer, status HAVING sum(number) > 0 "
        "ORDER BY kind, layer, status"
    )


def count_by_age(tx: Tx, since: Sequence[int]) -> list[int]:
    """Count open memories by age: first seen on or after the day of each of the times, and before
    all."""
    rows = tx.run(
        "SELECT day, sum(number) FROM memory_counts WHERE space = :space GROUP BY day ORDER BY day"
    )
    found = [0] * (len(since) + 1)
    days = [moment // DAY for moment in since]
    for day, number in rows:
        place = next((at for at, first in enumerate(days) if day >= first), len(days))
        found[place] += int(number)
    return found


def count_neglected(tx: Tx) -> tuple[int, int]:
    """Count open memories that were never recalled, and those with stale claims on the code."""
    unused = tx.one("SELECT coalesce(sum(unused), 0) FROM memory_counts WHERE space = :space")
    stale = tx.one(
        "SELECT count(DISTINCT memory) FROM claims WHERE space = :space "
        "AND state IN ('changed', 'moved', 'missing')"
    )
    return int(unused[0]) if unused else 0, int(stale[0]) if stale else 0


def count_recalls(tx: Tx, noted: Mapping[str, tuple[int, int]]) -> None:
    """Count recalls (how many, and when the last was): they neither reset the clock of decay nor
    confirm anything."""
    tx.many(
        "UPDATE memories SET recalls = recalls + :count, last_recalled = :at "
        "WHERE space = :space AND id = :id",
        ({"id": id, "count": count, "at": at} for id, (count, at) in noted.items()),
    )


def find_kept_texts(tx: Tx, rows: Iterable[sql.MemoryRow]) -> set[TextPlace]:
    """Return layer, owner, kind and digest of those rows whose text an open memory has, for
    whatever files, or was forgotten on request."""
    return {
        (*place, found[0])
        for place, names, params in _batch_places(rows)
        for found in tx.run(
            "SELECT digest FROM memories WHERE space = :space AND layer = :layer "
            f"AND owner = :owner AND kind = :kind AND digest IN ({names}) "
            f"AND valid_to = {FOREVER} UNION ALL "
            f"SELECT digest FROM tombstones WHERE space = :space AND digest IN ({names})",
            params,
        )
    }


def find_open_with_texts(
    tx: Tx, rows: Iterable[sql.MemoryRow | Memory]
) -> dict[TextPlace, list[Memory]]:
    """Return the open memories with the texts of rows, one for each scope, oldest first; held until
    the commit."""
    found: dict[TextPlace, list[Memory]] = {}
    for place, names, params in _batch_places(rows):
        held = sql.load_all(
            tx.run(
                f"{sql.SELECT} AND layer = :layer AND owner = :owner AND kind = :kind "
                f"AND digest IN ({names}) AND valid_to = {FOREVER} {tx.for_update}",
                params,
            )
        )
        # With an order, SQLite would read a whole kind.
        for memory in sorted(held, key=lambda memory: (memory.first_seen, memory.id)):
            found.setdefault((*place, memory.digest), []).append(memory)
    return found


def _batch_places(
    rows: Iterable[sql.MemoryRow | Memory],
) -> Iterator[tuple[tuple[str, str, str], str, dict[str, Any]]]:
    """Yield each layer, owner and kind of rows with the digests there: their names in a statement,
    and all parameters."""
    wanted: dict[tuple[str, str, str], dict[str, None]] = {}
    for row in rows:
        wanted.setdefault((row.layer, row.owner, row.kind), {})[row.digest] = None
    for place, digests in wanted.items():
        held = dict(zip(("layer", "owner", "kind"), place, strict=True))
        for names, params in batches("digest", list(digests)):
            yield place, names, {**params, **held}


def save_repeats(tx: Tx, memories: Iterable[Memory]) -> None:
    """Write how often, and when, memories were reinforced."""
    sets = ", ".join(f"{name} = :{name}" for name in REPEATED)
    tx.many(
        f"UPDATE memories SET {sets} WHERE space = :space AND id = :id",
        ({name: getattr(one, name) for name in ("id", *REPEATED)} for one in memories),
    )


def find_withdrawn_texts(tx: Tx, digests: Sequence[str]) -> set[str]:
    """Return those digests whose text was forgotten on request, or that a memory has which is
    hidden or superseded, or had in an earlier revision."""
    return {
        row[0]
        for names, params in batches("digest", digests)
        for row in tx.run(
            f"SELECT digest FROM tombstones WHERE space = :space AND digest IN ({names}) UNION "
            f"SELECT digest FROM memories WHERE space = :space AND digest IN ({names}) "
            "AND status IN ('hidden', 'superseded') UNION "
            f"SELECT digest FROM memory_revisions WHERE space = :space AND digest IN ({names})",
            params,
        )
    }
