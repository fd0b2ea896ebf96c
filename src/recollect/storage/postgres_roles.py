"""Roles on PostgreSQL: an owner of the tables, a group for members, and who is a member of what."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..errors import InvalidInput, Refused
from . import postgres_schema
from .database import Row, ServerMember, ServerStatement
from .postgres_pool import load_driver, translate_error
from .postgres_schema import MEMBER_GROUP

if TYPE_CHECKING:
    import psycopg

OWNER = "recollect_owner"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def plan_setup(database: str, owner: str, members: Sequence[str]) -> list[ServerStatement]:
    """Return the statements that an administrator runs once, and what each is for."""
    planned = [
        ServerStatement(
            f"CREATE ROLE {_quoted(owner)} LOGIN CREATEROLE PASSWORD '…';",
            "owns the tables; it is not for daily work",
        ),
        ServerStatement(
            f"GRANT CREATE ON DATABASE {_quoted(database)} TO {_quoted(owner)};",
            "lets it make the schema `recollect`",
        ),
        ServerStatement("CREATE EXTENSION IF NOT EXISTS vector;", "optional: search by meaning"),
    ]
    for name in members:
        planned.append(
            ServerStatement(
                f"CREATE ROLE {_quoted(name)} LOGIN PASSWORD '…';", "one for each person"
            )
        )
    return planned


def plan_grants(members: Sequence[str]) -> list[ServerStatement]:
    """Return the statements that the owner runs after each upgrade; `setup --apply` does."""
    group = MEMBER_GROUP
    planned = [
        ServerStatement(f"CREATE ROLE {group} NOLOGIN;", "what every member may do"),
        ServerStatement(
            f"GRANT USAGE ON SCHEMA recollect, recollect_read TO {group};", "see the tables"
        ),
        ServerStatement(
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON <each table> TO {group};",
            "all tables but members and migrations; row-level security limits it to their spaces",
        ),
        ServerStatement(
            f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA recollect TO {group};", "number entries"
        ),
    ]
    planned += [
        ServerStatement(f"GRANT {group} TO {_quoted(name)};", "make a person a member")
        for name in members
    ]
    return planned


def apply_setup(connection: psycopg.Connection[Row], members: Sequence[str]) -> None:
    """Make the tables, the group and its rights, as the role that owns the tables."""
    driver = load_driver()
    postgres_schema.run_migrations(connection)
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
    postgres_schema.run_migrations(connection)
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
            hint=f"an administrator runs: CREATE ROLE {_quoted(role)} LOGIN PASSWORD '…';",
        )
    held = connection.execute(
        "SELECT pg_has_role(%s, %s, 'MEMBER')", (role, MEMBER_GROUP)
    ).fetchone()
    if held and held[0]:
        return
    try:
        connection.execute(f"GRANT {MEMBER_GROUP} TO {_quoted(role)}")
    except driver.errors.InsufficientPrivilege as error:
        raise Refused(
            f"this role may not grant {MEMBER_GROUP}",
            hint=f"an administrator runs: GRANT {MEMBER_GROUP} TO {_quoted(role)};",
        ) from error


def grant(connection: psycopg.Connection[Row], role: str, space: str, writes: bool) -> None:
    """Make a role a member of a shared space, which is made if it is new."""
    _refuse_others(connection)
    _join_group(connection, role)
    with connection.transaction():
        connection.execute(
            "INSERT INTO recollect.spaces (id, kind, name, place, created) "
            "VALUES (%s, 'project', '', '', %s) ON CONFLICT (id) DO NOTHING",
            (space, time.time_ns() // 1000),
        )
        connection.execute(
            "INSERT INTO recollect.members (space, role, writes) VALUES (%s, %s, %s) "
            "ON CONFLICT (role, space) DO UPDATE SET writes = excluded.writes",
            (space, role, writes),
        )


def revoke(connection: psycopg.Connection[Row], role: str, space: str) -> bool:
    """End a membership; return whether there was one."""
    _refuse_others(connection)
    done = connection.execute(
        "DELETE FROM recollect.members WHERE space = %s AND role = %s", (space, role)
    )
    return bool(done.rowcount)


def list_members(connection: psycopg.Connection[Row]) -> list[ServerMember]:
    """Return the members of all spaces for the owner of the tables, and one's own for others."""
    owner = connection.execute(
        "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class "
        "WHERE oid = 'recollect.members'::regclass"
    ).fetchone()
    every = (
        "SELECT space, role, writes FROM recollect.members UNION ALL "
        "SELECT id, owner, true FROM recollect.spaces ORDER BY 1, 2"
    )
    own = "SELECT space, current_user::text, writes FROM recollect.memberships ORDER BY 1"
    rows = connection.execute(every if owner and owner[0] else own).fetchall()
    return [ServerMember(*row) for row in rows]


class PostgresServer:
    """The server of a database address."""

    def __init__(self, url: str, wait: float) -> None:
        self._url = url
        self._wait = wait

    def setup(self, owner: str, members: Sequence[str], apply: bool) -> tuple[ServerStatement, ...]:
        if apply:
            with self._connect() as connection:
                apply_setup(connection, members)
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


def find_space(connection: psycopg.Connection[Row], space: str, kind: str, place: str) -> str:
    """Check that this role is a member of a space, or make the space; raise Refused for another's.
    Return how the server commits by default."""
    errors = load_driver().errors
    facts = connection.execute(
        "SELECT EXISTS (SELECT 1 FROM recollect.memberships WHERE space = %s), "
        "current_setting('transaction_read_only'), current_setting('synchronous_commit')",
        (space,),
    ).fetchone()
    known, read_only, commits = facts or (True, "on", "on")
    if known or read_only != "off":
        return str(commits)
    try:
        connection.execute(
            "INSERT INTO recollect.spaces (id, kind, name, place, created) "
            "VALUES (%s, %s, '', '', %s)",
            (space, kind, time.time_ns() // 1000),
        )
    except errors.InsufficientPrivilege as error:
        raise _not_a_member(connection, space, place) from error
    except errors.UniqueViolation:
        pass  # another process of this role made it just now, or it is another role's
    found = connection.execute(
        "SELECT 1 FROM recollect.memberships WHERE space = %s", (space,)
    ).fetchone()
    if found is None:
        raise _not_a_member(connection, space, place)
    return str(commits)


def _not_a_member(connection: psycopg.Connection[Row], space: str, place: str) -> Refused:
    role = connection.info.user
    return Refused(
        f"the role {role} is not a member of the space {space!r}",
        where=place,
        hint=f"the owner of the tables runs: recollect server grant {role} {space}",
    )
