"""The SQL of episodes: the columns to find them by, and the body, JSON of `episodes.records`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..fast_typing import NamedTuple
from ..storage.database import (
    RecordSketch,
    Row,
    Tx,
    batches,
    ids_with_prefix,
    list_columns,
    list_parameters,
    list_shown,
)
from ..types.records import SafeText


class EpisodeRow(NamedTuple):
    """A stored episode: `at` is when it happened, `updated` when its body was written."""

    id: str
    task: SafeText
    session: SafeText
    agent: SafeText
    phase: SafeText
    goal: SafeText
    outcome: str
    importance: float
    body: SafeText
    synopsis: SafeText
    status: str
    at: int
    updated: int
    origin: str
    label: str
    sources: SafeText


_COLUMNS = EpisodeRow._fields


def _select(tx: Tx) -> str:
    return f"SELECT {list_shown(tx, 'episodes', _COLUMNS)} FROM episodes WHERE space = :space"


def put(tx: Tx, row: EpisodeRow) -> None:
    """Write an episode; one with the same id is replaced."""
    sets = ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[1:])
    tx.run(
        f"INSERT INTO episodes (space, {list_columns(_COLUMNS)}) "
        f"VALUES (:space, {list_parameters(_COLUMNS)}) "
        f"ON CONFLICT (space, id) DO UPDATE SET {sets}",
        row._asdict(),
    )


def get(tx: Tx, episode: str) -> EpisodeRow | None:
    """Return one episode by its id."""
    row = tx.one(f"{_select(tx)} AND id = :id", {"id": episode})
    return EpisodeRow(*row) if row else None


def sketch(tx: Tx, episode: str) -> RecordSketch | None:
    """Return an episode as one line: its synopsis, or else its goal and outcome."""
    columns = list_shown(tx, "episodes", ("synopsis", "goal", "outcome", "status", "label", "at"))
    row = tx.one(
        f"SELECT {columns} FROM episodes WHERE space = :space AND id = :id", {"id": episode}
    )
    if row is None:
        return None
    synopsis, goal, outcome, *rest = row
    return RecordSketch(synopsis or f"{goal} ({outcome})", *rest)


def get_many(tx: Tx, ids: list[str]) -> dict[str, EpisodeRow]:
    """Return several episodes by id."""
    found: dict[str, EpisodeRow] = {}
    for names, params in batches("id", ids):
        rows = tx.run(f"{_select(tx)} AND id IN ({names})", params)
        found.update((row[0], EpisodeRow(*row)) for row in rows)
    return found


def starting_with(tx: Tx, prefix: str, limit: int = 10) -> list[str]:
    """Return ids that begin with the prefix."""
    return ids_with_prefix(tx, "episodes", prefix, limit)


def list_episodes(tx: Tx, where: Mapping[str, str], limit: int) -> list[EpisodeRow]:
    """Return episodes that have these column values, newest first."""
    chosen = "".join(f" AND {name} = :{name}" for name in where)
    rows = tx.run(
        f"{_select(tx)}{chosen} ORDER BY at DESC, id LIMIT :limit", {**where, "limit": limit}
    )
    return [EpisodeRow(*row) for row in rows]


def list_written_after(tx: Tx, place: tuple[int, str], limit: int) -> list[EpisodeRow]:
    """Return the next episodes in use after `place` (time of the last write, id), oldest first."""
    rows = tx.run(
        f"{_select(tx)} AND status <> 'hidden' AND (updated, id) > (:updated, :id) "
        "ORDER BY updated, id LIMIT :limit",
        {"updated": place[0], "id": place[1], "limit": limit},
    )
    return [EpisodeRow(*row) for row in rows]


def list_without_synopsis(tx: Tx, before: int, limit: int) -> list[EpisodeRow]:
    """Return the oldest episodes in use from before a time that have no synopsis yet."""
    rows = tx.run(
        f"{_select(tx)} AND status <> 'hidden' AND synopsis = '' AND at < :before "
        "ORDER BY at, id LIMIT :limit",
        {"before": before, "limit": limit},
    )
    return [EpisodeRow(*row) for row in rows]


def list_in_use(tx: Tx, before: int, limit: int) -> dict[str, int]:
    """Return the ids and times of episodes in use from before a time, the oldest first."""
    rows = tx.run(
        "SELECT id, at FROM episodes WHERE space = :space AND status <> 'hidden' "
        "AND at < :before ORDER BY at, id LIMIT :limit",
        {"before": before, "limit": limit},
    )
    return {row[0]: row[1] for row in rows}


def load_outcomes(tx: Tx, ids: Sequence[str]) -> dict[str, str]:
    """Return the outcomes of these episodes by id."""
    found: dict[str, str] = {}
    for names, params in batches("id", ids):
        sql = f"SELECT id, outcome FROM episodes WHERE space = :space AND id IN ({names})"
        found.update((row[0], row[1]) for row in tx.run(sql, params))
    return found


def load_synopses(tx: Tx, ids: Sequence[str]) -> dict[str, str]:
    """Return the synopses of these episodes by id, where they have one."""
    found: dict[str, str] = {}
    for names, params in batches("id", ids):
        sql = "SELECT id, synopsis FROM episodes WHERE space = :space AND synopsis <> ''"
        found.update((row[0], row[1]) for row in tx.run(f"{sql} AND id IN ({names})", params))
    return found


def list_bodies(tx: Tx, since: int) -> list[Row]:
    """Return id, time and body of every episode since a time, the newest first."""
    return tx.run(
        "SELECT id, at, body FROM episodes WHERE space = :space AND at >= :since "
        "ORDER BY at DESC, id",
        {"since": since},
    )


def list_grown_sessions(tx: Tx, cursor: str, quiet_since: int) -> list[str]:
    """Return the sessions with messages beyond their cursor, the newest first, if they ended or
    were silent since a time."""
    rows = tx.run(
        "SELECT s.id FROM sessions s LEFT JOIN cursors c "
        "ON c.space = s.space AND c.source = :cursor || s.id WHERE s.space = :space "
        "AND s.next_seq > 1 AND (s.status = 'ended' OR s.last_active < :quiet_since) "
        "AND (c.position IS NULL OR c.position <> CAST(s.next_seq - 1 AS TEXT)) "
        "ORDER BY s.last_active DESC, s.id",
        {"cursor": cursor, "quiet_since": quiet_since},
    )
    return [row[0] for row in rows]
