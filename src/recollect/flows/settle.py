"""Settle: when work is over, read its episodes and let them teach.

Episodes are read out of conversations that ended, or in which nobody spoke for an hour; then
consolidation runs, if it is due or a task was just completed. It runs beside the agent or at the
end of a task, never in a hook. Whoever finds another one at it leaves it to them.
"""

from typing import NamedTuple

from ..db.database import Database
from ..errors import Conflict
from . import consolidate, episodes
from .look import IDLE


class Settled(NamedTuple):
    """What came of it; `note` says why nothing was consolidated."""

    built: episodes.Built = episodes.Built(0, 0, 0, 0)
    lessons: tuple[consolidate.Line, ...] = ()
    note: str = ""


def settle(
    space: Database, owner: str, means: consolidate.Means, task_done: bool = False
) -> Settled:
    """Read episodes of what is over, and consolidate weekly; after a task, of all and at once."""
    if not space.present():
        return Settled()
    quiet_since = 0 if task_done else means.clock() - IDLE
    built = episodes.build(space, "", means.clock, quiet_since)
    try:
        done = consolidate.run(space, owner, means, only_if_due=not task_done)
    except Conflict as conflict:
        # Somebody else consolidates, or has changed a memory meanwhile: there is a next time.
        return Settled(built, note=conflict.message)
    return Settled(built, done.lines, done.note)
