"""Survey, check and adopt a store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ..archive import sql as archive_sql
from ..documents import sql as documents_sql
from ..errors import RecollectError, StoreCorrupt, Unavailable
from ..fast_typing import NamedTuple
from ..index import steps as index_steps
from ..injections import sql as injections_sql
from ..memory import sql as memory_sql
from ..memory import sql_lists as memory_sql_lists
from ..recall import steps_reindex as recall_steps_reindex
from ..secrets import redaction
from ..storage import sql as storage_sql
from ..storage.database import Database, Replica, Tx
from ..text import display
from ..text import tokens as text_tokens
from ..types import records
from ..types.records import KINDS, LAYERS, ORIGINS, PRIORITIES, STATUSES
from ..types.trust import require_person
from . import sql

_TOKEN_KEY = "doctor"

DAY = 86_400_000_000

AGES = (("7 days", 7), ("30 days", 30), ("90 days", 90))


class BackedUp(NamedTuple):
    """A copy that was written, checked and moved into place."""

    path: str
    bytes: int


class Diagnosis(NamedTuple):
    """The results of all checks."""

    ok: bool
    checks: tuple[records.Check, ...]


class Stats(NamedTuple):
    """Counts by kind, layer and status; `tokens` are those of all memories' texts."""

    memories: int
    tokens: int
    by_kind: dict[str, int]
    by_layer: dict[str, int]
    by_status: dict[str, int]
    sessions: int
    messages: int
    documents: dict[str, int]
    project_bytes: int
    user_bytes: int
    by_age: dict[str, int]
    never_recalled: int
    stale: int
    embedder: str
    embedded: int
    unembedded: int
    unindexed: int = 0
    """Records that are not indexed, as in a store that was just copied to another engine; the first
    search indexes them and computes their vectors."""
    consolidation: str = ""
    """The result of the last consolidation of the project; empty before the first."""
    in_time: tuple[injections_sql.MomentCounts, ...] = ()
    """How many items were shown at each moment, and how many were followed."""
    autonomous: str = ""
    """The state of autonomous memory; empty when it is off and never ran."""


def collect_stats(spaces: Sequence[Database], now: int) -> Stats:
    """Collect counts, age, use and size of the project's and the user's space."""
    by_kind, by_layer, by_status, by_type, by_age, totals = (Counter[str]() for _ in range(6))
    embedder = ""
    for space in spaces:
        kinds, types, (sessions, messages), ages, (unused, stale), vectors = space.read(
            lambda tx: (
                memory_sql_lists.count_by_kind(tx),
                documents_sql.count_by_type(tx),
                archive_sql.counts(tx),
                memory_sql_lists.count_by_age(tx, [now - days * DAY for _, days in AGES]),
                memory_sql_lists.count_neglected(tx),
                index_steps.measure_coverage(tx),
            )
        )
        totals["unindexed"] += space.read(recall_steps_reindex.count_unindexed)
        for kind, layer, status, number, length in kinds:
            for counter, name in ((by_kind, kind), (by_layer, layer), (by_status, status)):
                counter[name] += int(number)
            totals["characters"] += int(length)
        by_type.update(dict(types))
        by_age.update(dict(zip((*(name for name, _ in AGES), "older"), ages, strict=True)))
        totals.update(sessions=sessions, messages=messages, unused=unused, stale=stale)
        totals.update(embedded=vectors.embedded, unembedded=vectors.unembedded)
        embedder = embedder or vectors.embedder
    project_bytes, user_bytes = (space.health().size for space in spaces)
    return Stats(
        memories=by_kind.total(),
        tokens=text_tokens.estimate_tokens(totals["characters"]),
        by_kind=dict(by_kind),
        by_layer=dict(by_layer),
        by_status=dict(by_status),
        sessions=totals["sessions"],
        messages=totals["messages"],
        documents=dict(by_type),
        project_bytes=project_bytes,
        user_bytes=user_bytes,
        by_age=dict(+by_age),
        never_recalled=totals["unused"],
        stale=totals["stale"],
        embedder=embedder,
        embedded=totals["embedded"],
        unembedded=totals["unembedded"],
        unindexed=totals["unindexed"],
    )


def check_spaces(
    spaces: Mapping[str, Database], token: str, now: int, replica: Replica | None = None
) -> list[records.Check]:
    """Check every space and their replica, and that a write to the first can be read back."""
    checks = [check for name, space in spaces.items() for check in _check_health(name, space)]
    if replica:
        checks.append(records.Check("replica", *replica.check()))
    first = next(iter(spaces.values()))
    try:
        if not first.is_writable():
            detail = "you are a read-only member: what you state is not saved for the project"
            return [*checks, records.Check("write and read", True, detail)]
        if not first.present():
            detail = "not tried: nothing was written here yet"
            return [*checks, records.Check("write and read", True, detail)]
        _round_trip(first, token, now)
        return [*checks, records.Check("write and read", True, "written, read back, removed")]
    except RecollectError as error:
        return [*checks, records.Check("write and read", False, str(error))]


def _check_health(name: str, space: Database) -> list[records.Check]:
    """Return the engine's report on a space after reading all of it."""
    try:
        report = space.health(deep=True)
    except RecollectError as error:
        return [records.Check(f"{name} store", False, str(error))]
    line = f"{report.engine} {report.version}, {report.durability}, {report.place or 'in memory'}"
    problems = [records.Check(f"{name} store", False, problem) for problem in report.problems]
    return [records.Check(f"{name} store", True, line), *problems]


def _round_trip(space: Database, token: str, now: int) -> None:
    safe = redaction.redact(token)
    space.write(lambda tx: storage_sql.set_value(tx, _TOKEN_KEY, safe, now))
    space.close()

    def pop(tx: Tx) -> str | None:
        found = storage_sql.get_value(tx, _TOKEN_KEY)
        storage_sql.delete_value(tx, _TOKEN_KEY)
        return found

    if space.write(pop) != token:
        raise StoreCorrupt("what was written could not be read back", where="doctor")


_PAGE = 500

_VOCABULARY = (frozenset(KINDS), LAYERS, STATUSES, PRIORITIES, ORIGINS, ORIGINS)


class Adopted(NamedTuple):
    """An adopted store; if not trusted, its records are quarantined."""

    path: str
    memories: int
    sessions: int
    trusted: bool


def adopt_store(space: Database, path: str, trust: bool, origin: str) -> Adopted:
    """Adopt a store. Only a person can: an agent may be manipulated into it."""
    require_person(
        origin,
        "adopt a store",
        where=path,
        hint="run `recollect adopt` at a terminal; where every store is yours, "
        "set RECOLLECT_TRUST=1",
    )
    return space.adopt(lambda tx: _adopt_records(tx, path, trust))


def _adopt_records(tx: Tx, path: str, trust: bool) -> Adopted:
    _check_records(tx, path)
    if not trust:
        sql.quarantine(tx)
    count = sum(int(row[3]) for row in memory_sql_lists.count_by_kind(tx))
    return Adopted(path, count, archive_sql.counts(tx)[0], trust)


def _check_records(tx: Tx, path: str) -> None:
    """Raise StoreCorrupt for records that Recollect never writes: code relies on known values."""
    for row in sql.memory_vocabulary(tx):
        for word, known in zip(row, _VOCABULARY, strict=True):
            if word not in known:
                raise StoreCorrupt(
                    f"this store holds a memory that Recollect did not write: {word!r}",
                    where=path,
                    hint="remove the store, and do not trust its source",
                )
    ids = sql.memory_ids(tx)
    try:
        for start in range(0, len(ids), _PAGE):
            memory_sql.get_many(tx, ids[start : start + _PAGE])
        after = ("", 0)
        while found := memory_sql_lists.list_revisions(tx, _PAGE, after):
            after = (found[-1].id, found[-1].revision)
    except (ValueError, TypeError) as error:
        raise StoreCorrupt(
            f"this store holds a memory that cannot be read: {error}",
            where=path,
            hint="restore a copy made by `recollect backup`",
        ) from error


_REBUILD_HINT = "`recollect rebuild --missing` makes them again"


class RebuildResult(NamedTuple):
    """The number of records indexed, of vectors made, and their embedder."""

    indexed: int
    embedded: int
    embedder: str


def check_embedder(
    embedder: records.Embedder | None,
    coverage: Sequence[index_steps.VectorCoverage],
    unindexed: int,
) -> records.Check:
    """Check whether search by meaning works; `unindexed` records have no index yet."""
    if embedder is None:
        return records.Check("meaning", True, "switched off: recall works by words only")
    try:
        embedder.embed(["a trial"])
    except Unavailable as error:
        return records.Check("meaning", False, f"recall works by words only: {error}")
    others = {one.embedder for one in coverage if one.embedder not in ("", embedder.id)}
    if others:
        return records.Check(
            "meaning", False, f"vectors are of {', '.join(others)}: {_REBUILD_HINT}"
        )
    made, missing = sum(one.embedded for one in coverage), sum(one.unembedded for one in coverage)
    lag = f", {missing} to be made" if missing else ""
    if unindexed:
        records_left = display.format_count(unindexed, "record")
        lag = f"; {records_left} without an index yet: `recollect rebuild` makes it now"
    vectors = display.format_count(made, "vector")
    return records.Check("meaning", True, f"{embedder.id}: {vectors}{lag}")
