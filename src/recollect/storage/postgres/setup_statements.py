"""The statements that set up a server, of an administrator and of the owner of the tables."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .. import migrations
from ..database import ServerStatement
from .schema import MEMBER_GROUP

OWNER = "recollect_owner"


def quote_name(name: str) -> str:
    """Return a name as SQL quotes it."""
    return '"' + name.replace('"', '""') + '"'


def plan_setup(database: str, owner: str, members: Sequence[str]) -> list[ServerStatement]:
    """Return the statements that an administrator runs once, and what each is for."""
    planned = [
        ServerStatement(
            f"CREATE ROLE {quote_name(owner)} LOGIN CREATEROLE PASSWORD '…';",
            "owns the tables; it is not for daily work",
        ),
        ServerStatement(
            f"GRANT CREATE ON DATABASE {quote_name(database)} TO {quote_name(owner)};",
            "lets it make the schema `recollect`",
        ),
        ServerStatement(
            f"ALTER DATABASE {quote_name(database)} SET jit TO off;",
            "compiling takes many times as long as what it saves here",
        ),
        ServerStatement(
            "REVOKE CREATE ON SCHEMA public FROM PUBLIC;",
            "a function there could run in another person's statement; so by default since 15",
        ),
        ServerStatement(
            "CREATE EXTENSION IF NOT EXISTS vector;", "optional: faster search by meaning"
        ),
    ]
    for name in members:
        planned.append(
            ServerStatement(
                f"CREATE ROLE {quote_name(name)} LOGIN PASSWORD '…';", "one for each person"
            )
        )
    return planned


def _name_tables() -> str:
    """Return the tables that members read and write."""
    made: set[str] = set()
    for script in migrations.pending_scripts(0, "postgres"):
        made.update(re.findall(r"CREATE TABLE (?:IF NOT EXISTS )?(\w+[a-z])\b", script))
        made.difference_update(re.findall(r"DROP TABLE (?:IF EXISTS )?(\w+)", script))
    return ", ".join([f"recollect.{name}" for name in sorted(made - {"members", "spaces"})])


def plan_grants(members: Sequence[str]) -> list[ServerStatement]:
    """Return the statements that the owner runs after each upgrade; `setup --apply` does."""
    group = MEMBER_GROUP
    planned = [
        ServerStatement(f"CREATE ROLE {group} NOLOGIN;", "what every member may do"),
        ServerStatement(
            f"GRANT USAGE ON SCHEMA recollect, recollect_read TO {group};", "see the tables"
        ),
        ServerStatement(
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON {_name_tables()} TO {group};",
            "the rows of their spaces: row-level security hides all others",
        ),
        ServerStatement(
            f"GRANT SELECT, INSERT ON recollect.spaces TO {group};", "make private spaces"
        ),
        ServerStatement(
            f"GRANT SELECT ON recollect.migrations, recollect.memberships TO {group};",
            "check the version of the tables, and read their own memberships",
        ),
        ServerStatement(
            f"GRANT SELECT, UPDATE ON ALL TABLES IN SCHEMA recollect_read TO {group};",
            "views that label what others stated; UPDATE is for row locks",
        ),
        ServerStatement(
            f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA recollect TO {group};", "number entries"
        ),
    ]
    planned += [
        ServerStatement(f"GRANT {group} TO {quote_name(name)};", "make a person a member")
        for name in members
    ]
    return planned
