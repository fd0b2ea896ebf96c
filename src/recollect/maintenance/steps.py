"""Survey a store: what it holds, how large it is, and whether a write comes back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ..archive import sql as archive_sql
from ..briefing import steps_follow_up as briefing_steps_follow_up
from ..documents import sql as documents_sql
from ..errors import RecollectError, StoreCorrupt
from ..index import steps_vectors as index_steps_vectors
from ..memory import sql as memory_sql
from ..secrets import redaction
from ..storage import sql as storage_sql
from ..storage.database import Database, Row, Tx
from ..text import tokens as text_tokens
from ..types.records import SafeText

_TRIAL = "doctor"
DAY = 86_400_000_000
AGES = (("7 days", 7), ("30 days", 30), ("90 days", 90))


class BackedUp(NamedTuple):
    """A copy that was written, checked and moved into place."""

    path: str
    bytes: int


class Check(NamedTuple):
    """One thing that `doctor` looked at."""

    name: str
    ok: bool
    detail: str


class Diagnosis(NamedTuple):
    """What works and what is degraded."""

    ok: bool
    checks: tuple[Check, ...]


class Counted(NamedTuple):
    """What one space holds."""

    memories: Sequence[Row]
    documents: Sequence[Row]
    sessions: int
    messages: int


class Stats(NamedTuple):
    """What is kept, by kind, layer and status; tokens are those of all memories' texts."""

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
    consolidation: str = ""
    """How the last consolidation of the project ended; empty before the first."""
    in_time: tuple[briefing_steps_follow_up.InTime, ...] = ()
    """How often memory spoke at each moment, and how often that was followed."""


def count(tx: Tx) -> Counted:
    """Count everything in one space."""
    held, said = archive_sql.counts(tx)
    return Counted(memory_sql.counts(tx), documents_sql.counts(tx), held, said)


def combined(
    parts: Sequence[Counted], sizes: tuple[int, ...], price: Callable[[int], int]
) -> Stats:
    """The counts of all spaces together."""
    by_kind: dict[str, int] = {}
    by_layer: dict[str, int] = {}
    by_status: dict[str, int] = {}
    by_type: dict[str, int] = {}
    characters = 0
    for part in parts:
        for kind, layer, status, number, length in part.memories:
            number = int(number)
            by_kind[kind] = by_kind.get(kind, 0) + number
            by_layer[layer] = by_layer.get(layer, 0) + number
            by_status[status] = by_status.get(status, 0) + number
            characters += int(length)
        for type, number in part.documents:
            by_type[type] = by_type.get(type, 0) + number
    return Stats(
        memories=sum(by_kind.values()),
        tokens=price(characters),
        by_kind=by_kind,
        by_layer=by_layer,
        by_status=by_status,
        sessions=sum(part.sessions for part in parts),
        messages=sum(part.messages for part in parts),
        documents=by_type,
        project_bytes=sizes[0],
        user_bytes=sizes[1],
        by_age={},
        never_recalled=0,
        stale=0,
        embedder="",
        embedded=0,
        unembedded=0,
    )


def leave(tx: Tx, token: SafeText, now: int) -> None:
    """The first half of a round trip: write a token."""
    storage_sql.put(tx, _TRIAL, token, now)


def take(tx: Tx) -> str | None:
    """The second half: read it and take it away."""
    found = storage_sql.get(tx, _TRIAL)
    storage_sql.remove(tx, _TRIAL)
    return found


def stats(project: Database, user: Database, now: int) -> Stats:
    """What both spaces hold, how old and how used it is, and how large they are."""
    parts = [space.read(count) for space in (project, user)]
    sizes = (project.health().size, user.health().size)
    found = combined(parts, sizes, text_tokens.estimate)
    for space in (project, user):
        ages = space.read(lambda tx: memory_sql.ages(tx, [now - days * DAY for _, days in AGES]))
        for (name, _), number in zip((*AGES, ("older", 0)), ages, strict=True):
            if number:
                found.by_age[name] = found.by_age.get(name, 0) + number
        unused, stale = space.read(memory_sql.neglected)
        meant = space.read(index_steps_vectors.coverage)
        found = found._replace(
            never_recalled=found.never_recalled + unused,
            stale=found.stale + stale,
            embedder=found.embedder or meant.embedder,
            embedded=found.embedded + meant.embedded,
            unembedded=found.unembedded + meant.unembedded,
        )
    return found


def examine(spaces: Mapping[str, Database], mode: str, token: str, now: int) -> Diagnosis:
    """Look at every space, and prove that a write to the first can be read back."""
    checks = [check for name, space in spaces.items() for check in _health(name, space)]
    try:
        done = _round_trip(next(iter(spaces.values())), token, now)
        checks.append(Check("write and read", True, done))
    except RecollectError as error:
        checks.append(Check("write and read", False, str(error)))
    checks.append(Check("mode", True, mode))
    return Diagnosis(all(check.ok for check in checks), tuple(checks))


def _health(name: str, space: Database) -> list[Check]:
    """What a space's engine says of itself, after reading all of it."""
    try:
        report = space.health(deep=True)
    except RecollectError as error:
        return [Check(f"{name} store", False, str(error))]
    line = f"{report.engine} {report.version}, {report.durability}, {report.place or 'in memory'}"
    problems = [Check(f"{name} store", False, problem) for problem in report.problems]
    return [Check(f"{name} store", True, line), *problems]


def _round_trip(space: Database, token: str, now: int) -> str:
    safe = redaction.safe(token)
    space.write(lambda tx: leave(tx, safe, now))
    space.close()
    if space.write(take) != token:
        raise StoreCorrupt("what was written could not be read back", where="doctor")
    return "written, read back, removed"
