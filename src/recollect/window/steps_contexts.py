"""What a model's context holds of ours: the stable block it was given, and the records shown since.

A context lives as long as the agent keeps it. A compaction or a clear throws it away: then the
stable block is built afresh, and whatever was shown before may be shown again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..fast_typing import Any, NamedTuple
from ..memory import sql_upkeep as memory_sql_upkeep
from ..storage import sql as storage_sql
from ..storage.database import Tx


class StableBlock(NamedTuple):
    """The stable block in a context: it does not change while the context lasts."""

    text: str
    ids: tuple[str, ...]
    tokens: int


def load_block(txs: Sequence[Tx], session: str) -> StableBlock | None:
    """Return the stable block in the session's context, from the first space that has one."""
    for tx in txs:
        kept = _kept(tx, session)
        if "text" in kept:
            return StableBlock(kept["text"], tuple(kept["ids"]), kept["tokens"])
    return None


def shown_ids(txs: Sequence[Tx], session: str) -> set[str]:
    """Return the ids of the records that were shown in the session's context."""
    return {
        ref
        for tx in txs
        for ref in memory_sql_upkeep.find_injected(tx, session, _kept(tx, session).get("since", 0))
    }


def save_block(tx: Tx, session: str, block: StableBlock, now: int, fresh: bool) -> None:
    """Keep the stable block while the context lasts; only a `fresh` context replaces one."""
    kept = _kept(tx, session)
    if fresh or "text" not in kept:
        since = now if fresh else kept.get("since", 0)
        _keep(tx, session, {**block._asdict(), "since": since}, now)


def forget_context(tx: Tx, session: str, now: int) -> None:
    """Note that the context was thrown away, with all that was shown in it."""
    _keep(tx, session, {"since": now}, now)


def _kept(tx: Tx, session: str) -> dict[str, Any]:
    text = storage_sql.get_value(tx, _key(session))
    kept: dict[str, Any] = json.loads(text) if text else {}
    return kept


def _keep(tx: Tx, session: str, body: dict[str, Any], now: int) -> None:
    from ..secrets import redaction  # a hook that only reads does without it

    storage_sql.set_value(tx, _key(session), redaction.redact_json(body).text, now)


def _key(session: str) -> str:
    return f"briefing:{session}"
