"""The seam between the store and an engine: what a database and a transaction can do.

Statements are written once, with `:name` parameters, and run on both engines. What cannot be
said in one dialect (matching words, rows that others hold locked) is a method of the
transaction. This module does not know which engines exist.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object  # a real one takes a third of a millisecond to make, in every process

Row = tuple[Any, ...]
Params = Mapping[str, Any]
Result = TypeVar("Result")

BM25_K1 = 1.2
BM25_B = 0.75
STEM_WEIGHT = 0.5
"""A stem counts half of a term; k1 and b are FTS5's own."""


class Matched(NamedTuple):
    """An entry of the search index that holds some of the terms; a higher score is better."""

    source: str
    ref: str
    seq: int
    kind: str
    owner: str
    at: int
    score: float


MATCHED_COLUMNS = "e.source, e.ref, e.seq, e.kind, e.owner, e.at"


class Tx(Protocol):
    """One transaction in one space. `:space` is bound in every statement."""

    space: str
    for_update: str
    skip_locked: str

    def run(self, sql: str, params: Params | None = None) -> list[Row]:
        """Run one statement, give back its rows."""

    def one(self, sql: str, params: Params | None = None) -> Row | None:
        """Run one statement, give back its first row."""

    def many(self, sql: str, rows: Iterable[Params]) -> None:
        """Run one statement for each set of parameters."""

    def add_words(self, entry: int, terms: str, stems: str) -> None:
        """Index the terms of an entry."""

    def remove_words(self, entry: int) -> None:
        """Take an entry out of the word index."""

    def match(
        self, terms: Sequence[str], limit: int, where: str, params: Params, exact: bool = True
    ) -> list[Matched]:
        """The best entries `e` holding any of the terms and fulfilling the SQL `where`; without
        `exact`, those among the best `limit` that fulfil it, which is quicker."""

    def frequencies(self, terms: Sequence[str]) -> tuple[int, dict[str, int]]:
        """How many entries there are, and how many hold each of the terms."""


class Health(NamedTuple):
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

    def present(self) -> bool:
        """Whether the store is there; a look must not create it."""

    def read(self, work: Callable[[Tx], Result]) -> Result:
        """Run work that changes nothing, on one consistent state."""

    def write(self, work: Callable[[Tx], Result]) -> Result:
        """Run work and commit it durably; on any error nothing of it remains."""

    def note(self, work: Callable[[Tx], Any]) -> bool:
        """Run work that may be lost (how often something was used): never waits long, never
        fails its caller; says whether it was kept."""

    def backup(self, target: str) -> int:
        """Write a whole copy to a new file while others go on; gives its size in bytes."""

    def adopt(self, work: Callable[[Tx], Result]) -> Result:
        """Make a store of somebody else's the user's own, once `work` has looked through it."""

    def health(self, deep: bool = False) -> Health:
        """The engine's state; with `deep`, all pages and indexes are read."""

    def close(self) -> None:
        """Give back the connections of this thread."""


def placeholders(name: str, values: Sequence[Any]) -> tuple[str, dict[str, Any]]:
    """`IN (…)` for both engines: the placeholders as text, and their parameters."""
    params = {f"{name}{index}": value for index, value in enumerate(values)}
    return ", ".join(f":{key}" for key in params), params
