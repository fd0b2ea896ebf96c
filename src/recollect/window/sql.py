"""The stored state of a session's window, and of its model's context.

A window has its first message, its state as JSON, and its summary. A context contains our stable
block and the records shown since. A compaction or a clear discards the context: then a new stable
block is built, and records may be shown again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..fast_typing import Any, NamedTuple
from ..injections import sql as injections_sql
from ..secrets import redaction
from ..storage import sql as storage_sql
from ..storage.database import Tx
from ..types.records import SafeText


def get(tx: Tx, session: str) -> str:
    """Return the stored state; empty if the window was never moved."""
    row = tx.one(
        "SELECT state FROM windows WHERE space = :space AND session = :session",
        {"session": session},
    )
    return row[0] if row else ""


def put(
    tx: Tx, session: str, window_from: int, state: SafeText, summary: SafeText, now: int
) -> None:
    """Store the state of a window; the caller holds the lock of the session's row."""
    tx.run(
        "INSERT INTO windows (space, session, window_from, state, summary, updated) "
        "VALUES (:space, :session, :window_from, :state, :summary, :now) "
        "ON CONFLICT (space, session) DO UPDATE SET window_from = excluded.window_from, "
        "state = excluded.state, summary = excluded.summary, updated = excluded.updated",
        {
            "session": session,
            "window_from": window_from,
            "state": state,
            "summary": summary,
            "now": now,
        },
    )


# ---------------------------------------------------------------- the context of the model


class StableBlock(NamedTuple):
    """The stable block of a context; it does not change while the context lasts."""

    text: str
    ids: tuple[str, ...]
    tokens: int


def load_block(txs: Sequence[Tx], session: str) -> StableBlock | None:
    """Return the stable block of a session from the first space that has one."""
    for tx in txs:
        kept = _load(tx, session)
        if "text" in kept:
            return StableBlock(kept["text"], tuple(kept["ids"]), kept["tokens"])
    return None


def shown_ids(txs: Sequence[Tx], session: str) -> set[str]:
    """Return the ids of the records shown in a session's current context."""
    return {
        ref
        for tx in txs
        for ref in injections_sql.list_refs(tx, session, _load(tx, session).get("since", 0))
    }


def began(txs: Sequence[Tx], session: str) -> int:
    """Return the time at which the session's context was last discarded; 0 if never."""
    return max((int(_load(tx, session).get("since", 0)) for tx in txs), default=0)


def write_block(session: str, block: StableBlock, since: int) -> tuple[str, SafeText]:
    """Return the key and value under which to store the block of a context, which began at
    `since`. The block consists of stored texts, so it needs no redaction."""
    body = json.dumps({**block._asdict(), "since": since}, ensure_ascii=False)
    return _key(session), redaction.trust_stored(body)


def forget_context(tx: Tx, session: str, now: int) -> None:
    """Record that the context was discarded, with all records shown in it."""
    body = redaction.trust_stored(json.dumps({"since": now}))
    storage_sql.set_value(tx, _key(session), body, now)


def _load(tx: Tx, session: str) -> dict[str, Any]:
    text = storage_sql.get_value(tx, _key(session))
    kept: dict[str, Any] = json.loads(text) if text else {}
    return kept


def _key(session: str) -> str:
    return f"briefing:{session}"
