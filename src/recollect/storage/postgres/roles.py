"""Roles on PostgreSQL: an owner of the tables, a group for members, and the members of spaces."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from ...errors import InvalidInput, Refused
from ...text.display import hide_password
from ..database import Row, ServerMember, ServerStatement
from . import schema
from .pool import limited_wait, load_driver, translate_error
from .schema import MEMBER_GROUP
from .setup_statements import OWNER, plan_grants, plan_setup, quote_name

if TYPE_CHECKING:
    import psycopg


def apply_setup(
    connection: psycopg.Connection[Row], members: Sequence[str], wait: float, place: str
) -> None:
    """Make the tables, the group and its rights, as the role that owns the tables."""
    driver = load_driver()
    schema.run_migrations(connection, wait, place)
    _refuse_others(connection)
    known = connection.execute(
        "SELECT 1 FROM pg_roles WHERE rolname = %s", (MEMBER_GROUP,)
    ).fetchone()
    if known is None:
        try:
            connection.execute(f"CREATE ROLE {MEMBER_GROUP} NOLOGIN")
        except driver.errors.InsufficientPrivilege as error:
            raise Refused(
                f"this role may not create the role {MEMBER_GROUP}",
                hint=f"an administrator runs: CREATE ROLE {MEMBER_GROUP} NOLOGIN;",
            ) from error
        except driver.errors.DuplicateObject:
            pass  # another process made it just now
    schema.run_migrations(connection, wait, place)
    for name in members:
        _join_group(connection, name)


def _refuse_others(connection: psycopg.Connection[Row]) -> None:
    """Raise Refused unless this role owns the tables."""
    row = connection.execute(
        "SELECT pg_has_role(relowner, 'USAGE'), pg_get_userbyid(relowner) FROM pg_class "
        "WHERE oid = 'recollect.members'::regclass"
    ).fetchone()
    if not row or not row[0]:
        raise Refused(
            f"only the owner of the tables does this: {row[1] if row else 'unknown'}",
            hint="set RECOLLECT_DATABASE to that role's address for this command",
        )


def _join_group(connection: psycopg.Connection[Row], role: str) -> None:
    driver = load_driver()
    if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone():
        raise InvalidInput(
            f"there is no role {role!r} on the server",
            where="role",
            hint=f"an administrator runs: CREATE ROLE {quote_name(role)} LOGIN PASSWORD '…';",
        )
    has_role = connection.execute(
        "SELECT pg_has_role(%s, %s, 'MEMBER')", (role, MEMBER_GROUP)
    ).fetchone()
    if has_role and has_role[0]:
        return
    try:
        connection.execute(f"GRANT {MEMBER_GROUP} TO {quote_name(role)}")
    except driver.errors.InsufficientPrivilege as error:
        raise Refused(
            f"this role may not grant {MEMBER_GROUP}",
            hint=f"an administrator runs: GRANT {MEMBER_GROUP} TO {quote_name(role)};",
        ) from error


def grant(connection: psycopg.Connection[Row], role: str, space: str, writes: bool) -> None:
    """Make a role a member of a shared space, which is made if it is new."""
    _refuse_others(connection)
    if _PRIVATE.fullmatch(space):
        raise InvalidInput(
            f"{space} is the id of a private space, which cannot be shared",
            where="space",
            hint="choose a name such as backend-team",
        )
    _join_group(connection, role)
    connection.execute(
        "INSERT INTO recollect.members (space, role, writes) VALUES (%s, %s, %s) "
        "ON CONFLICT (role, space) DO UPDATE SET writes = excluded.writes",
        (_make_shared(connection, space), role, writes),
    )


def revoke(connection: psycopg.Connection[Row], role: str, space: str) -> bool:
    """End a membership; return whether there was one."""
    _refuse_others(connection)
    done = connection.execute(
        f"DELETE FROM recollect.members WHERE space IN ({_BY_NAME}) AND role = %(role)s",
        {"name": space, "role": role},
    )
    return bool(done.rowcount)


def list_members(connection: psycopg.Connection[Row]) -> list[ServerMember]:
    """Return the members of all spaces for the owner of the tables, and one's own for others."""
    owner = connection.execute(
        "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class "
        "WHERE oid = 'recollect.members'::regclass"
    ).fetchone()
    every = (
        "(SELECT space, role, writes FROM recollect.members UNION ALL "
        "SELECT id, owner, true FROM recollect.spaces)"
    )
    own = "(SELECT space, current_user::text, writes FROM recollect.memberships)"
    rows = connection.execute(
        "SELECT coalesce(nullif(s.name, ''), m.space), m.role, m.writes "
        f"FROM {every if owner and owner[0] else own} AS m (space, role, writes) "
        "LEFT JOIN recollect.spaces s ON s.id = m.space ORDER BY 1, 2"
    ).fetchall()
    return [ServerMember(*row) for row in rows]


class PostgresServer:
    """The server of a database address."""

    def __init__(self, url: str, wait: float) -> None:
        self._url = url
        self._wait = wait

    def setup(self, owner: str, members: Sequence[str], apply: bool) -> tuple[ServerStatement, ...]:
        if apply:
            with self._connect() as connection:
                apply_setup(connection, members, self._wait, hide_password(self._url))
            return tuple(plan_grants(members))
        # Without a connection: the owner's role may be one of those that are to be made.
        try:
            address = load_driver().conninfo.conninfo_to_dict(self._url)
        except load_driver().Error as error:
            raise translate_error(error, self._url) from error
        user = str(address.get("user", OWNER))
        database = str(address.get("dbname", user))
        return tuple(plan_setup(database, owner or user, members) + plan_grants(members))

    def grant(self, role: str, space: str, writes: bool) -> None:
        with self._connect() as connection:
            place = hide_password(self._url)
            with limited_wait(connection, self._wait, place):
                grant(connection, role, space, writes)

    def revoke(self, role: str, space: str) -> bool:
        with self._connect() as connection:
            return revoke(connection, role, space)

    def members(self) -> list[ServerMember]:
        with self._connect() as connection:
            return list_members(connection)

    @contextmanager
    def _connect(self) -> Iterator[psycopg.Connection[Row]]:
        """Connect for one command, outside the pool: nothing is prepared, no space is made."""
        driver = load_driver()
        try:
            with driver.connect(self._url, autocommit=True, prepare_threshold=None) as connection:
                yield connection
        except driver.Error as error:
            raise translate_error(error, self._url) from error


class FoundSpace(NamedTuple):
    """A space of this role, and how the server commits by default."""

    id: str
    writes: bool
    commits: str


# A shared space is called by its name, but its id is random: estimates and partitions would tell a
# member of another team whether a guessed id has rows. Spaces of earlier versions have their name
# as id.
_PRIVATE = re.compile(r"(?:project|user)-[0-9a-z]{12}")
_BY_NAME = "SELECT s.id FROM recollect.spaces s WHERE (s.id = %(name)s OR s.name = %(name)s)"
# Of new ids the one in the partition with the fewest shared spaces: the first sixteen teams have
# an index of vectors each.
_EMPTIEST = """
WITH parts AS MATERIALIZED (
  SELECT p.part, (SELECT count(*) FROM recollect.spaces s WHERE s.id !~ '^(project|user)-'
    AND satisfies_hash_partition('recollect.vectors'::regclass, 16, p.part, s.id)) AS spaces
  FROM generate_series(0, 15) AS p (part))
SELECT c.id FROM unnest(%(ids)s::text[]) AS c (id) JOIN parts
  ON satisfies_hash_partition('recollect.vectors'::regclass, 16, parts.part, c.id)
ORDER BY parts.spaces LIMIT 1
"""
_MINE = f"{_BY_NAME} AND s.id IN (SELECT m.space FROM recollect.memberships m)"
_WRITES = f"SELECT bool_or(m.writes) FROM recollect.memberships m WHERE m.space IN ({_BY_NAME})"


def find_space(
    connection: psycopg.Connection[Row], space: str, kind: str, place: str
) -> FoundSpace:
    """Find a space of which this role is a member, or make it; raise Refused for another's."""
    errors = load_driver().errors
    facts = connection.execute(
        f"SELECT ({_MINE}), ({_WRITES}), current_setting('transaction_read_only'), "
        "current_setting('synchronous_commit')",
        {"name": space},
    ).fetchone()
    id, writes, read_only, commits = facts or (space, True, "on", "on")
    if id or read_only != "off":
        return FoundSpace(id or space, writes is not False, commits)
    try:
        if _PRIVATE.fullmatch(space):
            _insert_space(connection, space, kind, "")
        else:
            _make_shared(connection, space)
    except errors.InsufficientPrivilege as error:
        raise _not_a_member(connection, space, place) from error
    except errors.UniqueViolation:
        pass  # another process of this role made it just now, or it is another role's
    found = connection.execute(_MINE, {"name": space}).fetchone()
    if found is None:
        raise _not_a_member(connection, space, place)
    return FoundSpace(found[0], True, commits)


def has_space(connection: psycopg.Connection[Row], name: str) -> bool:
    """Check whether there is a space with this name of which this role is a member."""
    return connection.execute(_MINE, {"name": name}).fetchone() is not None


def find_id(cursor: psycopg.Cursor[Row], name: str) -> str:
    """Return the id of a space by its name; the name itself if this role is no member of it."""
    row = None if _PRIVATE.fullmatch(name) else cursor.execute(_MINE, {"name": name}).fetchone()
    return str(row[0]) if row else name


def _make_shared(connection: psycopg.Connection[Row], name: str) -> str:
    """Make a shared space, which only the owner of the tables may, and return its id; of two
    processes the second finds it made."""
    with connection.transaction():
        connection.execute("LOCK TABLE recollect.spaces IN SHARE ROW EXCLUSIVE MODE")
        row = connection.execute(_BY_NAME, {"name": name}).fetchone()
        if row:
            return str(row[0])
        ids = [f"shared-{os.urandom(8).hex()}" for _ in range(100)]
        (id,) = connection.execute(_EMPTIEST, {"ids": ids}).fetchone() or (ids[0],)
        _insert_space(connection, id, "project", name)
        return str(id)


def _insert_space(connection: psycopg.Connection[Row], id: str, kind: str, name: str) -> None:
    connection.execute(
        "INSERT INTO recollect.spaces (id, kind, name, place, created) VALUES (%s, %s, %s, '', %s)",
        (id, kind, name, time.time_ns() // 1000),
    )


def _not_a_member(connection: psycopg.Connection[Row], space: str, place: str) -> Refused:
    role = connection.info.user
    hint = f"the owner of the tables runs: recollect server grant {role} {space}"
    if _PRIVATE.fullmatch(space):
        hint = "another role made this private space: log in as that role, or set "
        hint += "RECOLLECT_HOME to a directory of your own"
    return Refused(
        f"the role {role} is not a member of the space {space!r}", where=place, hint=hint
    )
