"""Bring back a damaged store: all rows that can be read, and the rest from backups."""

from __future__ import annotations

import os
import time

from ..context import Context
from ..errors import NotFound, RecollectError, Refused
from ..fast_typing import Any, NamedTuple
from ..recall import operations as recall_operations
from ..storage.database import Database


class Recovered(NamedTuple):
    """By table: rows saved, gaps found, rows taken from elsewhere; `kept` is the folder with the
    damaged files."""

    path: str
    saved: dict[str, int]
    gaps: dict[str, int]
    restored: dict[str, int]
    kept: str
    backup: str = ""
    problems: tuple[str, ...] = ()


def recover(context: Context, backup: str = "", layer: str = "project") -> Recovered:
    """Repair a damaged store: keep what can be read, take the rest from backups.

    The damaged files are kept in a folder beside the store. A store without damage is left alone.

    backup: restore this copy instead; what was erased with `forget` stays erased
    layer: project or user

    Example: recollect recover
    Example: recollect recover --backup ~/memory-copy.db
    """
    if context.origin != "user":
        raise Refused("only a person can recover a store", hint="run `recollect recover` yourself")
    space = context.space_of(layer)
    path = getattr(space, "path", "")
    if not path:
        raise Refused(
            "only SQLite stores can be recovered",
            hint="restore a PostgreSQL database with the tools of its server",
        )
    problems = _find_problems(space)
    repair = context.load_repair()
    rescued = [one for one in repair.list_backups(path) if "rescued-" in os.path.basename(one)]
    if not (problems or backup or rescued):
        return Recovered(path, {}, {}, {}, "")
    chosen = os.path.abspath(os.path.expanduser(backup)) if backup else ""
    if chosen and not os.path.exists(chosen):
        raise NotFound("there is no such backup", where=chosen)
    done = _replace(repair, space, path, chosen or ("" if problems else rescued[0]), bool(chosen))
    for copy in rescued:
        os.rename(copy, os.path.join(done.kept, os.path.basename(copy)))
    recall_operations.reindex_outdated(context)
    return done._replace(problems=problems)


def _find_problems(space: Database) -> tuple[str, ...]:
    try:
        return space.health(deep=True).problems
    except RecollectError as error:
        return (str(error),)
    finally:
        space.close()


def _replace(repair: Any, space: Database, path: str, backup: str, alone: bool) -> Recovered:
    """Write a new store beside the damaged one, then put it in its place."""
    target = f"{path}.recovering"
    if os.path.exists(target):
        os.unlink(target)  # of a recovery that was killed
    others = repair.list_backups(path)
    read_from = backup or path
    try:
        merged = [path] if backup and not alone else []
        found = repair.save_all_readable(read_from, target, others, merged)
    except NotFound:
        if backup or not others:
            raise
        os.unlink(target)
        read_from = others[0]
        found = repair.save_all_readable(read_from, target, others[1:])
    space.close()
    kept = os.path.join(os.path.dirname(path), "damaged", str(time.time_ns()))
    os.makedirs(kept, mode=0o700)
    for ending in ("", "-wal", "-shm", "-journal"):
        if os.path.exists(path + ending):
            os.rename(path + ending, os.path.join(kept, os.path.basename(path) + ending))
    os.rename(target, path)
    return Recovered(
        path=path,
        saved=dict(found.saved),
        gaps=dict(found.lost),
        restored=dict(found.restored),
        kept=kept,
        backup=read_from if read_from != path else "",
    )
