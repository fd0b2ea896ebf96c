"""Read what earlier sessions found out by working, for the briefing.

Every function costs a few indexed statements, whatever is stored.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..storage.database import Tx
from ..types.records import Json
from .observations import (
    CommandAdvice,
    Conclusion,
    KnownCommand,
    KnownPlace,
    KnownResolution,
)


def known_commands(tx: Tx, *, now: int) -> list[KnownCommand]:
    """Return the commands that worked here, best first; retired ones carry the reason."""
    return []


def advice_for_command(tx: Tx, line: str, *, now: int) -> list[CommandAdvice]:
    """Return, for each simple command of a shell line that failed in two sessions or more, the
    form that succeeded since."""
    return []


def resolutions_for_failure(
    tx: Tx, tool: str, arguments: Mapping[str, Json], output: str, *, now: int
) -> list[KnownResolution]:
    """Return what resolved the same error before, confirmed resolutions first."""
    return []


def places_for_file(tx: Tx, path: str, *, now: int) -> list[KnownPlace]:
    """Return the files that were changed together with this one, most sessions first.

    path: from the project's root
    """
    return []


def conclusions(tx: Tx, *, now: int) -> list[Conclusion]:
    """Return the latest conclusions of agents that evidence followed, newest first."""
    return []
