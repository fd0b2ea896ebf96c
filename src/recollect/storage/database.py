"""The interface of an engine: databases and transactions, and helpers for statements.

Statements are written once, with `:name` parameters, and run on both engines. Whatever differs
between the dialects (matching words, skipping locked rows) is a method of the transaction. This
module does not know the engines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import log

from ..errors import StoreCorrupt
from ..fast_typing import TYPE_CHECKING, Any, NamedTuple, Protocol

_AT_ONCE = 100
Row = tuple[Any, ...]
Params = Mapping[str, Any]

TABLES: Mapping[str, tuple[str, ...]] = {
    "state": ("key",),
    "writes": ("key",),
    "sessions": ("id",),
    "windows": ("session",),
    "messages": ("session", "seq"),
    "attachments": ("sha256",),
    "memories": ("id",),
    "memory_revisions": ("id", "revision"),
    "memory_aliases": ("alias",),
    "claims": ("memory", "position"),
    "documents": ("address", "revision"),
    "episodes": ("id",),
    "procedures": ("id",),
    "links": ("source", "relation", "target"),
    "jobs": ("id",),
    "injections": ("id",),
    "events": ("id",),
    "spend": ("id",),
    "cursors": ("source",),
    "tombstones": ("digest",),
    "undos": ("id",),
    "observations": ("kind", "subject", "session"),
    "findings": ("kind", "subject"),
}
"""Every table that is not derived, and its key inside a space."""

if TYPE_CHECKING:
    from typing import TypeVar

    Result = TypeVar("Result")
else:
    Result = object


class IndexMatch(NamedTuple):
    """A matching entry of the search index; a higher score is better."""

    entry: int
    source: str
    ref: str
    seq: int
    kind: str
    owner: str
    label: str
    at: int
    stems: str
    """All stems of its text, in order, separated by spaces."""
    score: float
    vector: bytes | None = None
    """Its vector, if requested and already made."""


EMBEDDED = "part = 0 AND kind <> 'tool'"
"""The entries that get a vector: the output of tools is found by its words. Of 794 questions about
coding sessions, one is answered worse without vectors of tool output, a third of all."""


def is_embedded(record: IndexedRecord) -> bool:
    """Check `EMBEDDED` for a record that is not written yet."""
    return record.part == 0 and record.kind != "tool"


_LEAST_RARITY = 1e-6

PRECISION = 1e9
"""Scores that are equal in so many parts of one are equal."""

MATCH_COLUMNS = "e.id, e.source, e.ref, e.seq, e.kind, e.owner, e.label, e.at"


class StemFrequencies(NamedTuple):
    """Number of entries, average number of stems, and the number of entries with each stem; and the
    state of the index, which every search needs."""

    entries: int
    average: float
    holding: dict[str, int]
    embedder: str = ""
    """The embedder of the vectors; empty without vectors."""
    outdated: bool = False
    """Whether records must be indexed again."""
    unembedded: bool = False
    """Whether an entry has no vector yet."""
    blocks: bool = True
    """Whether vectors are in blocks, and not only in the engine's own index."""
    messages: bool = True
    """Whether the space holds messages."""

    def rarity(self, stem: str) -> float:
        """Return what a stem counts in BM25, as in FTS5."""
        held = self.holding[stem]
        if held >= self.entries:
            return _LEAST_RARITY
        return max(log((self.entries - held + 0.5) / (held + 0.5)), _LEAST_RARITY)


class IndexedRecord(NamedTuple):
    """A part of a record as it is indexed: the columns of its entry, its stems, and its facets."""

    source: str
    ref: str
    kind: str
    layer: str
    owner: str
    status: str
    label: str
    seq: int
    at: int
    part: int
    stems: str
    facets: Sequence[tuple[str, str]] = ()
    """Names and values, each pair once."""


class Tx(Protocol):
    """One transaction in one space. `:space` is bound in every statement."""

    space: str
    is_remote: bool
    """Whether every statement is a round trip."""
    for_update: str
    skip_locked: str
    in_json: str
    """The condition that a text is in a JSON array, with `{}` for the name of its parameter."""
    in_numbers: str
    """The same for a number. A statement that holds the numbers itself is compiled each time."""

    def run(self, sql: str, params: Params | None = None) -> list[Row]:
        """Run one statement and return its rows."""

    def one(self, sql: str, params: Params | None = None) -> Row | None:
        """Run one statement and return its first row."""

    def many(self, sql: str, rows: Iterable[Params]) -> None:
        """Run one statement for each set of parameters."""

    def insert(self, table: str, columns: str, rows: Iterable[Row], skip: bool = False) -> None:
        """Insert rows into a table of this space, each in the order of the columns; with `skip`,
        not those that break a unique index. `sqlite_tx.SqliteTx.insert` and
        `postgres.statements.insert_rows` make the text of the statement."""

    def altered(self, table: str) -> str:
        """Return the condition for rows of a sealed table that Recollect did not write so."""

    def run_batched(self, sql: str, params: Params | None = None) -> list[Row]:
        """Run a query that the other spaces of this read run too: an engine may answer all of them
        at once."""

    @property
    def is_answered(self) -> bool:
        """Return whether the last query has its answer: only work that reads ahead may see that it
        has not."""

    def settle(self) -> None:
        """Let the last query be answered first: what follows depends on it. Only work that reads
        ahead needs it, to ask for no more than it uses."""

    def keep(self, name: str, read: Callable[[], Result]) -> Result:
        """Return the result of `read` on this space, maybe cached from an earlier transaction, if
        nothing was written since."""

    def gather(self, work: Callable[[], Result]) -> Result:
        """Run work that loads records: an engine may repeat it, and answer all its queries at once;
        in all but the last run those that are not answered yet return no rows."""

    def add_entries(self, records: Sequence[IndexedRecord]) -> None:
        """Add entries to the search index, with words and facets, and queue the first part of each
        record for a vector."""

    def add_words(self, stems: Sequence[tuple[int, str]]) -> None:
        """Index the stems of entries, given by id."""

    def remove_words(self, entry: int) -> None:
        """Remove an entry from the word index."""

    def remove_entries(self, source: str, ref: str, seq: int) -> None:
        """Remove the entries of a record, with words, facets and vectors, made or queued."""

    def match(
        self,
        stems: Sequence[str],
        limit: int,
        where: str,
        params: Params,
        *,
        vector: bytes = b"",
    ) -> list[IndexMatch]:
        """Return the best entries `e` with any of the stems that fulfil the SQL `where`, with their
        vectors if a `vector` is compared with them: the best first, of equals by address."""

    def match_among(
        self,
        stems: Sequence[str],
        limit: int,
        where: str,
        params: Params,
        *,
        pool: int,
        vector: bytes = b"",
    ) -> list[IndexMatch] | None:
        """Return the same, from the `pool` best matches; None if too few of them fulfil `where`,
        unless the engine then filters all. Faster where most matches fulfil it."""

    def match_some(
        self, groups: Sequence[Sequence[str]], limit: int, where: str, params: Params
    ) -> list[IndexMatch]:
        """Return some entries `e` with all stems of one of the groups that fulfil the SQL `where`:
        all of them if there are fewer than `limit`. Nothing is scored, so common stems cost no more
        than rare ones. A server returns the best with any of the stems."""

    def match_shared(
        self, weights: Mapping[str, float], limit: int, where: str, params: Params
    ) -> list[str]:
        """Return the records whose entries `e` fulfil the SQL `where` and share stems with these
        weights, the heaviest first, as long as an engine has no better score. All entries with the
        stems are listed: they should be rare."""

    def filter_entries(
        self, entries: Sequence[int], where: str, params: Params, vector: bytes = b""
    ) -> list[IndexMatch]:
        """Return those of the entries `e` that fulfil the SQL `where`, without a score; with their
        vectors if a `vector` is compared with them."""

    def frequencies(self, stems: Sequence[str]) -> StemFrequencies:
        """Count the entries with each stem; approximate in a large store."""

    def frequencies_lately(self, stems: Sequence[str]) -> StemFrequencies:
        """Count the entries with each stem, a common one maybe as it was some writes ago: to choose
        the stems to search for. Of the state of the index, nothing is returned."""

    finds_nearest: bool
    """Whether the engine itself searches vectors: then `add_vectors` adds them and `nearest`
    queries them."""

    def add_vectors(self, vectors: Sequence[tuple[int, bytes]]) -> None:
        """Store the vectors of these entries, at least one, in the engine's vector index."""

    def nearest(
        self, vector: bytes, count: int, where: str, params: Params, least: float
    ) -> list[IndexMatch]:
        """Return the `count` nearest entries `e` that fulfil `where`, with their vectors, none with
        a cosine below `least`: by the engine's index, which is approximate in a large space."""


def order_matches(matches: Iterable[IndexMatch]) -> list[IndexMatch]:
    """Sort matches, the best first, of equals by address: the order in which they were indexed
    would differ between engines, and after a rebuild. The last digits of a sum are no difference.
    """
    return sorted(matches, key=lambda one: (-int(one.score * PRECISION), one.ref, one.seq))


def rank_shared(listed: Mapping[str, str | None], weights: Mapping[str, float]) -> Iterator[str]:
    """Yield the entries with some of these stems, given as a list of numbers for each: first those
    with several stems, the heaviest first, then those with one; of equals the newest first."""
    # By weight: those with several stems under no name, those with one under its own. To move sets
    # of entries is faster than to add up the weight of each. The numbers stay texts: few of them
    # are needed, and to parse one takes longer than the rest.
    groups: dict[tuple[float, str], set[str]] = {}
    for stem, weight in weights.items():
        rest = set(text.split(",")) if (text := listed[stem]) else set()
        shared = []
        for (total, _), held in groups.items():
            if both := held & rest:
                held -= both
                rest -= both
                shared.append((total + weight, both))
        for total, both in shared:
            groups.setdefault((total, ""), set()).update(both)
        groups[weight, stem] = rest
    for group in sorted(groups, key=lambda group: (not group[1], group[0]), reverse=True):
        yield from sorted(groups[group], key=int, reverse=True)


class ServerStatement(NamedTuple):
    """An SQL statement that sets up a server, and what it is for."""

    sql: str
    purpose: str


class ServerMember(NamedTuple):
    """A role that may read a space on a server, and write it if `writes`."""

    space: str
    role: str
    writes: bool


class EngineHealth(NamedTuple):
    """The state of an engine; `problems` is empty for a healthy one."""

    engine: str
    version: str
    place: str
    durability: str
    size: int
    problems: tuple[str, ...]


class Server(Protocol):
    """The roles and memberships of a database server."""

    def setup(self, owner: str, members: Sequence[str], apply: bool) -> tuple[ServerStatement, ...]:
        """Return the statements that set up the server; with `apply`, run those of the owner."""

    def grant(self, role: str, space: str, writes: bool) -> None:
        """Make a role a member of a space."""

    def revoke(self, role: str, space: str) -> bool:
        """End a membership; return whether there was one."""

    def members(self) -> list[ServerMember]:
        """Return the members of each space."""


class Replica(Protocol):
    """A standby server that answers recalls: the project's and the user's space on it."""

    def spaces(self) -> tuple[Database, Database] | None:
        """Return the spaces on the replica; None while the primary should answer."""

    def note_failure(self) -> None:
        """Leave the replica alone for a while: the primary answers."""

    def check(self) -> tuple[bool, str]:
        """Return whether the replica answers, and how late it is or why it does not."""

    def close(self) -> None:
        """Release this thread's connections."""


class Database(Protocol):
    """One space in one database. Work is a function of a transaction, and may be run again."""

    space: str
    written_at: float
    """When this process last changed it, by a clock of its own; infinite for a file."""
    on_upgrade: Callable[[int], object]
    """Called with 0 when an upgrade from an earlier version begins, and with 1 when it is done."""

    def present(self) -> bool:
        """Check whether the store exists, without creating it."""

    def current(self) -> bool:
        """Check whether the store is of the current version, without upgrading it, which takes
        time."""

    def read(self, work: Callable[[Tx], Result]) -> Result:
        """Run read-only work on one consistent state."""

    def read_ahead(self, work: Callable[[Tx], Result]) -> Result:
        """Run read-only work like `read`, with few round trips: an engine may repeat it, and in
        all but the last run queries that are not answered yet return no rows."""

    def write(self, work: Callable[[Tx], Result]) -> Result:
        """Run work and commit it durably; on any error everything is rolled back."""

    def read_and_write(
        self, look: Callable[[Tx], Any], work: Callable[[Tx, Any], Result]
    ) -> Result:
        """Look up what a write needs, then write. On a server, others may write in between, so that
        `work` must check again what may have changed."""

    def try_write(self, work: Callable[[Tx], Any]) -> bool:
        """Run work that may be lost (usage counts): never wait long, never fail the caller; return
        whether it was kept."""

    def later(self, run: Callable[[], object]) -> object:
        """Run what may be lost and whose effect the caller does not need; it must not fail. On a
        server it runs in a thread, so that no call waits for it but `close`."""

    def is_writable(self) -> bool:
        """Check whether the caller's role may write to the space; a file is always tried."""

    def use_new_features(self) -> None:
        """Use features of the engine that appeared after the tables were made."""

    def backup(self, target: str) -> int:
        """Write a whole copy to a new file while others go on; return its size in bytes."""

    def adopt(self, work: Callable[[Tx], Result]) -> Result:
        """Make a foreign store the user's own, after `work` has inspected it."""

    def server(self) -> Server:
        """Return the roles of a server; raise Refused for an engine without any."""

    def health(self, deep: bool = False) -> EngineHealth:
        """Return the engine's state; with `deep`, read all pages and indexes."""

    def close(self) -> None:
        """Close the connections of this thread, or those that no thread uses."""


def placeholders(name: str, values: Sequence[Any]) -> tuple[str, dict[str, Any]]:
    """Return the placeholders of an `IN (…)` list as text, and their parameters."""
    names, keys = _number_names(name, len(values))
    return names, dict(zip(keys, values, strict=True))


@lru_cache(maxsize=512)
def _number_names(name: str, count: int) -> tuple[str, tuple[str, ...]]:
    keys = tuple([f"{name}{index}" for index in range(count)])
    return ", ".join([f":{key}" for key in keys]), keys


def batches(name: str, values: Sequence[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield `placeholders` of limited size: SQLite compares each new name with all earlier ones."""
    for start in range(0, len(values), _AT_ONCE):
        yield placeholders(name, values[start : start + _AT_ONCE])


def wanted_rows(columns: str, rows: Sequence[Row]) -> tuple[str, dict[str, Any]]:
    """Return a table `seen` of these rows to join with, as `WITH … AS (VALUES …)`, and its
    parameters. With a long condition of ORs instead, SQLite scans the other table."""
    params: dict[str, Any] = {}
    listed = []
    for place, row in enumerate(rows):
        names, values = placeholders(f"w{place}_", row)
        listed.append(f"({names})")
        params |= values
    return f"WITH seen ({columns}) AS (VALUES {', '.join(listed)})", params


if TYPE_CHECKING:
    from typing import TypeVar

    Read = TypeVar("Read")


class RecordSketch(NamedTuple):
    """The columns of an episode or procedure that a hit shows."""

    text: str
    status: str
    label: str
    at: int


def read_or_none(read: Callable[[], Read]) -> Read | None:
    """Return the result of `read`, or None for a damaged record, so that a loop can skip it."""
    try:
        return read()
    except StoreCorrupt:
        return None


def load_json(text: str) -> Any:
    """Parse a JSON column; lists become tuples."""
    if text == "[]":
        return ()
    if text == "{}":
        return {}
    if not text:
        return None
    from json import loads  # a search without filters reads none

    value = loads(text)
    return tuple(value) if isinstance(value, list) else value


def list_columns(names: Iterable[str]) -> str:
    """Return `a, b, c` for a SELECT or an INSERT."""
    return ", ".join(names)


def list_shown(tx: Tx, table: str, names: Iterable[str]) -> str:
    """Return the columns of a sealed table for a SELECT. The label of a row that was changed from
    outside is the lowest: nobody knows whose words it holds."""
    label = f"CASE WHEN {tx.altered(table)} THEN 'import' ELSE label END AS label"
    return ", ".join([label if name == "label" else name for name in names])


def list_parameters(names: Iterable[str]) -> str:
    """Return `:a, :b, :c` for an INSERT."""
    return ", ".join(f":{name}" for name in names)


def visible_to(owners: Sequence[str], table: str = "") -> tuple[str, dict[str, Any]]:
    """Return a condition and its parameters that hides other sessions' and tasks' records; each
    owner is `layer/owner`."""
    names, params = placeholders("seen", owners)
    own = f" OR {table}layer || '/' || {table}owner IN ({names})" if owners else ""
    return f"({table}layer NOT IN ('session', 'task'){own})", params


def set_columns(tx: Tx, table: str, id: str, changes: Mapping[str, Any]) -> None:
    """Set columns of the row with this id; JSON columns take JSON text."""
    sets = ", ".join(f"{name} = :{name}" for name in changes)
    tx.run(
        f"UPDATE {table} SET {sets} WHERE space = :space AND id = :its_id",
        {**changes, "its_id": id},
    )


def ids_with_prefix(tx: Tx, table: str, prefix: str, limit: int) -> list[str]:
    """Return the ids with a prefix, so that a person can type a short one."""
    rows = tx.run(
        f"SELECT id FROM {table} WHERE space = :space AND id >= :low AND id < :high "
        "ORDER BY id LIMIT :limit",
        {"low": prefix, "high": prefix + "\U0010ffff", "limit": limit},
    )
    return [row[0] for row in rows]
