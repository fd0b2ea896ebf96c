"""A read replica: a standby server that answers recalls instead of the primary."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, cast

from ...errors import StoreError
from ..database import Database, Row
from . import roles
from .database import PostgresDatabase

if TYPE_CHECKING:
    import psycopg

_RETRY_AFTER = 60.0
"""Seconds for which a replica that failed is not asked again."""

_CATCH_UP = 10.0
"""Seconds after a write of this process in which its recalls ask the primary: a replica is some
moments late."""

_WAIT = 2.0
"""Seconds that a recall waits for a replica before it asks the primary."""


class _Standby(PostgresDatabase):
    """A space on the standby; it answers nothing for one that it does not have yet."""

    def _register(self, connection: psycopg.Connection[Row], read_only: bool) -> None:
        if not (self._registered or roles.has_space(connection, self._name)):
            raise StoreError("the standby does not have this space yet", where=self._place())
        super()._register(connection, read_only)


class ReadReplica:
    """The replica of two spaces, the project's and the user's."""

    def __init__(self, url: str, primaries: tuple[Database, Database]) -> None:
        url = _of_standby(url)
        self._primaries = cast("tuple[PostgresDatabase, PostgresDatabase]", primaries)
        project, user = (
            _Standby(url, one.space, kind, wait=_WAIT)
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


def _of_standby(url: str) -> str:
    """Return an address that only a standby answers, in time.

    Any other server would get our tables, and answer from those. Without limits, a machine that is
    switched off makes a recall wait for minutes: to connect, or on an open connection.
    """
    for option in (
        "target_session_attrs=standby",
        f"connect_timeout={_WAIT:.0f}",
        f"tcp_user_timeout={1000 * _WAIT:.0f}",
    ):
        if option.partition("=")[0] not in url:
            mark = " " if "://" not in url else "&" if "?" in url else "?"
            url += mark + option
    return url
