"""Note imported sessions until they are searched for repeated requests: an import may be broken
off after some of them."""

from __future__ import annotations

import json
from collections.abc import Iterable

from ..secrets import redaction
from ..storage import sql as storage_sql
from ..storage.database import Tx
from ..types.records import Json

_IMPORTED = "imported sessions"
"""The key of the sessions that were imported and not yet searched for repeated requests."""


def list_imported(tx: Tx) -> list[str]:
    """Return the imported sessions that are to be searched for repeated requests."""
    return list(json.loads(storage_sql.get_value(tx, _IMPORTED) or "[]"))


def note_imported(tx: Tx, sessions: Iterable[str], now: int) -> None:
    """Note imported sessions, to be searched for repeated requests when all are imported."""
    noted = list_imported(tx)
    _set_imported(tx, list(dict.fromkeys((*noted, *sessions))), now)


def drop_imported(tx: Tx, sessions: Iterable[str], now: int) -> None:
    """Drop sessions that were searched for repeated requests."""
    done = set(sessions)
    _set_imported(tx, [one for one in list_imported(tx) if one not in done], now)


def _set_imported(tx: Tx, sessions: list[Json], now: int) -> None:
    storage_sql.set_value(tx, _IMPORTED, redaction.redact_json(sessions).text, now)
