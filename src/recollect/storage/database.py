"""The seam between the store and an engine: what a database and a transaction can do.

Statements are written once, with `:name` parameters, and run on both engines. What cannot be
said in one dialect (matching words, rows that others hold locked) is a method of the
transaction. This module does not know which engines exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ..errors import StoreCorrupt
from ..fast_typing import TYPE_CHECKING, Any, NamedTuple, Protocol

_AT_ONCE = 100

Row = tuple[Any, ...]

Params = Mapping[str, Any]

if TYPE_CHECKING:
    from typing import TypeVar

    Result = TypeVar("Result")
else:
    Result = object


class IndexMatch(NamedTuple):
    """An entry of the search index that was found; a higher score is better."""

    entry: int
    source: str
    ref: str
    seq: int
    kind: str
    owner: str
    label: str
    at: int
    stems: str
    """All stems of its text, in order, with a space between them."""
    score: float
    vector: bytes | None = None
    """Its vector, if it was asked for and is made."""


MATCH_COLUMNS = "e.id, e.source, e.ref, e.seq, e.kind, e.owner, e.label, e.at"


class StemFrequencies(NamedTuple):
    """How many entries there are, how many stems they have on average, how many hold each."""

    entries: int
    average: float
    holding: dict[str, int]


class Tx(Protocol):
    """One transaction in one space. `:space` is bound in every statement."""

    space: str
    for_update: str
    skip_locked: str
    listed: str
    """A query that gives the texts in a JSON array, with `{}` for the name of its parameter."""

    def run(self, sql: str, params: Params | None = None) -> list[Row]:
        """Run one statement, give back its rows."""

    def one(self, sql: str, params: Params | None = None) -> Row | None:
        """Run one statement, give back its first row."""

    def many(self, sql: str, rows: Iterable[Params]) -> None:
        """Run one statement for each set of parameters."""

    def insert(self, table: str, columns: str, rows: Iterable[Row]) -> None:
        """Add rows to a table of this space, each with its values in the order of the columns."""

    def new_entries(self, count: int) -> Sequence[int]:
        """Numbers for so many new entries of the search index, in order."""

    def add_words(self, stems: Sequence[tuple[int, str]]) -> None:
        """Index the stems of entries, given by their numbers."""

    def remove_words(self, entry: int) -> None:
        """Take an entry out of the word index."""

    def match(
        self,
        stems: Sequence[str],
        limit: int,
        where: str,
        params: Params,
        *,
        exact: bool = True,
        vectors: bool = False,
    ) -> list[IndexMatch]:
        """The best entries `e` holding any of the stems and fulfilling the SQL `where`, with their
        `vectors` if wanted; without `exact`, those among the best `limit` that fulfil it, which is
        quicker."""

    def these(self, entries: Sequence[int], where: str, params: Params) -> list[IndexMatch]:
        """Those of the entries `e` that fulfil the SQL `where`, without a score."""

    def frequencies(self, stems: Sequence[str]) -> StemFrequencies:
        """How common each of the stems is; in a large store, about how common."""

    finds_nearest: bool
    """Whether the engine itself finds the nearest vectors: then it is told of each, and asked."""

    def point(self, vectors: Sequence[tuple[int, bytes]]) -> None:
        """Tell the engine the vectors of these entries, which are stored already."""

    def nearest(self, vector: bytes, count: int, where: str, params: Params) -> list[int]:
        """The entries whose vectors are nearest, as far as the engine knows: about those, or, of
        the entries `e` that fulfil the SQL `where`, exactly those."""


class EngineHealth(NamedTuple):
    """What an engine can say about itself; `problems` is empty when all is well."""

    engine: str
    version: str
    place: str
    durability: str
    size: int
    problems: tuple[str, ...]


class Database(Protocol):
    """One space in one database. Work is a function of a transaction, and may be run again."""

    space: str
    on_upgrade: Callable[[int], object]
    """Told 0 when an upgrade from an earlier version begins, and 1 when it is done."""

    def present(self) -> bool:
        """Whether the store is there; a look must not create it."""

    def current(self) -> bool:
        """Whether the store can be used at once: one of an earlier version is upgraded first, which
        takes its time. This look does not upgrade it."""

    def read(self, work: Callable[[Tx], Result]) -> Result:
        """Run work that changes nothing, on one consistent state."""

    def write(self, work: Callable[[Tx], Result]) -> Result:
        """Run work and commit it durably; on any error nothing of it remains."""

    def note(self, work: Callable[[Tx], Any]) -> bool:
        """Run work that may be lost (how often something was used): never waits long, never
        fails its caller; says whether it was kept."""

    def refit(self) -> None:
        """Make use of what the engine can do by now and could not when the tables were made."""

    def backup(self, target: str) -> int:
        """Write a whole copy to a new file while others go on; gives its size in bytes."""

    def adopt(self, work: Callable[[Tx], Result]) -> Result:
        """Make a store of somebody else's the user's own, once `work` has looked through it."""

    def health(self, deep: bool = False) -> EngineHealth:
        """The engine's state; with `deep`, all pages and indexes are read."""

    def close(self) -> None:
        """Give back the connections of this thread."""


def placeholders(name: str, values: Sequence[Any]) -> tuple[str, dict[str, Any]]:
    """`IN (…)` for both engines: the placeholders as text, and their parameters."""
    params = {f"{name}{index}": value for index, value in enumerate(values)}
    return ", ".join(f":{key}" for key in params), params


def batches(name: str, values: Sequence[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The same for many values, so many at a time that a statement is quick to prepare: SQLite
    looks for each name among all that stand before it."""
    for start in range(0, len(values), _AT_ONCE):
        yield placeholders(name, values[start : start + _AT_ONCE])


if TYPE_CHECKING:
    from typing import TypeVar

    Read = TypeVar("Read")


class RecordSketch(NamedTuple):
    """What showing a hit needs of an episode or a procedure."""

    text: str
    status: str
    label: str
    at: int


def read_or_none(read: Callable[[], Read]) -> Read | None:
    """Return what is read, or None for a record that cannot be decoded: whoever reads many of them,
    one by one, goes on without it."""
    try:
        return read()
    except StoreCorrupt:
        return None


def load_json(text: str) -> Any:
    """The value of a JSON column; lists become tuples."""
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
    """`a, b, c` for a SELECT or an INSERT."""
    return ", ".join(names)


def list_parameters(names: Iterable[str]) -> str:
    """`:a, :b, :c` for an INSERT."""
    return ", ".join(f":{name}" for name in names)


def visible_to(owners: Sequence[str], table: str = "") -> tuple[str, dict[str, Any]]:
    """Return the condition, with its parameters, that leaves out what belongs to other sessions
    and tasks than these owners, each written `layer/owner`."""
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
    """Ids that begin with the prefix, so that a person need not type a whole one."""
    rows = tx.run(
        f"SELECT id FROM {table} WHERE space = :space AND id >= :low AND id < :high "
        "ORDER BY id LIMIT :limit",
        {"low": prefix, "high": prefix + "\U0010ffff", "limit": limit},
    )
    return [row[0] for row in rows]
