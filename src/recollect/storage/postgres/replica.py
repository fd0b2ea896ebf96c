"""A read replica: a standby server that answers recalls instead of the primary."""

from __future__ import annotations

import time
from typing import cast

from ...errors import StoreError
from ..database import Database
from .database import PostgresDatabase

_RETRY_AFTER = 60.0
"""Seconds for which a replica that failed is not asked again."""

_CATCH_UP = 10.0
"""Seconds after a write of this process in which its recalls ask the primary: a replica is some
moments late."""

_WAIT = 2.0
"""Seconds that a recall waits for a replica before it asks the primary."""


class ReadReplica:
    """The replica of two spaces, the project's and the user's."""

    def __init__(self, url: str, primaries: tuple[Database, Database]) -> None:
        if "://" in url and "connect_timeout" not in url:
            # Without it, a machine that does not answer is waited for for minutes.
            url += f"{'&' if '?' in url else '?'}connect_timeout={_WAIT:.0f}"
        self._primaries = cast("tuple[PostgresDatabase, PostgresDatabase]", primaries)
        project, user = (
            PostgresDatabase(url, one.space, kind, wait=_WAIT)
            for one, kind in zip(primaries, ("project", "user"), strict=True)
        )
        self._spaces = project, user
        self._retry_at = 0.0

    def spaces(self) -> tuple[Database, Database] | None:
        now = time.monotonic()
        written = max(primary.written_at for primary in self._primaries)
        return None if now < max(self._retry_at, written + _CATCH_UP) else self._spaces

    def note_failure(self) -> None:
        self._retry_at = time.monotonic() + _RETRY_AFTER

    def check(self) -> tuple[bool, str]:
        try:
            lag = self._spaces[0].read(
                lambda tx: tx.one(
                    "SELECT pg_is_in_recovery(), pg_last_wal_receive_lsn() = "
                    "pg_last_wal_replay_lsn(), "
                    "extract(epoch FROM now() - pg_last_xact_replay_timestamp())"
                )
            )
        except StoreError as error:
            return False, f"recalls ask the primary instead: {error}"
        is_standby, is_level, seconds = lag or (False, False, None)
        if not is_standby:
            return False, "this server is no standby: it takes writes of its own"
        if is_level or seconds is None:
            return True, "answers recalls, and has all that it received"
        return True, f"answers recalls, {float(seconds):.0f} s late"

    def close(self) -> None:
        for space in self._spaces:
            space.close()
