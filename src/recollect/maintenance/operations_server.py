"""Operations on a PostgreSQL server that a team shares: setup, members."""

from __future__ import annotations

from collections.abc import Sequence

from ..context import Context
from ..errors import InvalidInput, Refused
from ..fast_typing import NamedTuple
from ..storage.database import ServerMember, ServerStatement


class ServerSetup(NamedTuple):
    """The statements that set up a server, and whether those of the owner were run."""

    statements: tuple[ServerStatement, ...]
    applied: bool


def server_setup(
    context: Context, owner: str = "", member: Sequence[str] = (), apply: bool = False
) -> ServerSetup:
    """Set up a PostgreSQL server for a team. Shows the SQL first.

    owner: the role that owns the tables, for the SQL that is shown (by default the one that the
        address names)
    member: the role of a person (repeat for several)
    apply: make the tables and the members' rights; run it as the role that owns the tables

    Example: recollect server setup --member alice --member bob
    Example: recollect server setup --member alice --apply
    """
    if apply:
        _refuse_others(context, "setup")
    done = context.project_space.server().setup(owner, member, apply)
    return ServerSetup(done, apply)


def server_grant(context: Context, role: str, space: str, read_only: bool = False) -> ServerMember:
    """Give a role access to a shared space. Run it as the role that owns the tables.

    role: the role that the person connects with
    space: the name of the space; members set RECOLLECT_SPACE to it
    read_only: the role may not write

    Example: recollect server grant alice our-product
    """
    _refuse_others(context, "grant")
    _check_name("role", role)
    _check_name("space", space)
    context.project_space.server().grant(role, space, not read_only)
    return ServerMember(space, role, not read_only)


def server_revoke(context: Context, role: str, space: str) -> bool:
    """End the membership of a role in a space. Run it as the role that owns the tables.

    role: the role that the person connects with
    space: the name of the space

    Example: recollect server revoke alice our-product
    """
    _refuse_others(context, "revoke")
    return context.project_space.server().revoke(role, space)


def server_members(context: Context) -> tuple[ServerMember, ...]:
    """List the members of each space; only the owner of the tables sees all.

    Example: recollect server members
    """
    return tuple(context.project_space.server().members())


def _refuse_others(context: Context, command: str) -> None:
    """Raise Refused for an agent: a membership opens another project's space."""
    if context.origin != "user":
        raise Refused(
            "only a person can change the members of a server",
            hint=f"run `recollect server {command}` yourself",
        )


def _check_name(field: str, name: str) -> None:
    if not name.strip() or "\0" in name:
        raise InvalidInput(f"the {field} is empty", where=field)
